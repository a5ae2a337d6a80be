"""Every error becomes a message and an exit code."""

from __future__ import annotations

import pytest
import typer

from mage_es.cli import run
from mage_es.events import errors


def failing(error: BaseException) -> typer.Typer:
    app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)

    @app.command()
    def fail(words: list[str] | None = None) -> None:
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


def test_debug_shows_the_traceback() -> None:
    with pytest.raises(errors.UsageError):
        run(failing(errors.UsageError("it failed")), ["--debug"])


def test_debug_after_two_dashes_is_an_ordinary_word() -> None:
    with pytest.raises(SystemExit):
        run(failing(errors.UsageError("it failed")), ["--", "--debug"])
