"""Cells as tasks of a local Ray, which the test starts: from and into a store, resumed by whoever comes next."""

from __future__ import annotations

import itertools
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mage_es.engine.config import Config, canonical
from mage_es.engine.matrix.on_ray import run_on_ray
from mage_es.engine.matrix.working import Job, next_words
from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.verbs.backup import backup
from mage_es.engine.verbs.evolve import evolve
from mage_es.events.errors import Interrupted

pytestmark = pytest.mark.slow

os.environ.setdefault("RAY_AUTH_MODE", "disabled")
PROGRAM = ("-c", "from mage_es.cli import main; main()")
CONFIG = Config(
    benchmark="wordmath", seed=5, iterations=2, pool=6, held_out=6, anchors=0, guard="off", explore_episodes=0
)


@pytest.fixture(scope="module")
def ray() -> Iterator[Any]:
    ray = pytest.importorskip("ray", reason="Ray is not installed: python -m pip install 'mage-es[ray]'")
    # Its sockets need a short path.
    with tempfile.TemporaryDirectory(prefix="r", dir="/tmp") as folder:
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, _temp_dir=folder)
        yield ray
        ray.shutdown()


def job(name: str, config: Config = CONFIG, *, exams: tuple[str, ...] = ("latest",)) -> Job:
    words = (
        "--seed",
        "5",
        "--pool",
        "6",
        "--held-out",
        "6",
        "--anchors",
        "0",
        "--guard",
        "off",
        "--explore-episodes",
        "0",
    )
    begin = ("evolve", config.benchmark, "--run-id", name, "--iterations", str(config.iterations), *words)
    return Job(name, begin, exams, canonical(config))


def on_ray(jobs: list[Job], folder: Path, said: list[str]) -> list[str]:
    store, runs = str(folder / "store"), folder / "runs"
    runs.mkdir(exist_ok=True)
    found = run_on_ray(jobs, store=store, runs_dir=runs, program=PROGRAM, say=said.append, asked=lambda: 0)
    return [outcome.end for outcome in found]


def test_cells_are_done_on_the_cluster_and_restored_here_and_done_only_once(ray: Any, tmp_path: Path) -> None:
    said: list[str] = []
    bad = job("bad")._replace(begin=("evolve", "no-such-benchmark"))
    assert on_ray([job("good"), bad], tmp_path, said) == ["done", "failed"]
    assert any("bad: FAILED" in line and "no-such-benchmark" in line for line in said)
    assert next_words(job("good"), tmp_path / "runs") == ()  # with its exam
    assert on_ray([job("good")], tmp_path, said) == ["skipped"]


@pytest.mark.paper("section 4.1, matrix")
def test_a_cell_that_somebody_left_half_done_is_gone_on_with_from_the_store(ray: Any, tmp_path: Path) -> None:
    halves, looks = tmp_path / "halves", itertools.count()
    with pytest.raises(Interrupted):
        evolve(CONFIG, runs_dir=halves, run_id="half", runtime=Runtime(stop=lambda: next(looks) > 3))
    backup(Run("half", halves / "half"), str(tmp_path / "store" / "cells" / "half"))
    before = (halves / "half" / "log" / "FORMAT").read_bytes()
    assert on_ray([job("half", exams=())], tmp_path, []) == ["done"]
    after = tmp_path / "runs" / "half"
    assert (after / "log" / "FORMAT").read_bytes() == before
    from mage_es.events.log import LogReader
    from mage_es.events.vocabulary import RunResumed

    assert LogReader(after / "log").last(RunResumed)  # the very run went on, it was not begun anew
