"""Benchmarks by name, looked up here first, then among tasks of the user's own, then among the plug-ins of other
packages.

A benchmark's defaults (models, sizes) are known without reading or generating anything.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from mage_es.engine.benchmarks.tasks import names_tasks
from mage_es.engine.config import BENCHMARK, Config
from mage_es.engine.seams.benchmark import Benchmark, Question
from mage_es.engine.seams.plugins import Group, faulty, load, open_plugin, plugins
from mage_es.events.errors import UsageError, nearest

if TYPE_CHECKING:
    from mage_es.engine.benchmarks.dataset import Definition

_GROUPS: tuple[Group, ...] = ("mage_es.benchmarks", "mage_es.environments")


class OwnModels(NamedTuple):
    """The models that a benchmark is run with if the configuration names none; "" means no judge."""

    execution: str = "builtin/analogist"
    guidance: str = "builtin/reference"
    judge: str = ""


class BenchmarkEntry(NamedTuple):
    """A benchmark: how to open it, given a seed and the folder of all data sets, and what to run it with.

    `defaults` are settings of a run by name (`iterations`, `pool`, `episode_steps`) that the user may override.
    `records` opens a single file of a benchmark that is read from files; all of its questions are the test split.
    `reopen` makes the benchmark from questions that a run has stored and the hash of their data; a benchmark with more
    than questions (a world to play in) has none, and is opened again.
    """

    open: Callable[[int, Path | None], Benchmark]
    models: OwnModels = OwnModels()
    defaults: Mapping[str, int] = {}
    records: Callable[[Path], Benchmark] | None = None
    reopen: Callable[[Sequence[Question], str], Benchmark] | None = None


def _part(place: str) -> Any:
    """Import `module:name` of the engine. Only when it is needed, so that a command without a benchmark starts without
    it."""
    module, _, name = place.partition(":")
    return getattr(import_module(f"mage_es.engine.{module}"), name)


def _from_files(definition: Callable[[], Definition], models: OwnModels | None = None) -> BenchmarkEntry:
    def opened(data_dir: Path | None, **how: Any) -> Benchmark:
        from mage_es.engine.benchmarks.dataset import Dataset

        return Dataset(definition(), data_dir, **how)

    return BenchmarkEntry(
        lambda seed, data_dir: opened(data_dir),
        models or OwnModels(),
        records=lambda path: opened(None, file=path),
        reopen=lambda questions, data_sha256: opened(None, stored=(questions, data_sha256)),
    )


def _documents(place: str) -> BenchmarkEntry:
    return _from_files(lambda: _part(place), OwnModels(execution="builtin/reader"))


def _shop(name: str, **sizes: int) -> BenchmarkEntry:
    visits = {"iterations": 20, "pool": 50, "held_out": 100, "anchors": 30, "explore_episodes": 4, "episode_steps": 15}
    return BenchmarkEntry(
        lambda seed, data_dir: _part(f"environments.webshop.benchmark:{name}")(seed, data_dir),
        OwnModels(execution="builtin/shopper"),
        {**visits, **sizes},
    )


_TABLE: Mapping[str, BenchmarkEntry] = {
    "crafter": BenchmarkEntry(
        lambda seed, _: _part("environments.crafter.benchmark:Crafter")(seed),
        OwnModels(execution="builtin/apprentice"),
        {"iterations": 10, "pool": 5, "held_out": 5, "anchors": 5, "explore_episodes": 2, "episode_steps": 500},
        records=lambda path: _part("environments.crafter.benchmark:worlds_of")(path),
    ),
    "finqa": _documents("benchmarks.finqa.benchmark:FINQA"),
    "gsm8k": _from_files(lambda: _part("benchmarks.gsm8k:GSM8K")),
    "hotpotqa": _documents("benchmarks.hotpotqa.benchmark:HOTPOTQA"),
    "hotpotqa-fullwiki": _documents("benchmarks.hotpotqa.benchmark:FULLWIKI"),
    "hotpotqa-levels": _documents("benchmarks.hotpotqa.benchmark:LEVELS"),
    "medqa": _documents("benchmarks.medqa:MEDQA"),
    "realmath": _documents("benchmarks.realmath.benchmark:REALMATH"),
    "stbench": _documents("benchmarks.stbench.benchmark:STBENCH"),
    "stbench-extended": _documents("benchmarks.stbench.benchmark:EXTENDED"),
    "stbench-merged": _documents("benchmarks.stbench.benchmark:MERGED"),
    "truthworld": BenchmarkEntry(
        lambda seed, _: _part("worlds.truthworld.benchmark:TruthWorld")(seed),
        OwnModels("builtin/truthworld", "builtin/truthguide", "builtin/truthjudge"),
    ),
    "webqa": _documents("benchmarks.webqa.benchmark:WEBQA"),
    "webshop-100": _shop("webshop_100"),
    "webshop-100-by-index": _shop("webshop_100_by_index"),
    "webshop-100-rich": _shop("webshop_100_rich"),
    "webshop-1000": _shop("webshop_1000"),
    "webshop-1000-by-index": _shop("webshop_1000_by_index"),
    "webshop-1000-human": _shop("webshop_1000_human", pool=4, held_out=4, anchors=0),
    "webshop-1000-rich": _shop("webshop_1000_rich"),
    "wordmath": BenchmarkEntry(lambda seed, _: _part("worlds.wordmath.benchmark:WordMath")(seed)),
    "workshop": BenchmarkEntry(
        lambda seed, _: _part("worlds.workshop.benchmark:Workshop")(seed),
        OwnModels(execution="builtin/apprentice"),
        {"iterations": 10, "pool": 30, "held_out": 100, "episode_steps": 60},
    ),
}

_PRIVATE = tuple(f"private-{kind}" for kind in ("codes", "composition", "drift", "labels", "pairs", "units"))
_GYM = "reasoning_gym"
_FAMILIES: Mapping[str, str] = {
    **dict.fromkeys(_PRIVATE, "worlds.private.benchmark"),
    _GYM: "benchmarks.reasoning_gym",
}
"""Benchmarks whose names take options, by the part before a `/` or `?`: the module that has `recorded` (name -> the
name with all options, as a run records it) and `opened` (name, seed -> benchmark). None has its own learner."""


_GIVEN: dict[str, BenchmarkEntry] = {}


def given_name(benchmark: Benchmark) -> str:
    """Return the name under which this process finds a benchmark object from now on. Raises `UsageError` for anything
    but a benchmark, or one that has another's name."""
    needed = ("name", "task_type_source", "answer_format", "data_sha256", "questions", "score")
    if missing := [name for name in needed if isinstance(benchmark, type) or not hasattr(benchmark, name)]:
        what = f"the class {benchmark.__name__} itself" if isinstance(benchmark, type) else repr(benchmark)
        raise UsageError(
            f"{what[:80]} is not a benchmark: it has no {', '.join(missing)}. Give an object with everything that "
            "`mage_es.Benchmark` lists, or name a benchmark in the configuration."
        )
    if not benchmark.name or names_tasks(benchmark.name) or benchmark.name in names():
        raise UsageError(f"A benchmark of yours cannot be called {benchmark.name!r}: that is the name of another one.")
    _GIVEN[benchmark.name] = BenchmarkEntry(lambda seed, data_dir: benchmark)
    return benchmark.name


def own_models(name: str) -> OwnModels:
    entry = _find(name)
    return entry.models if entry else OwnModels()


def with_own_models(config: Config) -> Config:
    """Return a configuration as a run records it: with every model, what its teacher sees, and the user's own tasks in
    full."""
    config = msgspec.structs.replace(config, benchmark=recorded_name(config.benchmark))
    own = own_models(config.benchmark)._asdict()
    named = msgspec.structs.replace(config, **{tier: own[tier] for tier in own if getattr(config, tier) == BENCHMARK})
    if named.teacher_sees != "model":
        return named
    return msgspec.structs.replace(named, teacher_sees=shown_to(named.guidance))


def shown_to(guidance: str) -> Literal["solutions", "answers"]:
    """Return what a guidance model is shown of questions by default."""
    # The embedded teachers write by rule, from the data set's own solutions; a language model can do with less.
    return "solutions" if guidance.startswith("builtin/") else "answers"


def needs_learner(name: str) -> bool:
    """Return whether the user must name the model for a benchmark's questions, because no stand-in can answer them."""
    return names_tasks(name) or _family(name) in _FAMILIES


def own_defaults(name: str) -> Mapping[str, int]:
    entry = _find(name)
    return entry.defaults if entry else {}


def recorded_name(name: str) -> str:
    """Return the name that a run records, with all options that matter. Raises `UsageError` for an invalid one."""
    if _family(name) in _FAMILIES:
        called: str = _part(f"{_FAMILIES[_family(name)]}:recorded")(name)
        return called
    if name in _TABLE or not names_tasks(name):
        return name
    from mage_es.engine.benchmarks.tasks.spec import parse

    return parse(name).name


def title(name: str) -> str:
    if _family(name) in _FAMILIES:
        return name.partition("?")[0].rpartition("/")[2]
    if name in _TABLE or not names_tasks(name):
        return name
    from mage_es.engine.benchmarks.tasks.spec import parse

    return parse(name).title


def _family(name: str) -> str:
    return "" if names_tasks(name) else name.partition("?")[0].partition("/")[0]


def names() -> list[str]:
    return sorted({*_TABLE, *_PRIVATE, *(name for group in _GROUPS for name in plugins(group))})


def open_benchmark(name: str, *, seed: int, data_dir: Path | str | None = None) -> Benchmark:
    """`name` is one of `names()`, some with options (`private-labels?labels=4`), or the user's own tasks as
    `FILE?option=value`; benchmarks read from files ignore `seed`.

    Raises `UsageError` (the near matches are listed), or `PrerequisiteError` if its data is missing or malformed.
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
            f"There is no benchmark {name!r}.{nearest(name, names())} A file of tasks ends in .jsonl, .csv or "
            ".parquet; an object of yours is given to each call in Python, as `benchmark=`."
        )
    return entry


def _find(name: str) -> BenchmarkEntry | None:
    return _GIVEN.get(name) or _installed(name)


@functools.cache
def _installed(name: str) -> BenchmarkEntry | None:
    if name in _TABLE:
        return _TABLE[name]
    if module := _FAMILIES.get(_family(name)):
        defaults = {"iterations": 5, "pool": 24, "held_out": 60, "anchors": 30}
        entry = BenchmarkEntry(lambda seed, _data_dir: _part(f"{module}:opened")(name, seed), defaults=defaults)
        if _family(name) != _GYM:
            return entry
        return entry._replace(reopen=lambda *stored: _part(f"{module}:reopened")(name, *stored))
    if names_tasks(name):
        return BenchmarkEntry(
            lambda _seed, _data_dir: _part("benchmarks.tasks.benchmark:open_tasks")(name),
            reopen=lambda *stored: _part("benchmarks.tasks.benchmark:reopen_tasks")(name, *stored),
        )
    for group in _GROUPS:
        if name in plugins(group):
            return _offered(group, name, load(group, name))
    return None


def _offered(group: Group, name: str, offered: Any) -> BenchmarkEntry:
    """Return the entry of what another package offers: a definition, an entry, or a function that opens a benchmark."""
    from mage_es.engine.benchmarks.dataset import Definition

    if isinstance(offered, Definition):
        return _from_files(lambda: offered)
    if not isinstance(offered, BenchmarkEntry) and not callable(offered):
        raise faulty(group, name, f"is not a benchmark but an {type(offered).__name__}: {str(offered)[:40]}")
    entry = offered if isinstance(offered, BenchmarkEntry) else BenchmarkEntry(offered)
    return entry._replace(open=functools.partial(open_plugin, group, name, entry.open))
