"""The evolution loop, one iteration after another (Algorithm 1).

Rules
    - Every phase can be entered again after a crash: what it recorded is not done twice, and a phase that is
      marked complete is passed over.
    - A phase that calls no model is one atomic commit.
"""

from __future__ import annotations

from collections.abc import Sequence

from mage_es.engine.agents.briefs import NavigatorReply, OntologyReply
from mage_es.engine.agents.curator import observed_before
from mage_es.engine.agents.explorer import choose_tasks
from mage_es.engine.agents.navigator import navigator_brief
from mage_es.engine.agents.skill_discovery import assignments, ontology_brief, targets
from mage_es.engine.authoring import author_all
from mage_es.engine.commands import (
    CloseIteration,
    CompletePhase,
    Evolve,
    Explored,
    FinishRun,
    InduceOntology,
    LearnFromAnswers,
    LearnFromEpisodes,
    OpenRun,
    PlanIteration,
    TakeSnapshot,
)
from mage_es.engine.disk import require_free_space
from mage_es.engine.environments.playing import sightings
from mage_es.engine.environments.protocol import SequentialBenchmark, is_sequential
from mage_es.engine.guiding import Errand
from mage_es.engine.rules.authoring import sources_of
from mage_es.engine.session import Session
from mage_es.events.vocabulary import Digest, Purpose
from mage_es.projections.snapshots import write_snapshot

START = -1
"""The iteration number of what comes before iteration 0."""


async def run_iterations(session: Session) -> None:
    """Open the run if need be, then iterate to the end of the configuration.

    Raises:
        Interrupted: The user asked to stop, or what may be spent is spent.
    """
    await open_run(session)
    for k in range(max(0, session.state.progress.closed + 1), session.world.setting.config.iterations):
        require_free_space(session.run.path)
        session.budget.require_iteration(k)
        await iterate(session, k)
    if not session.state.progress.finished:
        session.do(FinishRun())
    keep(session, session.state.digests())


async def iterate(session: Session, k: int) -> None:
    """Algorithm 1, one iteration. EXPLORE has nothing to do in benchmarks of questions."""
    await plan(session, k)
    await explore(session, k)
    await evaluate(session, k)
    update(session, k)
    await evolve(session, k)
    await snapshot(session, k)


async def open_run(session: Session) -> None:
    """Commit to configuration and splits, induce the ontology, answer the anchors once."""
    if session.state.seq == 0:
        session.do(OpenRun(session.world.started(session.run.id), session.world.splits.events))
    if not session.state.progress.is_completed(START, "open"):
        session.note(START, "open", 0, 0)
        evolution = [session.world.questions[name] for name in session.world.setting.evolution]
        typed = list(zip(evolution, session.world.typing.types_of(evolution), strict=True))
        brief = ontology_brief(session.world.benchmark.name, typed)
        errand = Errand(START, "open", "SkillDiscovery", "ontology_v1", "run", brief)
        reply, _ = await session.guide(errand, OntologyReply)
        session.do(InduceOntology(session.world.setting.task_types, reply))
    if session.state.progress.closed < START:
        await snapshot(session, START)


async def plan(session: Session, k: int) -> None:
    """PLAN: the learnable frontier, refined by the guidance tier into exploration briefs; questions and revisits."""
    if session.state.progress.is_completed(k, "plan"):
        return
    brief = navigator_brief(session.world.setting, session.state, k)
    errand = Errand(k, "plan", "Navigator", "navigator_v1", "frontier", brief)
    refined, _ = await session.guide(errand, NavigatorReply)
    session.do(PlanIteration(k, refined))


async def explore(session: Session, k: int) -> None:
    """EXPLORE, where questions are episodes: play some, and add what they bring to light to the graph."""
    world, state = session.world, session.state
    benchmark = world.benchmark
    if not is_sequential(benchmark) or state.progress.is_completed(k, "explore"):
        return
    evolution = [world.questions[name] for name in world.setting.evolution]
    types = {q.id: name for q, name in zip(evolution, world.typing.types_of(evolution), strict=True)}
    chosen = choose_tasks(world.setting, state, k, types)
    purposes: dict[str, Purpose] = dict.fromkeys(chosen, "explore")
    await session.ask(k, "explore", purposes, frozen=True)
    played = [name for name in chosen if state.progress.is_judged("explore", name)]
    session.do(LearnFromEpisodes(k, [_explored(benchmark, session, name) for name in played]))


async def evaluate(session: Session, k: int) -> None:
    """EVALUATE: the Learner answers on the state as it was planned, the Critic scores each answer."""
    if session.state.progress.is_completed(k, "evaluate"):
        return
    planned = session.state.progress.iteration_plan
    assert planned is not None
    purposes: dict[str, Purpose] = dict.fromkeys(planned.fresh, "fresh")
    purposes |= dict.fromkeys(planned.revisits, "revisit")
    await session.ask(k, "evaluate", purposes, frozen=False)
    session.do(CompletePhase(k, "evaluate"))


def update(session: Session, k: int) -> None:
    """UPDATE: mastery, both bandits, the harvest; decided over answers sorted by question id."""
    if session.state.progress.is_completed(k, "update"):
        return
    session.enter(k, "update")
    asked = [verdict.question_id for verdict in session.state.progress.verdicts("evaluate")]
    questions = {name: session.world.questions[name] for name in asked}
    vectors = session.world.embed([question.question for question in questions.values()])
    texts = observed_before(session.world.setting, session.state)
    observed = dict(zip(texts, session.world.embed(texts), strict=True)) if texts else {}
    session.do(LearnFromAnswers(k, questions, dict(zip(questions, vectors, strict=True)), observed))
    session.note(k, "update", 1, 1)


async def evolve(session: Session, k: int) -> None:
    """EVOLVE: for each target failure memories, and the action whose turn it is."""
    if session.state.progress.is_completed(k, "evolve"):
        return
    setting, questions = session.world.setting, session.world.questions
    chosen = targets(setting, session.state, k)
    assigned = assignments(setting, session.state, k, chosen, questions)
    session.note(k, "evolve", 0, len(assigned))
    authored = await author_all(session, k, assigned)
    texts = sorted({text for item in authored for text in sources_of(item, questions)})
    vectors = dict(zip(texts, session.world.embed(texts), strict=True))
    session.do(Evolve(k, chosen, authored, questions, vectors))
    session.note(k, "evolve", len(assigned), len(assigned))


async def snapshot(session: Session, k: int) -> None:
    """SNAPSHOT: anchors on the new state, the guard's verdict, then digests; a rollback is one more event."""
    if not session.state.progress.is_completed(k, "snapshot"):
        anchors: dict[str, Purpose] = dict.fromkeys(session.world.setting.anchors, "anchor")
        await session.ask(k, "snapshot", anchors, frozen=True)
        session.do(TakeSnapshot(k))
        _say_verdict(session, k)
    digests = session.state.digests()
    session.do(CloseIteration(k, digests))
    keep(session, digests)


def _say_verdict(session: Session, k: int) -> None:
    """Say what the guard took back; that it accepted is seen in the tables."""
    verdict = session.state.scores.verdict(k)
    if verdict.endswith("rollback"):
        session.say(f"iter-{k}: rolled back by the guard ({verdict.replace('_', ' ')}); what was learned stays.")


def keep(session: Session, digests: Sequence[Digest]) -> None:
    """Bring what can be rebuilt at any time up to date: the LanceDB tables and the cached fold."""
    session.tables.write(session.state.memory)
    write_snapshot(session.run.snapshots_path, session.state, chain=session.log.head.chain, digests=digests)


def _explored(benchmark: SequentialBenchmark, session: Session, question_id: str) -> Explored:
    """Return what an explored episode brought to light, played again from its recorded actions."""
    question = session.world.questions[question_id]
    steps = session.state.progress.steps("explore", question_id)
    seen = sightings(benchmark.environment(question), [step.action if step.parsed else None for step in steps])
    return Explored(question, seen.entities, seen.relations)
