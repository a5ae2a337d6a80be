"""What an exam came to, and how that compares with the exam of the run's start."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

import msgspec
import polars as pl

from mage_es.engine.run.directory import Run
from mage_es.engine.run.exams import ExamRecord, Interval, by_question, exam_records, interval, read_exam, reasons
from mage_es.engine.run.world import World
from mage_es.engine.verbs.runs import episode_rows
from mage_es.engine.verbs.summary import EpisodeRow
from mage_es.events.errors import LogError
from mage_es.events.log import LogReader


class GroupScore(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    correct: int
    total: int


class ExamDifference(msgspec.Struct, frozen=True, kw_only=True):
    """An exam compared with `exam_id`, that of the run's start, on the `total` questions that both asked.

    `correct` were right then; `better` and `worse` are the questions that changed; `points` and `interval` are the mean
    difference, now minus then.
    """

    exam_id: str
    correct: int
    total: int
    points: float
    better: int
    worse: int
    interval: Interval


class ExamReport(msgspec.Struct, frozen=True, kw_only=True):
    """An exam on questions that the run never saw.

    `unfamiliar` are the questions of phrasing families that occur only in the exam (None if the benchmark has no
    families). `answers` is (question id, correct) in id order, for paired comparisons. `interval` is the Wilson score
    interval of `correct` in `total` at 95 %. `undecided` answers, which neither the rule nor a judge could decide,
    count as wrong, by the kind of the reason, and so do `unanswered` questions, whose call failed for good, by the kind
    of the fault. `head` is that of the exam's own log. `before` is None for the exam of the start, or where there is
    none to compare with. `repeated`: this exam was complete already, and no call was made.
    """

    run_id: str
    exam_id: str
    marker: str
    control: str
    correct: int
    total: int
    familiar: GroupScore | None
    unfamiliar: GroupScore | None
    task_types: tuple[GroupScore, ...]
    execution_calls: int
    guidance_calls: int
    seconds: float
    task_type_source: str
    answers: tuple[tuple[str, bool], ...]
    judge_calls: int = 0
    undecided: dict[str, int] = {}
    unanswered: dict[str, int] = {}
    interval: tuple[float, float] | None = None
    episodes: tuple[EpisodeRow, ...] = ()
    embedder_calls: int = 0
    teacher_sees: str = ""
    head: str = ""
    before: ExamDifference | None = None
    repeated: bool = False


def report_of(run: Run, record: ExamRecord, world: World, *, seconds: float, is_repeated: bool) -> ExamReport:
    log, known = record.log(run), families_of(world)
    sat = read_exam(log, record)
    rows = sat.answers.select("question_id", "correct", "task_type").sort("question_id").rows()
    familiar, unfamiliar = list[bool](), list[bool]()
    by_type: dict[str, list[bool]] = {}
    for name, is_right, task_type in rows:
        (familiar if world.questions[name].family in known else unfamiliar).append(is_right)
        by_type.setdefault(task_type, []).append(is_right)
    return ExamReport(
        run_id=run.id,
        exam_id=sat.name,
        marker=sat.marker,
        control=sat.control,
        correct=int(sat.answers["correct"].sum()),
        total=len(rows),
        familiar=_score("familiar", familiar) if known else None,
        unfamiliar=_score("unfamiliar", unfamiliar) if known else None,
        task_types=tuple(_score(name, correct) for name, correct in sorted(by_type.items())),
        execution_calls=sat.ledger.total("execution").calls,
        guidance_calls=sat.ledger.total("guidance").calls,
        seconds=seconds,
        # Gold types are for evolution only.
        teacher_sees=world.setting.config.teacher_sees,
        task_type_source="input" if world.typing.source == "gold" else world.typing.source,
        episodes=episode_rows(log),
        answers=tuple((name, is_right) for name, is_right, _ in rows),
        judge_calls=sat.ledger.total("judge").calls,
        embedder_calls=sat.ledger.total("embedder").calls,
        unanswered=reasons(sat.answers),
        interval=interval(int(sat.answers["correct"].sum()), len(rows)),
        undecided=reasons(sat.answers, "undecided"),
        head=log.head.chain,
        before=_before(run, record, {name: is_right for name, is_right, _ in rows}),
        repeated=is_repeated,
    )


def _before(run: Run, record: ExamRecord, now: Mapping[str, bool]) -> ExamDifference | None:
    """Return the difference to the newest complete exam of the start with the same models, None without one."""
    if (record.opened.marker, record.opened.control) == ("start", "none"):
        return None
    for then in reversed(exam_records(LogReader(run.log_path))):
        is_start = then.closed and (then.opened.marker, then.opened.control) == ("start", "none")
        models = [(each.opened.execution, each.opened.judge) for each in (then, record)]
        if is_start and models[0] == models[1]:
            with suppress(LogError):  # missing or replaced: `verify` names it
                return _difference(then, read_exam(then.log(run), then).answers, now)
    return None


def _difference(then: ExamRecord, answers: pl.DataFrame, now: Mapping[str, bool]) -> ExamDifference | None:
    was = {name: is_right for name, is_right in answers.select("question_id", "correct").rows() if name in now}
    if not was:
        return None
    differences = [float(now[name]) - float(was[name]) for name in sorted(was)]
    return ExamDifference(
        exam_id=then.opened.exam,
        correct=sum(was.values()),
        total=len(was),
        points=100 * sum(differences) / len(differences),
        better=differences.count(1.0),
        worse=differences.count(-1.0),
        interval=by_question(differences),
    )


def families_of(world: World) -> set[str]:
    """Return the phrasing families of the evolution questions; none if the benchmark has no families."""
    return {world.questions[name].family for name in world.setting.evolution} - {""}


def _score(name: str, correct: Sequence[bool]) -> GroupScore:
    return GroupScore(name=name, correct=sum(correct), total=len(correct))
