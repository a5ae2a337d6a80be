"""Frozen inference: an exam asks no guidance, learns nothing, and leaves no trace in the run's log.

An exam has a log of its own, whose calls are counted here; a judge only scores, so its calls are reported but not
forbidden. The exam asks questions that the run never asked, of exactly the state that it names, and its log has no
event that changes graph, memory, slots, bandits, coverage, tools, recipes or patterns.

This reads the events themselves, not the report of the exam, which would share a mistake with it.
"""

from __future__ import annotations

from collections.abc import Iterator

from mage_es.engine.run.directory import Run
from mage_es.engine.theorems.check import Check
from mage_es.engine.theorems.log import problems_of
from mage_es.events.care import verify_log
from mage_es.events.log import LogReader
from mage_es.events.segments import Reads
from mage_es.events.vocabulary import (
    BaselineStarted,
    Event,
    ExamClosed,
    ExamStarted,
    ModelCalled,
    QuestionPlanned,
    tag_of,
)
from mage_es.projections.fold import State, fold, reads_of

NAME = "inference"
BOUND = "0 guidance calls, 0 learned"
EXAMINING = frozenset({"exam", "ask"})  # the purposes of questions that belong in logs of their own


def check_inference(run: Run, reader: LogReader) -> Iterator[Check]:
    yield _traces(reader)
    for exam in run.exams():
        name = f"exam {exam.path.name}"
        if problems := problems_of(verify_log(exam.log_path)):
            yield Check(name=name, ok=False, detail=problems, bound=BOUND)
        else:
            yield _exam(name, LogReader(exam.log_path), reader)


def learning_types() -> frozenset[type[Event]]:
    # These three count what happened; all the others are what was learned.
    learned = (view for view in State().digested() if view.name not in ("scores", "ledger", "questions"))
    return frozenset(reads_of(tuple(learned)))


def _traces(reader: LogReader) -> Check:
    reads: Reads = {BaselineStarted: ("baseline",), QuestionPlanned: ("purpose",), ModelCalled: ("purpose",)}
    for seq, event in reader.events(reads):
        if isinstance(event, BaselineStarted):
            return _baseline(reader, event.baseline)
        if isinstance(event, QuestionPlanned | ModelCalled) and event.purpose in EXAMINING:
            detail = f"the run's log has a {tag_of(event)} of an exam"
            return Check(name=NAME, ok=False, detail=detail, bound="0 events of exams", seq=seq)
    detail = "no exam wrote into the run's log"
    return Check(name=NAME, ok=True, detail=detail, measured="0 events of exams", bound="0 events of exams")


def _baseline(reader: LogReader, name: str) -> Check:
    learning = learning_types()
    found = [
        record.seq
        for record in reader.records()
        if type(record.event) in learning or (isinstance(record.event, ModelCalled) and record.event.tier == "guidance")
    ]
    if found:
        detail = f"the baseline {name} asked guidance or learned something"
        return Check(name=NAME, ok=False, detail=detail, bound=BOUND, seq=found[0])
    detail = f"the baseline {name} learns nothing and has no guidance"
    return Check(name=NAME, ok=True, detail=detail, measured=BOUND, bound=BOUND)


def _exam(name: str, exam: LogReader, reader: LogReader) -> Check:
    learning = learning_types()
    records = list(exam.records())
    events = [record.event for record in records]
    started = next((event for event in events if isinstance(event, ExamStarted)), None)
    if started is None:
        return Check(name=name, ok=True, detail="never started: its log is empty, and its folder can be deleted")
    guidance = [r.seq for r in records if isinstance(r.event, ModelCalled) and r.event.tier == "guidance"]
    learned = [record.seq for record in records if type(record.event) in learning]
    measured = f"{len(guidance)} guidance calls, {len(learned)} learned"
    problem, seq = "", min((*guidance, *learned), default=0)
    if guidance:
        problem = f"{len(guidance)} guidance calls at inference"
    elif learned:
        problem = f"an exam must not learn: event {seq} of its log is a {tag_of(records[seq - 1].event)}"
    asked = {record.event.question_id: record.seq for record in records if isinstance(record.event, QuestionPlanned)}
    planned = (event for _, event in reader.events({QuestionPlanned: ("question_id",)}))
    known = {event.question_id for event in planned if isinstance(event, QuestionPlanned)}
    if not problem and (seen := min(asked.keys() & known, default="")):
        problem, seq = f"{seen} was asked in evolution too", asked[seen]
    if not problem and (wrong := fold(reader, until=started.head_seq).differing(started.digests)):
        problem, seq = f"{', '.join(wrong)} differs from the run's log at event {started.head_seq}", 1
    ending = "" if any(isinstance(event, ExamClosed) for event in events) else "unfinished: "
    detail = f"{ending}{len(asked)} unseen questions, frozen at event {started.head_seq}, 0 guidance calls"
    if judge := sum(isinstance(event, ModelCalled) and event.tier == "judge" for event in events):
        detail += f", {judge} judge calls"
    return Check(name=name, ok=not problem, detail=problem or detail, measured=measured, bound=BOUND, seq=seq)
