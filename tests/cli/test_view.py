"""`mage-es view`: a file, a folder, or a server that Ctrl-C ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from tests.cli.conftest import Command


def test_a_run_becomes_one_file_or_a_folder_and_nothing_is_overwritten(
    mage: Command, finished: Path, tmp_path: Path
) -> None:
    told = mage("view", "first", "--runs-dir", str(finished), "--to", "run.html")
    assert told.code == 0 and re.search(r"run\.html: \d\.\d MB, files: 1", told.out)
    told = mage("view", "--runs-dir", str(finished), "--to", "site", "--json")
    assert json.loads(told.out)["path"] == "site/index.html" and (tmp_path / "site" / "data" / "runs.js").exists()
    for place in ("run.html", "site"):
        told = mage("view", "first", "--runs-dir", str(finished), "--to", place)
        assert told.code == 2 and "exists" in told.err


def test_a_run_that_is_not_there_is_named(mage: Command, finished: Path) -> None:
    assert "There is no run 'frist'" in mage("view", "frist", "--runs-dir", str(finished), "--no-open").err
    assert "There is no run in" in mage("view", "--runs-dir", "nowhere", "--no-open").err


@pytest.mark.slow
def test_it_serves_every_run_until_ctrl_c(finished: Path) -> None:
    words = (sys.executable, "-m", "mage_es", "view", "--runs-dir", str(finished), "--no-open")
    # Out of the way of the terminal's own Ctrl-C, so that the signal is ours alone.
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, process_group=0) as serving:
        assert serving.stdout is not None
        url = serving.stdout.readline().strip()
        with urllib.request.urlopen(f"{url}data/runs.js", timeout=30) as answer:
            assert answer.read().startswith(b'mage("runs",')
        os.kill(serving.pid, signal.SIGINT)
        assert serving.wait(30) == 0
        assert "Ctrl-C ends it" in serving.stderr.read() if serving.stderr else False
