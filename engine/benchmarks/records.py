"""Reading the records of one file, all of them or none: a JSON array, JSON lines, CSV or Parquet, also gzipped.

JSON arrays and JSON lines are told apart by their content; CSV, TSV and Parquet are recognised by their names.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar

import msgspec

from mage_es.events.errors import PrerequisiteError

RecordT = TypeVar("RecordT")
ItemT = TypeVar("ItemT")

_SHOWN_PROBLEMS = 5
_TOO_DEEP = "it is nested too deep to be read"
_BOM, _NEWLINE = b"\xef\xbb\xbf", b"\n"


class Records(NamedTuple, Generic[ItemT]):
    """The hash is that of the decompressed bytes."""

    items: tuple[ItemT, ...]
    sha256: str


def read_records(path: Path, kind: type[RecordT], convert: Callable[[int, RecordT], ItemT]) -> Records[ItemT]:
    """Read every record of a file as `kind`: a msgspec struct, or `dict[str, Any]`.

    `convert` makes an item of (0-based position, record); its `ValueError` begins with the field's name.
    Raises `PrerequisiteError`: the file is unreadable or empty, or has malformed records; the first five are named.
    """
    raw = contents(path)
    items: list[ItemT] = []
    problems: list[str] = []
    wrong: set[str] = set()
    try:
        for position, (place, decode) in enumerate(_rows(path, raw, kind)):
            try:
                items.append(convert(position, decode()))
            except (ValueError, RecursionError) as error:  # of which msgspec's errors are kinds
                problem = _TOO_DEEP if isinstance(error, RecursionError) else str(error)
                problems.append(f"{path}, {place}: {problem}")
                wrong.add(problem)
    except msgspec.DecodeError as error:
        problems.append(f"{path} is not well-formed: {error}")
    except RecursionError:
        problems.append(f"{path}: {_TOO_DEEP}")
    if not items and not problems:
        problems.append(f"{path} {_nothing(path, raw)}")
    if len(wrong) == 1 and len(problems) > 1 and not items:  # such as a column with another name
        problems = [f"{problems[0]} (the same in all {len(problems)} records)"]
    if problems:
        raise PrerequisiteError(f"{listed(problems)}\nNothing was loaded.")
    return Records(tuple(items), hashlib.sha256(raw).hexdigest())


def read_mapping(path: Path, kind: type[RecordT]) -> tuple[dict[str, RecordT], str]:
    """Read a file that is one JSON object of records by name. Raises `PrerequisiteError`."""
    raw = contents(path)
    decoder, found, problems, at = msgspec.json.Decoder(kind), dict[str, RecordT](), list[str](), 0
    try:
        pieces = msgspec.json.decode(raw.removeprefix(_BOM), type=dict[str, msgspec.Raw])
    except (msgspec.DecodeError, RecursionError) as error:
        raise PrerequisiteError(f"{path}: {error}\nNothing was loaded.") from error
    for name, piece in pieces.items():
        at = raw.index(bytes(piece), at)
        try:
            found[name] = decoder.decode(piece)
        except (msgspec.DecodeError, RecursionError) as error:
            problems.append(f"{path}, {name} (line {1 + raw.count(_NEWLINE, 0, at)}): {error}")
    if problems:
        raise PrerequisiteError(f"{listed(problems)}\nNothing was loaded.")
    return found, hashlib.sha256(raw).hexdigest()


def contents(path: Path) -> bytes:
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if content[:2] == b"\x1f\x8b" or path.suffix == ".gz" else content
    except (OSError, EOFError, zlib.error) as error:
        raise PrerequisiteError(f"{path} cannot be read: {error}.") from error


def listed(problems: Sequence[str], what: str = "malformed lines") -> str:
    more = len(problems) - _SHOWN_PROBLEMS
    return "\n".join(problems[:_SHOWN_PROBLEMS]) + (f"\n... and {more} more {what}." if more > 0 else "")


def _nothing(path: Path, raw: bytes) -> str:
    ending = _ending(path)
    if not raw.removeprefix(_BOM).strip():
        return "is empty"
    if ending == ".parquet":
        return "has columns, but no row: add one for each record"
    if ending in (".csv", ".tsv"):
        header = raw.removeprefix(_BOM).decode().strip().splitlines()[0]
        return f"has a first line, which names the columns ({header}), but no row below it: add one for each record"
    return "contains an empty list: add the records"


def _ending(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).suffix


def _rows(path: Path, raw: bytes, kind: type[RecordT]) -> Iterator[tuple[str, Callable[[], RecordT]]]:
    ending = _ending(path)
    if ending in (".parquet", ".csv", ".tsv"):
        yield from _parquet_rows(raw, kind) if ending == ".parquet" else _table_rows(raw, kind, ending)
        return
    decoder, text = msgspec.json.Decoder(kind), raw.removeprefix(_BOM)

    def decoded(piece: bytes) -> RecordT:
        if not piece.strip():
            raise ValueError("the line is empty; expected a record")
        return decoder.decode(piece)

    for place, piece in _array(text) if _is_array(text) else _lines(text):
        yield place, partial(decoded, piece)


def _is_array(text: bytes) -> bool:
    """Return whether a text is one JSON array, and not lines of which the first is an array."""
    first, _, rest = text.strip().partition(b"\n")
    return first.startswith(b"[") and not (rest and first.rstrip().endswith(b"]"))


def _lines(text: bytes) -> Iterator[tuple[str, bytes]]:
    lines = text.rstrip()  # many an editor leaves empty lines at the end
    for number, line in enumerate(lines.split(b"\n") if lines else (), start=1):
        yield f"line {number}", line


def _array(text: bytes) -> Iterator[tuple[str, bytes]]:
    at, line = 0, 1
    for number, piece in enumerate(msgspec.json.decode(text, type=list[msgspec.Raw]), start=1):
        found = text.index(bytes(piece), at)
        line += text.count(b"\n", at, found)
        at = found
        yield f"record {number} (line {line})", bytes(piece)


def _table_rows(raw: bytes, kind: type[RecordT], ending: str) -> Iterator[tuple[str, Callable[[], RecordT]]]:
    try:
        text = raw.removeprefix(_BOM).decode()
    except UnicodeDecodeError as error:
        raise msgspec.DecodeError(f"not UTF-8 text: {error}. Save it as UTF-8.") from error
    csv.field_size_limit(
        max(csv.field_size_limit(), len(text))
    )  # a field may be a whole page; the usual limit is 128 Ki
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=_delimiter(text, ending))
    try:
        names = Counter(reader.fieldnames or ())
        if twice := next((name for name, times in names.items() if name and times > 1), ""):
            raise msgspec.DecodeError(f"line 1: the column {twice!r} occurs {names[twice]} times")
        for row in reader:
            place = f"line {reader.line_num}"
            if None in row or None in row.values():
                yield place, partial(_raise, f"has another number of fields than the header's {names.total()}")
            else:
                yield place, partial(msgspec.convert, row, kind, strict=False)
    except csv.Error as error:
        raise msgspec.DecodeError(f"line {reader.line_num}: {error}") from error


def _delimiter(text: str, ending: str) -> str:
    """Return the delimiter; many spreadsheets write semicolons or tabs into what they call CSV."""
    header = text.partition("\n")[0]
    return "\t" if ending == ".tsv" else next((sign for sign in ",;\t" if sign in header), ",")


def _raise(problem: str) -> NoReturn:
    raise ValueError(problem)


def _parquet_rows(raw: bytes, kind: type[RecordT]) -> Iterator[tuple[str, Callable[[], RecordT]]]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        rows: list[dict[str, Any]] = pq.read_table(pa.BufferReader(raw)).to_pylist()
    except pa.ArrowInvalid as error:
        raise msgspec.DecodeError(f"no Parquet: {error}") from error
    for number, row in enumerate(rows, start=1):
        yield f"row {number}", partial(msgspec.convert, row, kind)
