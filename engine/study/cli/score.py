"""`mage-es score`: measure predictions made elsewhere with a benchmark's own metrics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from mage_es.cli.options import BenchmarkArgument, examples, takes
from mage_es.cli.output import Output, counted
from mage_es.cli.settings import Settings

if TYPE_CHECKING:
    from mage_es.engine.askings.agreement import Agreement
    from mage_es.engine.study.opinions import Judge

EXAMPLES = examples(
    "mage-es score hotpotqa --records hotpot_dev_distractor_v1.json --predictions mine.jsonl",
    "mage-es score gsm8k --data-dir data --predictions mine.jsonl --strict --json",
    "mage-es score realmath --data-dir data --predictions mine.jsonl --judge anthropic/claude-sonnet-4-6 --max-usd 2",
)

_Predictions = Annotated[
    Path,
    typer.Option(
        "--predictions",
        metavar="FILE",
        help='JSON Lines of {"id": ..., "prediction": ...}, or a log of Inspect (.eval).',
        show_default=False,
    ),
]
_Records = Annotated[
    Path | None,
    typer.Option(
        "--records", metavar="FILE", help="An upstream file: score all of its questions. [default: the test split]"
    ),
]


@takes("data_dir", "seed", "workers", "max_connections", "max_usd", "max_calls", "prices", own_tasks=True)
def score(
    benchmark: BenchmarkArgument = None,
    *,
    settings: Settings,
    out: Output,
    predictions: _Predictions,
    records: _Records = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Use upstream's scorer to the letter, with its defects.")
    ] = False,
    judge: Annotated[
        str | None,
        typer.Option(
            "--judge",
            metavar="MODEL",
            help="Also ask a model about every prediction: adds a metric `judge` and its agreement with the rule.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Measure predictions that were made elsewhere.

    Prints one JSON object per question to stdout, in the order of the records: the answer found and each metric. The
    totals go to stderr; with --json everything is one document.

    With --judge a model is asked about every prediction, with the benchmark's own template, and a table shows how far
    it agrees with the rule. (In a run the rule decides first; a judge is asked only if the rule cannot decide, or calls
    an answer of GSM8K, HotpotQA, WebQuestions or STBench wrong.) Calls may cost money, so the judge in the settings is
    not used here.
    """
    from mage_es.engine.study.score import score as measure

    report = measure(
        settings.config().benchmark,
        records=records,
        predictions=predictions,
        strict=strict,
        seed=settings.seed,
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
    from mage_es.engine.models.registry import open_model
    from mage_es.engine.run.budget import Budget, require_prices
    from mage_es.engine.study.opinions import Judge
    from mage_es.projections.ledger import Ledger

    model, prices = open_model(spec, "judge"), settings.prices()
    require_prices(settings.limits, prices, {"judge": model.name})
    spending = Budget(settings.limits, prices, Ledger())
    return Judge(model, min(settings.workers, settings.max_connections), spending, say=out.say)


def _agreement(found: Agreement) -> str:
    return "\n".join(
        [
            f"\n{found.model} on {found.predictions} predictions ({found.template}):",
            f"{'':12}{'judge right':>12}{'judge wrong':>12}",
            f"{'rule right':12}{found.both:>12}{found.rule_only:>12}",
            f"{'rule wrong':12}{found.judge_only:>12}{found.neither:>12}",
            f"agreement {found.agreement:.1f} %, Cohen's kappa {found.kappa:.3f}; "
            f"{found.unreadable} unreadable and {found.unanswered} without a reply, both counted as wrong",
            f"{counted(found.calls, 'call')}, {found.input_tokens} tokens in, {found.output_tokens} out",
        ]
    )
