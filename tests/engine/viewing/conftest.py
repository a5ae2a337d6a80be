"""What a page would make of a chunk."""

import base64
import json
import shutil
import zlib
from pathlib import Path
from typing import Any

import pytest

from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.engine.viewing.tables import TIMED, Rows
from mage_es.events.errors import Interrupted
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged
from tests.engine.conftest import SMALL


def opened(content: bytes) -> tuple[str, Any]:
    """Return the name and the data of a chunk's file: the one call that it is."""
    assert content.startswith(b"mage(") and content.endswith(b")\n")
    name, packed = json.loads(b"[" + content[5:-2] + b"]")
    return name, json.loads(zlib.decompress(base64.b64decode(packed), 31))


def rows_of(data: Any) -> list[dict[str, Any]]:
    """Return the rows of a table's chunk."""
    columns = {
        name: values if isinstance(values, list) else [values["of"][place] for place in values["at"]]
        for name, values in data["columns"].items()
    }
    return [{name: values[row] for name, values in columns.items()} for row in range(data["rows"])]


def valid_in(table: Rows, seq: int) -> list[dict[str, Any]]:
    """Return the rows of a table that are valid just after event `seq`, as a page does it."""
    began, ended = (table.columns[name] for name in TIMED)
    return [table.at(row) for row in range(len(table)) if began[row] <= seq and (ended[row] or seq + 1) > seq]


@pytest.fixture(scope="session")
def examined(evolved_once: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished run with an exam of its start and one of its end. Shared: only copy it."""
    path = tmp_path_factory.mktemp("viewed") / "runs" / evolved_once.id
    run = Run(evolved_once.id, shutil.copytree(evolved_once.path, path))
    for marker in ("start", "latest"):
        examine(run, at=marker)
    return run


@pytest.fixture
def copied(examined: Run, tmp_path: Path) -> Run:
    """A copy of that run, to be changed."""
    return Run(examined.id, shutil.copytree(examined.path, tmp_path / examined.id))


def interrupted_in(runs_dir: Path) -> Run:
    """Return a run that was stopped while iteration 1 asked its anchors."""
    run = Run("stopped", runs_dir / "stopped")

    def may_stop() -> bool:
        if not (run.log_path / "FORMAT").exists():
            return False
        judged = LogReader(run.log_path).of(AnswerJudged)
        return any(each.purpose == "anchor" and each.iteration == 1 for each in judged)

    with pytest.raises(Interrupted):
        evolve(SMALL, runs_dir=runs_dir, data_dir=None, runtime=Runtime(workers=1, stop=may_stop), run_id=run.id)
    return run


@pytest.fixture(scope="session")
def interrupted(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that was stopped in the middle of its last iteration's anchors. Shared: only copy it."""
    return interrupted_in(tmp_path_factory.mktemp("interrupted"))
