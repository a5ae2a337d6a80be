"""The generated benchmarks by name, with their default players; a benchmark is imported only when it is opened."""

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any

from mage_es.engine.benchmarks.registry import BenchmarkEntry, BenchmarkFamily, OwnModels


def _part(place: str) -> Any:
    return resolve_name(f"mage_es.engine.players.worlds.{place}")


_PRIVATE = BenchmarkFamily(
    lambda name: _part("private.benchmark:recorded")(name),
    lambda name, seed: _part("private.benchmark:PrivateSet")(name, seed),
)
BENCHMARKS: Mapping[str, BenchmarkEntry | BenchmarkFamily] = {
    **{f"private-{kind}": _PRIVATE for kind in ("codes", "composition", "drift", "labels", "limits", "pairs", "units")},
    "wordmath": BenchmarkEntry(lambda seed, _: _part("wordmath.benchmark:WordMath")(seed)),
    "workshop": BenchmarkEntry(
        lambda seed, _: _part("workshop.benchmark:Workshop")(seed),
        OwnModels(execution="builtin/copier"),
        {"iterations": 10, "pool": 30, "held_out": 100, "episode_steps": 60},
    ),
}
