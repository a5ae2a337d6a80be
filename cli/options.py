"""The options of the commands: one for each setting, made from the setting's own type and description.

Rules
    - An option that sets something in `Config`, `Starting` or `Machine` is never written by hand, so its name,
      default and description cannot drift from the setting's.
"""

from __future__ import annotations

import ast
import functools
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
import typer

from mage_es.cli.settings import Machine, fields, kind, resolve
from mage_es.engine.config import Config
from mage_es.engine.presets import Starting

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on stdout instead of tables.")]
RunArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[RUN]", help="Run id or folder; left out, the newest under --runs-dir.", show_default=False
    ),
]
RunOption = Annotated[
    str | None, typer.Option("--run", metavar="RUN", help="Run id or folder. [default: the newest under --runs-dir]")
]
Marker = Annotated[
    str, typer.Option("--at", metavar="MARKER", help="State to use: start, iter-9, iter-9/evaluate, seq:1234, latest.")
]

CONFIG: tuple[str, ...] = tuple(name for name in Config.__struct_fields__ if name != "benchmark")
"""The settings of a run, all but the benchmark, which is an argument."""

SPENDING: tuple[str, ...] = ("max_usd", "max_calls", "max_iterations", "prices")
"""What may be spent on a run, and by which prices."""

_KINDS: Mapping[object, str] = {int: "INTEGER", float: "NUMBER"}


def takes(*names: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each named setting; it receives all settings, resolved, as `settings`."""

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(**given: Any) -> None:
            flags = {name: given.pop(name) for name in names}
            if "benchmark" in given:
                flags["benchmark"] = given.pop("benchmark")
            command(settings=resolve(flags, environment=os.environ, folder=Path.cwd()), **given)

        own = inspect.signature(command, eval_str=True).parameters.values()
        parameters = [parameter for parameter in own if parameter.name != "settings"]
        parameters += [_parameter(name) for name in names]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorate


def examples(*lines: str) -> str:
    """Return the closing part of a command's help; the leading backspace keeps the lines as they are."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


def _parameter(name: str) -> inspect.Parameter:
    described = _descriptions()[name]
    if kind(name) is bool:
        flag = name.replace("_", "-")
        option = typer.Option(f"--{flag}/--no-{flag}", help=described, show_default=False)
        annotation: object = Annotated[bool | None, option]
    else:
        option = typer.Option(
            f"--{name.replace('_', '-')}", metavar=_metavar(kind(name)), help=described, show_default=False
        )
        annotation = Annotated[str | None, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _metavar(wanted: object) -> str:
    if get_origin(wanted) is Literal:
        return "|".join(get_args(wanted))
    return _KINDS.get(wanted, "TEXT")


@functools.cache
def _descriptions() -> Mapping[str, str]:
    """Return what stands under each setting in its class, with the default."""
    found = {}
    for struct in (Config, Starting, Machine):
        source = inspect.getsource(sys.modules[struct.__module__])
        classes = {node.name: node.body for node in ast.parse(source).body if isinstance(node, ast.ClassDef)}
        body = classes[struct.__name__]
        for field, below in zip(body, [*body[1:], ast.Pass()], strict=True):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                found[field.target.id] = _text(below)
    return {name: f"{text} [default: {_shown(fields()[name].default)}]".strip() for name, text in found.items()}


def _text(node: ast.AST) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
        return " ".join(node.value.value.split())
    return ""


def _shown(default: object) -> str:
    if default is None or default is msgspec.NODEFAULT:
        return "none"
    return {"True": "on", "False": "off"}.get(str(default), str(default))
