"""`mage-es evolve`: start a run and let it learn."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mage_es.cli.options import CONFIG, SPENDING, RunIdOption, examples, takes
from mage_es.cli.output import Output, TextTable
from mage_es.cli.session import conclude, session
from mage_es.cli.settings import Settings
from mage_es.engine.config import Config, cautions

if TYPE_CHECKING:
    from mage_es.engine.verbs.estimate import Estimate, TierEstimate

EXAMPLES = examples(
    "mage-es evolve wordmath --iterations 10 --pool 60",
    "mage-es evolve gsm8k --data-dir data --iterations 20",
    "mage-es evolve wordmath --no-success-memories --run-id without-successes",
    "mage-es evolve gsm8k --preset paper --guard off",
    "mage-es evolve gsm8k --guidance anthropic/claude-opus-4-8 --dry-run",
    "mage-es evolve gsm8k --guidance anthropic/claude-opus-4-8 --max-usd 5",
    "mage-es evolve --tasks my.jsonl --columns question=prompt,answer=label --scorer number",
    "mage-es evolve --tasks tickets.csv --labels billing,delivery,other --instruction 'Decide by what is asked for.'",
)

_TASKS = "Evolve on tasks of your own: a file (JSON, CSV, Parquet), or hf:NAME on the Hugging Face hub."
_COLUMNS = (
    "Which column holds what: question=NAME, answer=NAME, context, options (or A/B/C/D), task_type, solution, id,"
    " split; separated by commas."
)
_SCORER = "How to check answers to your tasks: exact, contains, f1, number, choice or judge. [default: exact]"
_INSTRUCTION = "What to do with each question, if the questions do not say it: a text, or a file that holds one."
_LABELS = "All answers there can be, as in billing,delivery,other: the prompt lists them, and the scorer looks for one."
_TEST_TASKS = "A second file (on the hub: a split) that is only examined. [default: three tenths of the tasks]"


def _own(flag: str, metavar: str, help: str) -> Any:
    return typer.Option(flag, metavar=metavar, help=help, show_default=False, rich_help_panel="Your own tasks")


@takes("preset", *CONFIG, "workers", "max_connections", "guidance_batch", "runs_dir", "data_dir", *SPENDING)
def evolve(
    benchmark: Annotated[str | None, typer.Argument(help="Name of the benchmark, such as wordmath.")] = None,
    *,
    settings: Settings,
    out: Output,
    tasks: Annotated[str | None, _own("--tasks", "FILE", _TASKS)] = None,
    columns: Annotated[str, _own("--columns", "ROLE=NAME,...", _COLUMNS)] = "",
    scorer: Annotated[str, _own("--scorer", "NAME", _SCORER)] = "exact",
    instruction: Annotated[str, _own("--instruction", "TEXT|FILE", _INSTRUCTION)] = "",
    labels: Annotated[str, _own("--labels", "A,B,...", _LABELS)] = "",
    test_tasks: Annotated[str, _own("--test-tasks", "FILE", _TEST_TASKS)] = "",
    subset: Annotated[str, _own("--subset", "NAME", "Configuration of a data set on the hub.")] = "",
    run_id: RunIdOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only estimate the calls, tokens and dollars of the run.")
    ] = False,
) -> None:
    """Start a run: a frozen learner gathers experience on a benchmark.

    Every step is recorded; the run can be stopped, resumed, replayed and audited.
    """
    from mage_es.engine.benchmarks.tasks.spec import specified
    from mage_es.engine.verbs.evolve import evolve as start
    from mage_es.events.errors import UsageError

    if tasks is not None:
        if named := settings.flags().get("benchmark"):
            raise UsageError(f"Both the benchmark {named} and --tasks {tasks} were given: leave one of them out.")
        own = specified(
            tasks,
            columns=columns,
            scorer=scorer,
            test=test_tasks,
            subset=subset,
            instruction=_text_of(instruction),
            labels=labels,
        )
        settings = settings.about(own.name)
    config = settings.config()
    for caution in cautions(config):
        out.say(f"Caution: {caution}")
    if dry_run:
        _estimate(out, config, settings)
        return
    with session(out, settings) as runtime:
        summary = start(config, runs_dir=settings.runs_dir, data_dir=settings.data_dir, runtime=runtime, run_id=run_id)
    conclude(out, summary, settings)


def _text_of(given: str) -> str:
    """Return the text of a file of that name, else what was given: a run records the text, and no file to change."""
    try:
        return Path(given).read_text("utf-8")
    except OSError:
        return given


def _estimate(out: Output, config: Config, settings: Settings) -> None:
    from mage_es.engine.verbs.estimate import estimate

    out.say("Rehearsing with embedded models, which cost nothing.")
    found = estimate(
        config, data_dir=settings.data_dir, workers=settings.workers, prices=settings.prices(), batches=settings.batches
    )
    prices = (f"{tier.tier}: {tier.price or 'no known price for ' + tier.model}" for tier in found.tiers)
    out.report(found, _estimates(found), "Prices: " + "; ".join(prices))
    options = tuple(name for name in settings.flags() if name != "benchmark")  # that one is an argument
    out.next(settings.again("evolve", config.benchmark, names=options))


def _estimates(estimate: Estimate) -> TextTable:
    """Return what a run will take, tier by tier, as low, expected and high; the last row adds the dollars up."""
    rows = []
    for tier in estimate.tiers:
        amounts = (("calls", tier.calls), ("input", tier.input_tokens), ("output", tier.output_tokens))
        rows += [(tier.tier, tier.model, name, *(f"{each:,.0f}" for each in of.values())) for name, of in amounts]
        rows.append((tier.tier, tier.model, "dollars", *_dollars([tier])))
    rows.append(("all", "", "dollars", *_dollars(list(estimate.tiers))))
    title = f"{estimate.iterations} iterations of {estimate.benchmark}, estimated from {estimate.rehearsed} rehearsed"
    return TextTable(title, ("tier", "model", "amount", "low", "expected", "high"), rows)


def _dollars(tiers: list[TierEstimate]) -> tuple[str, ...]:
    known = [tier.usd.values() for tier in tiers if tier.usd is not None]
    if len(known) < len(tiers):
        return ("unpriced",) * 3
    return tuple(f"{sum(each):,.2f}" for each in zip(*known, strict=True))
