"""`mage-es evolve`: start a run and let it learn."""

from __future__ import annotations

from typing import Annotated

import typer

from mage_es.cli.options import CONFIG, SPENDING, Json, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.session import conclude, session
from mage_es.cli.settings import Settings
from mage_es.cli.tables import estimates
from mage_es.engine.config import Config, cautions

EXAMPLES = examples(
    "mage-es evolve wordmath --iterations 10 --pool 60",
    "mage-es evolve gsm8k --data-dir data --iterations 20",
    "mage-es evolve wordmath --no-success-memories --run-id without-successes",
    "mage-es evolve gsm8k --preset paper --guard off",
    "mage-es evolve gsm8k --guidance anthropic/claude-opus-4-8 --dry-run",
    "mage-es evolve gsm8k --guidance anthropic/claude-opus-4-8 --max-usd 5",
)


@takes("preset", *CONFIG, "workers", "runs_dir", "data_dir", *SPENDING)
def evolve(
    benchmark: Annotated[str | None, typer.Argument(help="Name of the benchmark, such as wordmath.")] = None,
    *,
    settings: Settings,
    run_id: Annotated[str | None, typer.Option("--run-id", help="Name of the new run. [default: made up]")] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell what the run would take in calls, tokens and dollars.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Start a run: a frozen learner gathers experience on a benchmark.

    Every step is recorded; the run can be stopped, resumed, replayed, audited.
    """
    from mage_es.engine.evolution import evolve as start
    from mage_es.engine.pricing import read_prices

    out = Output(as_json=as_json)
    config = settings.config()
    for caution in cautions(config):
        out.say(f"Caution: {caution}")
    if dry_run:
        _estimate(out, config, settings)
        return
    with session(out, settings) as at_work:
        summary = start(
            config,
            runs_dir=settings.runs_dir,
            data_dir=settings.data_dir,
            workers=settings.workers,
            limits=settings.limits,
            prices=read_prices(settings.prices),
            run_id=run_id,
            observer=at_work.observe,
            stop=at_work.stop,
        )
    conclude(out, summary, settings)


def _estimate(out: Output, config: Config, settings: Settings) -> None:
    from mage_es.engine.estimating import estimate
    from mage_es.engine.pricing import read_prices

    out.say("Rehearsing with embedded models; none is called that costs anything.")
    told = estimate(config, data_dir=settings.data_dir, workers=settings.workers, prices=read_prices(settings.prices))
    prices = (f"{tier.tier}: {tier.price or 'nobody said what ' + tier.model + ' costs'}" for tier in told.tiers)
    out.report(told, estimates(told), "Prices: " + "; ".join(prices))
    options = tuple(name for name in settings.flags() if name != "benchmark")  # that one is no option
    out.next(settings.again("evolve", config.benchmark, names=options))
