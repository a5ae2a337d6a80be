"""`mage-es config show`: every setting, its value and where that comes from."""

from __future__ import annotations

from typing import Annotated

import typer

from mage_es.cli.options import CONFIG, Json, examples, takes
from mage_es.cli.output import Output, Table
from mage_es.cli.settings import Settings

EXAMPLES = examples("mage-es config show", "MAGE_ES_POOL=50 mage-es config show --seed 7")


@takes(*CONFIG, "workers", "runs_dir", "data_dir")
def config_show(
    benchmark: Annotated[str | None, typer.Argument(help="Name of the benchmark, such as wordmath.")] = None,
    *,
    settings: Settings,
    as_json: Json = False,
) -> None:
    """Show every setting and where its value comes from.

    With the same words `evolve` would use these values: flag, environment, file, default.
    """
    out = Output(as_json=as_json)
    entries = list(settings.entries.values())
    rows = [(entry.name, "none" if entry.value is None else str(entry.value), entry.origin) for entry in entries]
    document = {entry.name: {"value": entry.value, "origin": entry.origin} for entry in entries}
    out.report(document, Table("", ("setting", "value", "origin"), rows))
    name = str(settings.entries["benchmark"].value or "wordmath")
    out.next(settings.again("evolve", name, names=tuple(settings.entries)))
