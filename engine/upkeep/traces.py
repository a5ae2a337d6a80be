"""Where texts can be found unencrypted: in the bytes of files, and in their Parquet columns."""

import json
from collections.abc import Collection, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from mage_es.events.disk import LocalFileSystem

_SUFFIX = ".parquet"


def files_in(place: Path) -> list[Path]:
    """Return every file in a folder, or the path itself if it is a file; links are not followed."""
    found = [place] if place.is_file() else sorted(place.rglob("*"))
    return [path for path in found if path.is_file() and not path.is_symlink()]


def traces(files: Collection[Path], texts: Collection[str]) -> list[Path]:
    """Return the files that hold one of the texts, as UTF-8 or as JSON writes it, ignoring the case of ASCII
    letters."""
    sought = {form.encode().lower() for text in texts for form in (text, json.dumps(text)[1:-1], _unescaped(text))}
    # A text that contains another is found with that one.
    least = [each for each in sought if not any(other in each for other in sought if other != each)]
    return [path for path in files if any(one in data for data in map(bytes.lower, _contents(path)) for one in least)]


def _unescaped(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _contents(path: Path) -> Iterator[bytes]:
    yield LocalFileSystem().read(path)
    if path.suffix == _SUFFIX:
        try:
            # Columns are compressed; once read, a column's buffer holds its texts one after another.
            columns = pq.read_table(path).columns
        except (pa.ArrowException, OSError):  # a damaged file: only its bytes can be searched
            return
        for column in columns:
            for chunk in column.chunks:
                texts = chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk
                yield from (buffer.to_pybytes() for buffer in texts.buffers() if buffer is not None)
