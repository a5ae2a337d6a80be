"""`mage-es reproduce`: compute a run's numbers again, and repeat some of its calls."""

from typing import Annotated

import typer

from mage_es.cli.options import RunArgument, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.settings import Settings
from mage_es.engine.auditing.cli.tables import checks
from mage_es.events.errors import LogDamaged, MageError

EXAMPLES = examples("mage-es reproduce", "mage-es reproduce RUN --share 0.2 --seed 7", "mage-es reproduce RUN --json")


@takes("runs_dir", "data_dir")
def reproduce(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    share: Annotated[
        float, typer.Option(metavar="SHARE", min=0, max=1, help="Share of the calls to repeat; 0 asks no model.")
    ] = 0.05,
    seed: Annotated[int, typer.Option(help="Seed for drawing these calls.")] = 0,
) -> None:
    """Compute every number of a run again from its folder.

    Everything is folded, rendered and scored again, and a random sample of the calls is repeated if the model can be
    reached, which may cost something. Nothing is recorded. Exits with 5 if bytes differ from what was written, with 1
    if another check fails.
    """
    from mage_es.engine.auditing.reproduce import reproduce as reproduce_run

    report = reproduce_run(settings.find_run(run), share=share, seed=seed, data_dir=settings.data_dir)
    words = f"In {report.seconds:.1f} s, with seed {report.seed}. A doubt breaks nothing: its detail says what is left."
    head = [f"head {report.head}"] if report.head else []
    out.report(report, checks(f"Run {report.run_id}, computed again", report.checks), words, *head)
    if not report.ok:
        out.next(settings.again("verify", report.run_id))
        is_damaged = any(check.damaged for check in report.checks)
        raise typer.Exit(LogDamaged.exit_code if is_damaged else MageError.exit_code)
    out.next(settings.again("runs", "show", report.run_id))
