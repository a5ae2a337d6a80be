"""The questions of a run as Parquet: texts and gold answers separately, each file named by its own hash.

Rules
    - The event `questions.stored` names both files, so the chain vouches for every byte of them.
    - Both are durable before that event. Without that event a file means nothing.
    - The golds may be missing: a copy can be made without them. The texts may not.
    - The digest of each row serves only to detect changes. Digests of golds are salted with a hash of all golds. The
      salt is kept in the file of golds, so a short answer cannot be guessed from the log without that file.
"""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from mage_es.events.disk.documents import unpack
from mage_es.events.disk.filesystem import FileSystem, write_new
from mage_es.events.disk.layout import Layout
from mage_es.events.errors import LogDamaged
from mage_es.events.facts import Part, QuestionTypes
from mage_es.events.facts.shapes import shapes_of
from mage_es.events.segments import columns
from mage_es.events.segments.schema import METADATA_KEY
from mage_es.events.segments.writer import parquet

_DIGEST = 8
_AT_ONCE = 4096  # rows of a group: a column of long contexts must fit Arrow's 32-bit offsets
_NAMED = 5
_COPY = "Copy the file of that name from a backup, or from another run over the same questions."


class QuestionFiles(NamedTuple):
    """Questions in their stored form: the event that binds the files, and their bytes."""

    stored: Any
    texts: bytes
    golds: bytes


class Differing(NamedTuple):
    """Ids of rows that are missing, altered, or from another log."""

    missing: Sequence[str]
    altered: Sequence[str]
    foreign: Sequence[str]

    def __str__(self) -> str:
        found = [f"{len(ids)} {what} ({named(ids)})" for what, ids in self._asdict().items() if ids]
        return ", ".join(found) or "every row is whole, but not the file around them"


class _About(msgspec.Struct, frozen=True, kw_only=True):
    rows: int
    salt: str = ""


def named(ids: Sequence[str]) -> str:
    return ", ".join(ids[:_NAMED]) + (", ..." if len(ids) > _NAMED else "")


def encode(texts: Sequence[Any], golds: Sequence[Any], types: QuestionTypes) -> QuestionFiles:
    """Return the files of questions and golds, given in the same order. Raises `UnicodeEncodeError` for a text that
    UTF-8 cannot encode."""
    salt = hashlib.sha256(b"".join(map(msgspec.json.encode, golds))).hexdigest()
    files = _file(texts, types.text), _file(golds, types.gold, salt)
    stored = types.stored(
        texts_sha256=hashlib.sha256(files[0]).hexdigest(),
        golds_sha256=hashlib.sha256(files[1]).hexdigest(),
        ids=tuple(text.id for text in texts),
        text_digests=_digests(texts),
        gold_digests=_digests(golds, salt),
    )
    return QuestionFiles(stored, *files)


def store(fs: FileSystem, layout: Layout, encoded: QuestionFiles, *, is_first: bool) -> None:
    """Make both files durable; if the event `is_first`, leftovers of earlier starts are removed. Call with the
    writer's lock held."""
    for path, data in zip(files_of(layout, encoded.stored), encoded[1:], strict=True):
        fs.make_folder(path.parent)
        for name in fs.names(path.parent) if is_first else ():
            fs.unlink(path.parent / name)
        write_new(fs, path, data)


def files_of(layout: Layout, stored: Any) -> tuple[Path, Path]:
    """Return the paths of the texts and the golds."""
    return layout.questions / f"{stored.texts_sha256}.parquet", layout.golds / f"{stored.golds_sha256}.parquet"


def texts_of(fs: FileSystem, layout: Layout, stored: Any, kind: type[Part]) -> list[Any]:
    """Return the texts, rows of `kind`. Raises `LogDamaged`, which names the affected questions."""
    path = files_of(layout, stored)[0]
    if not fs.exists(path):
        raise LogDamaged(f"{path} is missing, and with it the texts of {len(stored.ids)} questions. {_COPY}")
    return _rows(fs.read(path), kind, path, stored.ids, stored.text_digests)


def golds_of(fs: FileSystem, layout: Layout, stored: Any, kind: type[Part]) -> list[Any] | None:
    """Return the gold answers, rows of `kind`, None if this copy has none. Raises `LogDamaged` like `texts_of`."""
    path = files_of(layout, stored)[1]
    if not fs.exists(path):
        return None
    return _rows(fs.read(path), kind, path, stored.ids, stored.gold_digests)


def _file(rows: Sequence[Any], kind: type[Part], salt: str = "") -> bytes:
    shapes = shapes_of(kind)
    schema = pa.schema([pa.field(name, columns.arrow_type(shape)) for name, shape in shapes.items()])
    tables = []
    for first in range(0, max(1, len(rows)), _AT_ONCE):
        some = rows[first : first + _AT_ONCE]
        arrays = [columns.to_arrow([getattr(row, name) for row in some], shape) for name, shape in shapes.items()]
        tables.append(pa.Table.from_arrays(arrays, schema=schema))
    return parquet(schema, tables, _About(rows=len(rows), salt=salt))


def _rows(data: bytes, kind: type[Part], path: Path, ids: Sequence[str], digests: bytes) -> list[Any]:
    is_whole = f"{hashlib.sha256(data).hexdigest()}.parquet" == path.name
    try:
        rows, salt = _decoded(data, kind, path.name)
    except (LogDamaged, pa.ArrowException, OSError, KeyError) as error:
        raise LogDamaged(
            f"{path} cannot be read, and with it {len(ids)} questions: {str(error).splitlines()[0]}. {_COPY}"
        ) from error
    if not is_whole:
        wanted = dict(zip(ids, (digests[at : at + _DIGEST] for at in range(0, len(digests), _DIGEST)), strict=True))
        raise LogDamaged(f"{path} is not the file that was stored: {_differing(rows, salt, wanted)}. {_COPY}")
    return rows


def _decoded(data: bytes, kind: type[Part], name: str) -> tuple[list[Any], str]:
    shapes, rows = shapes_of(kind), list[Any]()
    with pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True) as file:
        about = unpack((file.metadata.metadata or {}).get(METADATA_KEY, b""), _About, name=name)
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, use_threads=False)
            values = (columns.to_python(table.column(name).combine_chunks(), shape) for name, shape in shapes.items())
            rows += map(columns.maker(kind, tuple(shapes), ()), *values)
    return rows, about.salt


def _differing(rows: Sequence[Any], salt: str, wanted: Mapping[str, bytes]) -> Differing:
    found = {row.id: _digests([row], salt) for row in rows}
    return Differing(
        missing=[name for name in wanted if name not in found],
        altered=[name for name, digest in found.items() if wanted.get(name, digest) != digest],
        foreign=[name for name in found if name not in wanted],
    )


def _digests(rows: Sequence[Any], salt: str = "") -> bytes:
    start = hashlib.sha256(salt.encode())
    found = []
    for row in rows:
        digest = start.copy()
        digest.update(msgspec.json.encode(row))
        found.append(digest.digest()[:_DIGEST])
    return b"".join(found)
