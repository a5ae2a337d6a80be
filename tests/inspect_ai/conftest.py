"""Runs whose exams Inspect reads; skipped without it: python -m pip install 'mage-es[inspect]'."""

from pathlib import Path

import pytest

import mage_es
from mage_es import Config, Run, evolve, examine

pytest.importorskip("inspect_ai", reason="python -m pip install 'mage-es[inspect]'")

SMALL = Config(benchmark="wordmath", seed=7, iterations=1, pool=24, held_out=20, anchors=8, gate="off")


@pytest.fixture(scope="session")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with an exam of its start and one of its end. Shared: only read it."""
    runs = tmp_path_factory.mktemp("inspected") / "runs"
    evolve(SMALL, runs_dir=runs, run_id="small")
    for marker in ("start", "latest"):
        examine(runs / "small", at=marker)
    return Run("small", runs / "small")


@pytest.fixture(scope="session")
def logs(run: Run, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The logs of its exams. Shared: only read them."""
    folder = tmp_path_factory.mktemp("logs") / "logs"
    mage_es.export_inspect(run, folder)
    return folder
