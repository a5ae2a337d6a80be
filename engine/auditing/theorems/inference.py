"""Frozen inference: an exam asks no guidance and learns nothing, and the run's log knows every exam that was taken.

An exam has a log of its own, whose calls are counted here; a judge only scores, so its calls are not forbidden. The
exam asks questions that the run never asked, of exactly the state that its marker means, and its log has no event that
changes graph, memory, slots, bandits, coverage, tools, recipes or patterns. The run's log names every exam with its
result and head, so that an exam that was removed, replaced or planted is found.

This reads the events themselves: the exam's report could share a mistake with the exam.
"""

from collections.abc import Iterator, Sequence

from mage_es.engine.auditing.theorems.log import problems_of
from mage_es.engine.rules.splits import recorded_splits
from mage_es.engine.run.directory import Run
from mage_es.engine.run.exams import ExamRecord, exam_records, number_of, repair_that_cut
from mage_es.engine.run.questions import stored_questions
from mage_es.engine.run.world import first_event
from mage_es.engine.seams.check import Check
from mage_es.events import vocabulary as v
from mage_es.events.care import verify_log
from mage_es.events.digests import sha256_text
from mage_es.events.errors import LogError, UsageError
from mage_es.events.log import LogReader
from mage_es.events.segments import Reads
from mage_es.events.signing.heads import root_of
from mage_es.projections.fold import State, fold, reads_of

NAME = "inference"
BOUND = "0 guidance calls, 0 learned"
EXAMINING = frozenset({"exam", "ask"})  # the purposes of questions that belong in separate logs


def check_inference(run: Run, reader: LogReader) -> Iterator[Check]:
    yield _traces(reader)
    records = exam_records(reader)
    for record in records:
        yield _exam(run, record, reader)
    yield from _unrecorded(run, records, reader)


def learning_types() -> frozenset[type[v.Event]]:
    # These three count what happened; all the others are what was learned.
    learned = (view for view in State().digested() if view.name not in ("scores", "ledger", "questions"))
    return frozenset(reads_of(tuple(learned)))


def _traces(reader: LogReader) -> Check:
    reads: Reads = {
        v.BaselineStarted: v.BaselineStarted.__struct_fields__,
        v.QuestionPlanned: ("purpose",),
        v.ModelCalled: ("purpose",),
    }
    for seq, event in reader.events(reads):
        if isinstance(event, v.BaselineStarted):
            return _baseline(reader, event)
        if isinstance(event, v.QuestionPlanned | v.ModelCalled) and event.purpose in EXAMINING:
            detail = f"the run's log has a {v.tag_of(event)} of an exam"
            return Check(name=NAME, ok=False, detail=detail, bound="0 events of exams", seq=seq)
    detail = "no exam asked or learned anything in the run's log"
    return Check(name=NAME, ok=True, detail=detail, measured="0 events of exams", bound="0 events of exams")


def _baseline(reader: LogReader, begun: v.BaselineStarted) -> Check:
    learning, name = learning_types(), begun.baseline
    found = [
        record.seq
        for record in reader.records()
        if type(record.event) in learning
        or (
            isinstance(record.event, v.ModelCalled)
            and record.event.tier == "guidance"
            and (record.phase == "exam" or not begun.questions)  # a method may have a writer, but in no exam
        )
    ]
    if found:
        detail = f"the baseline {name} asked guidance or learned something"
        return Check(name=NAME, ok=False, detail=detail, bound=BOUND, seq=found[0])
    result = "".join(f": {closed.correct} of {closed.total} right" for closed in reader.of(v.ExamClosed))
    if begun.questions:
        problem, seq = _leaked(reader, begun)
        detail = (
            problem or f"{name} shows cases of {len(begun.learned)} evolution questions only, never its own{result}"
        )
        return Check(name=NAME, ok=not problem, detail=detail, measured=BOUND, bound=BOUND, seq=seq)
    detail = f"the baseline {name} learns nothing and has no guidance{result}"
    return Check(name=NAME, ok=True, detail=detail, measured=BOUND, bound=BOUND)


def _leaked(reader: LogReader, begun: v.BaselineStarted) -> tuple[str, int]:
    """Return what a method's prompt shows but must not, and the event; ("", 0) if nothing."""
    questions, _ = stored_questions(reader, first_event(reader).benchmark)
    evolution = recorded_splits(list(reader.of(v.SplitCommitted)), questions).evolution
    if questions and (others := sorted({*begun.learned} - {*evolution})):
        return f"{begun.baseline} learned from {others[0]}, which is not an evolution question", 0
    is_examined = False
    for seq, plan in reader.numbered(v.QuestionPlanned):
        shown = {span.source.removeprefix("case/") for span in plan.spans if span.source.startswith("case/")}
        if wrong := sorted(shown - {*begun.learned} | shown & {plan.question_id}):
            return f"the prompt of {plan.question_id} shows {wrong[0]}, from which it must not learn", seq
        if plan.purpose in ("fresh", "trial") and is_examined:
            return f"{plan.question_id} was learned from after the exam had begun", seq
        is_examined = is_examined or plan.purpose == "exam"
    return "", 0


def _exam(run: Run, record: ExamRecord, reader: LogReader) -> Check:
    opened, name, learning = record.opened, f"exam {record.opened.exam}", learning_types()
    try:
        # First what each file is: reading the log would only say that it cannot be read.
        path = run.exam(opened.exam).log_path
        if record.is_there(run) and (damage := problems_of(verify_log(path))):
            return Check(name=name, ok=False, detail=damage, bound=BOUND, damaged=True)
        exam = record.log(run)
    except LogError as error:
        return Check(name=name, ok=False, detail=str(error), bound=BOUND, damaged=True)
    records = list(exam.records())
    called = [(each.seq, each.event.tier) for each in records if isinstance(each.event, v.ModelCalled)]
    guidance = [seq for seq, tier in called if tier == "guidance"]
    judged = sum(tier == "judge" for _, tier in called)
    learned = [each.seq for each in records if type(each.event) in learning]
    asked = {each.event.question_id: each.seq for each in records if isinstance(each.event, v.QuestionPlanned)}
    # This includes what a parent learned from, of which only the verdict is here.
    evolved = reader.events({v.QuestionPlanned: ("question_id",), v.AnswerJudged: ("question_id",)})
    known = {event.question_id for _, event in evolved if isinstance(event, v.QuestionPlanned | v.AnswerJudged)}

    def problems() -> Iterator[tuple[str, int]]:
        if untrue := _untrue(record, [each.event for each in records], sorted(asked)):
            yield untrue, 0
        if guidance:
            yield f"{len(guidance)} guidance calls at inference", guidance[0]
        for seq in learned:
            yield f"an exam must not learn: event {seq} of its log is a {v.tag_of(records[seq - 1].event)}", seq
        if seen := min(asked.keys() & known, default=""):
            yield f"{seen} was asked in evolution too", asked[seen]
        if opened.head_seq > reader.head.seq:
            yield f"it asks the state after event {opened.head_seq}, and the log ends with event {reader.head.seq}", 1
        if opened.marker != "latest" and _meant(opened.marker, reader) != opened.head_seq:
            yield f"it asks the state after event {opened.head_seq}, which is not {opened.marker}", 1
        if wrong := fold(reader, until=opened.head_seq).differing(opened.digests):
            yield f"{', '.join(wrong)} differs from the run's log at event {opened.head_seq}", 1
        if record.closed and record.closed.root != root_of(path).hex():
            yield "the root over its events is not the one that the run recorded", 0

    problem, seq = next(problems(), ("", 0))
    measured = f"{len(guidance)} guidance calls, {len(learned)} learned"
    measured += f", {judged} judge calls" if judged else ""
    detail = problem or f"{record.summary}; {len(asked)} unseen questions, frozen at event {opened.head_seq}"
    # One that waited for its turn may have named the state before that.
    is_late = opened.marker == "latest" and reader.last(v.IterationClosed, until=record.seq) > opened.head_seq
    detail += "; an iteration had ended since, so it is not of the latest state" if is_late and not problem else ""
    return Check(name=name, ok=not problem, detail=detail, measured=measured, bound=BOUND, seq=seq, doubt=is_late)


def _meant(marker: str, reader: LogReader) -> int:
    """Return the event that a marker means, 0 if none."""
    try:
        return reader.resolve(marker)
    except UsageError:
        return 0


def _untrue(record: ExamRecord, events: Sequence[v.Event], asked: Sequence[str]) -> str:
    """Return where an exam's log contradicts the run's log, or "" if it does not."""
    opened, closed = record.opened, record.closed
    if events and events[0] != opened:
        return "its log is that of another exam than the run opened"
    if asked and sha256_text("\n".join(asked)) != opened.asked_sha256:
        return f"it asked other questions than the {opened.asked} that it was opened for"
    verdicts = [event.correct for event in events if isinstance(event, v.AnswerJudged)]
    total = len(verdicts) + sum(isinstance(event, v.AnswerUnanswered) for event in events)
    undecided = sum(isinstance(event, v.AnswerUndecided) for event in events)
    if closed and (closed.correct, closed.total, closed.undecided) != (sum(verdicts), total, undecided):
        also = f" ({undecided} undecided)" if undecided else ""
        return f"{sum(verdicts)} of its {total} answers are right{also}, but the run recorded {record.summary}"
    return ""


def _unrecorded(run: Run, records: Sequence[ExamRecord], reader: LogReader) -> Iterator[Check]:
    """Check the folders and the numbers that the run's log does not record."""
    known, numbers = {record.opened.exam for record in records}, {record.number for record in records}
    for exam in run.exams():
        name, number = exam.path.name, number_of(exam.path.name)
        if name not in known:
            yield _unknown(f"exam {name}", exam, 0 if number in numbers else number, reader)
    for number in sorted({*range(1, max(numbers, default=0))} - numbers):
        repair = repair_that_cut(number, reader)
        missing = "missing: exams are numbered without a gap, and no repair cut its record"
        detail = f"the repair at event {repair} cut its record" if repair else missing
        yield Check(name=f"exam {number:04d}", ok=repair > 0, detail=detail, doubt=True)


def _unknown(name: str, exam: Run, number: int, reader: LogReader) -> Check:
    """Check a folder without a record; `number` is that of an exam which may have lost its record, else 0."""
    try:
        is_empty = not exam.events
    except LogError as error:
        return Check(name=name, ok=False, detail=str(error), damaged=True)
    if is_empty:
        return Check(name=name, ok=True, detail="never began: its log is empty, and its folder can be deleted")
    if number and (repair := repair_that_cut(number, reader)):
        detail = f"of a state that a repair removed: event {repair} cut its record, and it does not count"
        return Check(name=name, ok=True, detail=detail, doubt=True)
    detail = f"the run's log knows no such exam: {exam.path} was put there, or the log was replaced"
    return Check(name=name, ok=False, detail=detail)
