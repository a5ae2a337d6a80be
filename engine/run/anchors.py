"""Which anchors an iteration measured, and which only keep an older verdict.

Rules
    - An anchor that was asked was measured. So was an anchor whose prompt is the same as when it was last asked,
      because the same request has the same answer (agents/learner.py): it is not even planned, and its verdict is
      carried over.
    - An anchor that was planned, but whose verdict was then carried over, was not measured: the guard had seen enough
      of the others (rules/snapshot.py). It keeps its old verdict for the guard only. That verdict says nothing about
      the present state, so no result of an iteration counts it.
"""

from collections.abc import Mapping

from mage_es.events.log import LogReader
from mage_es.events.segments import Reads
from mage_es.events.vocabulary import AnswerCarried, GuardDecided, PhaseCompleted, QuestionPlanned
from mage_es.projections.fold import State
from mage_es.projections.scores import Score

Unmeasured = Mapping[int, Mapping[str, bool]]
"""For each iteration, the anchors that it did not measure, with the older verdicts that they keep."""

_PLANNED: Reads = {QuestionPlanned: ("question_id", "purpose")}


def unmeasured(reader: LogReader, *, until: int | None = None) -> Unmeasured:
    """Return the anchors that were not measured, up to event `until`. Raises `LogDamaged`."""
    found: dict[int, dict[str, bool]] = {}
    if next(reader.numbered(AnswerCarried, until=until), None) is None:
        return found  # at no cost, however long the log is
    carried, since = dict[str, bool](), 0
    for seq, event in reader.numbered(AnswerCarried, GuardDecided, PhaseCompleted, until=until):
        match event:
            case AnswerCarried():
                carried[event.question_id] = event.correct
            case GuardDecided():
                # Plans are most of a log, so only those between the phase before and the verdict are read.
                planned = _planned(reader, since, seq) if carried else set()
                if older := {name: right for name, right in carried.items() if name in planned}:
                    found[event.iteration] = older
                carried.clear()
            case PhaseCompleted():
                since = seq
    return found


def _planned(reader: LogReader, since: int, until: int) -> set[str]:
    events = (event for _, event in reader.events(_PLANNED, since=since + 1, until=until))
    return {event.question_id for event in events if isinstance(event, QuestionPlanned) and event.purpose == "anchor"}


def measured(state: State, older: Unmeasured, iteration: int) -> Mapping[str, bool]:
    """Return which anchors an iteration measured, and whether they were right."""
    kept = older.get(iteration, {})
    return {name: right for name, right in state.scores.anchor_answers(iteration).items() if name not in kept}


def score(state: State, older: Unmeasured, iteration: int) -> Score:
    """Return how many of the anchors that an iteration measured were right; an unanswered one is wrong."""
    kept, found = older.get(iteration, {}), state.scores.score("anchor", iteration)
    return Score(found.correct - sum(kept.values()), state.scores.asked("anchor", iteration) - len(kept))
