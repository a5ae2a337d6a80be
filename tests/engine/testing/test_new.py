"""The skeleton of a plugin works as it is: its own tests pass, and once it is installed it can be evolved."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from mage_es.engine.testing.new import KINDS, write_skeleton
from mage_es.events.errors import UsageError

pytestmark = pytest.mark.slow


SIZES = ("--iterations", "1", "--pool", "4", "--held-out", "3", "--anchors", "0", "--data-dir", "my-benchmark/data")


def done_by(folder: Path, *words: str) -> str:
    packages = os.pathsep.join(map(str, folder.iterdir()))
    place = {**os.environ, "PYTHONPATH": os.pathsep.join((packages, os.environ.get("PYTHONPATH", "")))}
    done = subprocess.run([sys.executable, *words], cwd=folder, env=place, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_tests_of_new_plugins_pass_and_once_installed_they_are_found_by_name(tmp_path: Path) -> None:
    for kind in KINDS:
        folder = tmp_path / f"my-{kind}"
        for written in write_skeleton(kind, folder.name, tmp_path):
            left = re.findall(r"<(?:name|kind|module|entry|title|usage|hint)>", written.read_text())
            assert not left, f"{written} has {left}"
        info = folder / f"mage_es_my_{kind}-0.1.0.dist-info"  # what an installer would put there
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: mage-es-my-{kind}\nVersion: 0.1.0\n")
        offered = tomllib.loads((folder / "pyproject.toml").read_text())["project"].get("entry-points", {})
        lines = [f"[{group}]\n{name} = {place}" for group, named in offered.items() for name, place in named.items()]
        (info / "entry_points.txt").write_text("\n".join(lines))

    said = done_by(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib")
    assert "8 passed" in said
    parts = ("--execution", "my-model/small", "--embedder", "my-embedder/small")
    assert "finished" in done_by(tmp_path, "-m", "mage_es", "evolve", "my-benchmark", *parts, *SIZES)
    played = ("my-environment", "--execution", "builtin/copier", "--explore-episodes", "1", *SIZES)
    assert "finished" in done_by(tmp_path, "-m", "mage_es", "evolve", *played)


@pytest.mark.parametrize("name", ["My Tasks", "../up", "", "tasks/x", "3d"])
def test_what_cannot_be_a_name_is_refused_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="lower-case letters"):
        write_skeleton("model", name, tmp_path)
    assert not any(tmp_path.iterdir())


def test_a_folder_that_is_there_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    with pytest.raises(UsageError, match="exists already"):
        write_skeleton("model", "mine", tmp_path)
    assert not any((tmp_path / "mine").iterdir())
