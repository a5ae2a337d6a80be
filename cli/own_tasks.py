"""The user's own tasks on a command line: the same options wherever a benchmark is named, and the name that they
form."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from mage_es.cli.output import agreed
from mage_es.cli.settings import flag_of
from mage_es.engine.benchmarks.files import read_text
from mage_es.engine.benchmarks.tasks import OWN_TASKS, ROLES, names_tasks, why_not_tasks
from mage_es.engine.config import BENCHMARK, Config
from mage_es.events.errors import UsageError

_SAID: Mapping[str, tuple[str, str]] = {
    "tasks": ("FILE", "Tasks of your own, as BENCHMARK: a file (JSON, CSV, Parquet), or hf:NAME on the hub."),
    "columns": (
        "ROLE=NAME,...",
        "Which column has which role, for columns whose names are not among these: "
        + "; ".join(f"{role} ({', '.join(names)})" for role, names in ROLES.items())
        + ". A column has one role; ROLE= means no column. Options and answers may be several columns, as A/B/C/D.",
    ),
    "scorer": (
        "NAME",
        "How to check answers: exact, contains, f1, number, choice, regex, json, sql, python, judge, or a function of"
        " yours as MODULE:FUNCTION. [default: exact]",
    ),
    "instruction": (
        "TEXT|FILE",
        "What to do with each question, if the questions do not say it: a text, or a file that holds one.",
    ),
    "labels": (
        "A,B,...",
        "All possible answers, as in billing,delivery,other: the prompt lists them, and the scorer looks for one.",
    ),
    "test_tasks": (
        "FILE",
        "A second file (on the hub: a split) for exams only. [default: about three tenths of the tasks]",
    ),
    "subset": ("NAME", "Configuration of a data set on the hub."),
}
OPTIONS = tuple(_SAID)


def parameter(name: str) -> inspect.Parameter:
    metavar, said = _SAID[name]
    option = typer.Option(
        flag_of(name), metavar=metavar, help=said, show_default=False, rich_help_panel="Your own tasks"
    )
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[str | None, option]
    )


def named(benchmark: str | None, given: Mapping[str, Any], *, like: str = "") -> str | None:
    """Return the benchmark that an argument and the options name; other own tasks (`like`) lend their options. Raises
    `UsageError` if they do not fit."""
    from mage_es.engine.benchmarks.tasks.spec import NEEDLESS, parse, specified

    options = {name: value for name, value in given.items() if value is not None}
    if options.get("labels") and options.get("scorer") == "exact":  # within a name it is the default
        raise UsageError(NEEDLESS.format(scorer="exact"))
    if tasks := options.pop("tasks", None):
        if benchmark:
            raise UsageError(f"Both the benchmark {benchmark} and --tasks {tasks} were given: leave one out.")
        benchmark = f"{OWN_TASKS}{tasks}"
    if options and like.startswith(OWN_TASKS):
        benchmark = benchmark or like
    if benchmark is None or not names_tasks(benchmark):
        if options:
            if benchmark and (why := why_not_tasks(benchmark)):
                raise UsageError(why)
            about = f"and {benchmark} is a benchmark with its own" if benchmark else "and no file was named"
            flags = ", ".join(map(flag_of, options))
            raise UsageError(f"{flags}: only for your own tasks, {about}. Give their file, such as my.jsonl.")
        return benchmark
    if "instruction" in options:
        options["instruction"] = _text_of(options["instruction"])
    if "test_tasks" in options:
        options["test"] = options.pop("test_tasks")
    file = benchmark.removeprefix(OWN_TASKS)
    # A file may be called 50%.csv, which would mean something else within a name.
    if like.startswith(OWN_TASKS) and "?" not in file:
        return parse(parse(like)._replace(source=file, test="").name, **options).name
    spec = specified(file, **options) if Path(file).is_file() else parse(benchmark, **options)
    return spec.name


def with_learner(config: Config) -> Config:
    """Return a configuration that names the model for the user's own tasks: on a terminal the user is asked, elsewhere
    it stays open."""
    from mage_es.engine.benchmarks.registry import needs_learner, own_models
    from mage_es.engine.models.registry import own_learner

    if config.execution != BENCHMARK or not needs_learner(config.benchmark):
        return config
    if not agreed(f"{own_learner(config.benchmark)} Go on with it? [y/N] "):
        return config
    return msgspec.structs.replace(config, execution=own_models(config.benchmark).execution)


def _text_of(given: str) -> str:
    """Return the text of the file with that name, or else the argument itself: a run records the text, not a file that
    may change."""
    try:
        return read_text(Path(given))
    except (OSError, ValueError):  # a ValueError: it has characters that no file name can have
        return given
