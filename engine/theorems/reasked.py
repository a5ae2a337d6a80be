"""What was asked again: its log is whole, is this run's, and asks what the run had asked without some memories, or a
question of the run on the state of a closed iteration, with no other memories than that state has.

The run's own log does not name it, so nothing here shows that its end was cut off: without it the same calls are made
once more. `theorems/requests.py` checks the request of each of its calls.
"""

from collections.abc import Iterator, Sequence

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
from mage_es.projections.fold import State, fold

NAME = "asked again"
BOUND = "all are the run's, or of its states, less some memories"


def check_reasked(run: Run, reader: LogReader) -> Iterator[Check]:
    """Yield the check of what `effect`, `bisect` and `mage_es.gepa` asked again, if they asked anything."""
    if run.reasked not in run.parts():
        return
    verdict = verify_log(run.reasked.log_path)
    if problems := problems_of(verdict):
        detail = f"{problems}. Without {run.reasked.path} the same commands ask again"
        yield Check(name=NAME, ok=False, detail=detail, bound=BOUND, damaged=True)
        return
    own = LogReader(run.reasked.log_path)
    problem, seq = _problem(reader, own)
    # What a repair cut had been asked all the same, and pairs with it are in no number any more.
    is_cut = bool(problem) and next(reader.of(LogRepaired), None) is not None
    plans, calls = list(own.of(QuestionPlanned)), sum(1 for _ in own.of(ModelCalled))
    on_states = sum(_is_on_state(each) for each in plans)
    detail = problem or ", ".join(
        (
            f"{len(plans) - on_states} prompts of the run without some of their memories",
            *([f"{on_states} on states of its iterations"] if on_states else []),
            f"{calls} calls",
        )
    )
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
    on_states = list[tuple[int, QuestionPlanned]]()
    for record in own.records({QuestionPlanned, AnswerJudged, AnswerUndecided}):
        event = record.event
        assert isinstance(event, QuestionPlanned | AnswerJudged | AnswerUndecided)
        key = (event.iteration, event.purpose, event.question_id)
        if not isinstance(event, QuestionPlanned):
            if (key, record.ordinal) not in planned:
                return f"the answer to {event.question_id} has no prompt before it", record.seq
            continue
        planned.add((key, record.ordinal))
        if _is_on_state(event):
            on_states.append((record.seq, event))
        elif key not in shown:
            return f"the run's log has no answer to {event.question_id} in iteration {event.iteration}", record.seq
        elif not _memories(event) < shown[key]:
            return f"the prompt of {event.question_id} shows what the run's did not, or all of it", record.seq
    return _unlearned(reader, on_states)


def _is_on_state(planned: QuestionPlanned) -> bool:
    """Return whether `bisect` or `mage_es.gepa` asked this: a run's own prompts have other purposes."""
    return planned.purpose == "exam"


def _memories(planned: QuestionPlanned) -> set[str]:
    return {*planned.principles, *(hit.memory_id for hit in planned.memories)}


def _unlearned(reader: LogReader, plans: Sequence[tuple[int, QuestionPlanned]]) -> tuple[str, int]:
    """Return what was asked on a state that the run never had, or that lacks it, and the event; ("", 0) for nothing."""
    if not plans:
        return "", 0
    ends = {marker.number: seq for marker, seq in reader.markers().items() if marker.kind == "iteration"}
    questions, state = {each.id for each in reader.questions()[0]}, State()
    for seq, planned in sorted(plans, key=lambda plan: (plan[1].iteration, plan[0])):
        if planned.iteration not in ends:
            return f"{planned.question_id} was asked on iteration {planned.iteration}, which never ended", seq
        if planned.question_id not in questions:
            return f"{planned.question_id} is no question of the run", seq
        state = fold(reader, until=ends[planned.iteration], state=state)
        if unknown := _memories(planned) - {row.memory_id for row in state.memory.rows()}:
            named = f"the prompt of {planned.question_id} shows {min(unknown)[:12]}"
            return f"{named}, which iteration {planned.iteration} had not learned", seq
    return "", 0
