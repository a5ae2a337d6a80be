"""The skeleton of a plugin works as it is: its own tests pass, and once it is installed it can be evolved."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mage_es.engine.verbs.new import write_skeleton
from mage_es.events.errors import UsageError

pytestmark = pytest.mark.slow


def test_the_tests_of_a_new_plugin_pass(tmp_path: Path) -> None:
    write_skeleton("my-tasks", tmp_path)
    words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(words, cwd=tmp_path / "my-tasks", capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "2 passed" in done.stdout


def test_an_installed_plugin_is_listed_and_evolves(tmp_path: Path) -> None:
    folder = tmp_path / "my-tasks"
    write_skeleton("my-tasks", tmp_path)
    info = folder / "mage_es_my_tasks-0.1.0.dist-info"  # what an installer would put there
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mage-es-my-tasks\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text("[mage_es.benchmarks]\nmy-tasks = mage_es_my_tasks.benchmark:BENCHMARK\n")
    evolve = ["evolve", "my-tasks", "--data-dir", "data", "--iterations", "1", "--pool", "4", "--anchors", "0"]
    code = f"import sys; sys.path.insert(0, '.'); from mage_es.cli import main; main({evolve})"
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Run my-tasks-s42-001: my-tasks, seed 42, finished" in done.stdout


@pytest.mark.parametrize("name", ["My Tasks", "../up", "", "tasks/x", "3d"])
def test_what_cannot_be_a_name_is_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="lower-case letters"):
        write_skeleton(name, tmp_path)
    assert not any(tmp_path.iterdir())


def test_a_folder_that_is_there_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(UsageError, match="exists already"):
        write_skeleton("mine", tmp_path)
    assert not any((tmp_path / "mine").iterdir())
