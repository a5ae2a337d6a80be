"""A run to serve."""

import contextlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mage_es.engine.config import Config
from mage_es.engine.run.directory import Run
from mage_es.engine.serving.live import LiveRun
from mage_es.events.errors import LogError
from tests.engine.conftest import begin
from tests.engine.serving.upstream import Upstream, upstream

LABELS = Config(
    benchmark="private-labels?difficulty=3", execution="builtin/copier", iterations=1, pool=60, held_out=20, anchors=10
)


@pytest.fixture
def parent(evolved_once: Run, tmp_path: Path) -> Run:
    """A run that learned, alone in its folder."""
    path = tmp_path / "runs" / evolved_once.id
    return Run(evolved_once.id, shutil.copytree(evolved_once.path, path))


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that missed every question, whose cases are ranked by a metric that it learned from their labels."""
    return begin(tmp_path_factory.mktemp("labelled") / "runs", LABELS, run_id="labelled")


@pytest.fixture
def serve(parent: Run) -> Iterator[Callable[..., LiveRun]]:
    """A function that opens the parent's served run; all that it opened are closed at the end."""
    opened: list[LiveRun] = []

    def begin(**options: Any) -> LiveRun:
        opened.append(LiveRun.open(options.pop("run", parent), **options))
        return opened[-1]

    yield begin
    for live in opened:
        with contextlib.suppress(LogError):
            live.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Upstream]:
    with upstream() as found:
        yield found


Opening = Callable[..., LiveRun]


@pytest.fixture(scope="module")
def opening(evolved_once: Run, tmp_path_factory: pytest.TempPathFactory) -> Opening:
    """A function that opens a served run by its name for the tests of a module; no session of it is held back."""
    runs_dir = tmp_path_factory.mktemp("served")

    def opened(name: str, **options: Any) -> LiveRun:
        return LiveRun.open(evolved_once, runs_dir=runs_dir, name=name, **{"holdback": 0.0, **options})

    return opened
