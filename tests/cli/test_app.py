"""The command table: help, version, unknown commands, and what is not imported."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
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


def test_an_unknown_command_is_a_usage_error_with_the_near_match(mage: Callable[..., Any]) -> None:
    outcome = mage("evolv")
    assert (outcome.code, outcome.out) == (2, "")
    assert "'evolve'" in outcome.err
