"""Benchmarks by name.

Rules
    - What is known of a benchmark before anything is read or generated stands in its row: the models and the sizes
      that it is run with where nobody says otherwise.
    - A name is looked up here first, then among own tasks, then among what other packages offer.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mage_es.engine.benchmarks.protocol import Benchmark
from mage_es.engine.benchmarks.tasks import OWN_TASKS
from mage_es.engine.plugins import Group, faulty, load, open_plugin, plugins
from mage_es.events.errors import UsageError, nearest

if TYPE_CHECKING:
    from mage_es.engine.benchmarks.dataset import Definition

_GROUPS: tuple[Group, ...] = ("mage_es.benchmarks", "mage_es.environments")


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


def _read(definition: str | Callable[[], Definition], models: OwnModels | None = None) -> Row:
    """Return the row of a benchmark that is read from files, by its definition or the place of that."""

    def defined() -> Definition:
        found: Definition = _loaded(definition) if isinstance(definition, str) else definition()
        return found

    def opened(seed: int, data_dir: Path | None) -> Benchmark:
        from mage_es.engine.benchmarks.dataset import Dataset

        return Dataset(defined(), data_dir)

    def records(path: Path) -> Benchmark:
        from mage_es.engine.benchmarks.dataset import Dataset

        return Dataset(defined(), None, file=path)

    return Row(opened, models or OwnModels(), records=records)


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


_READING = OwnModels(execution="builtin/reader")
_SHOPPING = OwnModels(execution="builtin/shopper")
_VISITS = {"iterations": 20, "pool": 50, "held_out": 100, "anchors": 30, "explore_episodes": 4, "episode_steps": 15}


def _records(place: str) -> Callable[[Path], Benchmark]:
    """Return how a file of records is opened; `place` names the function."""

    def opened(path: Path) -> Benchmark:
        benchmark: Benchmark = _loaded(place)(path)
        return benchmark

    return opened


def _shop(name: str, **sizes: int) -> Row:
    """Return the row of a setting of WebShop, with sizes of its own."""
    return Row(_placed(f"environments.webshop.benchmark:{name}"), _SHOPPING, {**_VISITS, **sizes})


_TABLE: Mapping[str, Row] = {
    "crafter": Row(
        _generated("environments.crafter.benchmark:Crafter"),
        OwnModels(execution="builtin/survivor"),
        {"iterations": 10, "pool": 5, "held_out": 5, "anchors": 5, "explore_episodes": 2, "episode_steps": 500},
        records=_records("environments.crafter.benchmark:worlds_of"),
    ),
    "finqa": _read("benchmarks.finqa.benchmark:FINQA", _READING),
    "gsm8k": _read("benchmarks.gsm8k:GSM8K"),
    "hotpotqa": _read("benchmarks.hotpotqa.benchmark:HOTPOTQA", _READING),
    "hotpotqa-fullwiki": _read("benchmarks.hotpotqa.benchmark:FULLWIKI", _READING),
    "hotpotqa-levels": _read("benchmarks.hotpotqa.benchmark:LEVELS", _READING),
    "medqa": _read("benchmarks.medqa:MEDQA", _READING),
    "stbench": _read("benchmarks.stbench.benchmark:STBENCH", _READING),
    "stbench-extended": _read("benchmarks.stbench.benchmark:EXTENDED", _READING),
    "stbench-merged": _read("benchmarks.stbench.benchmark:MERGED", _READING),
    "realmath": _read("benchmarks.realmath.benchmark:REALMATH", _READING),
    "truthworld": Row(
        _generated("benchmarks.truthworld.benchmark:TruthWorld"),
        OwnModels("builtin/truthworld", "builtin/truthguide", "builtin/truthjudge"),
    ),
    "webqa": _read("benchmarks.webqa.benchmark:WEBQA", _READING),
    "webshop-100": _shop("webshop_100"),
    "webshop-100-by-index": _shop("webshop_100_by_index"),
    "webshop-100-rich": _shop("webshop_100_rich"),
    "webshop-1000": _shop("webshop_1000"),
    "webshop-1000-by-index": _shop("webshop_1000_by_index"),
    "webshop-1000-human": _shop("webshop_1000_human", pool=4, held_out=4, anchors=0),
    "webshop-1000-rich": _shop("webshop_1000_rich"),
    "wordmath": Row(_generated("benchmarks.wordmath.benchmark:WordMath")),
    "workshop": Row(
        _generated("environments.workshop.benchmark:Workshop"),
        OwnModels(execution="builtin/apprentice"),
        {"iterations": 10, "pool": 30, "held_out": 100, "episode_steps": 60},
    ),
}


def own_models(name: str) -> OwnModels:
    """Return the models that a benchmark is run with where the configuration names none."""
    row = _found(name)
    return row.models if row else OwnModels()


def own_defaults(name: str) -> Mapping[str, int]:
    """Return the settings that a benchmark is run with where nobody sets them."""
    row = _found(name)
    return row.defaults if row else {}


def title(name: str) -> str:
    """Return a short name of a benchmark, for people and folders: of own tasks their file's."""
    if not name.startswith(OWN_TASKS):
        return name
    from mage_es.engine.benchmarks.tasks.spec import parse

    return parse(name).title


def names() -> list[str]:
    """Return the names that `open_benchmark` knows, in alphabetical order; own tasks need none."""
    return sorted({*_TABLE, *(name for group in _GROUPS for name in plugins(group))})


def open_benchmark(name: str, *, seed: int, data_dir: Path | None = None) -> Benchmark:
    """Return a benchmark, read or generated.

    Args:
        name: One of `names()`, or own tasks as `tasks/FILE?option=value`.
        seed: Seed of a generated benchmark; benchmarks that are read ignore it.
        data_dir: Folder that holds one sub-folder for each benchmark that is read; None if there is none.

    Raises:
        UsageError: No benchmark has that name; the near matches are listed.
        PrerequisiteError: Its data set is missing or malformed.
    """
    return _row(name).open(seed, data_dir)


def check_name(name: str) -> None:
    """Raise `UsageError` for what is the name of no benchmark; whether its data is there is another matter."""
    _row(name)


def open_records(name: str, path: Path) -> Benchmark:
    """Return a benchmark made of one upstream file, all of whose questions are its test split.

    Raises:
        UsageError: No benchmark has that name, or it is not read from such files.
        PrerequisiteError: The file is missing or malformed.
    """
    opened = _row(name).records
    if opened is None:
        raise UsageError(f"{name} is not read from one file of records: leave --records out, and its own are taken.")
    return opened(path)


def _row(name: str) -> Row:
    row = _found(name)
    if row is None:
        raise UsageError(f"There is no benchmark {name!r}.{nearest(name, names())}")
    return row


@functools.cache
def _found(name: str) -> Row | None:
    """Return the row of a benchmark: built in, own tasks, or another package's."""
    if name in _TABLE:
        return _TABLE[name]
    if name.startswith(OWN_TASKS):
        return _own_tasks(name)
    for group in _GROUPS:
        if name in plugins(group):
            return _offered(group, name, load(group, name))
    return None


def _offered(group: Group, name: str, offered: Any) -> Row:
    """Return the row of what another package offers: a definition, a row, or a function that opens a benchmark."""
    from mage_es.engine.benchmarks.dataset import Definition

    if isinstance(offered, Definition):
        return _read(lambda: offered)
    if not isinstance(offered, Row) and not callable(offered):
        raise faulty(group, name, f"is no benchmark but an {type(offered).__name__}: {str(offered)[:40]}")
    row = offered if isinstance(offered, Row) else Row(offered)
    return row._replace(open=functools.partial(open_plugin, group, name, row.open))


def _own_tasks(name: str) -> Row:
    def opened(seed: int, data_dir: Path | None) -> Benchmark:
        from mage_es.engine.benchmarks.tasks.benchmark import open_tasks

        return open_tasks(name, data_dir)

    return Row(opened)
