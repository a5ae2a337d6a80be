"""A run's state, frozen at a marker, and the prompts that it gives for questions.

No model is called and nothing is recorded; questions come from the run's own folder.
"""

from collections.abc import Sequence
from functools import cached_property
from math import isfinite
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import msgspec

from mage_es.engine.agents.learner import course_of, plan_answers
from mage_es.engine.commands import Asked, PlanAnswers
from mage_es.engine.courses import Ask, begin
from mage_es.engine.rules.cascade import Cascade
from mage_es.engine.rules.choice import Choosing
from mage_es.engine.rules.floors import Floors
from mage_es.engine.rules.forms import form_of
from mage_es.engine.rules.ingredients import without
from mage_es.engine.rules.retrieval import Candidates
from mage_es.engine.rules.setting import Setting
from mage_es.engine.rules.task_types import Induced
from mage_es.engine.run.directory import Run
from mage_es.engine.run.inheriting import inheritance
from mage_es.engine.run.world import World, reopen_world, require_ontology, state_of
from mage_es.engine.seams.benchmark import Benchmark, Question
from mage_es.engine.seams.embedder import Embedder
from mage_es.engine.seams.environment import is_sequential
from mage_es.engine.seams.model import chat_of
from mage_es.engine.served.floors import floors_of, is_far, probes_of
from mage_es.engine.served.notes import DEFAULT_BOUNDS, CaseLayout, NoteBounds, in_order, kept_within, layout_of
from mage_es.engine.served.wording import readings
from mage_es.events.errors import UsageError, nearest
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import IterationClosed, MemoryQuarantined, MemoryReleased, Phase, QuestionPlanned
from mage_es.projections.fold import State

_FIRST = "What is first looked up is computed then."


class BundleMember(msgspec.Struct, frozen=True, kw_only=True):
    memory_id: str
    outcome: str
    similarity: float
    origin: str
    question: str


class BundleReport(msgspec.Struct, frozen=True, kw_only=True):
    """What a run gives for a question: the search arm with its propensity, the memories with their similarities
    (cosines, unless a learned metric ranks them), and the messages of the first call, as {"role": ..., "content": ...};
    there are none if the route begins without a call. `nearest` is the cosine of the nearest memory (-1 without
    memories) and `floor` the least that a memory must have, or the nearest where a metric ranks (0: anything). `reason`
    says why there are no memories; empty if there are some. `evidence` is what the anchors showed about what was
    learned, against the bare prompt."""

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
    nearest: float
    floor: float
    reason: str
    evidence: str


class TurnMemories(NamedTuple):
    """What is retrieved for a turn: the search arm with its probability, and the memories that it gives; how near the
    nearest memory is, and how near one must be. If even the nearest `is_far`, or the bare prompt did better on
    this type (`is_bare`), no arm is chosen."""

    task_type: str
    arm: str
    probability: float
    memories: tuple[str, ...]
    similarities: tuple[float, ...] = ()
    """The similarity of each memory, in order; 0 for a principle, which is not searched for."""
    nearest: float = 0.0
    floor: float = 0.0
    read_from: int = 0
    read_to: int = 0
    """The range of the text that was nearest to a memory, in characters; 0 and 0 if nothing was looked up."""
    is_bare: bool = False

    @property
    def is_far(self) -> bool:
        return is_far(self.nearest, self.floor)


class FrozenRun:
    """A run's world and its state at a marker, which no longer changes: any number of threads may ask it. What is
    computed on demand is computed by one thread or, with the same result, by several. A caller's own embedder must also
    be thread-safe."""

    def __init__(self, run: Run, marker: str, world: World, state: State, bounds: NoteBounds = DEFAULT_BOUNDS) -> None:
        """Raises `UsageError` if a bound names a task type that the run does not have."""
        self.run, self.marker, self.world, self.state, self.bounds = run, marker, world, state, bounds
        self._cascades = dict[str, Cascade]()
        for name in bounds.task_types:
            self.require_task_type(name)

    @cached_property
    def _serving(self) -> Setting:
        # A user who repeats a question should profit from its memory, which only measurements of learning hide.
        setting = self.world.setting
        form = self.bounds.layout or form_of(setting, self.state)
        config = msgspec.structs.replace(setting.config, revisit_self="include", form=form)
        return setting._replace(config=config, floors=self._floors)

    @cached_property
    def layout(self) -> CaseLayout:
        """How cases are put before a turn that begins a conversation."""
        return layout_of(self._serving, self.state)

    def layout_before(self, *, is_first: bool) -> CaseLayout:
        """Return how cases are put before a turn; `is_first` is whether it begins a conversation."""
        can_be = is_first or self.layout.form != "turns"
        return self.layout if can_be else self.layout._replace(form="sections")

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

    @cached_property
    def _floors(self) -> Floors:
        least = self.bounds.min_similarity
        if least != "auto":
            return Floors({}, least)
        probes = probes_of(self.state.memory, self.task_types)
        return floors_of(self.state.memory, probes, self.world.embedder.encode([probe.text for probe in probes]))

    def floor(self, task_type: str) -> float:
        """Return the least cosine of a memory of a case to a question; 0 means any."""
        return self._floors.of(task_type)

    def gets_notes(self, task_type: str) -> bool:
        return task_type in (self.bounds.task_types or (task_type,))

    def retrieved(
        self,
        text: str,
        task_type: str | None = None,
        *,
        layout: CaseLayout | None = None,
        draw: str = "",
        shared: tuple[int, int] = (0, 0),
        client: str = "",
    ) -> TurnMemories:
        """Return what this state has for a turn of a conversation, which may have been asked in learning too.

        It goes by the reading of the text that is nearest to a memory (served/wording.py); `shared` are the numbers of
        characters at its beginning and end that other turns of its client share. With a name to `draw` by, the arm is
        drawn as in learning; otherwise it is the one that has proved best. `client` is the key that asks.

        Raises `UsageError` for a task type that the run does not have.
        """
        spans = readings(text, *shared)
        questions = [_question(draw or "ask", text[first:last]) for first, last in spans]
        command = self._plan_command(questions, task_type, frozen=not draw, phase="serve")._replace(client=client)
        if not any(self.gets_notes(asked.task_type) for asked in command.asked):
            return TurnMemories(command.asked[0].task_type, "", 1.0, ())
        choosing = Choosing(self._serving, self.state, command, self._cascades)
        tried = list[tuple[float, TurnMemories, Asked, Candidates]]()
        for asked, span in zip(command.asked, spans, strict=True):
            if self.gets_notes(asked.task_type):
                candidates, floor = choosing.candidates(asked), self.floor(asked.task_type)
                found = TurnMemories(asked.task_type, "", 1.0, (), (), candidates.nearest(), floor, *span)
                tried.append((found.nearest - floor, found, asked, candidates))
        _, found, asked, candidates = max(tried, key=itemgetter(0))
        if found.is_far:
            return found
        if self.state.benefit.is_bare(asked.task_type):
            return found._replace(is_bare=True)
        choice, given = choosing.search(asked, self.state.graph.skill_for_task(asked.task_type), candidates)
        memories = dict.fromkeys(given.cascade.principles, float("inf"))
        shown = layout or self.layout
        memories.update(in_order(self.state, (*given.bundle.success, *given.bundle.failure), shown))
        kept = kept_within(self.state, memories, shown, self.bounds.max_tokens)
        near = tuple(memories[name] if isfinite(memories[name]) else 0.0 for name in kept)
        return found._replace(arm=choice.arm, probability=choice.probability, memories=kept, similarities=near)

    def warm(self) -> None:
        """Precompute everything that would make the first question of each task type wait."""
        self.retrieved(_FIRST)
        for name in sorted(self.task_types):
            command = self._plan_command([_question("ask", _FIRST)], name, frozen=True, phase="serve")
            choosing = Choosing(self._serving, self.state, command, self._cascades)
            choosing.search(command.asked[0], self.state.graph.skill_for_task(name))

    def bundle(self, question: str, task_type: str | None = None) -> BundleReport:
        """Return what this state gives for a question; by default its task type is predicted from its text.

        Raises `UsageError` for an empty question, and for a task type that the run does not have.
        """
        asked = question_of(question)
        command = self._plan_command([asked], task_type, frozen=True, phase="exam")
        # Its messages are for a model, also where an exam would recall the answer.
        config = msgspec.structs.replace(self.world.setting.config, recall=False)
        setting = self.world.setting._replace(config=config, floors=self._floors)
        planned, choosing = self._planned(command, setting)
        nearest, floor, reason = self._near(choosing.candidates(command.asked[0]).nearest(), planned)
        if is_far(nearest, floor) or not self.gets_notes(planned.task_type):
            planned = without(planned, {*planned.principles, *(hit.memory_id for hit in planned.memories)})
        first = begin(course_of(setting, self.state, planned, asked))
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
            messages=tuple(chat_of(first.request, joined=False)) if isinstance(first, Ask) else (),
            nearest=nearest,
            floor=floor,
            reason=reason,
            evidence=evidence_of(self.state, planned.task_type),
        )

    def _near(self, nearest: float, planned: QuestionPlanned) -> tuple[float, float, str]:
        """Return how near the nearest memory is, how near it must be, and why a plan has no memories."""
        floor = self.floor(planned.task_type)
        if not self.gets_notes(planned.task_type):
            return nearest, floor, f"Questions of the task type {planned.task_type} get none."
        if planned.is_bare:
            return nearest, floor, evidence_of(self.state, planned.task_type)
        return nearest, floor, too_far(nearest, floor) or ("" if planned.memories else _why_none(nearest, planned))

    def planned(self, asked: Question, task_type: str | None = None) -> QuestionPlanned:
        """Return the plan of a question on the frozen state."""
        return self._planned(self._plan_command([asked], task_type, frozen=True, phase="exam"), self.world.setting)[0]

    def planned_and_nearest(self, asked: Question) -> tuple[QuestionPlanned, float]:
        """Return the plan of a question, and the cosine of the nearest memory to its text, -1 if there is none."""
        command = self._plan_command([asked], None, frozen=True, phase="exam")
        planned, choosing = self._planned(command, self.world.setting)
        return planned, choosing.candidates(command.asked[0]).nearest()

    def _planned(self, command: PlanAnswers, setting: Setting) -> tuple[QuestionPlanned, Choosing]:
        choosing = Choosing(setting, self.state, command)
        planned = plan_answers(setting, self.state, command, choosing)[0].event
        assert isinstance(planned, QuestionPlanned)
        return planned, choosing

    def _plan_command(self, asked: Sequence[Question], named: str | None, *, frozen: bool, phase: Phase) -> PlanAnswers:
        texts = [each.question for each in asked]
        vectors = self.world.embedder.encode(texts)
        if named is None:
            types = self.world.typing.predict(texts, self._induced, ids=[each.id for each in asked], vectors=vectors)
        else:
            self.require_task_type(named)
            types = [named] * len(texts)
        known = self.world.asked(self.state, asked, types, ["ask"] * len(texts), vectors)
        return PlanAnswers(self.state.progress.closed, phase, known, frozen)

    def task_type_of(self, asked: Question, named: str | None = None) -> str:
        """Return the task type that was named, or else the one predicted from the text. Raises `UsageError` for an
        unknown one."""
        if named is None:
            vectors = self.world.embedder.encode([asked.question])
            return self.world.typing.predict([asked.question], self._induced, ids=[asked.id], vectors=vectors)[0]
        self.require_task_type(named)
        return named


def freeze(
    run: Run,
    at: str,
    *,
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
    embedder: Embedder | None = None,
    bounds: NoteBounds = DEFAULT_BOUNDS,
) -> FrozenRun:
    """Raises `UsageError` if the marker does not exist or is too early, or the questions are episodes."""
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
    return FrozenRun(run, at, world, state, bounds)


def in_use_now(run: Run, reader: LogReader, until: int) -> State:
    """Return the state after event `until`, without memories taken out of use since: these are no longer shown, and no
    longer teach what is near. Memories in quarantine at that event stay there, even if they were released since."""
    state = state_of(run, reader, until=until)
    decided = reader.of(MemoryQuarantined, MemoryReleased, since=until + 1)
    for event in {event.memory_id: event for event in decided}.values():
        if isinstance(event, MemoryQuarantined):
            state.apply(event)
    return state


def too_far(nearest: float, floor: float) -> str:
    """Return a sentence that says so if even the nearest memory is too far, else ""."""
    if not is_far(nearest, floor):
        return ""
    what = f"The nearest memory has the cosine {nearest:.3f}" if nearest > -1 else "There is no memory of its task type"
    return f"{what}; {floor:.3f} is needed. A lower min_similarity lets it in (0: all)."


UNTESTED = "Not tested against the bare prompt: no question was asked both ways. What was learned is served."


def evidence_of(state: State, task_type: str) -> str:
    """Return a sentence on what the pairs showed about what was learned for a task type, and so what is served."""
    record = state.benefit.record(task_type)
    if record is None:
        return UNTESTED
    asked = f"Questions of {task_type if record.task_type else 'all task types'}, asked both ways"
    shown = f"{record.learned} of {record.pairs} right with what was learned, {record.bare} with the bare prompt"
    what = "what was learned" if record.served == "learned" else "the bare prompt"
    return f"{asked}: {shown} ({record.won} won, {record.lost} lost), so {what} is served."


def _why_none(nearest: float, planned: QuestionPlanned) -> str:
    if nearest <= -1:
        return f"The run has no memory of the task type {planned.task_type}."
    return f"The search arm {planned.search_arm} found none."


def question_of(text: str) -> Question:
    """Return a user's question. Raises `UsageError` if it is empty or not text."""
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
    return tuple(member_of(state, hit.memory_id, hit.similarity) for hit in planned.memories)


def member_of(state: State, memory_id: str, similarity: float) -> BundleMember:
    row = state.memory.row(memory_id)
    return BundleMember(
        memory_id=row.memory_id,
        outcome=f"{row.outcome} ({row.kind})" if row.kind else row.outcome,
        similarity=similarity,
        origin=f"iter-{row.iteration}/{row.phase}, question {row.question_id}",
        question=row.question,
    )
