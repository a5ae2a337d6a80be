"""The command table: help, version, unknown commands, and what is not imported."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

HEAVY = ("pyarrow", "polars", "lancedb", "numpy", "scipy", "asyncio", "anthropic", "rustworkx", "rich")
SLOW = (*HEAVY, "pydantic", "importlib.metadata")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "heavy"),
    [("--help", SLOW), ("evolve --help", SLOW), ("config", HEAVY)],
)
def test_help_and_settings_import_nothing_heavy(words: str, heavy: tuple[str, ...]) -> None:
    script = (
        "import sys\nfrom mage_es.cli import main\n"
        f"try:\n    main({words.split()!r})\nexcept SystemExit as exited:\n    assert not exited.code\n"
        f"print('HEAVY', sorted(set({heavy!r}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "HEAVY []"


def test_the_version_is_printed(mage: Callable[..., Any]) -> None:
    import mage_es

    assert mage("--version").out == f"mage-es {mage_es.__version__}\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "completed"),
    [("mage-es ev", "evolve"), ("mage-es exam wor", "wordmath-s42-001"), ("mage-es doctor gs", "gsm8k")],
)
def test_bash_completes_commands_and_the_names_of_runs_and_benchmarks(
    tmp_path: Path, words: str, completed: str
) -> None:
    program = tmp_path / "mage-es"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mage_es "$@"\n')
    program.chmod(0o755)
    (tmp_path / "runs" / "wordmath-s42-001" / "log").mkdir(parents=True)
    (tmp_path / "runs" / "wordmath-s42-001" / "log" / "FORMAT").write_text("{}")
    home = {"HOME": str(tmp_path), "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    place: dict[str, Any] = {"env": {**os.environ, **home}, "cwd": tmp_path, "capture_output": True, "text": True}
    typed = words.split()
    script = (
        "mage-es --install-completion > /dev/null; "
        f". ~/.bashrc; COMP_WORDS=({words}) COMP_CWORD={len(typed) - 1}; "
        "_mage_es_completion mage-es; echo ${COMPREPLY[@]}"
    )
    assert subprocess.run(["bash", "-c", script], check=True, **place).stdout == f"{completed}\n"


def test_an_unknown_command_is_a_usage_error_with_the_near_match(mage: Callable[..., Any]) -> None:
    outcome = mage("evolv")
    assert (outcome.code, outcome.out) == (2, "")
    assert "'evolve'" in outcome.err
