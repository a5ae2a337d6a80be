"""Every error becomes a message and an exit code."""

import errno
import json
import os
import subprocess
import sys
from importlib.abc import MetaPathFinder
from pathlib import Path

import pyarrow as pa
import pytest
import typer

from mage_es.cli import main, run
from mage_es.events import errors
from tests.cli.conftest import Command


def failing(error: BaseException) -> typer.Typer:
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)

    @app.command()
    def fail(words: list[str] | None = None, *, json: bool = False) -> None:
        raise error

    return app


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.MageError("it failed"), 1),
        (errors.UsageError("it failed"), 2),
        (errors.RunLocked("it failed"), 4),
        (errors.LogDamaged("it \x1b[31mfailed"), 5),
        (OSError(28, "No space left on device"), 4),
        (MemoryError("it failed"), 4),
        (pa.ArrowMemoryError("it failed"), 4),
        (ValueError("it failed"), 1),
        (KeyboardInterrupt(), 130),
    ],
)
def test_every_error_is_a_message_and_an_exit_code_without_a_traceback(
    capsys: pytest.CaptureFixture[str], error: BaseException, code: int
) -> None:
    with pytest.raises(SystemExit) as exited:
        run(failing(error), [])
    written = capsys.readouterr()
    assert (exited.value.code, written.out) == (code, "")
    assert "Traceback" not in written.err and "\x1b" not in written.err
    assert code == 130 or written.err.startswith("mage-es: ")


def test_what_an_error_was_given_to_say_besides_stands_below_it(capsys: pytest.CaptureFixture[str]) -> None:
    error = errors.PrerequisiteError("it failed")
    error.add_note("Resume it \x1b[31mwith this")
    with pytest.raises(SystemExit):
        run(failing(error), [])
    assert capsys.readouterr().err == "mage-es: it failed\nResume it with this\n"


@pytest.mark.parametrize(
    ("number", "told"),
    [
        (errno.EACCES, "/x/runs: Permission denied. Make it writable (chmod u+w)"),
        (errno.EROFS, "/x/runs: Read-only file system. Make it writable (chmod u+w)"),
        (errno.ENOSPC, "/x/runs: No space left on device. Free some space"),
        (errno.ENOTDIR, "/x/runs: Not a directory. It is in the way of a folder"),
        (errno.EIO, "/x/runs: Input/output error. Fix that"),
    ],
)
def test_what_the_system_refuses_is_told_with_the_place_and_a_remedy(
    capsys: pytest.CaptureFixture[str], number: int, told: str
) -> None:
    with pytest.raises(SystemExit):
        run(failing(OSError(number, os.strerror(number), "/x/runs")), [])
    assert capsys.readouterr().err.startswith(f"mage-es: {told}")


@pytest.mark.parametrize(
    ("error", "words", "code"),
    [
        (errors.LogDamaged("it \x1b[31mfailed"), ["--json"], 5),
        (OSError(28, "No space left on device"), ["--json"], 4),
        (errors.Interrupted("it failed"), ["--json"], 130),
        (ValueError("it failed"), ["--json"], 1),
        (ValueError("never raised"), ["--json", "--unknown"], 2),
    ],
)
def test_with_json_an_error_is_a_document_on_stdout_too(
    capsys: pytest.CaptureFixture[str], error: Exception, words: list[str], code: int
) -> None:
    with pytest.raises(SystemExit) as exited:
        run(failing(error), words)
    written = capsys.readouterr()
    document = json.loads(written.out)
    assert (exited.value.code, document["exit_code"]) == (code, code)
    assert document["error"] and "\x1b" not in written.out and written.err


@pytest.mark.slow
def test_a_closed_stream_takes_nothing_to_the_other_one(finished: Path) -> None:
    command = f"{sys.executable} -c 'from mage_es.cli import main; main()' runs list --runs-dir {finished}"
    without_stdout = subprocess.run(f"{command} >&-", shell=True, capture_output=True, text=True, check=True)
    assert without_stdout.stderr == f"\nNext: mage-es runs show first --runs-dir {finished}\n"
    without_stderr = subprocess.run(f"{command} --json 2>&-", shell=True, capture_output=True, text=True, check=True)
    assert json.loads(without_stderr.stdout)[0]["run_id"] == "first"


@pytest.mark.parametrize(
    ("at", "words"),
    [("mage_es.cli.options.resolve", "verify"), ("mage_es.engine.run.directory.list_runs", "runs list")],
    ids=["while its words are read", "at work"],
)
def test_ctrl_c_in_a_command_is_said(mage: Command, monkeypatch: pytest.MonkeyPatch, at: str, words: str) -> None:
    def interrupted(*given: object, **named: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(at, interrupted)
    assert mage(*words.split()) == (130, "", "mage-es: Stopped before it was done.\n")


def test_ctrl_c_while_the_program_still_loads_is_no_traceback(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupting(MetaPathFinder):
        def find_spec(self, name: str, path: object, target: object = None) -> None:
            if name == "mage_es.cli.app":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "mage_es.cli.app", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupting(), *sys.meta_path])
    with pytest.raises(SystemExit) as exited:
        main(["doctor"])
    assert exited.value.code == 130
    assert capsys.readouterr().err == "mage-es: Stopped before anything started.\n"


def test_debug_shows_the_traceback_before_the_message_and_exits_as_without_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as exited:
        run(failing(errors.UsageError("it \x1b[31mfailed")), ["--debug"])
    written = capsys.readouterr().err
    assert exited.value.code == errors.UsageError.exit_code
    assert written.startswith("Traceback") and written.endswith("mage-es: it failed\n")
    assert "\x1b" not in written


def test_debug_after_two_dashes_is_an_ordinary_word(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(failing(errors.UsageError("it failed")), ["--", "--debug"])
    assert "Traceback" not in capsys.readouterr().err


@pytest.mark.parametrize(
    ("count", "told"), [(0, "Known: none."), (3, "Known: run-0, run-1, run-2."), (40, "and 16 more.")]
)
def test_what_is_known_is_listed_unless_that_would_fill_the_screen(count: int, told: str) -> None:
    listed = errors.nearest("xyz", [f"run-{number}" for number in range(count)])
    assert listed.endswith(told)
    assert listed.count("run-") <= 24


def test_of_thousands_the_nearest_few_are_named_and_what_lists_the_others() -> None:
    known = [f"wordmath-{split}-{number}" for split in ("evolution", "test") for number in range(2000)]
    rest = "`mage-es view r1` lists those that it asked."
    assert errors.nearest("wordmath-test-2345", known, rest=rest).endswith(f"? {rest}")
    told = errors.nearest("xyz-test", known, rest=rest)
    assert told.startswith(" Nearest: wordmath-test-") and told.count("wordmath-") == 3 and told.endswith(f". {rest}")
    assert errors.nearest("b", ["c"], rest=rest) == " Known: c."


@pytest.mark.parametrize(
    ("typed", "known", "meant"),
    [
        ("GSM8K", ["gsm8k", "medqa"], ["gsm8k"]),
        ("wordmth", ["wordmath", "workshop"], ["wordmath"]),
        ("iteration", ["iterations", "max_iterations", "exploration"], ["iterations", "max_iterations"]),
        ("MAGE_ES_WORKRES", ["MAGE_ES_WORKERS", "MAGE_ES_POOL"], ["MAGE_ES_WORKERS"]),
    ],
)
def test_what_is_hardly_different_is_suggested(typed: str, known: list[str], meant: list[str]) -> None:
    assert errors.nearest(typed, known) == f" Did you mean {', '.join(meant)}?"


@pytest.mark.parametrize(
    ("typed", "known"),
    [
        ("r1", ["r2"]),
        ("qa", ["finqa", "medqa"]),
        ("first", ["second", "fresh"]),
        ("MAGE_ES_FOO", ["MAGE_ES_POOL", "MAGE_ES_TOOLS"]),
        ("", ["anything"]),
    ],
)
def test_what_only_looks_a_little_like_it_is_listed_but_not_suggested(typed: str, known: list[str]) -> None:
    assert errors.nearest(typed, known) == f" Known: {', '.join(sorted(known))}."


def test_windows_is_told_at_once_what_works_there(mage: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "win32")
    outcome = mage("demo")
    assert (outcome.code, outcome.out) == (4, "") and "wsl --install" in outcome.err


def test_an_installation_on_windows_is_refused_with_the_same_way_out() -> None:
    setup = Path(__file__).parents[2] / "setup.py"
    words = f"import runpy, sys; sys.platform = 'win32'; runpy.run_path({str(setup)!r})"
    refused = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True)
    assert refused.returncode == 1 and "wsl --install" in refused.stderr


def test_too_small_a_limit_of_open_files_is_an_error_that_says_what_to_raise() -> None:
    words = f"ulimit -n 16; exec {sys.executable} -m mage_es runs list"
    refused = subprocess.run(["sh", "-c", words], capture_output=True, text=True)
    assert refused.returncode == 4 and "only 16 files" in refused.stderr and "ulimit -n 1024" in refused.stderr
