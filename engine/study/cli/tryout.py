"""`mage-es try`: whether a model learns your tasks from experience, in one command and a few minutes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from mage_es.cli.options import BenchmarkArgument, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.own_tasks import with_learner
from mage_es.cli.session import repeatable
from mage_es.cli.settings import Settings
from mage_es.cli.tables import form_in_words
from mage_es.engine.config import MOST
from mage_es.engine.study.cli.baseline import LearnFromOption
from mage_es.engine.study.cli.ring import OPTIONS, NameOption, ring_table

if TYPE_CHECKING:
    from mage_es.engine.study.ring import RingDifference
    from mage_es.engine.study.tryout import TryoutReport

EXAMPLES = examples(
    "mage-es try my.jsonl --execution llamacpp/smollm2",
    "mage-es try my.csv --execution 'openai/MODEL?base_url=http://localhost:8000/v1'",
)


@takes(*OPTIONS, own_tasks=True)
def tryout(
    benchmark: BenchmarkArgument = None,
    *,
    settings: Settings,
    out: Output,
    questions: Annotated[
        int, typer.Option("--questions", min=1, max=MOST, help="Most held-out questions to ask each method.")
    ] = 60,
    learn_from: LearnFromOption = None,
    name: NameOption = None,
) -> None:
    """Find out whether a model learns your tasks: with nothing, with plain nearest cases, with what it learned.

    Unless --form names one, a trial of at most 30 calls chooses how prompts show cases.

    Stop it at any time: every answer is kept, and the same command continues.
    """
    from mage_es.engine.study.tryout import tryout as take

    config = with_learner(settings.config())
    if settings.entries["form"].origin == "default":
        config = msgspec.structs.replace(config, form="auto")
    with repeatable(out, settings) as runtime:
        report = take(
            config,
            runs_dir=settings.runs_dir,
            data_dir=settings.data_dir,
            runtime=runtime,
            questions=questions,
            learn_from=learn_from,
            name=name,
        )
    out.report(report, ring_table(report.ring))
    for said in (*report.data.leaks, *form_in_words(report.form), " ".join(verdict(report))):
        out.say(said)
    names = ("runs_dir",)
    if report.shown == "better":
        out.next(settings.again("serve", report.run_id, names=names))
    else:
        out.next(settings.again("runs", "show", report.run_id, names=names))


def verdict(report: TryoutReport) -> list[str]:
    """Return the sentences that say what the numbers show, and what they do not."""
    rows = {row.method: row for row in report.ring.rows}
    nothing, plain, mage = rows["zero_shot"], rows["knn"], rows["mage"]
    of, gain, over = mage.total, report.gain, report.over_plain
    own, rival = (row.input_tokens + row.output_tokens for row in (mage, plain))
    cost = f"{own / rival:.2f} times" if rival else "none"
    said = [
        f"{report.ring.execution} alone got {nothing.correct} of {of} right, and {mage.correct} of {of} after learning "
        f"from {report.ring.learned} questions: {_spread(gain)}.",
        {
            "better": "That is a gain.",
            "worse": "That is a loss: do without the memory.",
            "level": "That shows no gain: more held-out questions would tell a smaller one.",
        }[report.shown],
        f"The five nearest cases as a plain prompt got {plain.correct}: "
        + {"better": "MAGE is better, by ", "worse": "MAGE lost, by ", "level": "no difference is shown, "}[
            report.shown_over_plain
        ]
        + f"{_spread(over)}, at {cost} of its tokens.",
    ]
    if report.is_look_up:
        said.append(
            f"The answer of the nearest case, without any model, got {rows['nearest_label'].correct}: a look-up solves "
            "these tasks."
        )
    if report.looked_up:
        said.append(f"MAGE itself answered {report.looked_up} of {of} that way, without a call.")
    return said


def _spread(difference: RingDifference) -> str:
    spread = difference.interval
    return f"{difference.points:+.0f} points (95 % interval {spread.low:+.0f} to {spread.high:+.0f})"
