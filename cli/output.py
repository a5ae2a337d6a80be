"""The output of a command: data to stdout, messages for people to stderr.

Rules
    - Text from a model, a memory or a data set passes `clean` before it reaches a terminal, and is never read as
      markup. The same holds for errors and tracebacks.
    - No secret of the environment is printed. Messages pass the whole redactor (`message`), since they may quote what
      another program said; data is printed as recorded.
    - With `--json` stdout holds exactly one JSON document: everything as recorded, with control characters escaped, so
      that it is safe to show in a terminal.
    - Colours and boxes appear only on a terminal (rich honours `NO_COLOR`), aligned plain lines elsewhere.
"""

import re
import sys
import unicodedata
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

import msgspec

from mage_es.events.errors import counted as counted
from mage_es.events.errors import hidden, redacted

_ESCAPES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequences: colours, cursor, erase; also in their eight-bit form
    # Operating system commands, device controls and other strings: titles, links, clipboard, graphics.
    r"|(?:\x1b[\]PX^_]|[\x90\x98\x9d-\x9f])[^\n]*?(?:\x07|\x1b\\|\x9c)"
    r"|\x1b[ -/]+[0-~]"  # character sets
)
_CONTROLS = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # everything but tab and newline; a carriage return would overwrite the line
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # marks that reorder what is shown
    "\ud800-\udfff]"  # lone surrogates, which cannot be sent to a terminal
)


def clean(text: str) -> str:
    """Return the text without escape sequences, control characters, direction marks and secrets of the environment."""
    return hidden(_printable(text))


def _printable(text: str) -> str:
    return _CONTROLS.sub("", _ESCAPES.sub("", text))


def visible(text: str) -> str:
    """Return the text with a name in place of each character that shows nothing or reorders what is shown, such as
    <U+202E>; line breaks and tabs stay."""
    return "".join(f"<U+{ord(each):04X}>" if _is_unseen(each) else each for each in text)


def _is_unseen(character: str) -> bool:
    # Controls, formats (direction marks, joiners, tags), surrogates, private and unassigned characters, separators.
    category = unicodedata.category(character)
    return character not in "\n\t " and (category[0] == "C" or category[0] == "Z")


def shortened(text: str, width: int = 60) -> str:
    """Return a text on one line, clean, cut to a width in characters, by default that of a cell among others."""
    line = " ".join(clean(text).split())
    return line if len(line) <= width else f"{line[: width - 1]}…"


def message(text: str) -> str:
    """Return text for a person: clean, and without anything that looks like a secret."""
    return redacted(clean(text))


def in_json(document: object, *, indent: int = -1) -> str:
    """Return a document as JSON, in one line unless indented; characters that `clean` removes are escaped."""
    encoded = hidden(msgspec.json.format(msgspec.json.encode(document, enc_hook=str), indent=indent).decode())
    return _CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", encoded)


_NUMBER = re.compile(r"[+-]?\d[\d.,/:]*(?=\s|$)")
"""A number with or without a unit, but not an id that starts with a digit."""


class TextTable(NamedTuple):
    """Rows under column names; a cell is a text, or anything that `str` turns into one. A column whose cells all start
    with a number is right-aligned.

    The first `keys` columns name a row; they are repeated in every part of a table that is split for a terminal.
    """

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[object, ...]]
    keys: int = 1


class Output:
    """The two streams of a command. `as_json`: one JSON document on stdout instead of tables and text."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json

    def report(self, document: object, *parts: TextTable | str) -> None:
        """Print a result: the document with `--json`, otherwise the parts."""
        if self.as_json:
            print(in_json(document, indent=2))
            return
        for number, part in enumerate(parts):
            if number:
                print()
            print(clean(part)) if isinstance(part, str) else _print_table(part)

    def say(self, text: str) -> None:
        """Print a message to stderr, after flushing stdout."""
        sys.stdout.flush()
        print(message(text), file=sys.stderr)

    def next(self, *commands: str) -> None:
        self.say("\nNext: " + "\n      ".join(commands))


def percent(part: int, whole: int) -> str:
    """Return `54.5 %`, or a dash if nothing was counted."""
    return f"{100 * part / whole:.1f} %" if whole else "-"


def is_terminal() -> bool:
    return sys.stdout.isatty()


def agreed(question: str) -> bool:
    """Ask, if this is a terminal; otherwise the answer is no."""
    if not sys.stdin.isatty():
        return False
    print(message(question), end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _print_table(table: TextTable) -> None:
    columns, *rows = _cleaned([table.columns, *table.rows])
    title = clean(table.title)
    right = [bool(rows) and all(_is_number(row[column]) for row in rows) for column in range(len(columns))]
    if is_terminal():
        from mage_es.cli.boxes import Boxed, print_boxed

        print_boxed(Boxed(title, columns, rows, right, table.keys))
    else:
        _print_plain(title, [columns, *rows], right)


def _cleaned(lines: Sequence[tuple[object, ...]]) -> list[tuple[str, ...]]:
    """Return the rows with every cell clean and on one line."""
    # Joined first, because searching the environment for each cell took most of a long table's time.
    text = hidden("\0".join(_printable(str(cell)) for line in lines for cell in line))
    cells = iter(text.replace("\n", " ").split("\0"))
    return [tuple(islice(cells, len(line))) for line in lines]


def _is_number(cell: str) -> bool:
    return cell in ("-", "") or _NUMBER.match(cell) is not None


def _print_plain(title: str, lines: Sequence[tuple[str, ...]], right: Sequence[bool]) -> None:
    if title:
        print(title)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (
            cell.rjust(width) if flush else cell.ljust(width)
            for cell, width, flush in zip(line, widths, right, strict=True)
        )
        print("  ".join(cells).rstrip())
