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
    [("--help", SLOW), ("evolve --help", SLOW), ("config show", HEAVY)],
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
def test_bash_completes_a_command(tmp_path: Path) -> None:
    script = tmp_path / "mage-es"
    script.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mage_es "$@"\n')
    script.chmod(0o755)
    words = 'eval "$(_MAGE_ES_COMPLETE=source_bash mage-es)"; COMP_WORDS=(mage-es ev) COMP_CWORD=1'
    place = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    bash = ["bash", "-c", f"{words}; _mage_es_completion mage-es; echo ${{COMPREPLY[@]}}"]
    assert subprocess.run(bash, env=place, capture_output=True, text=True, check=True).stdout == "evolve\n"


def test_an_unknown_command_is_a_usage_error_with_the_near_match(mage: Callable[..., Any]) -> None:
    outcome = mage("evolv")
    assert (outcome.code, outcome.out) == (2, "")
    assert "'evolve'" in outcome.err
