"""`mage-es evolve`: start a run and let it learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mage_es.cli.options import CONFIG, SPENDING, Json, examples, takes
from mage_es.cli.output import Output, Table
from mage_es.cli.session import conclude, session
from mage_es.cli.settings import Settings
from mage_es.engine.config import Config, cautions

if TYPE_CHECKING:
    from mage_es.engine.estimates import Estimate, TierEstimate

EXAMPLES = examples(
    "mage-es evolve wordmath --iterations 10 --pool 60",
    "mage-es evolve gsm8k --data-dir data --iterations 20",
    "mage-es evolve wordmath --no-success-memories --run-id without-successes",
    "mage-es evolve gsm8k --preset paper --guard off",
    "mage-es evolve gsm8k --guidance anthropic/claude-opus-4-8 --dry-run",
    "mage-es evolve gsm8k --guidance anthropic/claude-opus-4-8 --max-usd 5",
    "mage-es evolve --tasks my.jsonl --columns question=prompt,answer=label --scorer number",
)

_TASKS = "Evolve on tasks of your own: a file (JSON, CSV, Parquet), or hf:NAME of the Hugging Face hub."
_COLUMNS = (
    "Which column is what: question=NAME, answer=NAME, context, options (also A/B/C/D), task_type, solution, id, split;"
    " joined by commas."
)
_SCORER = "How answers to own tasks are checked: exact, contains, f1, number, choice or judge. [default: exact]"
_TEST_TASKS = "A second file (of a hub's data set: a split) that is only examined. [default: three tenths of the tasks]"


def _own(flag: str, metavar: str, help: str) -> Any:
    """Return an option about own tasks."""
    return typer.Option(flag, metavar=metavar, help=help, show_default=False, rich_help_panel="Your own tasks")


@takes("preset", *CONFIG, "workers", "max_connections", "guidance_batch", "runs_dir", "data_dir", *SPENDING)
def evolve(
    benchmark: Annotated[str | None, typer.Argument(help="Name of the benchmark, such as wordmath.")] = None,
    *,
    settings: Settings,
    tasks: Annotated[str | None, _own("--tasks", "FILE", _TASKS)] = None,
    columns: Annotated[str, _own("--columns", "ROLE=NAME,...", _COLUMNS)] = "",
    scorer: Annotated[str, _own("--scorer", "NAME", _SCORER)] = "exact",
    test_tasks: Annotated[str, _own("--test-tasks", "FILE", _TEST_TASKS)] = "",
    subset: Annotated[str, _own("--subset", "NAME", "Configuration of a hub's data set.")] = "",
    run_id: Annotated[
        str | None, typer.Option("--run-id", metavar="NAME", help="Name of the new run. [default: made up]")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only tell what the run would take in calls, tokens and dollars.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Start a run: a frozen learner gathers experience on a benchmark.

    Every step is recorded; the run can be stopped, resumed, replayed, audited.
    """
    from mage_es.engine.evolution import evolve as start

    out = Output(as_json=as_json)
    if tasks is not None:
        own = _own_tasks(settings, tasks, columns=columns, scorer=scorer, test=test_tasks, subset=subset)
        settings = settings.about(own)
    config = settings.config()
    for caution in cautions(config):
        out.say(f"Caution: {caution}")
    if dry_run:
        _estimate(out, config, settings)
        return
    with session(out, settings) as runtime:
        summary = start(config, runs_dir=settings.runs_dir, data_dir=settings.data_dir, runtime=runtime, run_id=run_id)
    conclude(out, summary, settings)


def _own_tasks(settings: Settings, tasks: str, **told: str) -> str:
    """Return the name of own tasks as a benchmark. Raises `UsageError` where a benchmark was named as well."""
    from mage_es.engine.benchmarks.tasks.spec import specified
    from mage_es.events.errors import UsageError

    if settings.entries["benchmark"].origin == "flag":
        named = settings.entries["benchmark"].value
        raise UsageError(f"Both the benchmark {named} and --tasks {tasks} were given: a run is about one of them.")
    return specified(tasks, **told).name


def _estimate(out: Output, config: Config, settings: Settings) -> None:
    from mage_es.engine.estimating import estimate
    from mage_es.engine.pricing import read_prices

    out.say("Rehearsing with embedded models; none is called that costs anything.")
    told = estimate(
        config,
        data_dir=settings.data_dir,
        workers=settings.workers,
        prices=read_prices(settings.prices),
        batches=settings.batches,
    )
    prices = (f"{tier.tier}: {tier.price or 'nobody said what ' + tier.model + ' costs'}" for tier in told.tiers)
    out.report(told, _estimates(told), "Prices: " + "; ".join(prices))
    options = tuple(name for name in settings.flags() if name != "benchmark")  # that one is no option
    out.next(settings.again("evolve", config.benchmark, names=options))


def _estimates(estimate: Estimate) -> Table:
    """Return what a run will take, tier by tier, as low, expected and high; dollars over all tiers in the last row."""
    rows = []
    for tier in estimate.tiers:
        amounts = (("calls", tier.calls), ("input", tier.input_tokens), ("output", tier.output_tokens))
        rows += [(tier.tier, tier.model, f"{name}", *(f"{each:,.0f}" for each in of.values())) for name, of in amounts]
        rows.append((tier.tier, tier.model, "dollars", *_dollars([tier])))
    rows.append(("all", "", "dollars", *_dollars(list(estimate.tiers))))
    title = f"{estimate.iterations} iterations of {estimate.benchmark}, told from {estimate.rehearsed} rehearsed ones"
    return Table(title, ("tier", "model", "amount", "low", "expected", "high"), rows)


def _dollars(tiers: list[TierEstimate]) -> tuple[str, ...]:
    known = [tier.usd.values() for tier in tiers if tier.usd is not None]
    if len(known) < len(tiers):
        return ("unpriced",) * 3
    return tuple(f"{sum(each):,.2f}" for each in zip(*known, strict=True))
