"""Plug-ins: what installed packages offer by entry point, including our wings.

    group                  what the entry point is
    mage_es.benchmarks     a `Definition`, a `BenchmarkEntry` (with models and sizes of its own), a `BenchmarkFamily`,
                           or a function of (seed, data_dir) that returns a `Benchmark`
    mage_es.environments   a function of (seed, data_dir) that returns a `SequentialBenchmark`
    mage_es.models         a function of a `ModelSpec` that returns a `Model`; its name is the provider's
    mage_es.embedders      a function of a `ModelSpec` that returns an `Embedder`, or a class of a `Server` of vectors
                           (engine/embedders/served.py); its name is the provider's
    mage_es.scorers        a `Scorer` of own tasks (engine/benchmarks/tasks/scorers.py)
    mage_es.search         a function of a `SearchSpec` that returns a `Search`; its name is the provider's
    mage_es.methods        a function of the `RunView` of a run that returns a `Method`
    mage_es.baselines      a `Baseline` (engine/study/baselines/table.py)
    mage_es.telemetry      `otel`, a function that returns the sender of telemetry (engine/run/telemetry.py)
    mage_es.commands       a sequence of `CommandEntry`s (cli/entries.py); its name is the wing's
    mage_es.checks         a function of (`Run`, `LogReader`) that yields the `Check`s (engine/seams/check.py) of what a
                           wing or package records: `verify` has them too
    mage_es.verbs          a function of a wing that others need, such as `verify`

An entry point may also name a table, in which each such thing has the name of its entry point.

Rules
    - The wings of this package (engine/README.md) are found the same way.
    - No part of a plugin is imported before it is asked for by name.
    - A run stores a benchmark's questions when it begins, and later sessions take them from there. A benchmark that is
      a function is nevertheless opened again by each session, because it may have more than questions. A benchmark with
      `reopen` is not.
    - Our own parts cannot be replaced: their names take precedence.
    - If the rules must know something about a kind of benchmark, it is an attribute of the benchmark (`Traits` in
      engine/seams/benchmark.py).
    - An embedder whose calls cost something also has a `meter` (engine/seams/metering.py); one without a meter costs
      nothing. A `Server` of vectors gets a meter automatically.
    - A model or an embedder with an attribute `OPTIONS` takes only those options. Without it, it checks its own.
    - A model may derive from `Preflight` (engine/seams/model.py), to say before a run whether it can be asked.
"""

import functools
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mage_es.events.errors import MageError, PrerequisiteError

Group = Literal[
    "mage_es.benchmarks",
    "mage_es.environments",
    "mage_es.models",
    "mage_es.embedders",
    "mage_es.scorers",
    "mage_es.search",
    "mage_es.methods",
    "mage_es.baselines",
    "mage_es.telemetry",
    "mage_es.commands",
    "mage_es.checks",
    "mage_es.verbs",
]

_ENDINGS = (".dist-info", ".egg-info")


class EntryPoint(NamedTuple):
    """What a package offers: `value` is `module:name`, `folder` holds the package's metadata."""

    name: str
    value: str
    folder: str

    @property
    def is_ours(self) -> bool:
        return _package(self.folder) == "mage_es"

    @property
    def owner(self) -> str:
        """The package as pip knows it."""
        for file in ("METADATA", "PKG-INFO"):
            for line in _lines(Path(self.folder, file)):
                if line.startswith("Name:"):
                    return line.removeprefix("Name:").strip()
        return _package(self.folder)


@functools.cache
def installed() -> Mapping[str, Mapping[str, EntryPoint]]:
    """Return all entry points by group and name; if two have the same name, ours wins, else the first."""
    # `importlib.metadata` takes several times as long to import as this takes, and every command line needs it.
    found = sorted(_all_entries(), key=lambda each: not each[1].is_ours)
    groups: dict[str, dict[str, EntryPoint]] = {}
    for group, entry in found:
        groups.setdefault(group, {}).setdefault(entry.name, entry)
    return groups


def _all_entries() -> Iterator[tuple[str, EntryPoint]]:
    seen: set[str] = set()
    for place in dict.fromkeys(sys.path):
        try:
            folders = sorted(each.path for each in os.scandir(place or ".") if each.name.endswith(_ENDINGS))
        except OSError:  # an archive, or it is not there
            continue
        for folder in folders:
            if (package := _package(folder)) not in seen:
                seen.add(package)
                yield from _entries_of(folder)


def _entries_of(folder: str) -> Iterator[tuple[str, EntryPoint]]:
    group = ""
    for line in _lines(Path(folder, "entry_points.txt")):
        if line.startswith("["):
            group = line.strip("[] ")
        elif "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            yield group, EntryPoint(name.strip(), value.partition("[")[0].strip(), folder)


def _lines(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):  # most packages offer nothing
        return []


def _package(folder: str) -> str:
    return Path(folder).name.partition("-")[0].removesuffix(".egg").lower()


def plugins(group: Group) -> Mapping[str, EntryPoint]:
    return installed().get(group, {})


def load(group: Group, name: str) -> Any:
    """Return what an entry point names, itself or in a table. Raises the error of `faulty` if it cannot be imported."""
    from pkgutil import resolve_name

    entry = plugins(group)[name]
    try:
        found = resolve_name(entry.value)
        return found[name] if isinstance(found, Mapping) else found
    except Exception as error:  # another package's code may raise anything, and the user must learn whose it is
        if entry.is_ours:
            raise
        raise faulty(group, name, f"cannot be imported: {type(error).__name__}: {error}") from error


def verb(name: str) -> Any:
    """Return the function of a wing. Raises `PrerequisiteError` where that wing is not installed."""
    if name not in plugins("mage_es.verbs"):
        raise PrerequisiteError(f"{name} is not installed here, because its wing was deleted: reinstall mage-es.")
    return load("mage_es.verbs", name)


def open_plugin(group: Group, name: str, function: Callable[..., Any], *arguments: object) -> Any:
    """Return what a plugin's function makes. Raises the error of `faulty` if that fails."""
    try:
        return function(*arguments)
    except MageError:  # which already says what is wrong
        raise
    except Exception as error:  # as above
        if plugins(group)[name].is_ours:
            raise
        raise faulty(group, name, f"cannot be opened: {type(error).__name__}: {error}") from error


def require_has(group: Group, name: str, made: object, *attributes: str) -> None:
    """Raise the error of `faulty` if what a plugin made lacks an attribute."""
    if missing := [each for each in attributes if not hasattr(made, each)]:
        raise faulty(group, name, f"makes {made!r:.80}, which has no `{missing[0]}`")


def faulty(group: Group, name: str, problem: str) -> PrerequisiteError:
    """Return the error that says whose plugin it is, what is wrong with it, and how to remove it."""
    entry = plugins(group)[name]
    return PrerequisiteError(
        f"The plugin {name} ({entry.value}, of {entry.owner}) {problem}. "
        f"Fix or reinstall it, or remove it with: python -m pip uninstall {entry.owner}"
    )
