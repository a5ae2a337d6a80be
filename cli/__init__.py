"""The command line: `main` runs a command and turns every error into a message and an exit code.

Rules
    - Nothing heavy is imported before a command needs it; `mage-es --help` loads no data library.
    - stdout is for data, stderr for people; a traceback is shown with `--debug` only, before the message.
    - With `--json` an error is a JSON document on stdout as well: its message and the exit code.
    - Exit codes: 0 fine, 1 a check failed, 2 usage, 3 budget reached, 4 prerequisite, 5 log damaged,
      130 interrupted, 143 ended by SIGTERM.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

if TYPE_CHECKING:
    from typer import Typer

_INTERRUPTED = 130
_FILES = 64  # the demo needs 13; a provider's and a bucket's connections come on top


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and exit. `arguments` default to those of the process."""
    _open_streams()
    if sys.platform == "win32":
        from mage_es.events.errors import NO_WINDOWS, PrerequisiteError

        print(f"mage-es: {NO_WINDOWS}", file=sys.stderr)
        sys.exit(PrerequisiteError.exit_code)
    try:
        from mage_es.cli.app import app

        if "_MAGE_ES_COMPLETE" in os.environ:  # a shell asks; Typer's options for this would slow every help text
            from typer.completion import completion_init  # type: ignore[attr-defined]

            completion_init()
        # Retrieval multiplies small matrices: threads gain little there, and on a busy machine they only wait.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
        run(app, list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        print("mage-es: Stopped before anything started.", file=sys.stderr)
        sys.exit(_INTERRUPTED)


def _open_streams() -> None:
    """Replace a stream that the caller closed: otherwise the next file that is opened would get its number, and our
    messages."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8"))


def run(app: Typer, words: list[str]) -> NoReturn:
    own = words[: words.index("--")] if "--" in words else words
    debug = "--debug" in own
    if debug:
        words.remove("--debug")
    try:
        _require_files()
        code = app(words, prog_name="mage-es", standalone_mode=False)
    except Exception as error:  # each becomes a message and an exit code
        if debug:
            _show_traceback(error)
        _tell(error, as_json="--json" in own)
        sys.exit(_exit_code(error))
    sys.exit(code or 0)


def _require_files() -> None:
    """Raise `PrerequisiteError` if so few files may be open that a library would kill the process."""
    import resource

    from mage_es.events.errors import PrerequisiteError

    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= allowed < _FILES:
        raise PrerequisiteError(
            f"A process may have only {allowed} files open here, and mage-es needs {_FILES}: raise the limit with "
            "`ulimit -n 1024`, or in limits.conf or LimitNOFILE, then run the same command again."
        )


def _show_traceback(error: Exception) -> None:
    """Print the traceback as Python would, but without terminal escapes from a provider's text."""
    import traceback

    from mage_es.cli.output import message

    print(message("".join(traceback.format_exception(error))), file=sys.stderr)


def _tell(error: Exception, *, as_json: bool) -> None:
    from mage_es.cli.output import in_json, message

    notes: list[str] = getattr(error, "__notes__", [])
    text = message("\n".join((_message(error), *notes)))
    usage = ""
    if context := getattr(error, "ctx", None):  # a usage error
        usage = f"\n{context.get_usage()}\nTry '{context.command_path} -h' for help."
    is_help = text.startswith("Usage:")  # a group without its command
    print(text if is_help else f"mage-es: {text}{usage}", file=sys.stderr)
    if as_json:
        sys.stderr.flush()
        print(in_json({"error": text, "exit_code": _exit_code(error)}))


def _message(error: Exception) -> str:
    from mage_es.events.errors import MageError

    if isinstance(error, MageError):
        return str(error)
    if isinstance(error, OSError):
        return _of_system(error)
    if isinstance(error, MemoryError):
        return (
            f"There is too little memory for this ({str(error) or 'none is left'}). Nothing that is recorded is lost: "
            "run the same command with fewer --workers, or where more memory is free."
        )
    if worded := getattr(error, "format_message", None):
        if getattr(error, "option_name", "") == "--name" and _names_a_run(error):
            error.possibilities = ["--run-id"]  # type: ignore[attr-defined]
        return _misfit(error) or str(worded())
    return f"{type(error).__name__}: {error}. This is a bug in mage-es: the same command with --debug shows where."


def _misfit(error: Exception) -> str:
    """Return what is wrong with an option's value, in the words that settings have for it; "" for another error."""
    from mage_es.cli.settings import misfit

    parameter: Any = getattr(error, "param", None)
    faults: Sequence[Any] = getattr(error.__cause__, "errors", tuple)()
    wanted = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    if parameter is None or wanted is None or not faults:
        return ""
    bounds = faults[0].get("ctx", {})
    reasons = [f"Expected `int` {sign} {bounds[name]}" for name, sign in (("ge", ">="), ("le", "<=")) if name in bounds]
    return misfit(parameter.opts[0], faults[0]["input"], wanted, (*reasons, ", got `str`")[0])


def _names_a_run(error: Exception) -> bool:
    """Return whether the command that refused an option has one that names a new run."""
    command = getattr(getattr(error, "ctx", None), "command", None)
    return any("--run-id" in parameter.opts for parameter in getattr(command, "params", ()))


def _of_system(error: OSError) -> str:
    import errno

    remedies = {
        **dict.fromkeys(
            (errno.EACCES, errno.EPERM, errno.EROFS), "Make it writable (chmod u+w), or name another place"
        ),
        **dict.fromkeys((errno.ENOSPC, errno.EDQUOT), "Free some space, or name another place"),
        **dict.fromkeys((errno.EEXIST, errno.ENOTDIR), "It is in the way of a folder: name another place"),
    }
    place = f"{error.filename}: " if error.filename is not None else ""
    remedy = remedies.get(error.errno or 0, "Fix that")
    return f"{place}{error.strerror or error}. {remedy}, then run the same command again."


def _exit_code(error: Exception) -> int:
    from mage_es.events.errors import MageError, PrerequisiteError

    if isinstance(error, OSError | MemoryError):  # pyarrow's error is a subclass of the latter
        return PrerequisiteError.exit_code
    code: int = getattr(error, "exit_code", MageError.exit_code)
    return code
