"""The benchmarks of the paper by name: how each is opened, with which models and sizes, and where its files are.

A benchmark's code is imported only when it is opened.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from mage_es.engine.benchmarks.registry import BenchmarkEntry, BenchmarkFamily, DataSource, OwnModels

if TYPE_CHECKING:
    from mage_es.engine.seams.benchmark import Benchmark

_COPIER = OwnModels(execution="builtin/copier")


def _part(place: str) -> Any:
    return resolve_name(f"mage_es.engine.bench.{place}")


def _source(name: str) -> DataSource:
    source: DataSource = _part("fetching:SOURCES")[name]
    return source


def from_files(
    definition: Callable[[], Any], models: OwnModels | None = None, source: Callable[[], DataSource] | None = None
) -> BenchmarkEntry:
    """Return the entry of a benchmark that is read from files, by its `Definition` (dataset.py)."""

    def opened(data_dir: Path | None, **how: Any) -> Benchmark:
        dataset: Benchmark = _part("dataset:Dataset")(definition(), data_dir, **how)
        return dataset

    return BenchmarkEntry(
        lambda seed, data_dir: opened(data_dir),
        models or OwnModels(),
        records=lambda path: opened(None, file=path),
        reopen=lambda questions, data_sha256: opened(None, stored=(questions, data_sha256)),
        source=source,
    )


def _documents(name: str, place: str, models: OwnModels | None = _COPIER) -> BenchmarkEntry:
    return from_files(lambda: _part(place), models, partial(_source, name))


def _shop(name: str, **sizes: int) -> BenchmarkEntry:
    visits = {"iterations": 20, "pool": 50, "held_out": 100, "anchors": 30, "explore_episodes": 4, "episode_steps": 15}
    return BenchmarkEntry(
        lambda seed, data_dir: _part(f"webshop.benchmark:{name.replace('-', '_')}")(seed, data_dir),
        _COPIER,
        {**visits, **sizes},
        source=partial(_source, name),
    )


_FILES: Mapping[str, str] = {
    "finqa": "finqa.benchmark:FINQA",
    "hotpotqa": "hotpotqa.benchmark:HOTPOTQA",
    "hotpotqa-fullwiki": "hotpotqa.benchmark:FULLWIKI",
    "hotpotqa-levels": "hotpotqa.benchmark:LEVELS",
    "medqa": "medqa:MEDQA",
    "realmath": "realmath.benchmark:REALMATH",
    "stbench": "stbench.benchmark:STBENCH",
    "stbench-extended": "stbench.benchmark:EXTENDED",
    "stbench-merged": "stbench.benchmark:MERGED",
    "webqa": "webqa.benchmark:WEBQA",
}
_SHOPS: Mapping[str, Mapping[str, int]] = {
    "webshop-100": {},
    "webshop-100-by-index": {},
    "webshop-100-rich": {},
    "webshop-1000": {},
    "webshop-1000-by-index": {},
    "webshop-1000-human": {"pool": 4, "held_out": 4, "anchors": 0},
    "webshop-1000-rich": {},
}

BENCHMARKS: Mapping[str, BenchmarkEntry | BenchmarkFamily] = {
    **{name: _documents(name, place) for name, place in _FILES.items()},
    **{name: _shop(name, **sizes) for name, sizes in _SHOPS.items()},
    "gsm8k": _documents("gsm8k", "gsm8k:GSM8K", None),
    "crafter": BenchmarkEntry(
        lambda seed, _: _part("crafter.benchmark:Crafter")(seed),
        _COPIER,
        {"iterations": 10, "pool": 5, "held_out": 5, "anchors": 5, "explore_episodes": 2, "episode_steps": 500},
        records=lambda path: _part("crafter.benchmark:worlds_of")(path),
    ),
    "reasoning_gym/": BenchmarkFamily(
        lambda name: _part("reasoning_gym:recorded")(name),
        lambda name, seed: _part("reasoning_gym:opened")(name, seed),
        lambda *stored: _part("reasoning_gym:reopened")(*stored),
    ),
}
