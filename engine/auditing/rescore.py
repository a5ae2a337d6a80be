"""Scoring recorded exams again after the scorer changed: from the recorded replies alone, beside the old verdicts."""

from collections.abc import Iterator

from mage_es import __version__
from mage_es.engine.auditing.theorems.recount import CheckBasis, Recount
from mage_es.engine.run.directory import Run
from mage_es.engine.run.exams import ExamRecord, exam_records
from mage_es.engine.run.fingerprints import fingerprints, scorer_of
from mage_es.engine.run.world import World
from mage_es.events.errors import PrerequisiteError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerUnanswered, Draft, ExamRejudged, Rejudged
from mage_es.projections.fold import fold


def rescored(run: Run, reader: LogReader, world: World) -> Iterator[Draft]:
    """Yield the new verdicts of each complete exam that another scorer scored.

    Raises `PrerequisiteError` if an exam is incomplete, or its replies do not suffice.
    """
    scorer = fingerprints(world)[1:]
    for record in exam_records(reader):
        if scorer_of(record.scored_by) != scorer:
            event = _anew(run, reader, world, record)
            # An exam may be scored again more than once.
            yield Draft(event=event, iteration=-1, phase="exam", ordinal=reader.head.seq)


def _anew(run: Run, reader: LogReader, world: World, record: ExamRecord) -> ExamRejudged:
    name, opened = record.opened.exam, record.opened
    if not record.closed:
        raise PrerequisiteError(f"Exam {name} is incomplete, so it cannot be scored again: restore its scorer.")
    basis = CheckBasis(world, is_scorer=False)
    state, log = fold(reader, until=opened.head_seq), record.log(run)
    recount = Recount(basis, exam=name, execution=opened.execution, judge=opened.judge)
    for each in log.records():
        if problem := recount.problem_of(each, state):
            raise PrerequisiteError(f"Exam {name} cannot be scored again: {problem}.")
    lost = sum(isinstance(each, AnswerUnanswered) for each in recount.settled)
    if len(recount.made) + lost != record.closed.total:
        raise PrerequisiteError(
            f"Exam {name} cannot be scored again: this scorer and the recorded replies decide only "
            f"{len(recount.made)} of its {record.closed.total} answers."
        )
    verdicts = tuple(
        Rejudged(question_id=each.question_id, score_micro=each.score_micro, correct=each.correct)
        for _, each in sorted(recount.made.items())
    )
    right = sum(each.correct for each in verdicts)
    return ExamRejudged(
        exam=name,
        correct=right,
        total=len(verdicts) + lost,
        verdicts=verdicts,
        package_version=__version__,
        **fingerprints(world)._asdict(),
    )
