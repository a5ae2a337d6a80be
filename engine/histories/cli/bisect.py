"""`mage-es bisect`: which iteration changed a metric or an answer, and which memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output, TextTable, counted, shortened
from mage_es.cli.paying import ASKING, YesOption, pay, priced
from mage_es.cli.session import repeatable
from mage_es.cli.settings import Settings
from mage_es.cli.tables import ID_DIGITS
from mage_es.engine.histories.cli.diff import parts

if TYPE_CHECKING:
    from mage_es.engine.histories.bisect import BisectReport, PromptChange

EXAMPLES = examples(
    "mage-es bisect RUN --metric anchors",
    "mage-es bisect RUN --metric mastery --good iter-1 --bad iter-9",
    "mage-es bisect RUN --question wordmath-test-4 --yes",
    "mage-es bisect RUN --question wordmath-test-4 --good iter-3 --bad iter-4 --max-usd 0.50",
)
_REST = "the skill's text, or the order of the memories"


@takes(*ASKING)
def bisect(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    metric: Annotated[str, typer.Option(metavar="NAME", help="Find what changed anchors, accuracy or mastery.")] = "",
    question: Annotated[str, typer.Option(metavar="ID", help="Find what changed the answer to this question.")] = "",
    good: Annotated[
        str, typer.Option(metavar="MARKER", help="The earlier moment. [default: the first with a value]")
    ] = "",
    bad: Annotated[str, typer.Option(metavar="MARKER", help="The later moment. [default: the last with a value]")] = "",
    yes: YesOption = False,
) -> None:
    """Find the first iteration, then the first memory, that flips a metric or the answer to a question.

    A metric is read off the log, without a model. A question is asked again on the states of some iterations, chosen by
    halving what is left. The price is printed first: nothing is spent without `--yes`, a limit, or a yes at the
    terminal. Answers are recorded, and paid for once.
    """
    from mage_es.engine.histories.bisect import bisect as find
    from mage_es.engine.histories.bisect import bisect_price

    found = settings.find_run(run)
    which: dict[str, Any] = {"question": question, "good": good, "bad": bad, "data_dir": settings.data_dir}
    if question and not metric:
        price = bisect_price(found, **which, prices=settings.prices())
        pay(price, priced(price, "at most", "judging by the run's questions"), out, settings, yes=yes)
    with repeatable(out, settings) as runtime:
        report = find(found, metric=metric, **which, runtime=runtime)
    pieces = _of_metric(report) if metric else _of_question(report)
    out.report(report, *pieces)
    out.next(*(settings.again(*words, names=("runs_dir",)) for words in _ahead(report)))


def _of_metric(report: BisectReport) -> list[TextTable | str]:
    is_counted = any(each.anchors for each in report.moments)
    rows = [
        (
            *(each.marker, _percent(each.value)),
            *((f"{each.measured}/{each.anchors}",) if is_counted else ()),
            each.guard or "-",
        )
        for each in report.moments
    ]
    table = TextTable("", ("marker", report.metric, *(("measured",) if is_counted else ()), "guard"), rows)
    return [_crossed(report), *_skipped(report), table, *(parts(report.change) if report.change else [])]


def _skipped(report: BisectReport) -> list[str]:
    """Return the sentence on the states that were not compared, as the guard did not ask all anchors; none if all
    were."""
    few = [each.marker for each in report.moments if each.measured < each.anchors]
    if not few:
        return []
    which = few[0] if len(few) == 1 else f"{len(few)} moments from {few[0]} to {few[-1]}"
    exam = f"mage-es exam {report.run_id} --at {few[-1]}"
    return [f"Not compared: {which}, where the guard did not ask all anchors. An exam measures any state: {exam}"]


def _crossed(report: BisectReport) -> str:
    first, last = report.moments[0], report.moments[-1]
    name = f"{report.run_id}, {report.metric}"
    if not report.flips:
        return (
            f"{name}: {_percent(first.value)} at {first.marker} and at {last.marker}, so there is no flip to find "
            "between them. Choose other moments with --good and --bad."
        )
    value = next(each.value for each in report.moments if each.marker == report.after)
    side = "below" if (last.value or 0.0) < (first.value or 0.0) else "above"
    found = (
        f"{name}: {_percent(value)} at {report.after}, the first {side} the {_percent(first.value)} of {first.marker}"
    )
    if len(report.flips) == 1:
        which = "all after it that were compared" if _skipped(report) else "all after it"
        return f"{found}; so are {which}." if report.after != last.marker else f"{found}."
    pairs = zip(report.flips[1::2], report.flips[2::2], strict=True)
    back = ", ".join(f"back at {there} and {side} again at {again}" for there, again in pairs)
    return f"{found}. It is the first of {len(report.flips[::2])} such flips: {back}."


def _of_question(report: BisectReport) -> list[TextTable | str]:
    rows = [
        (each.marker, _right(each.value), "on record" if each.source == "record" else each.source or "not asked")
        for each in report.moments
    ]
    pieces: list[TextTable | str] = [_flipped(report), TextTable("", ("marker", "answer", "known by"), rows)]
    if report.prompt:
        shown = [_change(each, is_cause=each.item.memory_id == report.cause) for each in report.prompt]
        if any(each.right is not None for each in report.prompt) or report.between is not None:
            gone = sum(not each.is_new for each in report.prompt)
            shown.insert(gone, ("", "all else", "", _answer(report.between, is_cause=not report.cause), _REST))
        columns = ("", "memory", "kind", "answer then", "text")
        title = f"From the prompt of {report.before} to that of {report.after}, one memory after another"
        pieces.append(TextTable(title, columns, shown, keys=2))
    if report.after:
        pieces.append(_caused(report))
    pieces += _notes(report)
    return pieces


def _flipped(report: BisectReport) -> str:
    first, last = report.moments[0], report.moments[-1]
    if not report.after:
        between = {each.value for each in report.moments} - {None, first.value}
        also = ", though not always in between" if between else ""
        return (
            f"{report.question} is {_right(first.value)} at {first.marker} and at {last.marker}{also}, so there is no "
            "flip to find between them. Choose other moments with --good and --bad."
        )
    flipped = (
        f"{report.question} is {_right(first.value)} at {report.before} and {_right(last.value)} at {report.after}."
    )
    if others := [marker for marker in report.flips if marker != report.after]:
        known = f"{flipped} It is one of {len(report.flips)} flips that are known: others are by {', '.join(others)}."
        if report.flips[0] == report.after:
            return known
        return f"{known} It is not the first, but the one that took the fewest prompts: `Next` leads to the first."
    is_known = all(each.value is not None for each in report.moments)
    return f"{flipped} It is the only flip." if is_known else f"{flipped} Where it was not asked there can be others."


def _caused(report: BisectReport) -> str:
    cause = next((each for each in report.prompt if each.item.memory_id == report.cause), None)
    if cause:
        what = "is new in the prompt" if cause.is_new else "is no longer in the prompt"
        status = "" if cause.item.status in ("", "active") else f"; it is {cause.item.status}"
        learned = f"learned in iter-{cause.item.iteration}"
        return f"The memory that flips it: {cause.item.memory_id[:ID_DIGITS]}, {learned}, {what}{status}."
    if report.rest:
        return f"No memory flips it, but what else is different in the prompt: {'; '.join(report.rest)}."
    return f"No memory flips it, but what else is different in the prompt: {_REST}."


def _change(each: PromptChange, *, is_cause: bool) -> tuple[str, ...]:
    item = each.item
    name, side = item.memory_id[:ID_DIGITS], "with" if each.is_new else "without"
    return side, name, item.kind, _answer(each.right, is_cause=is_cause), shortened(item.text)


def _answer(right: bool | None, *, is_cause: bool) -> str:
    said = "not asked" if right is None else _right(float(right))
    return f"{said}, the flip" if is_cause else said


def _notes(report: BisectReport) -> list[str]:
    asked = f"{counted(report.asks, 'prompt')} {'was' if report.asks == 1 else 'were'} asked"
    notes = [f"{asked}, in {counted(report.calls, 'call')}; what was said is on record."] if report.asks else []
    if report.temperature:
        notes.append(f"The temperature is {report.temperature:g}: part of what flips is chance in the replies.")
    return notes


def _ahead(report: BisectReport) -> Iterator[tuple[str, ...]]:
    if report.cause:
        yield "memory", "show", report.cause[:ID_DIGITS], report.run_id
    moments = (f"{report.run_id}@{report.before}", f"{report.run_id}@{report.after}")
    if report.question and report.after:
        if report.flips[0] != report.after:
            ends = ("--good", report.moments[0].marker, "--bad", report.flips[0])
            yield "bisect", report.run_id, "--question", report.question, *ends
        yield "diff", *moments, "--question", report.question
    elif report.change:
        rows = next((each for each in report.change.answers if each.what == "anchors"), None)
        flipped = (rows.lost or rows.won) if rows else ()
        if flipped and not report.episodes:
            ends = ("--good", report.before, "--bad", report.after)
            yield "bisect", report.run_id, "--question", flipped[0], *ends
        yield "diff", *moments
    else:
        yield "runs", "show", report.run_id


def _right(value: float | None) -> str:
    return "-" if value is None else "right" if value else "wrong"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %"
