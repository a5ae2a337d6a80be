"""`mage-es score`: predictions made elsewhere, measured by a benchmark's own metrics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from mage_es.cli.options import Json, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.settings import Settings

if TYPE_CHECKING:
    from mage_es.engine.agreement import Agreement, Judge

EXAMPLES = examples(
    "mage-es score hotpotqa --records hotpot_dev_distractor_v1.json --predictions mine.jsonl",
    "mage-es score gsm8k --data-dir data --predictions mine.jsonl --strict --json",
    "mage-es score realmath --data-dir data --predictions mine.jsonl --judge anthropic/claude-sonnet-4-6 --max-usd 2",
)

_Predictions = Annotated[
    Path,
    typer.Option(
        "--predictions", metavar="FILE", help='JSON lines of {"id": ..., "prediction": ...}.', show_default=False
    ),
]
_Records = Annotated[
    Path | None,
    typer.Option(
        "--records",
        metavar="FILE",
        help="An upstream file, all of whose questions count. [default: the test split]",
    ),
]


@takes("data_dir", "seed", "workers", "max_connections", "max_usd", "max_calls", "prices")
def score(
    name: Annotated[str, typer.Argument(metavar="BENCHMARK", help="Name of the benchmark, such as gsm8k.")],
    *,
    settings: Settings,
    predictions: _Predictions,
    records: _Records = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Upstream's scorer to the letter, its defects included.")
    ] = False,
    judge: Annotated[
        str | None,
        typer.Option(
            "--judge",
            metavar="MODEL",
            help="A model to ask about every prediction, too: a metric `judge`, and how far it agrees with the rule.",
            show_default=False,
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure predictions that were made elsewhere.

    One JSON object for each question on stdout, in the order of the records: the answer that was read and each
    metric. The totals follow on stderr; with --json all is one document.

    With --judge a model is asked about every prediction, with the benchmark's own template, and a table says how far
    it agrees with the rule. In a run it is otherwise: there the rule decides first, and a judge is asked only where it
    cannot, or finds an answer of GSM8K, HotpotQA, WebQuestions or STBench wrong. Calls may cost money, so the judge of
    the settings is not asked: name it here.
    """
    from mage_es.engine.scoring import score as measure

    out = Output(as_json=as_json)
    seed = settings.entries["seed"].value
    assert isinstance(seed, int)
    report = measure(
        name,
        records=records,
        predictions=predictions,
        strict=strict,
        seed=seed,
        data_dir=settings.data_dir,
        judge=_judge(judge, settings, out) if judge else None,
    )
    out.report(report, "\n".join(msgspec.json.encode(one).decode() for one in report.predictions))
    kind = "strictly as upstream" if strict else "as intended"
    out.say(f"\n{report.questions} questions, {report.missing} without a prediction; measured {kind}")
    for name, value in report.totals.items():
        out.say(f"{name}: {value:.4f}")
    if report.judge:
        out.say(_agreement(report.judge))


def _judge(spec: str, settings: Settings, out: Output) -> Judge:
    """Return the judge that was named, and what it may cost. Raises `UsageError` and `PrerequisiteError`."""
    from mage_es.engine.agreement import Judge
    from mage_es.engine.budget import Budget, require_prices
    from mage_es.engine.models.registry import open_model
    from mage_es.engine.pricing import read_prices
    from mage_es.projections.ledger import Ledger

    model, prices = open_model(spec, "judge"), read_prices(settings.prices)
    require_prices(settings.limits, prices, {"judge": model.name})
    toll = Budget(settings.limits, prices, Ledger())
    return Judge(model, min(settings.workers, settings.max_connections), toll, say=out.say)


def _agreement(found: Agreement) -> str:
    """Return how far rule and judge agree, as a small table in words."""
    return "\n".join(
        [
            f"\n{found.model} on {found.predictions} predictions ({found.template}):",
            f"{'':12}{'judge right':>12}{'judge wrong':>12}",
            f"{'rule right':12}{found.both:>12}{found.rule_only:>12}",
            f"{'rule wrong':12}{found.judge_only:>12}{found.neither:>12}",
            f"agreement {found.agreement:.1f} %, Cohen's kappa {found.kappa:.3f}; "
            f"{found.unreadable} unreadable and {found.unanswered} without a reply, which count as wrong",
            f"{found.calls} calls, {found.input_tokens} tokens in, {found.output_tokens} out",
        ]
    )
