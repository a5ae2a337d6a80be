"""The verb `try`: a first answer to whether a model learns these tasks from experience, and whether that is worth it.

Rules
    - It adds no measurement: it is a ring of one seed over no memory, the nearest answer without a model, the
      plain nearest cases, and MAGE. So all four see the same questions, and the same call continues where it stopped.
    - The verdict rests on paired intervals: what they do not exclude is reported as not shown.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models
from mage_es.engine.run.directory import RUNS_DIR, find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.study.ring import MAGE, NOTHING, PLAIN, RingDifference, RingReport, RingRow, aring
from mage_es.engine.verbs.data import DataReport, check, tasks_of
from mage_es.engine.verbs.forms import blocking, typed
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import FormDecided

LOOK_UP = "nearest_label"
METHODS = (NOTHING, LOOK_UP, PLAIN, MAGE)
QUESTIONS = 60
"""Most held-out questions to ask: enough to see some 15 points, and few enough to be worth the wait."""

Outlook = Literal["better", "level", "worse"]


class TryoutReport(msgspec.Struct, frozen=True, kw_only=True):
    """How the tasks were divided, what each method got right, and what that shows.

    `gain` is MAGE against the model without memory, `over_plain` against the nearest cases as a prompt; `looked_up` is
    how many held-out questions MAGE answered without a call.
    """

    data: DataReport
    ring: RingReport
    gain: RingDifference
    shown: Outlook
    over_plain: RingDifference
    shown_over_plain: Outlook
    looked_up: int
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
    data = check(config, tasks_of(config, data_dir))
    ring = await aring(
        config,
        methods=METHODS,
        runs_dir=runs_dir,
        data_dir=data_dir,
        runtime=runtime,
        questions=min(questions, data.held_out),
        learn_from=learn_from,
        name=name,
        models=models,
    )
    rows = {row.method: row for row in ring.rows}
    mage = rows[MAGE]
    gain, over_plain = _difference(mage, NOTHING), _difference(mage, PLAIN)
    return TryoutReport(
        data=data,
        ring=ring,
        gain=gain,
        shown=_outlook(gain),
        over_plain=over_plain,
        shown_over_plain=_outlook(over_plain),
        looked_up=max(0, mage.total - mage.calls),
        is_look_up=rows[LOOK_UP].correct >= max(row.correct for row in ring.rows),
        run_id=(run := ring.runs[METHODS.index(MAGE)]),
        form=next(LogReader(find_run(Path(runs_dir), run).log_path).of(FormDecided), None),
    )


tryout = blocking(atryout)


def _difference(row: RingRow, other: str) -> RingDifference:
    return next(each for each in row.differences if each.to == other)


def _outlook(difference: RingDifference) -> Outlook:
    if difference.interval.low > 0:
        return "better"
    return "worse" if difference.interval.high < 0 else "level"
