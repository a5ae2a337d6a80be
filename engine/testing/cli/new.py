"""`mage-es new`: start your own plugin from a working skeleton."""

import shlex
from pathlib import Path
from typing import Annotated, Literal

import typer

from mage_es.cli.options import examples, takes
from mage_es.cli.output import Output
from mage_es.cli.settings import Settings

EXAMPLES = examples("mage-es new benchmark my-tasks", "mage-es new scorer my-scorer --to plugins")


@takes()
def new(
    kind: Annotated[
        Literal["benchmark", "environment", "model", "embedder", "scorer"],
        typer.Argument(metavar="KIND", help="benchmark, environment, model, embedder or scorer."),
    ],
    name: Annotated[str, typer.Argument(help="Name of the plugin, such as my-tasks.")],
    *,
    settings: Settings,
    out: Output,
    to: Annotated[Path, typer.Option("--to", metavar="FOLDER", help="Parent folder of the package.")] = Path(),
) -> None:
    """Start your own plugin: a working package, with a passing test, for you to fill in.

    A benchmark comes with its data; questions in a file need no plugin: name the file. An environment is a benchmark of
    episodes and the world they are played in. A model is a provider of models; a server with /v1/chat/completions needs
    no plugin: use openai/MODEL?base_url=URL. A scorer is for your own tasks.
    """
    from mage_es.engine.benchmarks.registry import names
    from mage_es.engine.testing.new import write_skeleton
    from mage_es.events.errors import UsageError

    if kind in ("benchmark", "environment") and name in names():
        raise UsageError(f"There is already a benchmark {name}, which would hide yours: choose another name.")
    written = write_skeleton(kind, name, to)
    out.report([str(path) for path in written], "\n".join(str(path) for path in written))
    out.next(f"cd {shlex.quote(str(to / name))} && python -m pip install -e . pytest && python -m pytest")
