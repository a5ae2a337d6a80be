"""`mage-es evolve`: start a run and let it learn."""

from __future__ import annotations

from typing import Annotated

import typer

from mage_es.cli.options import CONFIG, Json, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.session import conclude, session
from mage_es.cli.settings import Settings
from mage_es.engine.config import cautions

EXAMPLES = examples(
    "mage-es evolve wordmath --iterations 10 --pool 60",
    "mage-es evolve gsm8k --data-dir data --iterations 20",
    "mage-es evolve wordmath --no-success-memories --run-id without-successes",
    "mage-es evolve gsm8k --preset paper --guard off",
)


@takes("preset", *CONFIG, "workers", "runs_dir", "data_dir")
def evolve(
    benchmark: Annotated[str | None, typer.Argument(help="Name of the benchmark, such as wordmath.")] = None,
    *,
    settings: Settings,
    run_id: Annotated[str | None, typer.Option("--run-id", help="Name of the new run. [default: made up]")] = None,
    as_json: Json = False,
) -> None:
    """Start a run: a frozen learner gathers experience on a benchmark.

    Every step is recorded; the run can be stopped, resumed, replayed, audited.
    """
    from mage_es.engine.evolution import evolve as start

    out = Output(as_json=as_json)
    config = settings.config()
    for caution in cautions(config):
        out.say(f"Caution: {caution}")
    with session(out, settings) as at_work:
        summary = start(
            config,
            runs_dir=settings.runs_dir,
            data_dir=settings.data_dir,
            workers=settings.workers,
            run_id=run_id,
            observer=at_work.observe,
            stop=at_work.stop,
        )
    conclude(out, summary, settings)
