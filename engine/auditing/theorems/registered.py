"""Registration: what was registered as the result before the first call, and every deviation from it.

A deviation breaks no theorem, since a run may be examined any number of times; but the reported number may then have
been picked from several, and a reader should know.
"""

from collections.abc import Iterator, Sequence

from mage_es.engine.run.exams import ExamRecord, exam_records, is_own, learner_of
from mage_es.engine.seams.check import Check
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import ExamClosed, IterationClosed, ModelCalled, RunRegistered, RunStarted

NAME = "registered"


def check_registered(reader: LogReader, started: RunStarted) -> Iterator[Check]:
    """Yield a check if something was registered."""
    for seq, registered in reader.numbered(RunRegistered):
        end, learner = reader.last(IterationClosed), learner_of(reader)
        records = [each for each in exam_records(reader) if is_own(each.opened, learner)]
        own = [each for each in records if each.opened.head_seq >= end]
        called = next((at for at, _ in reader.events({ModelCalled: ("model",)})), seq)
        deviations = [
            *([f"registered after the first call, event {called}"] if called < seq else []),
            *([f"seed {started.seed} is not among those registered"] if started.seed not in registered.seeds else []),
            *_exam_deviations(registered, own),
            *_baseline(registered, reader),
        ]
        seeds = ", ".join(map(str, registered.seeds))
        plan = f"{registered.metric} on {registered.questions} questions, exams {registered.exams}, seeds {seeds}"
        yield Check(
            name=NAME,
            ok=True,
            detail="; ".join([f"{plan}; {len(own)} taken", *(f"DEVIATES: {each}" for each in deviations)]),
            measured=f"{len(deviations)} deviations",
            bound="reported",
            seq=seq if deviations else 0,
        )


def _exam_deviations(registered: RunRegistered, own: Sequence[ExamRecord]) -> Iterator[str]:
    if len(own) > registered.exams:
        yield f"{len(own)} exams of the last state were taken, not {registered.exams}"
    others = [each for each in own if each.opened.asked != registered.questions]
    yield from (f"exam {each.opened.exam} asked {each.opened.asked} questions" for each in others)


def _baseline(registered: RunRegistered, reader: LogReader) -> Iterator[str]:
    # A baseline is its own exam, whose end has no name.
    for closed in reader.of(ExamClosed):
        asked = closed.total + closed.undecided
        if not closed.exam and asked != registered.questions:
            yield f"it asked {asked} questions"
