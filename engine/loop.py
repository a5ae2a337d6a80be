"""The evolution loop, one iteration after another (Algorithm 1).

Rules
    - Every phase can be entered again after a crash: what it recorded is not done twice, and a phase that is
      marked complete is passed over.
    - A phase that calls no model is one atomic commit.
"""

from __future__ import annotations

from collections.abc import Sequence

from mage_es.engine.agents.briefs import AuthoredFailure, FailureReply, OntologyReply, PrinciplesReply
from mage_es.engine.agents.skill_discovery import failure_brief, ontology_brief, principles_brief, targets
from mage_es.engine.commands import (
    Authored,
    CloseIteration,
    CompletePhase,
    Evolve,
    FinishRun,
    InduceOntology,
    LearnFromAnswers,
    OpenRun,
    PlanIteration,
    TakeSnapshot,
)
from mage_es.engine.disk import require_free_space
from mage_es.engine.guiding import Errand
from mage_es.engine.rules.authoring import sources_of
from mage_es.engine.rules.curriculum import Candidate
from mage_es.engine.rules.rotation import EXTRACT_PRINCIPLES, action_of
from mage_es.engine.session import Session
from mage_es.events.vocabulary import Purpose
from mage_es.projections.snapshots import write_snapshot

START = -1
"""The iteration number of what comes before iteration 0."""


async def run_iterations(session: Session) -> None:
    """Open the run if need be, then iterate to the end of the configuration. Raises `Interrupted` on a stop."""
    await open_run(session)
    for k in range(max(0, session.state.progress.closed + 1), session.world.setting.config.iterations):
        require_free_space(session.run.path)
        await iterate(session, k)
    if not session.state.progress.finished:
        session.do(FinishRun())
    keep(session)


async def iterate(session: Session, k: int) -> None:
    """Algorithm 1, one iteration. EXPLORE has nothing to do in benchmarks of questions."""
    plan(session, k)
    await evaluate(session, k)
    update(session, k)
    await evolve(session, k)
    await snapshot(session, k)


async def open_run(session: Session) -> None:
    """Commit to configuration and splits, induce the ontology, answer the anchors once."""
    if session.state.seq == 0:
        session.do(OpenRun(session.world.started(session.run.id), session.world.splits.events))
    if not session.state.progress.is_completed(START, "open"):
        evolution = [session.world.questions[name] for name in session.world.setting.evolution]
        typed = list(zip(evolution, session.world.typing.types_of(evolution), strict=True))
        brief = ontology_brief(session.world.benchmark.name, typed)
        errand = Errand(START, "open", "SkillDiscovery", "ontology_v1", "run", brief)
        reply, _ = await session.guide(errand, OntologyReply)
        session.do(InduceOntology(session.world.setting.task_types, reply))
    if session.state.progress.closed < START:
        await snapshot(session, START)


def plan(session: Session, k: int) -> None:
    """PLAN: the learnable frontier, fresh questions and revisits."""
    if not session.state.progress.is_completed(k, "plan"):
        session.do(PlanIteration(k))


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
    asked = [verdict.question_id for verdict in session.state.progress.verdicts("evaluate")]
    questions = {name: session.world.questions[name] for name in asked}
    vectors = session.world.embed([question.question for question in questions.values()])
    session.do(LearnFromAnswers(k, questions, dict(zip(questions, vectors, strict=True))))
    session.note(k, "update", 1, 1)


async def evolve(session: Session, k: int) -> None:
    """EVOLVE: for each target failure memories, and the action whose turn it is."""
    if session.state.progress.is_completed(k, "evolve"):
        return
    chosen = targets(session.world.setting, session.state, k)
    authored = []
    for number, target in enumerate(chosen):
        session.note(k, "evolve", number, len(chosen), target.task_type)
        authored.append(await _author(session, k, target))
    texts = sorted({text for item in authored for text in sources_of(item, session.world.questions)})
    vectors = dict(zip(texts, session.world.embed(texts), strict=True))
    session.do(Evolve(k, action_of(k), authored, session.world.questions, vectors))
    session.note(k, "evolve", len(chosen), len(chosen))


async def snapshot(session: Session, k: int) -> None:
    """SNAPSHOT: anchors on the new state, the guard's verdict, then digests; a rollback is one more event."""
    if not session.state.progress.is_completed(k, "snapshot"):
        anchors: dict[str, Purpose] = dict.fromkeys(session.world.setting.anchors, "anchor")
        await session.ask(k, "snapshot", anchors, frozen=True)
        session.do(TakeSnapshot(k))
    session.do(CloseIteration(k, session.state.digests()))
    keep(session)


def keep(session: Session) -> None:
    """Bring what can be rebuilt at any time up to date: the LanceDB tables and the cached fold."""
    session.tables.write(session.state.memory)
    write_snapshot(session.run.snapshots_path, session.state, chain=session.log.head.chain)


async def _author(session: Session, k: int, target: Candidate) -> Authored:
    setting, state, questions = session.world.setting, session.state, session.world.questions
    failures: Sequence[AuthoredFailure] | None = ()
    principles: Sequence[str] | None = ()
    call = ""
    brief = failure_brief(setting, state, k, target, questions) if setting.config.failure_memories else None
    if brief:
        errand = Errand(k, "evolve", "SkillDiscovery", "failure_memories_v1", target.task_type, brief)
        reply, _ = await session.guide(errand, FailureReply)
        failures = reply.memories if reply else None
    is_turn = action_of(k) == EXTRACT_PRINCIPLES and setting.config.principles
    wanted = principles_brief(state, target, questions) if is_turn else None
    if wanted:
        errand = Errand(k, "evolve", "SkillDiscovery", "principles_v1", target.task_type, wanted)
        written, call = await session.guide(errand, PrinciplesReply)
        principles = written.principles if written else None
    return Authored(target, failures, principles, call)
