"""The options of the commands: one for each setting, built from the setting's own type and docstring.

Rules
    - No option for a setting is written by hand, so its name, default and description cannot drift from the setting.
"""

import functools
import inspect
import os
from collections.abc import Callable, Mapping
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_origin

import msgspec
import typer

from mage_es.cli.completion import benchmarks, run_ids
from mage_es.cli.output import Output
from mage_es.cli.own_tasks import OPTIONS, named, parameter
from mage_es.cli.settings import GROUPS, LIMITS, SERVING, Machine, as_option, fields, flag_of, kind, resolve
from mage_es.engine.config import Config
from mage_es.engine.seams.field_docs import field_docs

_JSON = inspect.Parameter(
    "as_json",
    inspect.Parameter.KEYWORD_ONLY,
    default=False,
    annotation=Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of tables.")],
)
RunArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="[RUN]",
        help="Run id or folder. [default: the newest under --runs-dir]",
        show_default=False,
        autocompletion=run_ids,
    ),
]
BenchmarkArgument = Annotated[
    str | None, typer.Argument(help="Name of the benchmark, or a file of your own tasks.", autocompletion=benchmarks)
]
RunIdOption = Annotated[
    str | None, typer.Option("--run-id", metavar="NAME", help="Name of the new run. [default: generated]")
]
AtOption = Annotated[
    str, typer.Option("--at", metavar="MARKER", help="State to use: start, iter-9, iter-9/evaluate, seq:1234, latest.")
]
FromAtOption = Annotated[
    str,
    typer.Option(
        "--at", metavar="MARKER", help="Where to continue from: start, iter-9, or latest (the last closed one)."
    ),
]
CONFIG: tuple[str, ...] = tuple(name for name in Config.__struct_fields__ if name != "benchmark")

SPENDING: tuple[str, ...] = ("max_usd", "max_calls", "max_iterations", "prices")
"""The settings that limit what a run may use."""
WORKING = ("workers", "max_connections", "guidance_batch", "sign", "otel_endpoint", "runs_dir", "data_dir")
"""The settings of a command that works on a run: how fast, with what, and where its files are."""

_PANELS: Mapping[str, tuple[str, ...]] = {
    "Run": ("preset", "seed", "iterations", "pool", "held_out", "anchors", "scorer_seconds"),
    "Models": (
        *("execution", "guidance", "judge", "embedder", "search", "search_passages", "max_tokens"),
        *("answer_temperature", "exploration_temperature"),
    ),
    "Budget": SPENDING,
    "Options": SERVING,
    "Machine": tuple(name for name in Machine.__struct_fields__ if name not in SPENDING),
    "Parts to leave out": (
        *("success_memories", "failure_memories", "strategies", "principles", "tools", "prompt_refinement"),
        *("skill_splitting", "retrieval_recipes", "unread", "bandits", "guard"),
        *(name for name in CONFIG if name.startswith("cascade_")),
    ),
}
"""The panels of a help text and the order of their options; all others come last."""
_REST, _LATER = "Rules to change", "Everything else"
_ORDER: tuple[str, ...] = tuple(chain.from_iterable(_PANELS.values()))
_KINDS: Mapping[object, str] = {int: "INTEGER", float: "NUMBER"}
_METAVARS: Mapping[str, str] = {
    **dict.fromkeys(("execution", "guidance", "judge"), "MODEL"),
    **dict.fromkeys(("runs_dir", "data_dir"), "FOLDER"),
    **dict.fromkeys(("prices", "sign", "serve_keys"), "FILE"),
    **dict.fromkeys(("by", "serve_run_id"), "NAME"),
    **dict.fromkeys(("otel_endpoint", "serve_upstream"), "URL"),
    **dict.fromkeys(("recency_weight", "serve_holdback"), "FRACTION"),
    **{"embedder": "EMBEDDER", "search": "SEARCH", "serve_at": "MARKER", "serve_host": "ADDRESS"},
    **{"serve_min_similarity": "auto|COSINE", "serve_only_types": "NAME,NAME", "serve_max_body": "MIB"},
    **{"serve_retrieval_timeout": "MILLISECONDS", "serve_publish_every": "MINUTES"},
}


def takes(
    *names: str, unlisted: tuple[str, ...] = (), own_tasks: bool = False, first: tuple[str, ...] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command `--json` and an option for each named setting.

    The command receives its two streams as `out` and all resolved settings as `settings`. Its help omits the options
    for `unlisted` settings; if there are any `first`, it shows all others in a last panel. With `own_tasks` it also has
    the options for the user's own tasks, which become part of the benchmark's name.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(**given: Any) -> None:
            flags = {name: given.pop(name) for name in (*names, *unlisted)}
            if "benchmark" in given:
                flags["benchmark"] = given.pop("benchmark")
            out = Output(as_json=given.pop(_JSON.name))
            resolved = functools.partial(resolve, environment=os.environ, folder=Path.cwd())
            begun = resolved({**flags, "benchmark": None}).begun(name) if (name := given.get("from_run")) else None
            typed = [flags["benchmark"]] if flags.get("benchmark") else []
            if own_tasks:
                options = {name: given.pop(name) for name in OPTIONS}
                typed += [
                    word for name, value in options.items() if value is not None for word in as_option(name, value)
                ]
                flags["benchmark"] = named(flags.get("benchmark"), options, like=begun.benchmark if begun else "")
            settings = resolved(flags)
            settings.typed = tuple(typed)
            command(settings=settings.upon(begun) if begun else settings, out=out, **given)

        own = inspect.signature(command, eval_str=True).parameters.values()
        parameters = [*(parameter for parameter in own if parameter.name not in ("settings", "out")), _JSON]
        parameters += [parameter(name) for name in OPTIONS] if own_tasks else []
        ordered = sorted((*names, *unlisted), key=lambda name: _ORDER.index(name) if name in _ORDER else len(_ORDER))
        later = {name for name in ordered if first and name not in first}
        parameters += [_parameter(name, is_listed=name in names, is_later=name in later) for name in ordered]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return decorate


def examples(*lines: str) -> str:
    """Return the end of a command's help; the leading backspace tells click not to wrap the lines."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


@functools.cache
def _parameter(name: str, *, is_listed: bool, is_later: bool) -> inspect.Parameter:
    flag, is_switch = flag_of(name), kind(name) is bool
    option = typer.Option(
        f"{flag}/--no-{flag[2:]}" if is_switch else flag,
        metavar=None if is_switch else _METAVARS.get(name) or _metavar(kind(name)),
        help=f"{descriptions()[name]} [default: {_default_text(name)}]".strip() if is_listed else "",
        show_default=False,
        hidden=not is_listed,
        rich_help_panel=_LATER if is_later else next((panel for panel, held in _PANELS.items() if name in held), _REST),
    )
    annotation: object = Annotated[bool | None, option] if is_switch else Annotated[str | None, option]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)


def _metavar(wanted: object) -> str:
    if get_origin(wanted) is Literal:
        return "|".join(get_args(wanted))
    return _KINDS.get(wanted, "TEXT")


@functools.cache
def descriptions() -> Mapping[str, str]:
    """Return the docstring under each setting in its class."""
    named = ((before, field_docs(struct)) for struct, before in GROUPS.items())
    return {before + name: doc for before, docs in named for name, doc in docs.items()}


def _default_text(name: str) -> str:
    default = fields()[name].default
    if name in LIMITS:
        return "no limit"
    if default in (None, "") or default is msgspec.NODEFAULT:
        return "none"
    return {"True": "on", "False": "off"}.get(str(default), str(default))
