"""The verb `try`: a first answer to whether a model learns these tasks from experience, and whether that is worth it.

Rules
    - It is a ring of one seed over no memory, the nearest answer without a model, the plain nearest cases, and MAGE. So
      all four see the same questions, and the same call continues where it stopped.
    - If MAGE is better than no memory, its exam is repeated with the answers of the memories exchanged (`exam --control
      permuted`): a model that only learns which answers there are gains as much then.
    - A result is a gain if it is better than no memory, than that control and than the commonest answer, and if nothing
      other than the text gives answers away. All of this rests on paired intervals: what they do not establish is
      reported as not shown.
    - What the nearest cases answer without a call (recall) is counted separately, since a served run always asks the
      model.
    - A question counts for a method if its answer could be decided; a failed call is a wrong answer. So if some are
      undecided the methods' totals differ, and a difference is over the questions decided for both, without those for
      which the other method's call failed.
"""

from pathlib import Path
from typing import Literal

import msgspec
import polars as pl

from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models
from mage_es.engine.run.directory import RUNS_DIR, find_run
from mage_es.engine.run.exams import (
    PairedDifference,
    exam_records,
    is_own,
    learner_of,
    paired_difference,
    read_exam,
    reasons,
    recalled_in,
)
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.study.ring import (
    LOOK_UP,
    MAGE,
    NOTHING,
    PLAIN,
    RingDifference,
    RingReport,
    RingRow,
    aring,
    examinees,
    learned_in,
)
from mage_es.engine.verbs.data import DataReport, check, tasks_of
from mage_es.engine.verbs.decorators import blocking, typed
from mage_es.engine.verbs.exam import aexamine
from mage_es.engine.verbs.exam_report import ExamDifference
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import FormDecided
from mage_es.projections.memory import plain

METHODS = (NOTHING, LOOK_UP, PLAIN, MAGE)
QUESTIONS = 60
"""Most held-out questions to ask: enough to see a difference of some 15 points, and few enough to be worth the wait."""

Outlook = Literal["better", "level", "worse"]


class ByModel(msgspec.Struct, frozen=True, kw_only=True):
    """The held-out questions that MAGE put to the model and that were decided both with and without its memories: how
    many of these it got right with them, and how many alone."""

    asked: int
    right: int
    alone: int


class TryoutReport(msgspec.Struct, frozen=True, kw_only=True):
    """How the tasks were divided, what each method got right, and what that shows.

    `gain` is MAGE against the model without memory, `over_plain` against the nearest cases as a prompt, `over_look_up`
    against the nearest case's answer. `recalled` held-out questions were answered by the nearest cases, without a call,
    `recalled_right` of them rightly; `by_model` are the others. `unread` counts wrong answers of the model without
    memory by what was wrong with the reply (`truncated`, `empty`, ...): if there are many, that start is too low.
    `controlled` is how many questions MAGE got right with the answers exchanged, and how many it was asked;
    `under_control` is that exam minus its own, None if MAGE is not better than no memory. `commonest` is that answer
    and how many of MAGE's questions it fits, if they share a few, and `over_commonest` how far MAGE is ahead of it.
    `is_gain`: see the rules of this module.
    """

    data: DataReport
    ring: RingReport
    gain: RingDifference
    shown: Outlook
    over_plain: RingDifference
    shown_over_plain: Outlook
    over_look_up: RingDifference
    shown_over_look_up: Outlook
    controlled: tuple[int, int] = (0, 0)
    under_control: ExamDifference | None = None
    commonest: tuple[str, int] | None = None
    over_commonest: PairedDifference | None = None
    is_gain: bool
    is_models: bool
    """Whether the model itself is shown to get more right with cases than alone: MAGE's, where it was asked, or plain
    ones."""
    recalled: int
    recalled_right: int
    by_model: ByModel
    unread: dict[str, int]
    learned: int
    """How many questions MAGE learned from: those that it answered to learn, and the anchors that became cases in the
    end."""
    is_look_up: bool
    """Whether the answer of the nearest case alone is right at least as often as anything else."""
    run_id: str
    """MAGE's run, to ask, serve or audit."""
    form: FormDecided | None = None
    """What a trial of the form of prompts showed; None if there was none."""


@typed
async def atryout(
    config: Config,
    *,
    runs_dir: Path | str = RUNS_DIR,
    data_dir: Path | str | None = None,
    runtime: Runtime | None = None,
    questions: int = QUESTIONS,
    learn_from: int | None = None,
    name: str | None = None,
    models: Models | None = None,
) -> TryoutReport:
    """Measure a model on a benchmark with nothing, with plain nearest cases and with what it learned.

    Raises what `aring` raises; the same call continues a run that was stopped.
    """
    world = tasks_of(config, data_dir)
    data = check(config, world)
    questions = min(questions, data.held_out)
    ring = await aring(
        config,
        methods=METHODS,
        runs_dir=runs_dir,
        data_dir=data_dir,
        runtime=runtime,
        questions=questions,
        learn_from=learn_from,
        name=name,
        models=models,
    )
    rows = {row.method: row for row in ring.rows}
    mage = rows[MAGE]
    gain, over_plain, over_look_up = (_difference(mage, each) for each in (NOTHING, PLAIN, LOOK_UP))
    start, run = (find_run(Path(runs_dir), ring.runs[METHODS.index(each)]) for each in (NOTHING, MAGE))
    bare = read_exam(LogReader(start.log_path))
    alone = _right(bare.answered)
    # The ring's exam is the first of these questions; the run may have been examined in other ways since.
    reader = LogReader(run.log_path)
    exams = (each for each in exam_records(reader) if is_own(each.opened, learner_of(reader)))
    sat = ((each, read_exam(each.log(run), each)) for each in exams)
    examined, right = next((each, _right(exam.answers)) for each, exam in sat if exam.questions == bare.questions)
    recalled = right.keys() & recalled_in(examined.log(run))
    asked = right.keys() & alone.keys() - recalled
    by_model = ByModel(
        asked=len(asked),
        right=sum(right[name] for name in asked),
        alone=sum(alone[name] for name in asked),
    )
    controlled, under_control, commonest = (0, 0), None, None
    if _outlook(gain) == "better":
        exam = await aexamine(
            run, questions=questions, control="permuted", data_dir=data_dir, runtime=runtime, **examinees(models)
        )
        controlled, under_control, commonest = (exam.correct, exam.total), exam.beside, exam.commonest
    over_commonest = None
    if commonest:
        answer, _ = commonest
        fits = {name: plain(world.questions[name].gold) == plain(answer) for name in right}
        commonest, over_commonest = (answer, sum(fits.values())), paired_difference(right, fits)
    return TryoutReport(
        data=data,
        ring=ring,
        gain=gain,
        shown=_outlook(gain),
        over_plain=over_plain,
        shown_over_plain=_outlook(over_plain),
        over_look_up=over_look_up,
        shown_over_look_up=_outlook(over_look_up),
        controlled=controlled,
        under_control=under_control,
        commonest=commonest,
        over_commonest=over_commonest,
        is_gain=under_control is not None
        and _outlook(under_control) == "worse"
        and (over_commonest is None or _outlook(over_commonest) == "better")
        and not data.leaks,
        is_models=not recalled
        or (bool(asked) and _outlook(paired_difference({name: right[name] for name in asked}, alone)) == "better")
        or _outlook(_difference(rows[PLAIN], NOTHING)) == "better",
        recalled=len(recalled),
        recalled_right=sum(right[name] for name in recalled),
        by_model=by_model,
        unread=reasons(bare.answers),
        learned=learned_in(LogReader(run.log_path)),
        is_look_up=_share(rows[LOOK_UP]) >= max(map(_share, ring.rows)),
        run_id=run.id,
        form=next(LogReader(run.log_path).of(FormDecided), None),
    )


tryout = blocking(atryout)


def _right(answers: pl.DataFrame) -> dict[str, bool]:
    return dict(answers.select("question_id", "correct").iter_rows())


def _share(row: RingRow) -> float:
    return row.correct / max(1, row.total)


def _difference(row: RingRow, other: str) -> RingDifference:
    return next(each for each in row.differences if each.to == other)


def _outlook(difference: PairedDifference) -> Outlook:
    if difference.interval.low > 0:
        return "better"
    return "worse" if difference.interval.high < 0 else "level"
