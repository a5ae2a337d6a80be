"""The tutorial works as it is written, and so do the answers to questions people ask, which go on from its run.

Every command is run, in order, in one empty folder and in this process, without a network.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.hostile.odd import run_command

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parent.parent
TUTORIAL, QUESTIONS = ((ROOT / name).read_text(encoding="utf-8") for name in ("cli/TUTORIAL.md", "docs/questions.md"))


def files() -> dict[str, str]:
    """Return the files that a reader is told to save."""
    return dict(re.findall(r"<!-- file: (\S+) -->\n```python\n(.*?)```", TUTORIAL, re.DOTALL))


def steps(paper: str) -> list[tuple[str, list[str]]]:
    """Return each command with the lines that its output is shown to hold."""
    found: list[tuple[str, list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", paper, re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line[2:], []))
            else:
                found[-1][1].append(line)
    return found


def test_every_command_of_the_tutorial_and_of_the_questions_does_what_it_is_shown_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in files().items():
        (tmp_path / name).write_text(text)
    for name in [name for name in os.environ if name.startswith("MAGE_ES_")]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    assert len(steps(TUTORIAL)) > 12 and len(steps(QUESTIONS)) > 6
    for command, shown in (*steps(TUTORIAL), *steps(QUESTIONS)):
        program, *words = shlex.split(command)
        if program != "mage-es":
            subprocess.run([sys.executable, *words], check=True)
            continue
        done = run_command(words)
        assert done.code == 0, f"{command}\n{done.err}"
        missing = [line for line in shown if line not in done.out]
        assert not missing, f"{command}\n{missing}\n{done.out}"
