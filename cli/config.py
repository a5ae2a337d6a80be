"""`mage-es config`: every setting, its value and where that comes from; or a file with all of them, to start from."""

import json
import textwrap
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from mage_es.cli.options import CONFIG, descriptions, examples, takes
from mage_es.cli.output import Output, TextTable
from mage_es.cli.settings import FILE, Settings, fields
from mage_es.engine.benchmarks.registry import check_name
from mage_es.events.errors import UsageError

EXAMPLES = examples(
    "mage-es config",
    "MAGE_ES_POOL=50 mage-es config --seed 7",
    "mage-es config --preset paper",
    "mage-es config --write",
)


@takes("preset", *CONFIG, "workers", "max_connections", "runs_dir", "data_dir")
def config(
    benchmark: Annotated[str | None, typer.Argument(help="Name of the benchmark, such as wordmath.")] = None,
    *,
    settings: Settings,
    out: Output,
    write: Annotated[
        bool,
        typer.Option(
            "--write", help=f"Write {FILE} into this folder: the settings given here, and all defaults as comments."
        ),
    ] = False,
) -> None:
    """Show every setting and where its value comes from, or write a file of them.

    `evolve` with the same options would use these values: flag, environment, file, preset, default.
    """
    if name := settings.entries["benchmark"].value:
        check_name(str(name))
    if write:
        try:
            with Path(FILE).open("x", encoding="utf-8") as file:
                file.write(_template(settings))
        except FileExistsError:
            raise UsageError(f"There is already a {FILE} here; it was not changed. Edit it, or move it away.") from None
        out.report({"written": FILE}, f"Wrote {FILE}: remove the # before a setting to change it.")
        out.next("mage-es config")
        return
    entries = settings.entries.values()
    document = {entry.name: {"value": entry.value, "origin": entry.origin} for entry in entries}
    rows = [(entry.name, "none" if entry.value is None else str(entry.value), entry.origin) for entry in entries]
    out.report(document, TextTable("", ("setting", "value", "origin"), rows))
    options = tuple(each for each in settings.entries if each != "benchmark")  # which is not an option
    out.next(settings.again("evolve", str(name or "wordmath"), names=options))


def _template(settings: Settings) -> str:
    parts = [
        "# The settings of mage-es for every command in this folder. Flags and MAGE_ES_... variables win over them;\n"
        "# `mage-es config` prints which value each has, and from where.\n"
    ]
    given = settings.flags()
    for name, field in fields().items():
        default = "wordmath" if field.default is msgspec.NODEFAULT else field.default
        text = textwrap.fill(descriptions()[name], 118, initial_indent="# ", subsequent_indent="# ")
        sign = "" if name in given else "# "
        parts.append(f"{text}\n{sign}{name} = {json.dumps(given.get(name, default))}\n")
    return "\n".join(parts)
