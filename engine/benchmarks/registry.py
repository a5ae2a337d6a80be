"""Benchmarks by name.

Rules
    - What is known of a benchmark before anything is read or generated stands in its row: the models and the sizes
      that it is run with where nobody says otherwise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from mage_es.engine.benchmarks.protocol import Benchmark
from mage_es.events.errors import UsageError, nearest


class OwnModels(NamedTuple):
    """The models that a benchmark is run with where the configuration names none; "" is no judge."""

    execution: str = "builtin/analogist"
    guidance: str = "builtin/reference"
    judge: str = ""


class Row(NamedTuple):
    """A benchmark: how it is opened, given a seed and the folder of all data sets, and what it is run with.

    `defaults` are settings of a run by name (`iterations`, `pool`, `episode_steps`), used where nobody sets them.
    `records` opens one file of a benchmark that is read from files, all of whose questions are its test split.
    """

    open: Callable[[int, Path | None], Benchmark]
    models: OwnModels = OwnModels()
    defaults: Mapping[str, int] = {}
    records: Callable[[Path], Benchmark] | None = None


def _loaded(place: str) -> Any:
    """Return what `module:name` names, of this package."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"mage_es.engine.{module}"), name)


def _read(place: str) -> Row:
    """Return the row of a benchmark that is read from files; `place` names its definition."""

    def opened(seed: int, data_dir: Path | None) -> Benchmark:
        from mage_es.engine.benchmarks.dataset import Dataset

        return Dataset(_loaded(place), data_dir)

    def records(path: Path) -> Benchmark:
        from mage_es.engine.benchmarks.dataset import Dataset

        return Dataset(_loaded(place), None, file=path)

    return Row(opened, records=records)


def _generated(place: str) -> Callable[[int, Path | None], Benchmark]:
    """Return how a generated benchmark is opened; `place` names its class."""

    def opened(seed: int, data_dir: Path | None) -> Benchmark:
        benchmark: Benchmark = _loaded(place)(seed)
        return benchmark

    return opened


def _placed(place: str) -> Callable[[int, Path | None], Benchmark]:
    """Return how a benchmark with a data folder and a class of its own is opened; `place` names the class."""

    def opened(seed: int, data_dir: Path | None) -> Benchmark:
        benchmark: Benchmark = _loaded(place)(seed, data_dir)
        return benchmark

    return opened


_TABLE: Mapping[str, Row] = {
    "gsm8k": _read("benchmarks.gsm8k:GSM8K"),
    "truthworld": Row(
        _generated("benchmarks.truthworld.benchmark:TruthWorld"),
        OwnModels("builtin/truthworld", "builtin/truthguide", "builtin/truthjudge"),
    ),
    "wordmath": Row(_generated("benchmarks.wordmath.benchmark:WordMath")),
    "workshop": Row(
        _generated("environments.workshop.benchmark:Workshop"),
        OwnModels(execution="builtin/apprentice"),
        {"iterations": 10, "pool": 30, "held_out": 100, "episode_steps": 60},
    ),
}


def own_models(name: str) -> OwnModels:
    """Return the models that a benchmark is run with where the configuration names none."""
    return _TABLE[name].models if name in _TABLE else OwnModels()


def own_defaults(name: str) -> Mapping[str, int]:
    """Return the settings that a benchmark is run with where nobody sets them."""
    return _TABLE[name].defaults if name in _TABLE else {}


def names() -> list[str]:
    """Return the names that `open_benchmark` knows, in alphabetical order."""
    return sorted(_TABLE)


def open_benchmark(name: str, *, seed: int, data_dir: Path | None = None) -> Benchmark:
    """Return a benchmark, read or generated.

    Args:
        name: One of `names()`.
        seed: Seed of a generated benchmark; benchmarks that are read ignore it.
        data_dir: Folder that holds one sub-folder for each benchmark that is read; None if there is none.

    Raises:
        UsageError: No benchmark has that name; the near matches are listed.
        PrerequisiteError: Its data set is missing or malformed.
    """
    if name not in _TABLE:
        raise UsageError(f"There is no benchmark {name!r}.{nearest(name, names())}")
    return _TABLE[name].open(seed, data_dir)


def open_records(name: str, path: Path) -> Benchmark:
    """Return a benchmark made of one upstream file, all of whose questions are its test split.

    Raises:
        UsageError: No benchmark has that name, or it is not read from such files.
        PrerequisiteError: The file is missing or malformed.
    """
    if name in _TABLE and (opened := _TABLE[name].records) is not None:
        return opened(path)
    if name in _TABLE:
        raise UsageError(f"{name} is not read from one file of records: leave --records out, and its own are taken.")
    raise UsageError(f"There is no benchmark {name!r}.{nearest(name, names())}")
