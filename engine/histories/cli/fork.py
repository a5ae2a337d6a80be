"""`mage-es fork`: start a run from a moment of another."""

from typing import Annotated

import typer

from mage_es.cli.completion import run_ids
from mage_es.cli.options import CONFIG, FromAtOption, RunIdOption, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.settings import Settings

EXAMPLES = examples(
    "mage-es fork RUN --at iter-4 --run-id other",
    "mage-es fork RUN --at iter-4 --guard off",
    "mage-es fork RUN --tasks more.jsonl",
)


@takes(*CONFIG, "runs_dir", "data_dir", own_tasks=True)
def fork(
    from_run: Annotated[str, typer.Argument(metavar="RUN", help="The run to continue from.", autocompletion=run_ids)],
    *,
    settings: Settings,
    out: Output,
    at: FromAtOption = "latest",
    run_id: RunIdOption = None,
) -> None:
    """Start a run with what another had learned by some moment. No model is called and nothing is copied.

    The new run has the other's settings unless you give others, and its questions besides those of --tasks. It keeps
    hard links to the other's log, so the other may be deleted. `mage-es resume` continues it.
    """
    from mage_es.engine.histories.fork import fork as forked

    report = forked(
        settings.find_run(from_run),
        at=at,
        config=settings.config(),
        runs_dir=settings.runs_dir,
        data_dir=settings.data_dir,
        run_id=run_id,
    )
    begun = f"{report.run_id} continues from {report.marker} of {report.parent}"
    splits = f"{report.evolution} questions to learn from, {report.anchors} anchors, {report.held_out} held out"
    out.report(report, f"{begun} and shares its first {report.events:,} events. It has {splits}. 0 calls were made.")
    out.next(settings.again("resume", report.run_id, names=("runs_dir", "data_dir")))
