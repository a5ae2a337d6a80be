"""The command table: help, version, unknown commands, and what is not imported."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

HEAVY = ("pyarrow", "polars", "lancedb", "numpy", "scipy", "asyncio", "anthropic", "rustworkx", "rich")
COMMANDS = ("demo", "evolve", "resume", "replay", "exam", "ask", "show", "verify", "matrix", "report", "doctor")
GROUPED = (
    "runs list",
    "runs show",
    "memory list",
    "memory show",
    "memory quarantine",
    "memory release",
    "data list",
    "data fetch",
    "config show",
)


@pytest.mark.parametrize("words", ["--help", "evolve --help", "config show"])
def test_help_and_settings_import_nothing_heavy(words: str) -> None:
    script = (
        "import sys\nfrom mage_es.cli import main\n"
        f"try:\n    main({words.split()!r})\nexcept SystemExit as exited:\n    assert not exited.code\n"
        f"print('HEAVY', sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "HEAVY []"


@pytest.mark.parametrize("command", [*COMMANDS, *GROUPED])
def test_each_command_has_an_example_in_its_help_and_takes_json(command: str, mage: Callable[..., Any]) -> None:
    shown = mage(*command.split(), "--help").out
    assert f"mage-es {command}" in shown[shown.index("Example:\n    ") :]
    assert "--json" in shown


def test_the_version_is_printed(mage: Callable[..., Any]) -> None:
    import mage_es

    assert mage("--version").out == f"mage-es {mage_es.__version__}\n"


def test_an_unknown_command_is_a_usage_error_with_the_near_match(mage: Callable[..., Any]) -> None:
    outcome = mage("evolv")
    assert (outcome.code, outcome.out) == (2, "")
    assert "'evolve'" in outcome.err
