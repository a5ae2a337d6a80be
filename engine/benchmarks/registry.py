"""Benchmarks by name: the user's own tasks, or a benchmark that an installed package offers (ours are registered in the
same way).

A benchmark's defaults (models, sizes) are known without reading or generating anything.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from mage_es.engine.benchmarks.tasks import names_tasks, why_not_tasks
from mage_es.engine.config import BENCHMARK, Config
from mage_es.engine.seams.plugins import Group, faulty, load, open_plugin, plugins, require_has
from mage_es.engine.seams.spec import is_embedded
from mage_es.events.errors import UsageError, nearest

if TYPE_CHECKING:
    from mage_es.engine.seams.benchmark import Benchmark, Question

_GROUPS: tuple[Group, ...] = ("mage_es.benchmarks", "mage_es.environments")


class OwnModels(NamedTuple):
    """The models that a benchmark is run with if the configuration names none; "" means no judge."""

    execution: str = "builtin/analogist"
    guidance: str = "builtin/reference"
    judge: str = ""


class DataSource(NamedTuple):
    """A data set: its public address, its licence, and its files with their SHA-256 ("" if it is not pinned)."""

    base_url: str
    licence: str
    files: Mapping[str, str]
    folder: str = ""
    """Its folder below that of all data sets; "" means the benchmark's name."""
    by_hand: str = ""
    """The address of upstream's copy, if it can only be downloaded by hand."""


class BenchmarkEntry(NamedTuple):
    """A benchmark: how to open it, given a seed and the folder of all data sets, and what to run it with.

    `defaults` are settings of a run by name (`iterations`, `pool`, `episode_steps`) that the user may override.
    `records` opens a single file of a benchmark that is read from files; all of its questions are the test split.
    `reopen` makes the benchmark from questions that a run has stored and the hash of their data; a benchmark with more
    than questions (a world to play in) has none, and is opened again. `source` says where its files are fetched.
    """

    open: Callable[[int, Path | None], Benchmark]
    models: OwnModels = OwnModels()
    defaults: Mapping[str, int] = {}
    records: Callable[[Path], Benchmark] | None = None
    reopen: Callable[[Sequence[Question], str], Benchmark] | None = None
    source: Callable[[], DataSource] | None = None


class BenchmarkFamily(NamedTuple):
    """Benchmarks of one name with options: `private-labels?labels=4`. No family has a learner of its own.

    `recorded` gives the name with all options, as a run records it; `open` and `reopen` get such a name first. A family
    that needs a second name, as in `reasoning_gym/chain_sum`, has an entry point that ends in a slash.
    """

    recorded: Callable[[str], str]
    open: Callable[[str, int], Benchmark]
    reopen: Callable[[str, Sequence[Question], str], Benchmark] | None = None


_GIVEN: dict[str, BenchmarkEntry] = {}
_NEEDED = ("name", "task_type_source", "answer_format", "data_sha256", "questions", "score")


def given_name(benchmark: Benchmark) -> str:
    """Register a benchmark object in this process and return its name. Raises `UsageError` for anything but a
    benchmark, or if its name is taken."""
    if missing := [name for name in _NEEDED if isinstance(benchmark, type) or not hasattr(benchmark, name)]:
        what = f"the class {benchmark.__name__} itself" if isinstance(benchmark, type) else repr(benchmark)
        raise UsageError(
            f"{what[:80]} is not a benchmark: it has no {', '.join(missing)}. Give an object with everything that "
            "`mage_es.Benchmark` lists, or name a benchmark in the configuration."
        )
    if not benchmark.name or names_tasks(benchmark.name) or benchmark.name in names():
        raise UsageError(f"Your benchmark cannot be called {benchmark.name!r}: another one has that name.")
    _GIVEN[benchmark.name] = BenchmarkEntry(lambda seed, data_dir: benchmark)
    return benchmark.name


def own_models(name: str) -> OwnModels:
    entry = _find(name)
    return entry.models if entry else OwnModels()


def with_own_models(config: Config) -> Config:
    """Return a configuration as a run records it: with every model, what its teacher sees, and the user's own tasks
    spelled out."""
    config = msgspec.structs.replace(config, benchmark=recorded_name(config.benchmark))
    own = own_models(config.benchmark)._asdict()
    named = msgspec.structs.replace(config, **{tier: own[tier] for tier in own if getattr(config, tier) == BENCHMARK})
    if named.teacher_sees != "model":
        return named
    return msgspec.structs.replace(named, teacher_sees=shown_to(named.guidance))


def shown_to(guidance: str) -> Literal["solutions", "answers"]:
    """Return what a guidance model is shown about questions by default."""
    # The embedded teachers write by rule, from the data set's own solutions; a language model needs less.
    return "solutions" if is_embedded(guidance) else "answers"


def source_of(name: str) -> DataSource | None:
    """Return where a benchmark's files are fetched from; None if it has none, or only its author knows."""
    source = _entry(name).source
    return source() if source else None


def needs_learner(name: str) -> bool:
    """Return whether the user must name the model for a benchmark's questions, because no stand-in can answer them."""
    return names_tasks(name) or _family(name) is not None


def own_defaults(name: str) -> Mapping[str, int]:
    entry = _find(name)
    return entry.defaults if entry else {}


def recorded_name(name: str) -> str:
    """Return the name that a run records, with all options that matter. Raises `UsageError` for an invalid one."""
    if family := _family(name):
        return family.recorded(name)
    if not names_tasks(name):
        return name
    from mage_es.engine.benchmarks.tasks.spec import parse

    return parse(name).name


def title(name: str) -> str:
    if _family(name):
        return name.partition("?")[0].rpartition("/")[2]
    if not names_tasks(name):
        return name
    from mage_es.engine.benchmarks.tasks.spec import parse

    return parse(name).title


def _family(name: str) -> BenchmarkFamily | None:
    if names_tasks(name):
        return None
    first = name.partition("?")[0].partition("/")[0]
    for group in _GROUPS:
        for entry in (first, f"{first}/"):
            if entry in plugins(group) and isinstance(family := load(group, entry), BenchmarkFamily):
                return family
    return None


def names() -> list[str]:
    return sorted({name for group in _GROUPS for name in plugins(group) if not name.endswith("/")})


def open_benchmark(name: str, *, seed: int, data_dir: Path | str | None = None) -> Benchmark:
    """`name` is one of `names()`, some with options (`private-labels?labels=4`), or the user's own tasks as
    `FILE?option=value`; benchmarks read from files ignore `seed`.

    Raises `UsageError` (it lists near matches), or `PrerequisiteError` if its data is missing or malformed.
    """
    return _entry(name).open(seed, None if data_dir is None else Path(data_dir))


def reopening(name: str) -> Callable[[Sequence[Question], str], Benchmark] | None:
    return _entry(name).reopen


def check_name(name: str) -> None:
    _entry(name)


def open_records(name: str, path: Path) -> Benchmark:
    """Read a benchmark from one upstream file, all of whose questions are its test split.

    Raises `UsageError` if it is not read from such files, `PrerequisiteError` if the file is missing or malformed.
    """
    opened = _entry(name).records
    if opened is None:
        raise UsageError(f"{name} is not read from a file of records: omit --records to use its own questions.")
    return opened(path)


def _entry(name: str) -> BenchmarkEntry:
    entry = _find(name)
    if entry is None:
        raise UsageError(
            why_not_tasks(name)
            or f"There is no benchmark {name!r}.{nearest(name, names())} A file of tasks ends in .csv, .tsv, .json, "
            ".jsonl or .parquet; in Python, pass an object of yours to each call, as `benchmark=`."
        )
    return entry


def _find(name: str) -> BenchmarkEntry | None:
    return _GIVEN.get(name) or _installed(name)


@functools.cache
def _installed(name: str) -> BenchmarkEntry | None:
    if names_tasks(name):
        return BenchmarkEntry(
            lambda _seed, _data_dir: _tasks().open_tasks(name),
            reopen=lambda *stored: _tasks().reopen_tasks(name, *stored),
        )
    if family := _family(name):
        return BenchmarkEntry(
            lambda seed, _data_dir: family.open(name, seed),
            defaults={"iterations": 5, "pool": 24, "held_out": 60, "anchors": 30},
            reopen=functools.partial(family.reopen, name) if family.reopen else None,
        )
    for group in _GROUPS:
        if name in plugins(group):
            return _offered(group, name, load(group, name))
    return None


def _tasks() -> Any:
    from mage_es.engine.benchmarks.tasks import benchmark  # reads files, for which it imports more than a name needs

    return benchmark


def _offered(group: Group, name: str, offered: Any) -> BenchmarkEntry:
    """Return the entry for what another package offers: an entry, something that has one (a `Definition`), or a
    function that opens a benchmark."""
    offered = offered.entry() if hasattr(offered, "entry") else offered
    if not isinstance(offered, BenchmarkEntry) and not callable(offered):
        raise faulty(group, name, f"is not a benchmark but of type {type(offered).__name__}: {str(offered)[:40]}")
    entry = offered if isinstance(offered, BenchmarkEntry) else BenchmarkEntry(offered)

    def opened(seed: int, data_dir: Path | None) -> Benchmark:
        made: Benchmark = open_plugin(group, name, entry.open, seed, data_dir)
        require_has(group, name, made, *_NEEDED)
        return made

    return entry._replace(open=opened)
