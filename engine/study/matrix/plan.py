"""A matrix file, and its cells: one for each combination of benchmark, learner, teacher, variant and seed.

Rules
    - A cell's name is unique among all cells that the file could ever have, so that it never changes.
    - A baseline has no teacher: with several teachers it is still one cell.
"""

import re
from collections import Counter
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from mage_es.engine.benchmarks.files import read_toml
from mage_es.engine.config import BENCHMARK
from mage_es.engine.study.reporting.places import FULL, short
from mage_es.events.errors import UsageError, nearest

Names = Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
_PARTS = ("benchmark", "learner", "teacher", "variant", "seed")


class Matrix(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A matrix file. `settings` apply to every run; `benchmark` and `variants` add to them by name. A variant's
    settings win over a benchmark's, and those over `settings`.
    """

    benchmarks: Names
    seeds: Annotated[tuple[int, ...], msgspec.Meta(min_length=1)]
    learners: Names = (BENCHMARK,)
    teachers: Names = (BENCHMARK,)
    exams: tuple[str, ...] = ("start", "latest")
    settings: Mapping[str, Any] = {}
    benchmark: Mapping[str, Mapping[str, Any]] = {}
    variants: Mapping[str, Mapping[str, Any]] = msgspec.field(default_factory=lambda: {FULL: {}})
    exclude: tuple[Mapping[str, Any], ...] = ()


class MatrixCell(NamedTuple):
    """One run of a matrix: its name, its combination, and its settings from the file."""

    name: str
    benchmark: str
    learner: str
    teacher: str
    variant: str
    seed: int
    baseline: str
    settings: Mapping[str, Any]


def read_matrix(path: Path) -> Matrix:
    """Raises `UsageError` for a file that is missing or malformed."""
    try:
        return msgspec.convert(read_toml(path), Matrix)
    except OSError as error:
        raise UsageError(f"The matrix file {path} cannot be read: {error.strerror}.") from error
    except msgspec.ValidationError as error:
        raise UsageError(f"{path} is not a valid matrix file: {error}. `mage-es matrix --help` shows one.") from error


def cells(matrix: Matrix) -> list[MatrixCell]:
    """Return the cells in the order of the file, with seeds varying fastest.

    [section 4.1, matrix] A cell is a run with a stable name, on this machine or on a cluster.

    Raises:
        UsageError: Two cells would have the same name, or a section refers to something that is not in the file.
    """
    _require_known(matrix)
    found: dict[str, MatrixCell] = {}
    clashes: Counter[str] = Counter()
    for combination in product(matrix.benchmarks, matrix.learners, matrix.teachers, matrix.variants, matrix.seeds):
        cell = _cell(matrix, *combination)
        if cell is None or (cell.baseline and found.get(cell.name) == cell):
            continue
        clashes[cell.name] += 1
        found[cell.name] = cell
    if twice := [name for name, count in clashes.items() if count > 1]:
        raise UsageError(f"Several cells would have the name {twice[0]}: choose models with different last parts.")
    return list(found.values())


def _cell(matrix: Matrix, benchmark: str, learner: str, teacher: str, variant: str, seed: int) -> MatrixCell | None:
    own = dict(matrix.variants[variant])
    baseline = str(own.pop("baseline", ""))
    if baseline:
        teacher = BENCHMARK
    parts = dict(zip(_PARTS, (benchmark, learner, teacher, variant, seed), strict=True))
    if any(all(parts[name] == value for name, value in left_out.items()) for left_out in matrix.exclude):
        return None
    models = [short(model) for model in (learner, teacher) if model != BENCHMARK]
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", "-".join((benchmark, *models, variant, f"s{seed}")))
    settings = {**matrix.settings, **matrix.benchmark.get(benchmark, {}), **own}
    return MatrixCell(name, benchmark, learner, teacher, variant, seed, baseline, settings)


def _require_known(matrix: Matrix) -> None:
    for benchmark in matrix.benchmark:
        if benchmark not in matrix.benchmarks:
            raise UsageError(
                f"[benchmark.{benchmark}] is not in `benchmarks`.{nearest(benchmark, list(matrix.benchmarks))}"
            )
    for left_out in matrix.exclude:
        for name in left_out:
            if name not in _PARTS:
                raise UsageError(f"[[exclude]] has an unknown key {name!r}.{nearest(name, list(_PARTS))}")
    for settings in (matrix.settings, *matrix.benchmark.values(), *matrix.variants.values()):
        if taken := sorted({"benchmark", "seed", "execution", "guidance"} & settings.keys()):
            raise UsageError(f"{taken[0]} is one of the matrix's own lists (learners, teachers, ...): set it there.")
