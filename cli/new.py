"""`mage-es new`: start a plugin of your own from a skeleton that works."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from mage_es.cli.options import examples, takes
from mage_es.cli.output import Output
from mage_es.cli.settings import Settings

WORDS = {
    "benchmark": "Write a package with a benchmark, its data and a passing test, for you to fill in. "
    "Questions in a file need none: use evolve --tasks.",
    "environment": "Write a package with a benchmark of episodes, the world they are played in, and a passing test.",
    "model": "Write a package with a provider of models and a passing test. Any server with /v1/chat/completions needs "
    "none: use openai/MODEL?base_url=URL.",
    "embedder": "Write a package with an embedder and a passing test.",
    "scorer": "Write a package with a scorer for your own tasks and a passing test.",
}
"""What is said of each kind of plugin."""


def command_of(kind: str) -> tuple[Callable[..., None], str]:
    """Return the command that starts a plugin of a kind, and the end of its help."""

    @takes()
    def start(
        name: Annotated[str, typer.Argument(help="Name of the plugin, such as my-tasks.")],
        *,
        settings: Settings,
        out: Output,
        to: Annotated[Path, typer.Option("--to", metavar="FOLDER", help="Parent folder of the package.")] = Path(),
    ) -> None:
        from mage_es.engine.benchmarks.registry import names
        from mage_es.engine.verbs.new import write_skeleton
        from mage_es.events.errors import UsageError

        if kind in ("benchmark", "environment") and name in names():
            raise UsageError(f"There is a benchmark {name} already, which would hide yours: choose another name.")
        written = write_skeleton(kind, name, to)
        out.report([str(path) for path in written], "\n".join(str(path) for path in written))
        out.next(f"cd {shlex.quote(str(to / name))} && python -m pip install -e . pytest && python -m pytest")

    start.__doc__ = WORDS[kind]
    return start, examples(f"mage-es new {kind} my-{kind}", f"mage-es new {kind} my-{kind} --to plugins")
