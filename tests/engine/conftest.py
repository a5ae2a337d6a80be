"""Small runs for the engine's tests: real log, real projections, real benchmark; models at the seam."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from mage_es.engine.config import Config
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import ProgressNote, Runtime
from mage_es.engine.verbs.evolve import evolve
from tests.paper_parts import PAPER_PARTS

SMALL = Config(benchmark="wordmath", seed=7, iterations=2, pool=24, held_out=20, anchors=12, gate="off", **PAPER_PARTS)
COURSES = Config(
    benchmark="wordmath",
    seed=9,
    iterations=3,
    pool=40,
    held_out=20,
    guard="off",
    gate="off",
    warmup=20,
    decompositions=True,
    **PAPER_PARTS,
)
"""Long enough for tools to be written and used; in warm-up all the way, so that every route has its share."""


def silent(note: ProgressNote) -> None:
    """Observe nothing."""


def never() -> bool:
    """Never stop."""
    return False


@pytest.fixture(scope="session")
def evolved_once(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished run of the small configuration. Shared: only copy it."""
    return begin(tmp_path_factory.mktemp("small") / "runs")


@pytest.fixture(scope="module")
def small_run(evolved_once: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A copy of that run for the tests of a module, which may examine it."""
    path = tmp_path_factory.mktemp("small") / "runs" / evolved_once.id
    return Run(evolved_once.id, shutil.copytree(evolved_once.path, path))


@pytest.fixture(scope="session")
def course_run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished run with questions that took several calls, runs of tools among them. Shared: do not change it."""
    return begin(tmp_path_factory.mktemp("courses") / "runs", COURSES)


@pytest.fixture
def start() -> Callable[..., Run]:
    """A function that evolves a run in a folder and returns it."""
    return begin


def begin(runs_dir: Path, config: Config = SMALL, *, workers: int = 4, run_id: str = "small") -> Run:
    """Evolve a run to its end."""
    evolve(config, runs_dir=runs_dir, data_dir=None, runtime=Runtime(workers=workers), run_id=run_id)
    return find_run(runs_dir, run_id)
