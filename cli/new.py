"""`mage-es new`: start a plugin of your own from a skeleton that works."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from mage_es.cli.options import examples, takes
from mage_es.cli.output import Output
from mage_es.cli.settings import Settings

BENCHMARK_EXAMPLES = examples("mage-es new benchmark my-tasks", "mage-es new benchmark my-tasks --to plugins")


@takes()
def benchmark(
    name: Annotated[str, typer.Argument(help="Name of the benchmark, such as my-tasks.")],
    *,
    settings: Settings,
    out: Output,
    to: Annotated[Path, typer.Option("--to", metavar="FOLDER", help="Parent folder of the package.")] = Path(),
) -> None:
    """Write a package with a benchmark, its data and a passing test, for you to fill in.

    Once it is installed, `mage-es evolve NAME` finds it. Questions in a file need no plugin: use evolve --tasks.
    """
    from mage_es.engine.benchmarks.registry import names
    from mage_es.engine.verbs.new import write_skeleton
    from mage_es.events.errors import UsageError

    if name in names():
        raise UsageError(f"There is a benchmark {name} already, which would hide yours: choose another name.")
    written = write_skeleton(name, to)
    out.report([str(path) for path in written], "\n".join(str(path) for path in written))
    out.next(f"cd {shlex.quote(str(to / name))} && python -m pip install -e . pytest && python -m pytest")
