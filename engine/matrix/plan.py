"""What a matrix file says, and the cells that it means: one for each benchmark, learner, teacher, variant and seed.

Rules
    - A cell's name is made of what distinguishes it from every cell that could be added later, so it stays.
    - A baseline has no teacher: of several teachers it makes one cell.
"""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec

from mage_es.engine.config import BENCHMARK
from mage_es.engine.reporting.systems import FULL, short
from mage_es.events.errors import UsageError, nearest

Names = Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]
_PARTS = ("benchmark", "learner", "teacher", "variant", "seed")


class Matrix(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A matrix file. `settings` are those of every run; `benchmark` and `variants` have further ones by name.

    Later ones win: settings, benchmark, variant.
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


class Cell(NamedTuple):
    """One run of a matrix: its name, what it is a combination of, and every setting that the file gives it."""

    name: str
    benchmark: str
    learner: str
    teacher: str
    variant: str
    seed: int
    baseline: str
    settings: Mapping[str, Any]


def read_matrix(path: Path) -> Matrix:
    """Return what a matrix file says. Raises `UsageError` for one that is missing or says what nobody understands."""
    try:
        return msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Matrix)
    except OSError as error:
        raise UsageError(f"The matrix file {path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not valid TOML: {error}. Correct that line.") from error
    except msgspec.ValidationError as error:
        raise UsageError(f"{path} is no matrix file: {error}. `mage-es matrix --help` shows one.") from error


def cells(matrix: Matrix) -> list[Cell]:
    """Return the cells in the order of the file, seeds running fastest.

    Raises:
        UsageError: Two cells would have one name, or a part of the file names what is not in it.
    """
    _require_known(matrix)
    found: dict[str, Cell] = {}
    clashes: Counter[str] = Counter()
    for combination in product(matrix.benchmarks, matrix.learners, matrix.teachers, matrix.variants, matrix.seeds):
        cell = _cell(matrix, *combination)
        if cell is None or (cell.baseline and found.get(cell.name) == cell):
            continue
        clashes[cell.name] += 1
        found[cell.name] = cell
    if twice := [name for name, count in clashes.items() if count > 1]:
        raise UsageError(f"Several cells would be called {twice[0]}: give models that differ in their last part.")
    return list(found.values())


def _cell(matrix: Matrix, benchmark: str, learner: str, teacher: str, variant: str, seed: int) -> Cell | None:
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
    return Cell(name, benchmark, learner, teacher, variant, seed, baseline, settings)


def _require_known(matrix: Matrix) -> None:
    for benchmark in matrix.benchmark:
        if benchmark not in matrix.benchmarks:
            raise UsageError(
                f"[benchmark.{benchmark}] is no benchmark here.{nearest(benchmark, list(matrix.benchmarks))}"
            )
    for left_out in matrix.exclude:
        for name in left_out:
            if name not in _PARTS:
                raise UsageError(f"[[exclude]] knows no {name!r}.{nearest(name, list(_PARTS))}")
    for settings in (matrix.settings, *matrix.benchmark.values(), *matrix.variants.values()):
        if taken := sorted({"benchmark", "seed", "execution", "guidance"} & settings.keys()):
            raise UsageError(f"{taken[0]} is one of the matrix's own lists (learners, teachers, ...): set it there.")
