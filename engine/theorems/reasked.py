"""What was asked again without some memories: its log is whole, is this run's, and asks what the run had asked.

The run's own log does not name it, so nothing here shows that its end was cut off: without it the same calls are made
once more. `theorems/requests.py` checks the request of each of its calls.
"""

from collections.abc import Iterator

from mage_es.engine.rules.effect import PromptKey, askings
from mage_es.engine.run.directory import Run
from mage_es.engine.theorems.check import Check
from mage_es.engine.theorems.log import problems_of
from mage_es.events.care import verify_log
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import (
    AnswerJudged,
    AnswerUndecided,
    BundleTrimmed,
    LogRepaired,
    ModelCalled,
    QuestionPlanned,
)

NAME = "asked again"
BOUND = "all are the run's, less some memories"


def check_reasked(run: Run, reader: LogReader) -> Iterator[Check]:
    """Yield the check of what `effect` asked again, if it asked anything."""
    if run.reasked not in run.parts():
        return
    verdict = verify_log(run.reasked.log_path)
    if problems := problems_of(verdict):
        detail = f"{problems}. Without {run.reasked.path} `mage-es effect` asks again"
        yield Check(name=NAME, ok=False, detail=detail, bound=BOUND, damaged=True)
        return
    own = LogReader(run.reasked.log_path)
    problem, seq = _problem(reader, own)
    # What a repair cut had been asked all the same, and pairs with it are in no number any more.
    is_cut = bool(problem) and next(reader.of(LogRepaired), None) is not None
    prompts, calls = (sum(1 for _ in own.of(each)) for each in (QuestionPlanned, ModelCalled))
    detail = problem or f"{prompts} prompts of the run without some of their memories, {calls} calls"
    measured = f"{verdict.head.seq} events, the head is {verdict.head.chain[:16]}"
    yield Check(
        name=NAME, ok=is_cut or not problem, detail=detail, measured=measured, bound=BOUND, seq=seq, doubt=is_cut
    )


def _problem(reader: LogReader, own: LogReader) -> tuple[str, int]:
    """Return what in the log is not of this run, and the event; ("", 0) for nothing."""
    if own.run != f"{reader.run}/reasked":
        return f"it is the log {own.run}, not {reader.run}/reasked", 1
    found = askings(reader.records({QuestionPlanned, BundleTrimmed, AnswerJudged}))
    shown = {asking.key: asking.shown for asking in found}
    planned = set[tuple[PromptKey, int]]()
    for record in own.records({QuestionPlanned, AnswerJudged, AnswerUndecided}):
        event = record.event
        assert isinstance(event, QuestionPlanned | AnswerJudged | AnswerUndecided)
        key = (event.iteration, event.purpose, event.question_id)
        if key not in shown:
            return f"the run's log has no answer to {event.question_id} in iteration {event.iteration}", record.seq
        if isinstance(event, QuestionPlanned):
            planned.add((key, record.ordinal))
            if not {*event.principles, *(hit.memory_id for hit in event.memories)} < shown[key]:
                return f"the prompt of {event.question_id} shows what the run's did not, or all of it", record.seq
        elif (key, record.ordinal) not in planned:
            return f"the answer to {event.question_id} has no prompt before it", record.seq
    return "", 0
