"""Where the run stands, and the work of the iteration that is not closed yet. It has no digest.

Rules
    - Whatever is recorded need not be done again: a question that is planned, a call that has its reply and an
      answer that is judged or given up are found here by key after a crash.
    - The purpose of a question tells its phase: fresh and revisited ones belong to EVALUATE, anchors to
      SNAPSHOT (also before iteration 0), the rest to the exam. EVALUATE's part stays until the iteration is
      closed, because UPDATE and EVOLVE read it.
    - Closing an iteration drops all of it: memory does not grow with the number of iterations.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple

import msgspec

from mage_es.events.vocabulary import (
    AnswerJudged,
    AnswerUnanswered,
    BatchSubmitted,
    BundleTrimmed,
    CallFailed,
    EpisodeClosed,
    EpisodeStepped,
    Event,
    IterationClosed,
    IterationPlanned,
    ModelCalled,
    Phase,
    PhaseCompleted,
    QuestionPlanned,
    RunFinished,
    SearchAnswered,
    Tier,
    ToolRan,
)
from mage_es.projections.protocol import Reads

NOTHING_CLOSED = -2
"""`closed` before the start (iteration -1) is closed."""

PHASE_OF_PURPOSE: dict[str, Phase] = {
    "fresh": "evaluate",
    "revisit": "evaluate",
    "anchor": "snapshot",
    "exam": "exam",
    "ask": "exam",
    "explore": "explore",
}
"""The phase in which a question of this purpose is asked."""


class CallKey(NamedTuple):
    """What makes a call the same call within an iteration."""

    tier: Tier
    purpose: str
    about: str
    attempt: int
    request_sha256: str


class Progress:
    """What is closed, and what is recorded of the open iteration, by phase and question id."""

    name: ClassVar[str] = "progress"
    reads: ClassVar[Reads] = {
        IterationPlanned: IterationPlanned.__struct_fields__,
        QuestionPlanned: QuestionPlanned.__struct_fields__,
        ModelCalled: ModelCalled.__struct_fields__,
        AnswerJudged: AnswerJudged.__struct_fields__,
        AnswerUnanswered: AnswerUnanswered.__struct_fields__,
        CallFailed: CallFailed.__struct_fields__,
        BundleTrimmed: BundleTrimmed.__struct_fields__,
        BatchSubmitted: BatchSubmitted.__struct_fields__,
        ToolRan: ToolRan.__struct_fields__,
        SearchAnswered: SearchAnswered.__struct_fields__,
        EpisodeStepped: EpisodeStepped.__struct_fields__,
        EpisodeClosed: EpisodeClosed.__struct_fields__,
        PhaseCompleted: ("iteration", "phase"),
        IterationClosed: ("iteration",),
        RunFinished: ("iterations",),
    }
    passing: ClassVar[frozenset[type[Event]]] = frozenset(
        {
            IterationPlanned,
            QuestionPlanned,
            ModelCalled,
            AnswerJudged,
            AnswerUnanswered,
            BundleTrimmed,
            CallFailed,
            BatchSubmitted,
            ToolRan,
            SearchAnswered,
            EpisodeStepped,
            EpisodeClosed,
            PhaseCompleted,
        }
    )
    order: ClassVar[Literal["global", "by_type"]] = "global"
    slot: ClassVar[Literal["mutable", "protected"]] = "protected"

    def __init__(self) -> None:
        self.closed: int = NOTHING_CLOSED
        self.finished: bool = False
        self._open()

    def _open(self) -> None:
        self.iteration_plan: IterationPlanned | None = None
        self._phases: list[tuple[int, Phase]] = []
        self._plans: dict[tuple[Phase, str], QuestionPlanned] = {}
        self._verdicts: dict[tuple[Phase, str], AnswerJudged] = {}
        self._unanswered: dict[tuple[Phase, str], AnswerUnanswered] = {}
        self._calls: dict[CallKey, ModelCalled] = {}
        self._failures: dict[tuple[Tier, str, str, int], list[CallFailed]] = {}
        self._batches: list[BatchSubmitted] = []
        self._batched: dict[tuple[CallKey, int], tuple[str, str]] = {}
        self._trimmings: dict[tuple[Phase, str], list[BundleTrimmed]] = {}
        self._replies: dict[tuple[Phase, str], ModelCalled] = {}
        self._tool_runs: dict[tuple[str, str, str, str], ToolRan] = {}
        self._searches: dict[tuple[str, str, int], SearchAnswered] = {}
        self._steps: dict[tuple[str, str], dict[int, EpisodeStepped]] = {}
        self._episodes: dict[tuple[str, str], EpisodeClosed] = {}

    def apply(self, event: Event) -> None:
        """Note the work, or close the iteration."""
        match event:
            case ModelCalled():
                self._note_call(event)
            case QuestionPlanned():
                self._plans[PHASE_OF_PURPOSE[event.purpose], event.question_id] = event
            case AnswerJudged():
                self._verdicts[PHASE_OF_PURPOSE[event.purpose], event.question_id] = event
            case PhaseCompleted():
                self._phases.append((event.iteration, event.phase))
            case IterationPlanned():
                self.iteration_plan = event
            case IterationClosed():
                self.closed = event.iteration
                self._open()
            case RunFinished():
                self.finished = True
            case _:
                self._note_particular(event)

    def _note_particular(self, event: Event) -> None:
        match event:
            case ToolRan():
                self._tool_runs[event.purpose, event.question_id, event.tool_id, event.arguments] = event
            case SearchAnswered():
                self._searches[event.purpose, event.question_id, event.place] = event
            case EpisodeStepped():
                self._steps.setdefault((event.purpose, event.episode_id), {})[event.step] = event
            case EpisodeClosed():
                self._episodes[event.purpose, event.episode_id] = event
            case CallFailed():
                self._failures.setdefault((event.tier, event.purpose, event.about, event.attempt), []).append(event)
            case BatchSubmitted():
                self._batches.append(event)
                for call in event.calls:
                    key = CallKey(event.tier, call.purpose, call.about, call.attempt, call.request_sha256)
                    self._batched.setdefault((key, call.tries), (event.batch_id, call.custom_id))
            case BundleTrimmed():
                self._trimmings.setdefault((PHASE_OF_PURPOSE[event.purpose], event.question_id), []).append(event)
            case AnswerUnanswered():
                self._unanswered[PHASE_OF_PURPOSE[event.purpose], event.question_id] = event
            case _:
                raise TypeError(f"the progress does not read {type(event).__name__}; it reads {list(self.reads)}")

    def is_completed(self, iteration: int, phase: Phase) -> bool:
        """Return whether a phase of an iteration is behind the run."""
        return iteration <= self.closed or (iteration, phase) in self._phases

    def plans(self, phase: Phase) -> list[QuestionPlanned]:
        """Return the questions planned in a phase of the open iteration, in question-id order."""
        return [self._plans[key] for key in sorted(self._plans) if key[0] == phase]

    def plan(self, phase: Phase, question_id: str) -> QuestionPlanned:
        """Return the plan of a question. Raises `KeyError`."""
        return self._plans[phase, question_id]

    def verdicts(self, phase: Phase) -> list[AnswerJudged]:
        """Return the verdicts of a phase of the open iteration, in question-id order."""
        return [self._verdicts[key] for key in sorted(self._verdicts) if key[0] == phase]

    def verdict(self, phase: Phase, question_id: str) -> AnswerJudged:
        """Return the verdict on a question. Raises `KeyError`."""
        return self._verdicts[phase, question_id]

    def is_judged(self, phase: Phase, question_id: str) -> bool:
        """Return whether a question of the open iteration has its verdict."""
        return (phase, question_id) in self._verdicts

    def is_settled(self, phase: Phase, question_id: str) -> bool:
        """Return whether a question of the open iteration has its verdict or will have none."""
        return (phase, question_id) in self._verdicts or (phase, question_id) in self._unanswered

    def unanswered(self, phase: Phase) -> list[AnswerUnanswered]:
        """Return the questions of a phase of the open iteration that stay without an answer, in question-id order."""
        return [self._unanswered[key] for key in sorted(self._unanswered) if key[0] == phase]

    def failures(self, tier: Tier, purpose: str, about: str, attempt: int) -> int:
        """Return how many attempts at a call of the open iteration failed."""
        return len(self._failures.get((tier, purpose, about, attempt), ()))

    @property
    def has_batches(self) -> bool:
        """Return whether calls of the open iteration were handed in as a batch."""
        return bool(self._batches)

    def batched(self, key: CallKey) -> tuple[str, str]:
        """Return (batch, custom id) under which a call of the open iteration waits for its reply, else ("", "").

        A call that failed after its batch was submitted does not wait any more: what the batch says of it is known.
        """
        tries = self.failures(key.tier, key.purpose, key.about, key.attempt)
        return self._batched.get((key, tries), ("", ""))

    def reply(self, phase: Phase, question_id: str) -> ModelCalled:
        """Return the execution model's reply to a question, of several the last attempt. Raises `KeyError`."""
        return self._replies[phase, question_id]

    def is_replied(self, phase: Phase, about: str) -> bool:
        """Return whether the execution model replied to a call about this in the open iteration."""
        return (phase, about) in self._replies

    def call(self, key: CallKey) -> ModelCalled | None:
        """Return the recorded reply to exactly this call, if there is one; it must not be made again."""
        return self._calls.get(key)

    def trimmings(self, phase: Phase, question_id: str) -> list[BundleTrimmed]:
        """Return what was left out of the prompts for a question of the open iteration, in order."""
        return self._trimmings.get((phase, question_id), [])

    def tool_run(self, purpose: str, question_id: str, tool_id: str, arguments: str) -> ToolRan | None:
        """Return what exactly this run of a tool gave, if it is recorded."""
        return self._tool_runs.get((purpose, question_id, tool_id, arguments))

    def search(self, purpose: str, question_id: str, place: int) -> SearchAnswered | None:
        """Return what a question's search at this place found, if it is recorded."""
        return self._searches.get((purpose, question_id, place))

    def steps(self, purpose: str, episode_id: str) -> list[EpisodeStepped]:
        """Return the recorded steps of an episode of the open iteration, in order."""
        steps = self._steps.get((purpose, episode_id), {})
        return [steps[step] for step in sorted(steps)]

    def step(self, purpose: str, episode_id: str, step: int) -> EpisodeStepped | None:
        """Return one recorded step of an episode of the open iteration, None if it is not recorded."""
        return self._steps.get((purpose, episode_id), {}).get(step)

    def episode(self, purpose: str, episode_id: str) -> EpisodeClosed | None:
        """Return the end of an episode of the open iteration, None while it goes on or never began."""
        return self._episodes.get((purpose, episode_id))

    def digest(self) -> str:
        """Return "": half-done work is not part of the state that a run is compared by."""
        return ""

    def dump(self) -> Any:
        """Return what is closed, and the open work as the events that made it."""
        plan = [self.iteration_plan] if self.iteration_plan else []
        steps = (step for episode in self._steps.values() for step in episode.values())
        particular = [*self._tool_runs.values(), *self._searches.values(), *steps, *self._episodes.values()]
        particular += self._batches
        failed = [*self._unanswered.values(), *(event for events in self._failures.values() for event in events)]
        trimmed = [event for events in self._trimmings.values() for event in events]
        work = [
            *plan,
            *self._plans.values(),
            *self._calls.values(),
            *self._verdicts.values(),
            *particular,
            *failed,
            *trimmed,
        ]
        return [self.closed, self.finished, self._phases, work]

    def load(self, dumped: Any) -> None:
        """Take over what `dump` returned."""
        self.closed, self.finished, phases, work = dumped
        self._open()
        for event in msgspec.convert(work, list[_Work]):
            self.apply(event)
        self._phases = [(iteration, phase) for iteration, phase in phases]

    def _note_call(self, call: ModelCalled) -> None:
        key = CallKey(call.tier, call.purpose, call.about, call.attempt, call.request_sha256)
        self._calls.setdefault(key, call)
        phase = PHASE_OF_PURPOSE.get(call.purpose)
        if call.tier != "execution" or phase is None:
            return
        last = self._replies.get((phase, call.about), call)
        if (call.attempt, call.request_sha256) >= (last.attempt, last.request_sha256):
            self._replies[phase, call.about] = call


_Work = (
    IterationPlanned
    | QuestionPlanned
    | ModelCalled
    | AnswerJudged
    | AnswerUnanswered
    | BundleTrimmed
    | CallFailed
    | BatchSubmitted
    | ToolRan
    | SearchAnswered
    | EpisodeStepped
    | EpisodeClosed
)
