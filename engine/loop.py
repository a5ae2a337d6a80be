"""The evolution loop: Algorithm 1, phase by phase.

Theory of operation

    phase      what it asks of the world                    command                decided in
    OPEN       task types if there are none, and the        OpenRun                decide.py
               ontology (guidance model)                    InduceOntology         rules/ontology.py
    PLAN       exploration briefs (guidance model),         PlanIteration          agents/navigator.py
               if there is something to explore
    EXPLORE    episodes (execution model, environment)      PlanAnswers            agents/learner.py
                                                            LearnFromEpisodes      agents/explorer.py
    EVALUATE   answers (execution model), verdicts          PlanAnswers            agents/learner.py
                                                            CompletePhase          decide.py
    UPDATE     vectors of what was asked (embedder)         LearnFromAnswers       agents/curator.py
    EVOLVE     memories, principles, tools (guidance        Evolve                 rules/authoring.py
               model, sandbox), their vectors
    SNAPSHOT   answers to the anchors (execution model)     PlanAnswers            agents/learner.py
               and in the end their vectors (embedder)      TakeSnapshot           rules/snapshot.py
                                                            CloseIteration         decide.py

Each phase takes the same three steps. It asks the world for what it needs; it puts all of that into one command of
plain values, from which `decide` makes events; and `Session.do` commits these as one atomic batch before it applies
them to the state. Nothing here remembers anything between two phases: the state says how far a run has got.

What is durable when. Every call, tool run, search and step of an episode is committed as soon as it returns, and a
verdict together with the reply that it judges, or right after it if its scorer is a process. What a phase learns from
them is one batch that ends with the mark of the phase, so it is in the log as a whole or not at all. `CloseIteration`
records the digests of the state: a replay, an exam and a snapshot refer to such a point.

How a resumed run continues. It enters the first iteration that is not closed and runs through all of its phases. A
phase whose mark is in the log returns at once. Any other phase asks for the same things again, because its requests
follow from the state that it began with. What the log already has (plans, calls, verdicts) is looked up, not made
again. So only the work that was in flight when the process ended is done twice.

What `verify` does with it. Each `to_...` makes the command of a phase from the world, the state and guidance's replies
alone, so the log is enough to make it again (auditing/theorems/learned.py).
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from mage_es.engine.agents.curator import observed_before
from mage_es.engine.agents.explorer import choose_tasks
from mage_es.engine.agents.navigator import briefs_of, latest_failures, navigator_brief
from mage_es.engine.agents.skill_discovery import Assignment, assignments, ontology_brief, targets
from mage_es.engine.benchmarks.registry import title
from mage_es.engine.briefs import NavigatorReply, OntologyReply, TaskTypesReply
from mage_es.engine.commands import (
    Authored,
    CloseIteration,
    CompletePhase,
    Evolve,
    Explored,
    FinishRun,
    InduceOntology,
    LearnFromAnswers,
    LearnFromEpisodes,
    PlanIteration,
    TakeSnapshot,
)
from mage_es.engine.rules.authoring import sources_of
from mage_es.engine.rules.benefit import LOOK, is_settled, questions_to_ask_more
from mage_es.engine.rules.forms import anchors_to_try, rival_of
from mage_es.engine.rules.refit import anchors_to_refit
from mage_es.engine.rules.snapshot import is_decided, is_mastered, looks
from mage_es.engine.rules.task_types import BATCH, BATCHES, settle_types, task_types_brief, with_reply
from mage_es.engine.rules.writings import BRIEFS, ONTOLOGY, writings
from mage_es.engine.run.directory import require_free_space
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.environment import SequentialBenchmark, is_sequential
from mage_es.engine.seams.playing import sightings
from mage_es.engine.session.beginning import opening, sign
from mage_es.engine.session.call import TypedCall
from mage_es.engine.session.evolving import author_all
from mage_es.engine.session.guiding import Guided
from mage_es.engine.session.reporting import all_wrong
from mage_es.engine.session.session import Session
from mage_es.events.vocabulary import Digest, Phase, Purpose, TaskTypeCreated
from mage_es.projections.scores import START
from mage_es.projections.snapshot_files import write_snapshot


async def run_iterations(session: Session) -> None:
    """Open the run if necessary, then iterate until the configured end, or until nothing is left to learn.

    Raises:
        Interrupted: The user asked to stop, or the budget is spent.
    """
    if not session.state.progress.finished:
        require_free_space(session.run.path)  # the opening makes calls, too
    await open_run(session)
    # Opening closes what comes before the first iteration, so a new run and a resumed one take the same path.
    setting = session.world.setting
    for k in range(session.state.progress.closed + 1, setting.end):
        if setting.config.early_stopping and is_mastered(setting, session.state):
            session.announce(
                f"All {len(setting.anchors)} anchors were right at two iterations in a row: nothing is left to learn "
                "that they could show. The run ends here; with --no-early-stopping it would go on."
            )
            break
        require_free_space(session.run.path)
        session.budget.require_iteration(k - setting.first)
        await iterate(session, k)
    if not session.state.progress.finished:
        session.do(FinishRun())
        sign(session)


async def iterate(session: Session, k: int) -> None:
    """Run one iteration of Algorithm 1. Only sequential benchmarks have something to EXPLORE.

    [Algorithm 1] Everything learned from answers and verdicts is decided in UPDATE, over answers sorted by question id.
    """
    if session.world.setting.reproves(k):
        await reprove(session, k)
        return
    await plan(session, k)
    await explore(session, k)
    await evaluate(session, k)
    update(session, k)
    await evolve(session, k)
    await snapshot(session, k)


async def reprove(session: Session, k: int) -> None:
    """Ask a new learner the questions of another, with and without what the other learned. Guidance is not called."""
    if not session.state.progress.is_completed(k, "plan"):
        session.do(PlanIteration(k))
    if not session.state.progress.is_completed(k, "evaluate"):
        await session.ask(k, "open", to_reprove(session), frozen=True)
    await evaluate(session, k)
    update(session, k)
    await snapshot(session, k)


def to_reprove(at: Guided) -> dict[str, Purpose]:
    """Return what a new learner is asked without what the other learned."""
    planned = at.state.progress.iteration_plan
    assert planned is not None
    return dict.fromkeys((*at.world.setting.anchors, *planned.fresh), "bare")


async def open_run(session: Session) -> None:
    """Commit to configuration and splits, induce the ontology, and answer the anchors once.

    A run that continues another keeps the other's ontology, and adds only the types that it lacked.
    """
    setting = session.world.setting
    if session.state.seq == 0:
        session.do(opening(session))
        sign(session)
    if not session.state.progress.is_completed(START, "open"):
        session.report_progress(START, "open", 0, 0)
        session.do(await to_induce(session))
    if session.state.progress.closed < setting.first - 1:
        if setting.reproof:
            # The re-proof asks the anchors itself, once it has removed what does harm.
            close(session, setting.first - 1)
            return
        # The anchors are answered before anything is learned: the guard's first comparison needs them.
        await snapshot(session, setting.first - 1)


async def to_induce(at: Guided) -> InduceOntology:
    """Return the command with the skills and, where the benchmark has none, the task types that guidance names."""
    world, setting = at.world, at.world.setting
    if at.state.graph.skills():  # a run that continues another
        new = set(setting.task_types).difference(at.state.graph.task_types())
        return InduceOntology(() if world.typing.is_induced else sorted(new), None)
    evolution = [world.questions[name] for name in setting.evolution]
    induced = await induce_types(at, evolution)
    types = world.typing.types_of(evolution, {each.task_type: each for each in induced if each.examples})
    typed = list(zip(evolution, types, strict=True))
    names = [each.task_type for each in induced] or setting.task_types
    reply: OntologyReply | None = None
    if ONTOLOGY in writings(setting, types=len(names)):
        brief, cut = ontology_brief(setting, title(world.benchmark.name), names, typed)
        call = TypedCall(START, "open", "SkillDiscovery", "ontology_v1", "run", brief, cut)
        reply, _ = await at.guide(call, OntologyReply)
    return InduceOntology(setting.task_types, reply, induced)


async def induce_types(at: Guided, evolution: Sequence[Question]) -> Sequence[TaskTypeCreated]:
    """Return the task types that guidance finds in the texts of questions; none if the benchmark has its own."""
    if not at.world.typing.is_induced:
        return ()
    found: dict[str, TaskTypeCreated] = {}
    for first in range(0, min(len(evolution), BATCHES * BATCH), BATCH):
        batch, about = evolution[first : first + BATCH], f"questions/{first}"
        brief, cut = task_types_brief(at.world.setting, title(at.world.benchmark.name), batch, found, about)
        call = TypedCall(START, "open", "SkillDiscovery", "task_types_v1", about, brief, cut)
        reply, _ = await at.guide(call, TaskTypesReply)
        found = with_reply(found, brief, reply, at.world.setting.guarded)
    return settle_types(found)


async def plan(session: Session, k: int) -> None:
    if session.state.progress.is_completed(k, "plan"):
        return
    session.do(await to_plan(session, k))


async def to_plan(at: Guided, k: int) -> PlanIteration:
    is_briefed = BRIEFS in writings(at.world.setting, types=len(at.state.graph.task_types()))
    return PlanIteration(k, await ask_navigator(at, k) if is_briefed else None)


async def ask_navigator(at: Guided, k: int) -> NavigatorReply | None:
    """Return what guidance says about each skill of the frontier; None without a frontier, or if the reply cannot be
    read."""
    world, state = at.world, at.state
    questions = [world.questions[name] for name in latest_failures(state)]
    failed: dict[str, list[Question]] = {}
    types = world.types_of(state, questions)
    for question in questions:
        failed.setdefault(types[question.id], []).append(question)
    last = briefs_of(at.last_plan) if at.last_plan else {}
    brief, cut = navigator_brief(world.setting, state, k, failed=failed, last=last)
    if not brief.frontier:
        return None
    reply, _ = await at.guide(TypedCall(k, "plan", "Navigator", "navigator_v1", "frontier", brief, cut), NavigatorReply)
    return reply


async def explore(session: Session, k: int) -> None:
    world, state = session.world, session.state
    benchmark = world.benchmark
    if not is_sequential(benchmark) or state.progress.is_completed(k, "explore"):
        return
    evolution = [world.questions[name] for name in world.setting.evolution]
    chosen = choose_tasks(world.setting, state, k, world.types_of(state, evolution))
    purposes: dict[str, Purpose] = dict.fromkeys(chosen, "explore")
    await session.ask(k, "explore", purposes, frozen=True)
    played = [name for name in chosen if state.progress.is_judged("explore", name)]
    # A recorded step holds its text, not the entities in it: the environment is deterministic, so it is replayed.
    session.do(LearnFromEpisodes(k, [_explored(benchmark, session, name) for name in played]))


async def evaluate(session: Session, k: int) -> None:
    if session.state.progress.is_completed(k, "evaluate"):
        return
    await session.ask(k, "evaluate", to_evaluate(session), frozen=session.world.setting.reproves(k))
    session.do(CompletePhase(k, "evaluate"))
    if k == session.world.setting.first and (note := all_wrong(session.world, session.state)):
        session.announce(note)


def to_evaluate(at: Guided) -> dict[str, Purpose]:
    """Return the questions of the iteration, with their purposes."""
    planned = at.state.progress.iteration_plan
    assert planned is not None
    return {**dict.fromkeys(planned.fresh, "fresh"), **dict.fromkeys(planned.revisits, "revisit")}


def update(session: Session, k: int) -> None:
    if session.state.progress.is_completed(k, "update"):
        return
    session.enter_phase(k, "update")
    session.do(to_learn(session, k))
    session.report_progress(k, "update", 1, 1)


def to_learn(at: Guided, k: int) -> LearnFromAnswers:
    world, state = at.world, at.state
    questions = {
        verdict.question_id: world.questions[verdict.question_id] for verdict in state.progress.verdicts("evaluate")
    }
    vectors = world.embedder.encode([question.question for question in questions.values()])
    texts = observed_before(world.setting, state)
    observed = dict(zip(texts, world.embedder.encode(texts), strict=True)) if texts else {}
    doubtful = world.typing.doubtful(list(questions.values()), state.graph.induced_types())
    return LearnFromAnswers(k, questions, dict(zip(questions, vectors, strict=True)), observed, doubtful)


async def evolve(session: Session, k: int) -> None:
    if session.state.progress.is_completed(k, "evolve"):
        return
    assigned = assigned_in(session, k)
    session.report_progress(k, "evolve", 0, len(assigned))
    authored = await author_all(session, k, assigned)
    session.do(to_evolve(session, k, authored))
    session.report_progress(k, "evolve", len(assigned), len(assigned))


def assigned_in(at: Guided, k: int) -> list[Assignment]:
    setting = at.world.setting
    return assignments(setting, at.state, k, targets(setting, at.state, k), _learned_from(at))


def to_evolve(at: Guided, k: int, authored: Sequence[Authored]) -> Evolve:
    questions, embedder = _learned_from(at), at.world.embedder
    # What was written is known only now; `decide` may not call an embedder, so the vectors go into the command.
    texts = sorted({text for item in authored for text in sources_of(item, questions)})
    vectors = dict(zip(texts, embedder.encode(texts), strict=True))
    return Evolve(k, targets(at.world.setting, at.state, k), authored, questions, vectors)


def _learned_from(at: Guided) -> dict[str, Question]:
    # No guidance prompt can hold a held-out question: EVOLVE is given none.
    return {name: at.world.questions[name] for name in at.world.setting.evolution}


async def snapshot(session: Session, k: int) -> None:
    await compare(session, k)
    close(session, k)


async def compare(session: Session, k: int) -> None:
    """Let the guard judge the state by its anchors; they also show what the state adds to the bare prompt."""
    if not session.state.progress.is_completed(k, "snapshot"):
        if bare := to_ask_bare(session, k):
            await session.ask(k, "open", bare, frozen=True)
        anchors: dict[str, Purpose] = dict.fromkeys(session.world.setting.anchors, "anchor")
        session.plan(k, "snapshot", anchors, frozen=True)
        for phase, purposes in to_compare(session, k):
            session.plan(k, phase, purposes, frozen=True)
            await session.answer(k, phase, purposes)
        session.do(to_snapshot(session, k))
        verdict = session.state.scores.verdict(k)
        if verdict.endswith("rollback"):
            session.announce(
                f"iter-{k}: rolled back by the guard ({verdict.replace('_', ' ')}); what was learned stays."
            )


def to_snapshot(at: Guided, k: int) -> TakeSnapshot:
    kept = {name: at.world.questions[name] for name in anchors_to_refit(at.world.setting, at.state, k)}
    vectors = at.world.embedder.encode([question.question for question in kept.values()]) if kept else ()
    return TakeSnapshot(k, kept, dict(zip(kept, vectors, strict=True)))


def to_ask_bare(at: Guided, k: int) -> dict[str, Purpose]:
    """Return the anchors, which are asked once without what was learned, unless the run began with nothing."""
    setting, state = at.world.setting, at.state
    begun = {plan.question_id for plan in state.progress.plans("open")} & {*setting.anchors}
    is_known = k == START or (state.scores.bare_answers() and not begun)
    return dict.fromkeys(setting.anchors, "bare") if setting.config.gate == "paired" and not is_known else {}


def to_compare(at: Guided, k: int) -> Iterator[tuple[Phase, dict[str, Purpose]]]:
    """Yield what a snapshot asks of its planned anchors and beside them, each batch once that before it is answered.

    The other form is tried if the run has to choose one. Pairs also come from questions that were learned from, if
    there are too few anchors.
    """
    setting, state, asked = at.world.setting, at.state, list[str]()
    for names in looks(setting, state, k):
        asked += names
        yield "snapshot", dict.fromkeys(names, "anchor")
        if is_decided(setting, state, k, asked):
            break
    if rival := rival_of(setting, state):
        yield "form", dict.fromkeys(anchors_to_try(state, asked, rival), "form")
    more = {} if is_sequential(at.world.benchmark) else questions_to_ask_more(setting, state, k)
    for end in range(LOOK, len(more) + LOOK, LOOK):
        yield "open", dict(islice(more.items(), end - LOOK, end))
        if is_settled(setting, state, k, [*more][:end]):
            break


def close(session: Session, k: int) -> None:
    # The iteration is closed in a batch of its own: its digests are those of the state with the verdict applied.
    with session.lock:
        digests = session.state.digests()
        session.do(CloseIteration(k, digests))
        keep(session, digests)  # before any other thread's event, since the fold is kept under these digests


def keep(session: Session, digests: Sequence[Digest]) -> None:
    """Write the cached fold, so that a later start need only read what comes after it."""
    write_snapshot(session.run.snapshots_path, session.state, chain=session.log.head.chain, digests=digests)


def _explored(benchmark: SequentialBenchmark, session: Session, question_id: str) -> Explored:
    question = session.world.questions[question_id]
    steps = session.state.progress.steps("explore", question_id)
    seen = sightings(benchmark.environment(question), [step.action if step.parsed else None for step in steps])
    return Explored(question, seen.entities, seen.relations)
