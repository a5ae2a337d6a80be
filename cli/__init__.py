"""The command line: `main` runs a command and turns every error into a message and an exit code.

Rules
    - Nothing heavy is imported before a command needs it; `mage-es --help` loads no data library.
    - stdout is for data, stderr for people; a traceback is shown with `--debug` only, before the message.
    - Exit codes: 0 fine, 1 a check failed, 2 usage, 3 budget reached, 4 prerequisite, 5 log damaged, 130 interrupted.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from mage_es.cli.output import clean
from mage_es.events.errors import Interrupted, MageError, PrerequisiteError

if TYPE_CHECKING:
    from typer import Typer


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit; `arguments` are those of the process unless given."""
    try:
        from mage_es.cli.app import app
    except KeyboardInterrupt:
        print("mage-es: Stopped before anything began.", file=sys.stderr)
        sys.exit(Interrupted.exit_code)
    # Retrieval is many small products: threads gain little there, and on a busy machine they wait for each other.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    run(app, list(sys.argv[1:] if arguments is None else arguments))


def run(app: Typer, words: list[str]) -> NoReturn:
    """Run the command of `app` that the words name and exit as it ended."""
    own = words[: words.index("--")] if "--" in words else words
    debug = "--debug" in own
    if debug:
        words.remove("--debug")
    try:
        app(words, prog_name="mage-es")
    except Exception as error:
        if debug:
            _show_traceback(error)
        notes: list[str] = getattr(error, "__notes__", [])
        print(clean("\n".join((f"mage-es: {_message(error)}", *notes))), file=sys.stderr)
        sys.exit(_exit_code(error))
    sys.exit(0)


def _show_traceback(error: Exception) -> None:
    """Show where an error arose as Python would, without what a provider's words in it might do to a terminal."""
    import traceback

    print(clean("".join(traceback.format_exception(error))), file=sys.stderr)


def _message(error: Exception) -> str:
    if isinstance(error, MageError):
        return str(error)
    if isinstance(error, OSError):
        return f"{error}. Mend that, then run the same command again."
    return f"{type(error).__name__}: {error}. This was not foreseen; the same command with --debug shows where."


def _exit_code(error: Exception) -> int:
    if isinstance(error, MageError):
        return error.exit_code
    return PrerequisiteError.exit_code if isinstance(error, OSError) else MageError.exit_code
