"""Every error that the package raises on purpose, with its exit code on the command line.

    MageError                       1   a check failed, or another foreseen failure
    |-- UsageError                  2   the request itself is wrong: unknown name, bad value, differing config
    |   |-- NotFound                2   an inference or a memory that a served run does not have
    |   `-- Conflict                2   something else was recorded earlier under the same name
    |-- Interrupted               130   the user asked to stop; everything recorded is kept
    |   |-- Terminated            143   the system asked to stop (SIGTERM); the same holds
    |   `-- BudgetReached           3   the budget that the user set is spent
    |-- PrerequisiteError           4   something outside is missing: a dataset, a model, disk space, a provider
    |   `-- RunLocked               4   another process is writing this run
    `-- LogError                    5   the log cannot be used as it is
        |-- LogDamaged              5   bytes differ from what was written: file, range, events affected
        |   `-- KeysUnusable        5   the same for the file of subjects' keys; the log is whole
        |-- UnknownEvent            5   a type or schema version that this release cannot read
        |-- WriterPoisoned          5   a write or sync failed; the writer must be reopened
        `-- SequenceConflict        5   another writer appended in between

A message says what happened, shows the value, and ends with what to do.
"""

import os
import re
from base64 import b64encode
from traceback import format_exception_only
from urllib.parse import unquote

NO_WINDOWS = (
    "mage-es does not work on Windows itself: its log needs the file locks and syncs of Linux or macOS. It works in "
    "its Subsystem for Linux: run `wsl --install` once, then install and run mage-es in that shell."
)


class MageError(Exception):
    """Base of every error raised on purpose. `exit_code` is the exit code of the command line."""

    exit_code = 1


class UsageError(MageError):
    """The request is wrong as stated."""

    exit_code = 2


class NotFound(UsageError):
    """The run has nothing with that name."""


class Conflict(UsageError):
    """The same name was used for something else before."""


class Interrupted(MageError):
    """The user asked to stop; what is recorded stays, and the run can be resumed."""

    exit_code = 130


class Terminated(Interrupted):
    """The system asked to stop (SIGTERM: a container's end, a batch system's time limit); nothing recorded is lost."""

    exit_code = 143


class BudgetReached(Interrupted):
    """The run's budget is spent; what is recorded stays, and the run can be resumed with `options`."""

    exit_code = 3

    def __init__(self, message: str, options: str = "") -> None:
        super().__init__(f"{message} To go on, pass {options}." if options else message)
        self.options = options


class PrerequisiteError(MageError):
    """Something outside this program is missing or refuses; the message ends with the command that fixes it."""

    exit_code = 4


class RunLocked(PrerequisiteError):
    """Another process holds the writer's lock of this run."""


class LogError(MageError):
    """The log cannot be used as it is."""

    exit_code = 5


class LogDamaged(LogError):
    """Stored bytes are not what was written; names the file, the range and the events affected."""


class KeysUnusable(LogDamaged):
    """The file of subjects' keys is damaged, or belongs to another log."""


class UnknownEvent(LogError):
    """An event type, or a schema version, that this release does not know."""


class WriterPoisoned(LogError):
    """An earlier write or sync failed, so what is on disk is unknown; reopen the log, which recovers it."""

    exit_code = PrerequisiteError.exit_code  # the disk's fault: no byte of the log is damaged


class SequenceConflict(LogError):
    """The log's head is not where the caller expected it."""


def last_line(error: BaseException) -> str:
    """Return the line with which Python ends an error's traceback."""
    return format_exception_only(error)[-1].strip()


HIDDEN = "[key]"
"""What replaces a secret."""
_SECRET = r"(?:api|access|private)[_-]?key(?!_env)|token(?!s)|secret|passw(?:or)?d|signature|credential"
_VARIABLE = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|CREDENTIAL", re.IGNORECASE)
_ADDRESS = re.compile(r"(?<=://)[^\s/@]{1,500}@")
_PASSWORD = re.compile(r"://([^\s/@:]*):([^\s/@]+)@")
_GIVEN = re.compile(rf"((?:{_SECRET})[\"']?\s?[=:]\s?[\"']?)[^\s&\"',;]{{4,}}", re.IGNORECASE)
_SENT = re.compile(r"\b(basic|bearer)\s+[\w+/=.~-]{6,}", re.IGNORECASE)
_LEAST_SECRET = 8


def hidden(text: str) -> str:
    """Return a text without the environment's secrets, which have telling names (AWS_SESSION_TOKEN) or are the password
    in an address (HTTPS_PROXY), both as they are and as a header sends them."""
    if (
        len(text) < _LEAST_SECRET
    ):  # true of most cells of a table, where searching the environment each time would be slow
        return text
    known = list[str]()
    for name, value in os.environ.items():
        if _VARIABLE.search(name):
            known.append(value)
        elif found := _PASSWORD.search(value):
            user, password = map(unquote, found.groups())
            known += [found[2], password, b64encode(f"{user}:{password}".encode("utf-8", "replace")).decode()]
    for value in sorted(known, key=len, reverse=True):
        text = text.replace(value, HIDDEN) if len(value) >= _LEAST_SECRET else text
    return text


def redacted(text: str) -> str:
    """Return a text from another program or the network without secrets, for messages and records. Secrets are those of
    the environment, names and passwords in addresses, what follows a word such as `apikey=`, and what an authorization
    header carries."""
    text = _SENT.sub(rf"\1 {HIDDEN}", _ADDRESS.sub(f"{HIDDEN}@", hidden(text)))
    return _GIVEN.sub(rf"\1{HIDDEN}", text)


# More names would bury the one that was meant.
_MOST_KNOWN, _FEW = 24, 3
# A name may differ from the one meant in one letter of four, as difflib counts.
_NEAR = 0.75
# Shorter names occur inside too many others.
_PART = 3


def counted(count: int, noun: str) -> str:
    """Return `1 memory` or `2 memories`."""
    plural = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{count} {noun if count == 1 else plural}"


def nearest(name: str, known: list[str], *, rest: str = "") -> str:
    """Return ` Did you mean a, b?` for the names in `known` that hardly differ from `name`, or else list all, or the
    first few. Case is ignored, and so is a prefix that all names share (MAGE_ES_).

    `rest` says what lists the others, which may be thousands: so only those that differ least are named."""
    from difflib import get_close_matches

    unlike = (at for at, letters in enumerate(zip(name, *known, strict=False)) if len(set(letters)) > 1)
    common = next(unlike, len(name))
    common = common if len(name) - common >= _PART else 0  # otherwise the rest of `iter-33` says too little
    typed, others = name[common:].casefold(), {other[common:].casefold(): other for other in known}
    near = get_close_matches(typed, others, n=_FEW, cutoff=_NEAR)
    near += [other for other in others if min(len(typed), len(other)) >= _PART and (typed in other or other in typed)]
    if near:
        return (
            f" Did you mean {', '.join(others[each] for each in list(dict.fromkeys(near))[:_FEW])}?{rest and ' '}{rest}"
        )
    if rest and len(known) > _FEW:
        least = get_close_matches(typed, others, n=_FEW, cutoff=0.0)
        return f" Nearest: {', '.join(others[each] for each in least)}. {rest}"
    more = f" and {len(known) - _MOST_KNOWN} more" if len(known) > _MOST_KNOWN else ""
    return f" Known: {', '.join(sorted(known)[:_MOST_KNOWN]) or 'none'}{more}."
