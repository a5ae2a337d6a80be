"""`mage-es try`: whether a model learns your tasks from experience, in one command and a few minutes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from mage_es.cli.options import BenchmarkArgument, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.own_tasks import with_learner
from mage_es.cli.session import repeatable, serving
from mage_es.cli.settings import Settings
from mage_es.cli.tables import form_in_words
from mage_es.engine.config import MOST
from mage_es.engine.study.cli.baseline import LearnFromOption
from mage_es.engine.study.cli.ring import OPTIONS, NameOption, ring_table, undecided

if TYPE_CHECKING:
    from mage_es.engine.run.exams import PairedDifference
    from mage_es.engine.study.ring import RingDifference, RingRow
    from mage_es.engine.study.tryout import Outlook, TryoutReport

EXAMPLES = examples(
    "mage-es try my.jsonl --execution llamacpp/smollm2",
    "mage-es try my.csv --execution 'openai/MODEL?base_url=http://localhost:8000/v1'",
)


_FIRST = ("execution", "guidance", "judge", "max_tokens", "seed", "max_usd", "max_calls", "workers", "runs_dir")


@takes(*OPTIONS, own_tasks=True, first=_FIRST)
def tryout(
    benchmark: BenchmarkArgument = None,
    *,
    settings: Settings,
    out: Output,
    questions: Annotated[
        int,
        typer.Option("--questions", min=1, max=MOST, help="Most held-out questions that each method is asked."),
    ] = 60,
    learn_from: LearnFromOption = None,
    name: NameOption = None,
) -> None:
    """Find out whether a model learns your tasks: with nothing, with plain nearest cases, with what it learned.

    Unless --form names one, a trial of at most 30 calls chooses how prompts show cases.

    If what was learned does better than nothing, the questions are asked once more with the answers of the memories
    exchanged. It counts as a gain only if it does better than that, too.

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
    if report.is_gain and report.is_models:
        out.next(serving(settings, report.run_id, report.ring.execution))
    else:
        out.next(settings.again("runs", "show", report.run_id, names=("runs_dir",)))


def verdict(report: TryoutReport) -> list[str]:
    """Return the sentences that say what the numbers show, and what they do not."""
    rows = {row.method: row for row in report.ring.rows}
    nothing, plain, look_up, mage = (rows[name] for name in ("zero_shot", "knn", "nearest_label", "mage"))
    own, rival = (row.input_tokens + row.output_tokens for row in (mage, plain))
    cost = f", at {own / rival:.2f} times its tokens" if own and rival else ", without a call" if rival else ""
    said = [
        f"{report.ring.execution} alone got {_of(nothing)} right, and {_of(mage)} after learning from {report.learned} "
        f"questions: {_spread(report.gain)}.",
        *undecided(report.ring),
        *_unread(report),
        *_taught(report, mage.total),
        f"The five nearest cases as a plain prompt got {_of(plain)}: "
        f"{_compared(report.shown_over_plain, report.over_plain)}{cost}.",
        f"The answer of the nearest case, without any model, got {_of(look_up)}: "
        f"{_compared(report.shown_over_look_up, report.over_look_up)}.",
    ]
    if report.is_look_up and report.is_gain:
        said.append("A look-up solves these tasks.")
    return [*said, *_recalled(report, mage.total)]


def _of(row: RingRow) -> str:
    return f"{row.correct} of {row.total}"


def _unread(report: TryoutReport) -> Iterator[str]:
    """Yield what was wrong with replies of the model alone, other than what they said."""
    if report.unread:
        each = ", ".join(f"{count} {kind}" for kind, count in report.unread.items())
        yield f"Failed replies of the model alone: {each}. Its start may be too low; `mage-es doctor` says what helps."


def _recalled(report: TryoutReport, of: int) -> Iterator[str]:
    """Yield what was answered without a call, and what the model itself gained."""
    if not report.recalled:
        return
    yield (
        f"MAGE recalled {report.recalled} of {of} from its nearest cases, without a call, {report.recalled_right} of "
        "them correctly; `serve` always asks the model."
    )
    by_model = report.by_model
    if by_model.asked:
        yield (
            f"Of {by_model.asked} others, which were put to the model, it got {by_model.right} right after learning, "
            f"and {by_model.alone} alone."
        )
    if not report.is_models:
        yield "This does not show that the model itself gains: --no-recall, with another --name, asks it everything."


def _taught(report: TryoutReport, of: int) -> Iterator[str]:
    """Yield whether the difference from no memory is a gain, and what else could explain it."""
    if report.under_control is None:
        yield {
            "worse": "That is a loss: do without the memory.",
            "level": "That shows no gain: more held-out questions would tell whether there is one.",
        }[report.shown]
        return
    if report.data.leaks:
        yield "That does not measure the memory: something other than the text gives answers away."
    elif report.is_gain:
        yield "That is a gain." if report.is_models else "That is a gain of the look-up."
    else:
        yield (
            "That shows no gain: memories may only say which answers there are, not which one is right, and more "
            "held-out questions would tell."
        )
    right, asked = report.controlled
    yield f"With the answers of its memories exchanged it got {right} of {asked}: {_spread(report.under_control)}."
    if report.commonest:
        answer, right = report.commonest
        ahead = f": {_spread(report.over_commonest)}" if report.over_commonest else ""
        yield f"The commonest answer among those learned from, {answer!r}, fits {right} of {of}{ahead}."


def _compared(shown: Outlook, difference: RingDifference) -> str:
    words = {"better": "MAGE is better, by ", "worse": "MAGE lost, by ", "level": "no difference is shown, "}
    return words[shown] + _spread(difference)


def _spread(difference: PairedDifference) -> str:
    spread = difference.interval
    return f"{difference.points:+.0f} points (95 % interval {spread.low:+.0f} to {spread.high:+.0f})"
