"""Parts of your own: what other installed packages offer by entry point, under the same names as what is built in.

    group                  what the entry point is
    mage_es.benchmarks     a `Definition`, a `BenchmarkEntry` (with models and sizes of its own), or a function of
                           (seed, data_dir) that returns a `Benchmark`
    mage_es.environments   a function of (seed, data_dir) that returns a `SequentialBenchmark`
    mage_es.models         a function of a `ModelSpec` that returns a `Model`; its name is the provider's
    mage_es.embedders      a function of a `ModelSpec` that returns an `Embedder`; its name is the provider's
    mage_es.search         a function of a `SearchSpec` that returns a `Search`; its name is the provider's
    mage_es.methods        a function of the `RunView` of a run that returns a `Method`

Rules
    - No part of a plugin is imported before it is asked for by name.
    - A run stores a benchmark's questions when it begins, and later sessions take them from there. A benchmark that is
      a function is opened again by each, since it may have more than questions; one with `reopen` is not.
    - What is built in cannot be replaced: its names take precedence.
    - What the rules must know of a benchmark's kind is an attribute of it (`Traits` in engine/seams/benchmark.py).
    - An embedder whose calls cost something has a `meter` too (engine/seams/metering.py); any other costs nothing.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from mage_es.events.errors import MageError, PrerequisiteError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Group = Literal[
    "mage_es.benchmarks",
    "mage_es.environments",
    "mage_es.models",
    "mage_es.embedders",
    "mage_es.search",
    "mage_es.methods",
]


@functools.cache
def plugins(group: Group) -> Mapping[str, EntryPoint]:
    """Return the entry points of a group by name; if two share a name the first is taken."""
    from importlib.metadata import entry_points  # slow to load, and no command line that names no plugin needs it

    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        found.setdefault(entry.name, entry)
    return found


def load(group: Group, name: str) -> Any:
    """Return what an entry point names. Raises the error of `faulty` if it cannot be imported."""
    try:
        return plugins(group)[name].load()
    except Exception as error:  # another package's code may raise anything, and the user must learn whose it is
        raise faulty(group, name, f"cannot be imported: {type(error).__name__}: {error}") from error


def open_plugin(group: Group, name: str, function: Callable[..., Any], *arguments: object) -> Any:
    """Return what a plugin's function makes. Raises the error of `faulty` if that fails."""
    try:
        return function(*arguments)
    except MageError:  # which already says what is wrong
        raise
    except Exception as error:  # as above
        raise faulty(group, name, f"cannot be opened: {type(error).__name__}: {error}") from error


def faulty(group: Group, name: str, problem: str) -> PrerequisiteError:
    """Return the error that says whose plugin it is, what is wrong with it, and how to remove it."""
    entry = plugins(group)[name]
    owner = entry.dist.name if entry.dist else "an installed package"
    return PrerequisiteError(
        f"The plugin {name} ({entry.value}, of {owner}) {problem}. "
        f"Fix or reinstall it, or remove it with: python -m pip uninstall {owner}"
    )
