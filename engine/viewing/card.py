"""What the list of runs shows about each run: a few figures, from its state and the logs of two exams. Its gain is the
exam of its newest state compared with that of its start, question by question."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from mage_es.engine.benchmarks.registry import title
from mage_es.engine.config import parse
from mage_es.engine.run.anchors import score, unmeasured
from mage_es.engine.run.directory import Run
from mage_es.engine.run.exams import ExamRecord, by_question, exam_records, is_own, learner_of
from mage_es.engine.run.inheriting import first_iteration, is_served
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.world import baseline_of, first_event, state_of
from mage_es.events.errors import LogError, MageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, AnswerUnanswered
from mage_es.projections.fold import State


class Gain(NamedTuple):
    """A gain in points, its 95 % interval and p, and the exams that it compares."""

    gain: float
    low: float
    high: float
    p: float | None
    exam: str
    exam_before: str


def pair_of(exams: Iterable[ExamRecord], learner: str) -> tuple[str, str] | None:
    """Return the exams of the start and of the newest state that the same models answered, among the run's own. A later
    exam of an earlier state is not a newer measure of the run. An incomplete one does not count. Of several exams of
    one state the first with the most questions counts: repeating an exam until the result is good must not pay."""
    whole = sorted(
        (exam for exam in exams if exam.closed and is_own(exam.opened, learner)),
        key=lambda exam: (exam.opened.asked, -exam.seq),
    )
    starts = {_who(exam): exam.opened.exam for exam in whole if exam.opened.marker == "start"}
    later = [exam for exam in whole if exam.opened.marker != "start" and _who(exam) in starts]
    if not later:
        return None
    newest = max(later, key=lambda exam: (exam.opened.head_seq, exam.opened.asked, -exam.seq))
    return starts[_who(newest)], newest.opened.exam


def gain_of(before: str, was: Mapping[str, bool], exam: str, now: Mapping[str, bool]) -> Gain | None:
    """Return the gain over the questions that both exams asked, None if there is none."""
    both = sorted(now.keys() & was.keys())
    if not both:
        return None
    differences = [float(now[name]) - float(was[name]) for name in both]
    found = by_question(differences)
    return Gain(100 * sum(differences) / len(both), found.low, found.high, found.p, exam, before)


def _who(exam: ExamRecord) -> tuple[str, str]:
    return exam.opened.execution, exam.opened.judge


def card_of(run: Run, prices: Prices, state: State | None = None) -> dict[str, Any]:
    """Return the row of a run: `card` in engine/viewing/tables.py; `state` is its final state, if available. If
    something cannot be read, the row says why."""
    try:
        return _card(run, prices, state) if run.events else {"state": "empty"}
    except (MageError, OSError) as error:
        return {"state": "damaged" if isinstance(error, LogError) else "unread", "problem": str(error)}


def _card(run: Run, prices: Prices, state: State | None) -> dict[str, Any]:
    reader = LogReader(run.log_path)
    begun, last = first_event(reader), reader.head.seq
    state = state or state_of(run, reader)
    config, baseline = parse(begun.config), baseline_of(reader)
    times = [record.ts_us for seq in (1, last) for record in reader.records(since=seq, until=seq)]
    kind = "served" if is_served(reader) else "finished" if state.progress.finished else "unfinished"
    records = {record.opened.exam: record for record in exam_records(reader)}
    pair = pair_of(records.values(), learner_of(reader))
    verdicts = [_verdicts(run, records[name], is_start=not place) for place, name in enumerate(pair or ())]
    gain = gain_of(pair[0], verdicts[0], pair[1], verdicts[1]) if pair else None
    right, asked = score(state, unmeasured(reader), state.progress.closed) if baseline is None else _baseline(state)
    return {
        "state": kind,
        "benchmark": title(begun.benchmark),
        "baseline": baseline.baseline if baseline else "",
        "learner": begun.execution_model,
        "iterations_done": max(0, state.progress.closed + 1 - first_iteration(reader)),
        "iterations": 0 if baseline else config.iterations,
        "events": last,
        "began_us": times[0],
        "ended_us": times[-1],
        "correct": right,
        "total": asked,
        "calls": sum(use.calls for _, use in state.ledger.accounts()),
        "guidance_calls": state.ledger.total("guidance").calls,
        "usd": prices.total(state.ledger.accounts()),
        "shares": [sum(each.values()) / len(each) for each in verdicts] if gain else [],
        **(gain._asdict() if gain else dict.fromkeys(Gain._fields)),
    }


def _baseline(state: State) -> tuple[int, int]:
    verdicts = state.progress.verdicts("exam")
    return sum(each.correct for each in verdicts), len(verdicts) + len(state.progress.unanswered("exam"))


def _verdicts(run: Run, exam: ExamRecord, *, is_start: bool) -> dict[str, bool]:
    log = exam.log(run)
    # A gain is not over questions whose call failed at the start: against an outage every model gains.
    lost = {} if is_start else dict.fromkeys((each.question_id for each in log.of(AnswerUnanswered)), False)
    return lost | {each.question_id: each.correct for each in log.of(AnswerJudged)}
