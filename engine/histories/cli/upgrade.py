"""`mage-es upgrade`: put another model in the learner's place, and see what a run's memories are worth to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from mage_es.cli.options import FromAtOption, RunArgument, RunIdOption, examples, takes
from mage_es.cli.output import Output, TextTable, counted, percent
from mage_es.cli.paying import AGAIN, ASKING, YesOption, dollars, require_agreement, tokens
from mage_es.cli.session import repeatable, serving
from mage_es.cli.settings import Settings
from mage_es.cli.tables import ID_DIGITS, benefit
from mage_es.engine.config import MOST

if TYPE_CHECKING:
    from mage_es.engine.config import Config
    from mage_es.engine.histories.upgrade import UpgradePrice
    from mage_es.engine.histories.upgrade_report import MemoryProof, Standing, UpgradeDifference, UpgradeReport

EXAMPLES = examples(
    "mage-es upgrade RUN --execution llamacpp/smollm2",
    "mage-es upgrade RUN --execution 'openai/MODEL?base_url=http://localhost:8000/v1' --max-calls 300",
    "mage-es upgrade RUN --execution anthropic/claude-haiku-4-5 --sample 80 --max-usd 2",
)
_OF_THE_MODEL = ("max_tokens", "recall", "gate")
"""The settings that another model may need changed."""
_SHOWN = 10


@takes(*_OF_THE_MODEL, *ASKING)
def upgrade(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    execution: Annotated[str, typer.Option(metavar="MODEL", help="Model that takes the learner's place.")],
    at: FromAtOption = "latest",
    sample: Annotated[
        int, typer.Option(min=1, max=MOST, help="Recorded questions that the new model is asked, each twice.")
    ] = 40,
    questions: Annotated[
        int | None,
        typer.Option(
            min=1, max=MOST, help="Held-out questions of each exam. [default: as many as the run's last exam]"
        ),
    ] = None,
    run_id: RunIdOption = None,
    yes: YesOption = False,
) -> None:
    """Give what a run learned to another model, test it on recorded questions, and see which memories help.

    A new run begins with the memories; the old one is only read. The price is printed first: nothing is spent without
    `--yes`, a limit, or a yes at the terminal. Stop it at any time: the same command continues.
    """
    from mage_es.engine.histories.upgrade import upgrade as take
    from mage_es.engine.histories.upgrade import upgrade_price
    from mage_es.engine.models.registry import check_models
    from mage_es.engine.run.budget import UNLIMITED, limits_of, require_prices
    from mage_es.engine.run.directory import Run
    from mage_es.events.log import LogReader

    found = settings.find_run(run)
    begun = settings.begun(str(found.path))
    check_models(execution=execution, guidance=begun.guidance)
    what: dict[str, Any] = {"execution": execution, "sample": sample, "questions": questions}
    what |= {"runs_dir": settings.runs_dir, "run_id": run_id}
    price = upgrade_price(found, **what, prices=settings.prices())
    child = Run(price.run_id, settings.runs_dir / price.run_id)
    if child.path.exists() and child.events and not (yes and settings.limits == UNLIMITED):
        settings = settings.within(limits_of(LogReader(child.log_path)))
    if price.calls > price.made:
        require_prices(settings.limits, settings.prices(), {"execution": execution})
    out.say(priced(price))
    if price.calls > price.made:
        require_agreement(settings, price, yes=yes)
    with repeatable(out, settings) as runtime:
        config = _config(settings, begun)
        report = take(found, **what, at=at, config=config, data_dir=settings.data_dir, runtime=runtime)
    out.report(
        report, standings(report), benefit(report.benefit, report.stale), memories(report), "\n".join(verdict(report))
    )
    right = {each.is_bare: each.correct for each in report.standings if each.execution == report.execution}
    if right[False] > right[True]:
        out.next(serving(settings, report.run_id, report.execution))
    else:
        out.next(settings.again("runs", "show", report.run_id, names=("runs_dir",)))


def _config(settings: Settings, begun: Config) -> Config:
    changed = {name: settings.config(benchmark=begun.benchmark) for name in _OF_THE_MODEL if name in settings.flags()}
    return msgspec.structs.replace(begun, **{name: getattr(config, name) for name, config in changed.items()})


def priced(price: UpgradePrice) -> str:
    """Return one sentence on what an upgrade will cost, and for what."""
    if price.calls == price.made:
        return f"{price.run_id} is complete: no model is called."
    minutes = price.minutes
    lasting = "" if minutes is None else "under a minute" if minutes < 1 else f"{minutes:.0f} min"
    time = f", {lasting} at the pace of {price.paced_by}" if lasting else ""
    judge = f" and {price.judge}" if price.judge else ""
    made, whose = (f", {price.made} of them made", "those so far") if price.made else ("", "the old model")
    return (
        f"About {counted(price.calls, 'call')} of {price.execution}{judge}{made}: {price.sample} recorded questions, "
        f"{price.anchors} anchors and {price.questions} questions of an exam, each with what was learned and bare; "
        f"{tokens(price, f'as {whose} took them')}; "
        f"{dollars(price)}{time}. {AGAIN}"
    )


def standings(report: UpgradeReport) -> TextTable:
    rows = [
        (
            each.execution,
            "nothing" if each.is_bare else "its memories" if each.execution == report.learner else "these memories",
            f"{each.correct}/{each.total}",
            percent(each.correct, each.total),
            _between(each),
            str(each.recalled),
        )
        for each in report.standings
    ]
    return TextTable(
        "Exams on questions that were never learned from", ("model", "with", "right", "share", "95 %", "recalled"), rows
    )


def memories(report: UpgradeReport) -> TextTable | str:
    """Return the memories whose questions were lost or won, a limited number of each, the most harmful first."""
    decided = [each for each in report.memories if each.won or each.lost]
    if not decided:
        return f"Memories that were shown: {len(report.memories)}. None changed whether an answer was right."
    shown = decided if len(decided) <= 2 * _SHOWN else [*decided[:_SHOWN], *decided[-_SHOWN:]]
    title = (
        f"Memories by the recorded questions that they were shown to, {len(shown)} of {len(decided)} that changed any"
    )
    columns = ("memory", "kind", "written by", "shown", "won", "lost", "now")
    return TextTable(title, columns, [_memory(each) for each in shown])


def _memory(each: MemoryProof) -> tuple[str, ...]:
    now = "out of use" if each.is_out else "in use"
    return each.memory_id[:ID_DIGITS], each.kind, each.writer, str(each.shown), str(each.won), str(each.lost), now


def verdict(report: UpgradeReport) -> Iterator[str]:
    """Yield the sentences on what the memories are worth to the new model, and what it cost to find out."""
    yield from (_difference(each) for each in report.differences)
    if kept := report.kept:
        share = "" if kept.share is None else f": {100 * kept.share:.0f} % of the gain is kept"
        yield (
            f"Of {kept.total} questions {report.learner} gained {kept.old_gain} by these memories, "
            f"{report.execution} {kept.gain}{share}."
        )
    else:
        yield (
            f"What {report.learner} gained is not on record for this state: `mage-es exam {report.parent}`, with and "
            "without --at start, tells it, and the same upgrade then says what is kept."
        )
    if words := report.words:
        shown, won, lost = words
        out = f"; {report.words_out} of them are out of use" if report.words_out else ""
        yield f"Cases in the words of another model were shown to {shown} questions: {won} won, {lost} lost{out}."
    out_of_use = sum(each.is_out for each in report.memories)
    if out_of_use:
        yield f"{out_of_use} of the memories shown went out of use; `mage-es memory release` brings one back."
    yield f"The upgrade took {counted(report.calls, 'call')}; {report.parent} had learned with {report.learned_with}."


def _difference(each: UpgradeDifference) -> str:
    low, high, p = each.interval.low, each.interval.high, each.interval.p
    return (
        f"{each.what[0].upper()}{each.what[1:]}: {each.points:+.1f} points, 95 % {low:+.1f} to {high:+.1f}; "
        f"{each.better} won, {each.worse} lost of {each.interval.pairs} questions, p = {p:.2g} (sign test)."
    )


def _between(each: Standing) -> str:
    return "-" if each.interval is None else f"{100 * each.interval[0]:.0f} to {100 * each.interval[1]:.0f} %"
