"""Shell completion: commands and options through Typer, names of runs and benchmarks from what exists."""

import os
from collections.abc import Callable
from typing import Annotated

import typer


def _install(ctx: typer.Context, param: typer.CallbackParam, value: bool) -> None:
    if value:
        from typer.completion import install_callback  # Typer's own option for it slows every help text

        install_callback(ctx, param, value)


InstallOption = Annotated[
    bool,
    typer.Option("--install-completion", is_eager=True, help="Let your shell complete commands.", callback=_install),
]


def _when_asked(complete: Callable[..., list[str]]) -> Callable[..., list[str]] | None:
    """Return the function only when a shell asks: Typer inspects it with pydantic, which would slow every help text."""
    return complete if "_MAGE_ES_COMPLETE" in os.environ else None


def _run_ids(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return the ids of runs that begin with this text, newest first."""
    from mage_es.engine.run.directory import list_runs

    folder = ctx.params.get("runs_dir") or os.environ.get("MAGE_ES_RUNS_DIR") or "runs"
    return [run.id for run in reversed(list_runs(folder)) if run.id.startswith(incomplete)]


def _benchmarks(incomplete: str) -> list[str]:
    from mage_es.engine.benchmarks.registry import names

    return [name for name in names() if name.startswith(incomplete)]


run_ids, benchmarks = _when_asked(_run_ids), _when_asked(_benchmarks)
