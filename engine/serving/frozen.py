"""A run's state at a marker, frozen, and what it puts before a question.

No model is called and nothing is recorded; questions come from the run's own folder.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import msgspec

from mage_es.engine.agents.learner import course_of, plan_answers
from mage_es.engine.commands import PlanAnswers
from mage_es.engine.courses import Ask, begin
from mage_es.engine.rules.choice import Choosing
from mage_es.engine.rules.setting import Setting
from mage_es.engine.rules.task_types import Induced
from mage_es.engine.run.directory import Run
from mage_es.engine.run.inheriting import inheritance
from mage_es.engine.run.world import World, reopen_world, require_ontology, state_of
from mage_es.engine.seams.benchmark import Benchmark, Question
from mage_es.engine.seams.embedder import Embedder, Vectors
from mage_es.engine.seams.environment import is_sequential
from mage_es.events.errors import UsageError, nearest
from mage_es.events.log import LogReader
from mage_es.events.log.markers import Marker
from mage_es.events.vocabulary import IterationClosed, Phase, QuestionPlanned
from mage_es.projections.fold import State

_KEPT = 4
"""Closed iterations of a served run whose states are kept."""


class BundleMember(msgspec.Struct, frozen=True, kw_only=True):
    memory_id: str
    outcome: str
    similarity: float
    origin: str
    question: str


class BundleReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a run puts before a question: the search arm with its propensity, the memories with their cosines, and the
    messages of the first call, as {"role": ..., "content": ...}; none where the route begins without a call.
    """

    run_id: str
    marker: str
    task_type: str
    skill: str
    arm: str
    propensity: float
    route: str
    route_propensity: float
    memories: tuple[BundleMember, ...]
    messages: tuple[dict[str, str], ...]


class Recalled(NamedTuple):
    """What is remembered for a turn: the search arm with its probability, and the memories that it gives."""

    task_type: str
    arm: str
    probability: float
    memories: tuple[str, ...]


class FrozenRun:
    """A run's world and its state at a marker, which nothing changes any more: any number of threads may ask it.

    What is computed when it is first needed is computed by one thread or, to the same end, by several. An embedder of
    the caller's own must bear several threads, too.
    """

    def __init__(self, run: Run, marker: str, world: World, state: State) -> None:
        self.run, self.marker, self.world, self.state = run, marker, world, state

    @cached_property
    def _serving(self) -> Setting:
        # A user who asks what was asked before is to be helped by it: only what measures learning hides that.
        config = msgspec.structs.replace(self.world.setting.config, revisit_self="include")
        return self.world.setting._replace(config=config)

    @cached_property
    def _induced(self) -> Induced:
        return self.state.graph.induced_types()

    @cached_property
    def task_types(self) -> frozenset[str]:
        return frozenset((*self.world.setting.task_types, *self._induced))

    def require_task_type(self, name: str) -> None:
        """Raise `UsageError` for a task type that the run does not have."""
        if name not in self.task_types:
            raise UsageError(f"{self.run.id} has no task type {name!r}.{nearest(name, sorted(self.task_types))}")

    def recalled(self, text: str, task_type: str | None = None, *, draw: str = "") -> Recalled:
        """Return what this state has for a turn of a conversation, which may have been asked in learning, too.

        With a name to `draw` by, the arm is drawn as in learning, and else the one that proved best.

        Raises `UsageError` for a task type that the run does not have.
        """
        asked = self._asked(_question(draw or "ask", text), task_type, frozen=not draw, phase="serve")
        skill = self.state.graph.skill_for_task(asked.asked[0].task_type)
        choice, given = Choosing(self._serving, self.state, asked).search(asked.asked[0], skill)
        hits = (*given.bundle.success, *given.bundle.failure)
        memories = (*given.cascade.principles, *(hit.memory_id for hit in hits))
        return Recalled(asked.asked[0].task_type, choice.arm, choice.probability, memories)

    def bundle(self, question: str, task_type: str | None = None) -> BundleReport:
        """Return what this state puts before a question; its task type is told from its text where none is given.

        Raises `UsageError` for an empty question, and for a task type that the run does not have.
        """
        asked = question_of(question)
        planned = self.planned(asked, task_type)
        first = begin(course_of(self.world.setting, self.state, planned, asked))
        said = {"system": first.request.system, "user": first.request.prompt} if isinstance(first, Ask) else {}
        return BundleReport(
            run_id=self.run.id,
            marker=self.marker,
            task_type=planned.task_type,
            skill=planned.skill,
            arm=planned.search_arm,
            propensity=planned.search_probability,
            route=planned.routing_arm,
            route_propensity=planned.routing_probability,
            memories=bundle_of(self.state, planned),
            messages=tuple({"role": role, "content": text} for role, text in said.items() if text),
        )

    def planned(self, asked: Question, task_type: str | None = None) -> QuestionPlanned:
        """Return the plan of a question on the frozen state."""
        command = self._asked(asked, task_type, frozen=True, phase="exam")
        planned = plan_answers(self.world.setting, self.state, command)[0].event
        assert isinstance(planned, QuestionPlanned)
        return planned

    def _asked(self, asked: Question, task_type: str | None, *, frozen: bool, phase: Phase) -> PlanAnswers:
        vectors = self.world.embedder.encode([asked.question])
        known = self.world.asked(self.state, [asked], [self.task_type_of(asked, task_type, vectors)], ["ask"], vectors)
        return PlanAnswers(self.state.progress.closed, phase, known, frozen, donors={})

    def task_type_of(self, asked: Question, named: str | None = None, vectors: Vectors | None = None) -> str:
        """Return the task type that was named, else the one that the text tells. Raises `UsageError` for another."""
        if named is None:
            return self.world.typing.predict([asked.question], self._induced, ids=[asked.id], vectors=vectors)[0]
        self.require_task_type(named)
        return named


class FrozenRuns:
    """What the closed iterations of a served run left, for any number of threads.

    The newest few are kept; who needs an older one waits until it is folded from the log again.
    """

    def __init__(self, run: Run, world: World) -> None:
        self._run, self._world = run, world
        self._folding, self._kept = Lock(), dict[int, FrozenRun]()

    def at(self, iteration: int) -> FrozenRun:
        if found := self._kept.get(iteration):
            return found
        with self._folding:
            if iteration not in self._kept:
                name, reader = str(Marker("iteration", iteration)), LogReader(self._run.log_path)
                state = state_of(self._run, reader, until=reader.resolve(name))
                newest = dict(sorted(self._kept.items())[1 - _KEPT :])
                self._kept = {**newest, iteration: FrozenRun(self._run, name, self._world, state)}
            return self._kept[iteration]


def freeze(
    run: Run,
    at: str,
    *,
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
    embedder: Embedder | None = None,
) -> FrozenRun:
    """Raises `UsageError` where the marker does not exist or is too early, or the questions are episodes."""
    reader = LogReader(run.log_path)
    seq = reader.resolve(at)
    world = reopen_world(reader, data_dir=data_dir, benchmark=benchmark, embedder=embedder, frozen=True)
    state = state_of(run, reader, until=seq)
    begun, under_way = inheritance(reader), state.progress.closed + 1
    if begun and begun.is_served and state.progress.is_completed(under_way, "update"):
        # What is being published has not been judged yet.
        state = state_of(run, reader, until=reader.last(IterationClosed, until=seq))
    require_ontology(state, at)
    if is_sequential(world.benchmark):
        raise UsageError(
            f"The tasks of {world.benchmark.name} are episodes, played in its environment: there is nothing to ask. "
            "Run an exam with `mage-es exam`, or look at an episode with `mage-es show`."
        )
    return FrozenRun(run, at, world, state)


def question_of(text: str) -> Question:
    """Return a user's question. Raises `UsageError` for one that is empty or no text."""
    if not isinstance(text, str):
        raise UsageError(f"question is {text!r:.80}, of the type {type(text).__name__}: give str.")
    if not text.strip():
        raise UsageError("The question is empty: pass it as the last argument, or on standard input.")
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise UsageError("The question is not valid UTF-8 text. Encode it as UTF-8.")
    return _question("ask", text.strip())


def _question(name: str, text: str) -> Question:
    return Question(id=name, benchmark="", split="test", task_type="", question=text, gold="")


def bundle_of(state: State, planned: QuestionPlanned) -> tuple[BundleMember, ...]:
    members = []
    for hit in planned.memories:
        row = state.memory.row(hit.memory_id)
        kind = f"{row.outcome} ({row.kind})" if row.kind else row.outcome
        members.append(
            BundleMember(
                memory_id=row.memory_id,
                outcome=kind,
                similarity=hit.similarity,
                origin=f"iter-{row.iteration}/{row.phase}, question {row.question_id}",
                question=row.question,
            )
        )
    return tuple(members)
