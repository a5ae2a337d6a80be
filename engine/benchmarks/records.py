"""Reading the records of one file, all or none: a JSON array, JSON lines, CSV or Parquet, also gzipped.

JSON arrays and JSON lines are distinguished by their content; CSV, TSV, Parquet and logs of Inspect (`.eval`) are
recognised by their names.

Rules
    - A file may hold at most `most_bytes`. Each record counts as at least 1 KiB, about its size in memory.
    - Records are read one by one, so that no form of a file takes more memory than its content.
"""

import csv
import hashlib
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from mage_es.engine.benchmarks.evals import ENDING, read_eval, rows_of
from mage_es.engine.benchmarks.files import MIB, contents, most_bytes, too_much
from mage_es.events.errors import PrerequisiteError

RecordT = TypeVar("RecordT")
ItemT = TypeVar("ItemT")

_SHOWN_PROBLEMS, _MOST_PROBLEMS = 5, 1000
_LONGEST_RECORD, _LEAST_RECORD = 8 * MIB, 2**10
_BATCH = 1024
_TEXTS = ("string", "large_string", "binary", "large_binary")
_TOO_DEEP = "it is nested too deep to be read"
_TOO_LONG = f"the record has more than {_LONGEST_RECORD:,} bytes"
_BOM = b"\xef\xbb\xbf"
_BLANK, _TRAILING = re.compile(rb"[ \t\r\n]*"), re.compile(r"trailing characters \(byte (\d+)\)")


class Records(NamedTuple, Generic[ItemT]):
    """The hash is that of the decompressed bytes."""

    items: tuple[ItemT, ...]
    sha256: str


class _Piece(NamedTuple, Generic[RecordT]):
    place: str
    size: int
    decode: Callable[[], RecordT]


def read_records(
    path: Path, kind: type[RecordT], convert: Callable[[int, RecordT], ItemT], *, most: int = 0
) -> Records[ItemT]:
    """Read every record of a file as `kind`: a msgspec struct, or `dict[str, Any]`. `convert` makes an item from
    (0-based position, record); its `ValueError` begins with the field's name. `most` is the limit in bytes, if it
    differs from the usual one. Raises `PrerequisiteError`: the file is unreadable, empty or too large, or has malformed
    records; the first five are named.
    """
    most = most or most_bytes()
    raw, used = contents(path, most), 0
    items: list[ItemT] = []
    problems: list[str] = []
    wrong: set[str] = set()
    try:
        for position, piece in enumerate(_pieces(path, raw, kind, most)):
            used += max(piece.size, _LEAST_RECORD)
            if used > most:
                raise too_much(path, f"{used:,} bytes or more (a record counts 1,024 at least)", most)
            try:
                if piece.size > _LONGEST_RECORD:
                    raise ValueError(_TOO_LONG)
                items.append(convert(position, piece.decode()))
            except (ValueError, RecursionError) as error:  # msgspec's errors are subclasses
                problem = _TOO_DEEP if isinstance(error, RecursionError) else str(error)
                problems.append(f"{path}, {piece.place}: {problem}")
                wrong.add(problem)
                if len(problems) == _MOST_PROBLEMS:
                    break
    except msgspec.DecodeError as error:
        problems.append(f"{path} is not well-formed: {error}")
    if not items and not problems:
        problems.append(f"{path} {_nothing(path, raw)}")
    if len(wrong) == 1 and len(problems) > 1 and not items:  # such as a column with another name
        all_of = "all" if len(problems) < _MOST_PROBLEMS else "the first"
        problems = [f"{problems[0]} (the same in {all_of} {len(problems)} records)"]
    if problems:
        raise PrerequisiteError(f"{listed(problems)}\nNothing was loaded.")
    return Records(tuple(items), hashlib.sha256(raw).hexdigest())


def read_mapping(path: Path, kind: type[RecordT]) -> tuple[dict[str, RecordT], str]:
    """Read a file that is one JSON object of records by name. Raises `PrerequisiteError`."""
    raw = contents(path)
    decoder, found, problems = msgspec.json.Decoder(kind), dict[str, RecordT](), list[str]()
    try:
        for line, name, piece in _values(raw.removeprefix(_BOM), b"{}"):
            try:
                found[name] = decoder.decode(piece)
            except (msgspec.DecodeError, RecursionError) as error:
                problems.append(f"{path}, {name} (line {line}): {error}")
    except (msgspec.DecodeError, RecursionError) as error:
        raise PrerequisiteError(f"{path}: {error}\nNothing was loaded.") from error
    if problems:
        raise PrerequisiteError(f"{listed(problems)}\nNothing was loaded.")
    return found, hashlib.sha256(raw).hexdigest()


def listed(problems: Sequence[str], what: str = "such faults") -> str:
    more = len(problems) - _SHOWN_PROBLEMS
    return "\n".join(problems[:_SHOWN_PROBLEMS]) + (f"\n... and {more} more {what}." if more > 0 else "")


def _nothing(path: Path, raw: bytes) -> str:
    ending = _ending(path)
    if not raw.removeprefix(_BOM).strip():
        return "is empty"
    if ending == ".parquet":
        return "has columns, but no row: add one for each record"
    if ending in (".csv", ".tsv"):
        header = raw.removeprefix(_BOM)[:200].decode(errors="replace").strip().splitlines()[0]
        return f"has a first line, which names the columns ({header}), but no row below it: add one for each record"
    return "contains an empty list: add the records"


def _ending(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).suffix


def _pieces(path: Path, raw: bytes, kind: type[RecordT], most: int) -> Iterator[_Piece[RecordT]]:
    ending = _ending(path)
    if ending in (".parquet", ".csv", ".tsv"):
        yield from _parquet_rows(path, raw, kind, most) if ending == ".parquet" else _table_rows(raw, kind, ending)
        return
    if ending == ENDING:
        for place, row in rows_of(read_eval(path, most)):
            yield _Piece(place, len(msgspec.json.encode(row)), partial(msgspec.convert, row, kind))
        return
    decoder, text = msgspec.json.Decoder(kind), raw.removeprefix(_BOM)

    def decoded(piece: bytes | memoryview) -> RecordT:
        if not piece:
            raise ValueError("the line is empty; expected a record")
        return decoder.decode(piece)

    if _is_array(text):
        for number, (line, _, piece) in enumerate(_values(text, b"[]"), start=1):
            yield _Piece(f"record {number} (line {line})", len(piece), partial(decoded, piece))
        return
    # Many editors leave empty lines at the end.
    for number, line_of in enumerate(io.BytesIO(text.rstrip(b" \t\r\n")), start=1):
        yield _Piece(f"line {number}", len(line_of), partial(decoded, line_of.strip()))


def _is_array(text: bytes) -> bool:
    """Return whether a text is one JSON array, rather than lines whose first one is an array."""
    begin = _after_blanks(text, 0)
    end = text.find(b"\n", begin)
    is_first_whole = end >= 0 and text[end - 2 : end].rstrip().endswith(b"]") and _after_blanks(text, end) < len(text)
    return text.startswith(b"[", begin) and not is_first_whole


def _values(text: bytes, brackets: bytes) -> Iterator[tuple[int, str, memoryview]]:
    """Yield (line, name, value) for each value of a JSON array (no name) or object, read one by one. Raises
    `msgspec.DecodeError` with the line if the text is malformed."""
    view, line, at = memoryview(text), 1, _after_blanks(text, 0)
    is_object, seen = brackets == b"{}", 0
    if text[at : at + 1] != brackets[:1]:
        raise msgspec.DecodeError(f"expected {brackets[:1].decode()} at its beginning")
    at, is_first = _after_blanks(text, at + 1), True
    while not (is_first and text[at : at + 1] == brackets[1:]):
        line, seen, name = line + text.count(b"\n", seen, at), at, ""
        try:
            if is_object:
                end = _end_of_value(view, at)
                name = msgspec.json.decode(view[at:end], type=str)
                if text[end : end + 1] != b":":
                    raise msgspec.DecodeError("expected a colon")
                at = _after_blanks(text, end + 1)
            end = _end_of_value(view, at)
        except RecursionError:
            raise msgspec.DecodeError(f"line {line}: {_TOO_DEEP}") from None
        except msgspec.DecodeError as error:
            raise msgspec.DecodeError(f"line {line}: {error}") from None
        yield line, name, view[at:end]
        if text[end : end + 1] == brackets[1:]:
            at = end
            break
        if text[end : end + 1] != b",":
            raise msgspec.DecodeError(f"line {line}: expected a comma or {brackets[1:].decode()} after the value")
        at, is_first = _after_blanks(text, end + 1), False
    if _after_blanks(text, at + 1) < len(text):
        raise msgspec.DecodeError("something follows its end")


def _end_of_value(view: memoryview, at: int) -> int:
    """Return the place of the next character after a JSON value, which is where msgspec complains. Raises
    `msgspec.DecodeError`."""
    try:
        msgspec.json.decode(view[at:], type=msgspec.Raw)
    except msgspec.DecodeError as error:
        if found := _TRAILING.search(str(error)):
            return at + int(found[1]) - 1
        raise
    raise msgspec.DecodeError("Input data was truncated")


def _after_blanks(text: bytes, at: int) -> int:
    found = _BLANK.match(text, at)
    assert found is not None
    return found.end()


def _table_rows(raw: bytes, kind: type[RecordT], ending: str) -> Iterator[_Piece[RecordT]]:
    text = io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8-sig", newline="")
    held = number = 0
    names: list[str] = []

    def lines() -> Iterator[str]:
        nonlocal held
        while line := text.readline(_LONGEST_RECORD + 1):
            held += len(line)
            if held > _LONGEST_RECORD:
                raise csv.Error(_TOO_LONG)
            yield line

    def record(row: list[str]) -> RecordT:
        if len(row) != len(names):
            raise ValueError(f"expected {len(names)} fields, as in the header, but found {len(row)}")
        return msgspec.convert(dict(zip(names, row, strict=True)), kind, strict=False)

    # A field may be a whole page; the usual limit is 128 Ki.
    csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_RECORD))
    try:
        first = next(lines(), "")
        reader = csv.reader(chain((first,), lines()), delimiter=_delimiter(first, ending))
        names = next(reader, [])
        counted = Counter(names)
        if twice := next((name for name, times in counted.items() if name and times > 1), ""):
            raise msgspec.DecodeError(f"line 1: the column {twice!r} occurs {counted[twice]} times")
        held = 0
        for row in reader:
            number = reader.line_num
            if row:
                yield _Piece(f"line {number}", held, partial(record, row))
                held = 0
    except csv.Error as error:
        raise msgspec.DecodeError(f"line {number + 1}: {error}") from error
    except UnicodeDecodeError:
        _require_text(raw)


def _require_text(raw: bytes) -> None:
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise msgspec.DecodeError(f"line {line}: not UTF-8 text: {error}. Save it as UTF-8.") from error


def _delimiter(header: str, ending: str) -> str:
    """Return the delimiter, since many spreadsheets write semicolons or tabs into what they call CSV."""
    return "\t" if ending == ".tsv" else next((sign for sign in ",;\t" if sign in header), ",")


def _parquet_rows(path: Path, raw: bytes, kind: type[RecordT], most: int) -> Iterator[_Piece[RecordT]]:
    """Yield the rows. Texts are kept in their dictionary form, since a small file can repeat a text of a megabyte many
    times."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        meta = pq.read_metadata(pa.BufferReader(raw))
        unpacked = sum(meta.row_group(at).total_byte_size for at in range(meta.num_row_groups))
        if (needed := max(unpacked, meta.num_rows * _LEAST_RECORD)) > most:
            raise too_much(path, f"{needed:,} bytes in {meta.num_rows:,} rows (a row counts 1,024 at least)", most)
        leaves = [meta.schema.column(at) for at in range(meta.num_columns)]
        texts = [
            leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY" and leaf.logical_type.type != "DECIMAL"
        ]
        file, number = pq.ParquetFile(pa.BufferReader(raw), read_dictionary=texts), 0
        for whole in file.iter_batches(_BATCH, use_threads=False):
            for batch, size in _small(whole):
                for row in batch.to_pylist():
                    number += 1
                    yield _Piece(f"row {number}", size // batch.num_rows, partial(msgspec.convert, row, kind))
    # Also for a text or a date that Python cannot represent.
    except (pa.ArrowException, OSError, ValueError, OverflowError) as error:
        raise msgspec.DecodeError(f"not Parquet: {error}") from error


def _small(batch: Any) -> Iterator[tuple[Any, int]]:
    """Yield (rows, bytes), so that few rows are Python values at a time."""
    size = sum(map(_unfolded, batch.columns))
    if size <= _LONGEST_RECORD or batch.num_rows == 1:
        yield batch, size
        return
    half = batch.num_rows // 2
    yield from _small(batch.slice(0, half))
    yield from _small(batch.slice(half))


def _unfolded(column: Any) -> int:
    """Return the bytes of a column in which every repeated text is written out."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(column.type) and str(column.type.value_type) in _TEXTS:
        lengths = pc.binary_length(column.dictionary).take(column.indices)
        return (pc.sum(lengths).as_py() or 0) + 8 * len(column)
    if pa.types.is_nested(column.type):
        parts = column.flatten()
        return 8 * len(column) + sum(map(_unfolded, parts if isinstance(parts, list) else [parts]))
    return int(column.nbytes)
