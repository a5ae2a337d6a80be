"""How far the run has got, and the work of the iteration that is not closed yet. It has no digest.

Rules
    - Recorded work is not done again: after a crash, a planned question, a call with its reply, and an answer with its
      verdict (or with its failure) are looked up here by key.
    - The purpose of a question tells its phase. Fresh and revisited questions belong to EVALUATE, anchors to SNAPSHOT
      (also before iteration 0), questions asked without what was learned to the opening of an iteration, and questions
      that try another form of prompt to a separate phase; the rest belong to the exam. The part of EVALUATE is kept
      until the iteration is closed, because UPDATE and EVOLVE read it.
    - Trials are kept by iteration as well: a method that searches asks the same question again and again, and each
      outcome is kept.
    - Closing an iteration drops all of this: memory does not grow with the number of iterations.
"""

from typing import Any, ClassVar, NamedTuple, get_args

import msgspec

from mage_es.events import vocabulary as v
from mage_es.events.segments import Reads
from mage_es.projections.protocol import Order, unread

NOTHING_CLOSED = -2  # the value of `closed` until the start, iteration -1, is closed

PHASE_OF_PURPOSE: dict[str, v.Phase] = {
    "fresh": "evaluate",
    "revisit": "evaluate",
    "anchor": "snapshot",
    "bare": "open",
    "again": "open",
    "trial": "evaluate",
    "form": "form",
    "exam": "exam",
    "ask": "exam",
    "explore": "explore",
}


_Asking = tuple[v.Phase, str, int]
"""Identifies one asking of a question: the phase, its id (or what a call is about), and the round of a trial, else
0."""


class CallKey(NamedTuple):
    """Identifies a call within an iteration."""

    tier: v.Tier
    purpose: str
    about: str
    attempt: int
    request_sha256: str


# A dump holds these events as they are, and a fold of closed iterations reads none of them.
_Work = (
    v.BaselineStarted
    | v.IterationPlanned
    | v.QuestionPlanned
    | v.ModelCalled
    | v.AnswerJudged
    | v.AnswerUnanswered
    | v.AnswerUndecided
    | v.BundleTrimmed
    | v.CallFailed
    | v.BatchSubmitted
    | v.ToolRan
    | v.SearchAnswered
    | v.EpisodeStepped
    | v.EpisodeClosed
)


class Progress:
    name: ClassVar[str] = "progress"
    reads: ClassVar[Reads] = {
        **{event_type: event_type.__struct_fields__ for event_type in get_args(_Work)},
        v.PhaseCompleted: ("iteration", "phase"),
        v.IterationClosed: ("iteration",),
        v.RunFinished: ("iterations",),
    }
    # All of `reads` but the last two, which close an iteration and so say what is completely finished.
    passing: ClassVar[frozenset[type[v.Event]]] = frozenset((*get_args(_Work), v.PhaseCompleted))
    order: ClassVar[Order] = "global"

    def __init__(self) -> None:
        self.closed: int = NOTHING_CLOSED
        self.finished: bool = False
        self._open()

    def _open(self) -> None:
        # Keyed by what makes the work the same work, because that is how a resumed run asks for it. Events are kept
        # whole: a course that catches up is sent the recorded fact itself.
        self.baseline: v.BaselineStarted | None = None
        self.iteration_plan: v.IterationPlanned | None = None
        self._phases: list[tuple[int, v.Phase]] = []
        self._plans: dict[_Asking, v.QuestionPlanned] = {}
        self._verdicts: dict[_Asking, v.AnswerJudged] = {}
        self._unanswered: dict[_Asking, v.AnswerUnanswered] = {}
        self._undecided: dict[_Asking, v.AnswerUndecided] = {}
        self._calls: dict[CallKey, v.ModelCalled] = {}
        self._calls_at: dict[tuple[int, v.Tier, str, str, int], v.ModelCalled] = {}
        self._failures: dict[tuple[v.Tier, str, str, int], list[v.CallFailed]] = {}
        self._batches: list[v.BatchSubmitted] = []
        self._batched: dict[tuple[CallKey, int], tuple[str, str]] = {}
        self._trimmings: dict[_Asking, list[v.BundleTrimmed]] = {}
        self._replies: dict[_Asking, v.ModelCalled] = {}
        self._tool_runs: dict[tuple[str, str, str, str], v.ToolRan] = {}
        self._searches: dict[tuple[str, str, int], v.SearchAnswered] = {}
        self._steps: dict[tuple[str, str], dict[int, v.EpisodeStepped]] = {}
        self._episodes: dict[tuple[str, str], v.EpisodeClosed] = {}

    def apply(self, event: v.Event) -> None:
        match event:
            case v.ModelCalled():
                self._note_call(event)
            case v.QuestionPlanned():
                self._plans[_asking(event, event.question_id)] = event
            case v.AnswerJudged():
                self._verdicts[_asking(event, event.question_id)] = event
            case v.PhaseCompleted():
                self._phases.append((event.iteration, event.phase))
            case v.IterationPlanned():
                self.iteration_plan = event
            case v.BaselineStarted():
                self.baseline = event
            case v.IterationClosed():
                # The learning of the iteration is in other projections by now, so its work can go.
                self.closed = event.iteration
                self._open()
            case v.RunFinished():
                self.finished = True
            case _:
                self._note_particular(event)

    def _note_particular(self, event: v.Event) -> None:
        match event:
            case v.ToolRan():
                self._tool_runs[event.purpose, event.question_id, event.tool_id, event.arguments] = event
            case v.SearchAnswered():
                self._searches[event.purpose, event.question_id, event.place] = event
            case v.EpisodeStepped():
                self._steps.setdefault((event.purpose, event.episode_id), {})[event.step] = event
            case v.EpisodeClosed():
                self._episodes[event.purpose, event.episode_id] = event
            case v.CallFailed():
                self._failures.setdefault((event.tier, event.purpose, event.about, event.attempt), []).append(event)
            case v.BatchSubmitted():
                self._batches.append(event)
                # Keyed by the attempts so far, since a call that failed in this batch may go into a later one under the
                # same key.
                for call in event.calls:
                    key = CallKey(event.tier, call.purpose, call.about, call.attempt, call.request_sha256)
                    self._batched.setdefault((key, call.tries), (event.batch_id, call.custom_id))
            case v.BundleTrimmed():
                self._trimmings.setdefault(_asking(event, event.question_id), []).append(event)
            case v.AnswerUnanswered():
                self._unanswered[_asking(event, event.question_id)] = event
            case v.AnswerUndecided():
                self._undecided[_asking(event, event.question_id)] = event
            case _:
                raise unread(self, event)

    def is_completed(self, iteration: int, phase: v.Phase) -> bool:
        # Marks of closed iterations are dropped with the rest of their work; `closed` covers them.
        return iteration <= self.closed or (iteration, phase) in self._phases

    def plans(self, phase: v.Phase) -> list[v.QuestionPlanned]:
        return [self._plans[key] for key in sorted(self._plans) if key[0] == phase]

    def is_planned(self, phase: v.Phase, question_id: str, trial: int = 0) -> bool:
        return (phase, question_id, trial) in self._plans

    def plan(self, phase: v.Phase, question_id: str) -> v.QuestionPlanned:
        return self._plans[phase, question_id, 0]

    def verdicts(self, phase: v.Phase) -> list[v.AnswerJudged]:
        return [self._verdicts[key] for key in sorted(self._verdicts) if key[0] == phase]

    def verdict(self, phase: v.Phase, question_id: str, trial: int = 0) -> v.AnswerJudged:
        return self._verdicts[phase, question_id, trial]

    def is_judged(self, phase: v.Phase, question_id: str, trial: int = 0) -> bool:
        return (phase, question_id, trial) in self._verdicts

    def is_settled(self, phase: v.Phase, question_id: str, trial: int = 0) -> bool:
        asking = (phase, question_id, trial)
        return any(asking in each for each in (self._verdicts, self._unanswered, self._undecided))

    def unanswered(self, phase: v.Phase) -> list[v.AnswerUnanswered]:
        return [self._unanswered[key] for key in sorted(self._unanswered) if key[0] == phase]

    def undecided(self, phase: v.Phase) -> list[v.AnswerUndecided]:
        return [self._undecided[key] for key in sorted(self._undecided) if key[0] == phase]

    def failures(self, tier: v.Tier, purpose: str, about: str, attempt: int) -> int:
        return len(self._failures.get((tier, purpose, about, attempt), ()))

    @property
    def has_batches(self) -> bool:
        return bool(self._batches)

    def batched(self, key: CallKey) -> tuple[str, str]:
        """Return (batch, custom id) under which a call of the open iteration waits for its reply, else ("", "").

        A call that failed after its batch was submitted no longer waits: the batch's outcome for it is known.
        """
        # Without the number of attempts, a call that failed in its batch would wait for that same batch for ever.
        tries = self.failures(key.tier, key.purpose, key.about, key.attempt)
        return self._batched.get((key, tries), ("", ""))

    def reply(self, phase: v.Phase, question_id: str, trial: int = 0) -> v.ModelCalled:
        """Return the execution model's reply to a question, the last attempt if there are several. Raises
        `KeyError`."""
        return self._replies[phase, question_id, trial]

    def is_replied(self, phase: v.Phase, about: str, trial: int = 0) -> bool:
        return (phase, about, trial) in self._replies

    def call(self, key: CallKey) -> v.ModelCalled | None:
        return self._calls.get(key)

    def call_at(self, iteration: int, key: CallKey) -> v.ModelCalled | None:
        """Return the call with a key or, for execution and guidance, one that differs only in its request hash, because
        another version of this program worded it."""
        # A judge may be asked about two answers to a question, in two phases of an iteration.
        other = self._calls_at.get((iteration, *key[:-1])) if key.tier != "judge" else None
        return self._calls.get(key) or other

    def guidance(self) -> list[v.ModelCalled]:
        """Return the replies of the guidance tier in the open iteration."""
        return [call for key, call in self._calls.items() if key.tier == "guidance"]

    def lost(self, key: CallKey) -> v.CallFailed | None:
        """Return the failure that permanently ended a call, or None."""
        failures = self._failures.get((key.tier, key.purpose, key.about, key.attempt), [])
        return next((each for each in failures if each.final and each.request_sha256 == key.request_sha256), None)

    def trimmings(self, phase: v.Phase, question_id: str, trial: int = 0) -> list[v.BundleTrimmed]:
        return self._trimmings.get((phase, question_id, trial), [])

    def tool_run(self, purpose: str, question_id: str, tool_id: str, arguments: str) -> v.ToolRan | None:
        return self._tool_runs.get((purpose, question_id, tool_id, arguments))

    def tool_runs(self, purpose: str, question_id: str) -> list[v.ToolRan]:
        return [self._tool_runs[key] for key in sorted(self._tool_runs) if key[:2] == (purpose, question_id)]

    def search(self, purpose: str, question_id: str, place: int) -> v.SearchAnswered | None:
        return self._searches.get((purpose, question_id, place))

    def steps(self, purpose: str, episode_id: str) -> list[v.EpisodeStepped]:
        # By number: a fold by type, or a batch of a group commit, may bring them in another order.
        steps = self._steps.get((purpose, episode_id), {})
        return [steps[step] for step in sorted(steps)]

    def step(self, purpose: str, episode_id: str, step: int) -> v.EpisodeStepped | None:
        return self._steps.get((purpose, episode_id), {}).get(step)

    def episode(self, purpose: str, episode_id: str) -> v.EpisodeClosed | None:
        return self._episodes.get((purpose, episode_id))

    def digest(self) -> str:
        """Return "": half-done work is not part of the state that a run is compared by."""
        return ""

    def dump(self) -> Any:
        # As events, so that `load` just repeats `apply` and there is one way to build the indexes.
        plan = [event for event in (self.baseline, self.iteration_plan) if event]
        steps = (step for episode in self._steps.values() for step in episode.values())
        particular = [*self._tool_runs.values(), *self._searches.values(), *steps, *self._episodes.values()]
        particular += self._batches
        open_ = [*self._unanswered.values(), *self._undecided.values()]
        failed = [*open_, *(event for events in self._failures.values() for event in events)]
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
        self.closed, self.finished, phases, work = dumped
        self._open()
        for event in msgspec.convert(work, list[_Work]):
            self.apply(event)
        # Marks have no event in the dump; msgpack returns them as a list of lists.
        self._phases = [(iteration, phase) for iteration, phase in phases]

    def _note_call(self, call: v.ModelCalled) -> None:
        key = CallKey(call.tier, call.purpose, call.about, call.attempt, call.request_sha256)
        # The first reply wins, as it does in a live run, which never makes a recorded call again.
        self._calls.setdefault(key, call)
        self._calls_at.setdefault((call.iteration, *key[:-1]), call)
        if call.tier != "execution" or call.purpose not in PHASE_OF_PURPOSE:
            return
        # The last attempt is the highest, not the latest to arrive: a fold may meet calls in any order.
        asking = _asking(call, call.about)
        last = self._replies.get(asking, call)
        if (call.attempt, call.request_sha256) >= (last.attempt, last.request_sha256):
            self._replies[asking] = call


def trial_of(event: v.AboutAsking | v.ModelCalled) -> int:
    """Return the round of a trial, or 0."""
    return event.iteration if event.purpose == "trial" else 0


def _asking(event: v.AboutAsking | v.ModelCalled, about: str) -> _Asking:
    return PHASE_OF_PURPOSE[event.purpose], about, trial_of(event)
