"""`mage-es publish`: turn what clients said about a served run into memories and rewards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output, TextTable
from mage_es.cli.paying import ASKING, YesOption, pay, priced
from mage_es.cli.progress import ProgressDisplay
from mage_es.cli.session import watched
from mage_es.cli.settings import Settings
from mage_es.events.errors import Interrupted

if TYPE_CHECKING:
    from mage_es.engine.serving.publish import PublishReport

EXAMPLES = examples("mage-es publish RUN-served --yes", "mage-es publish RUN-served --max-calls 500")


@takes(*ASKING)
def publish(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    model: Annotated[
        str | None,
        typer.Option("--execution", metavar="MODEL", help="Address at which the run's execution model is served now."),
    ] = None,
    yes: YesOption = False,
) -> None:
    """Publish what clients said about a served run: proposed memories, and rewards of the ways to search them.

    What each key said is tried on the anchors, with and without it. What the guard passes is in the next marker, for
    new sessions; what it rejects goes into quarantine, and what no anchor can judge waits for `mage-es memory review`.
    The price is printed first: nothing is spent without `--yes`, a limit, or a yes at the terminal. The same command
    continues a publish that was stopped.
    """
    from mage_es.engine.serving.publish import publish as publish_run
    from mage_es.engine.serving.publish import publish_price

    found, progress = settings.find_run(run), ProgressDisplay(is_publish=True)
    price = publish_price(found, data_dir=settings.data_dir, prices=settings.prices(), execution=model)
    if price.questions:
        pay(price, priced(price, "of anchors at most", "judging by earlier anchors"), out, settings, yes=yes)
    again = f"Everything recorded is kept. Go on with: {settings.again('publish', found.id, '--yes')}"
    try:
        with watched(out, settings, progress, way_back=lambda: again) as runtime:
            report = publish_run(found, data_dir=settings.data_dir, runtime=runtime, execution=model)
    except Interrupted as stopped:
        raise type(stopped)(f"{stopped} {again}") from stopped
    out.report(report, table(report) if report.keys else _nothing(report))
    if any(each.verdict == "off" for each in report.keys):
        out.say("The guard of this run is off: a proposal was judged only by the anchors that saw it.")
    if waiting := sum(each.waiting for each in report.keys):
        out.say(f"{'1 proposal waits' if waiting == 1 else f'{waiting} proposals wait'} for a person.")
    is_left = any(each.waiting or each.refused for each in report.keys)
    ahead = [("memory", "review"), ("gain",)] if is_left else [("gain",)]
    out.next(*(settings.again(*words, report.run_id) for words in ahead))


def _nothing(report: PublishReport) -> str:
    return f"{report.run_id}: nothing to publish. No client has said anything that counts since {report.marker}."


def table(report: PublishReport) -> TextTable:
    columns = ("key", "marker", "verdict", "published", "refused", "waiting", "rewards", "anchors right")
    rows = [
        (
            *(each.key or "(none)", f"iter-{each.iteration}", each.verdict.replace("_", " ")),
            *(str(each.published), str(each.refused), str(each.waiting), str(each.rewards)),
            f"{each.anchors_right} of {each.anchors}",
        )
        for each in report.keys
    ]
    return TextTable(f"{report.run_id}: new sessions see {report.marker}", columns, rows)
