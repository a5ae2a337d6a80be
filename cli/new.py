"""`mage-es new`: begin a plugin of one's own from a skeleton that works."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from mage_es.cli.options import Json, examples
from mage_es.cli.output import Output

BENCHMARK_EXAMPLES = examples("mage-es new benchmark my-tasks", "mage-es new benchmark my-tasks --to plugins")


def benchmark(
    name: Annotated[str, typer.Argument(help="Name of the benchmark, such as my-tasks.")],
    to: Annotated[Path, typer.Option("--to", metavar="FOLDER", help="Folder to make it in.")] = Path(),
    as_json: Json = False,
) -> None:
    """Write a package with a benchmark, its data and a passing test, to be filled in.

    Once it is installed `mage-es evolve NAME` finds it. Questions in a file need no plugin: evolve --tasks.
    """
    from mage_es.engine.benchmarks.registry import names
    from mage_es.engine.skeleton.writing import write_skeleton
    from mage_es.events.errors import UsageError

    if name in names():
        raise UsageError(f"There is a benchmark {name} already, which yours would stand behind: choose another name.")
    out = Output(as_json=as_json)
    written = write_skeleton(name, to)
    out.report([str(path) for path in written], "\n".join(str(path) for path in written))
    out.next(f"cd {shlex.quote(str(to / name))} && python -m pip install -e . pytest && python -m pytest")
