"""The command table: help, version, unknown commands, and what is not imported."""

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
@pytest.mark.parametrize(("words", "heavy"), [("--help", SLOW), ("evolve --help", SLOW), ("config", HEAVY)])
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


PLUGIN = """
from mage_es.cli.entries import CommandEntry

def hello() -> None:
    '''Say hello.'''
    print("hello from afar")

def evolve() -> None:
    '''Evolve something else.'''
    print("not ours")

GOOD = (CommandEntry("Look", 15, hello, "mage-es hello"),)
OURS = (CommandEntry("Learn", 999, evolve, "mage-es evolve"),)
ALONE = CommandEntry("Look", 15, hello, "mage-es hello")
SHELF = (CommandEntry("A panel of mine", 15, hello, "mage-es hello"),)
"""


@pytest.mark.parametrize(
    ("offered", "words", "out", "err"),
    [
        ("GOOD", "hello", "hello from afar\n", ""),
        ("GOOD", "hello --help", "Say hello.", ""),
        ("OURS", "evolve --help", "a frozen learner", "offers a command 'evolve', which exists already"),
        ("ALONE", "--version", "mage-es ", "is not a sequence of `CommandEntry`s"),
        ("hello", "--version", "mage-es ", "is not a sequence of `CommandEntry`s"),
        ("SHELF", "--help", "evolve", "each with a panel of ours"),
    ],
    ids=["runs", "helps", "has a name of ours", "is no sequence", "is a function", "has a panel of its own"],
)
def test_a_command_of_another_package_is_added_and_takes_nothing_of_ours_away(
    tmp_path: Path, offered: str, words: str, out: str, err: str
) -> None:
    (tmp_path / "afar.py").write_text(PLUGIN)
    info = tmp_path / "afar-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: afar\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[mage_es.commands]\nafar = afar:{offered}\n")
    place: dict[str, Any] = {"env": {**os.environ, "PYTHONPATH": str(tmp_path)}, "capture_output": True, "text": True}
    done = subprocess.run([sys.executable, "-m", "mage_es", *words.split()], check=True, **place)
    assert out in done.stdout and (err in done.stderr if err else not done.stderr)
