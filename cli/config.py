"""`mage-es config show`: every setting, its value and where that comes from."""

from __future__ import annotations

from typing import Annotated

import typer

from mage_es.cli.options import CONFIG, examples, takes
from mage_es.cli.output import Output, TextTable
from mage_es.cli.settings import Settings

EXAMPLES = examples(
    "mage-es config show", "MAGE_ES_POOL=50 mage-es config show --seed 7", "mage-es config show --preset paper"
)


@takes("preset", *CONFIG, "workers", "max_connections", "runs_dir", "data_dir")
def show(
    benchmark: Annotated[str | None, typer.Argument(help="Name of the benchmark, such as wordmath.")] = None,
    *,
    settings: Settings,
    out: Output,
) -> None:
    """Show every setting and where its value comes from.

    With the same words `evolve` would use these values: flag, environment, file, preset, default.
    """
    entries = settings.entries.values()
    document = {entry.name: {"value": entry.value, "origin": entry.origin} for entry in entries}
    rows = [(entry.name, "none" if entry.value is None else str(entry.value), entry.origin) for entry in entries]
    out.report(document, TextTable("", ("setting", "value", "origin"), rows))
    name = str(settings.entries["benchmark"].value or "wordmath")
    options = tuple(each for each in settings.entries if each != "benchmark")  # that one is no option
    out.next(settings.again("evolve", name, names=options))
