"""`mage-es config show`: every setting, its value and where that comes from."""

from __future__ import annotations

from typing import Annotated

import typer

from mage_es.cli.options import CONFIG, examples, takes
from mage_es.cli.output import Output, TextTable
from mage_es.cli.settings import Settings
from mage_es.engine.config import other_than

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
    """Show every setting, where its value comes from, and what the other preset would change.

    With the same words `evolve` would use these values: flag, environment, file, preset, default.
    """
    entries, other = list(settings.entries.values()), other_than(settings.preset)
    rows = [(entry.name, _shown(entry.value), entry.origin) for entry in entries]
    document: dict[str, dict[str, object]] = {
        entry.name: {"value": entry.value, "origin": entry.origin} for entry in entries
    }
    for here, there in settings.differing():
        document[here.name][f"preset_{other}"] = there.value
    changes = [(here.name, _shown(here.value), _shown(there.value)) for here, there in settings.differing()]
    out.report(
        document,
        TextTable("", ("setting", "value", "origin"), rows),
        TextTable(f"With --preset {other} instead", ("setting", "here", other), changes),
    )
    name = str(settings.entries["benchmark"].value or "wordmath")
    options = tuple(each for each in settings.entries if each != "benchmark")  # that one is no option
    out.next(settings.again("evolve", name, names=options))


def _shown(value: object) -> str:
    return "none" if value is None else str(value)
