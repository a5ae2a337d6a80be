"""`mage-es config`: every setting, its value and where that comes from; and a file of them all to begin with."""

import json
import textwrap
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from mage_es.cli.options import CONFIG, descriptions, examples, takes
from mage_es.cli.output import Output, TextTable
from mage_es.cli.settings import FILE, Settings, fields
from mage_es.events.errors import UsageError

INIT_EXAMPLES = examples("mage-es config init")
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


@takes()
def init(*, settings: Settings, out: Output) -> None:
    """Write mage-es.toml into this folder: every setting with its default, commented out."""
    try:
        with Path(FILE).open("x", encoding="utf-8") as file:
            file.write(_template())
    except FileExistsError:
        raise UsageError(f"There is a {FILE} here already, and it stays as it is. Edit it, or move it away.") from None
    out.report({"written": FILE}, f"Wrote {FILE}: take away the # before a setting, and change it.")
    out.next("mage-es config show")


def _template() -> str:
    parts = [
        "# The settings of mage-es for every command in this folder. Flags and MAGE_ES_... variables win over them;\n"
        "# `mage-es config show` prints which value each has, and from where.\n"
    ]
    for name, field in fields().items():
        default = "wordmath" if field.default is msgspec.NODEFAULT else field.default
        text = textwrap.fill(descriptions()[name], 118, initial_indent="# ", subsequent_indent="# ")
        parts.append(f"{text}\n# {name} = {json.dumps(default)}\n")
    return "\n".join(parts)
