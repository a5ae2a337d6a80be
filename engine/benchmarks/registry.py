"""Benchmarks by name."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from mage_es.engine.benchmarks.protocol import Benchmark
from mage_es.events.errors import UsageError, nearest


class OwnModels(NamedTuple):
    """The models that a benchmark is run with where the configuration names none; "" is no judge."""

    execution: str = "builtin/analogist"
    guidance: str = "builtin/reference"
    judge: str = ""


_OWN_MODELS = {
    "truthworld": OwnModels("builtin/truthworld", "builtin/truthguide", "builtin/truthjudge"),
    "workshop": OwnModels(execution="builtin/apprentice"),
}
"""Benchmarks whose own models are others; a table, so that they are known before anything is read or generated."""


def own_models(name: str) -> OwnModels:
    """Return the models that a benchmark is run with where the configuration names none."""
    return _OWN_MODELS.get(name, OwnModels())


def names() -> list[str]:
    """Return the names that `open_benchmark` knows, in alphabetical order."""
    return ["gsm8k", "truthworld", "wordmath", "workshop"]


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
    if name == "wordmath":
        from mage_es.engine.benchmarks.wordmath.benchmark import WordMath

        return WordMath(seed)
    if name == "truthworld":
        from mage_es.engine.benchmarks.truthworld.benchmark import TruthWorld

        return TruthWorld(seed)
    if name == "workshop":
        from mage_es.engine.environments.workshop.benchmark import Workshop

        return Workshop(seed)
    if name == "gsm8k":
        from mage_es.engine.benchmarks.gsm8k import Gsm8k

        return Gsm8k(data_dir)
    raise UsageError(f"There is no benchmark {name!r}.{nearest(name, names())}")
