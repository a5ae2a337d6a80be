"""`mage-es score`: predictions made elsewhere, measured by a benchmark's own metrics."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
import typer

from mage_es.cli.options import Json, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.settings import Settings

EXAMPLES = examples(
    "mage-es score hotpotqa --records hotpot_dev_distractor_v1.json --predictions mine.jsonl",
    "mage-es score gsm8k --data-dir data --predictions mine.jsonl --strict --json",
)


@takes("data_dir", "seed")
def score(
    name: Annotated[str, typer.Argument(metavar="BENCHMARK", help="Name of the benchmark, such as gsm8k.")],
    *,
    settings: Settings,
    predictions: Annotated[
        Path, typer.Option("--predictions", help='JSON lines of {"id": ..., "prediction": ...}.', show_default=False)
    ],
    records: Annotated[
        Path | None,
        typer.Option("--records", help="An upstream file, all of whose questions count. [default: the test split]"),
    ] = None,
    strict: Annotated[
        bool, typer.Option("--strict", help="Upstream's scorer to the letter, its defects included.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Measure predictions that were made elsewhere.

    One JSON object for each question on stdout, in the order of the records: the answer that was read and each
    metric. The totals follow on stderr; with --json all is one document.
    """
    from mage_es.engine.scoring import score as measure

    out = Output(as_json=as_json)
    seed = settings.entries["seed"].value
    assert isinstance(seed, int)
    report = measure(
        name, records=records, predictions=predictions, strict=strict, seed=seed, data_dir=settings.data_dir
    )
    out.report(report, "\n".join(msgspec.json.encode(one).decode() for one in report.predictions))
    kind = "strictly as upstream" if strict else "as intended"
    out.say(f"\n{report.questions} questions, {report.missing} without a prediction; measured {kind}")
    for name, value in report.totals.items():
        out.say(f"{name}: {value:.4f}")
