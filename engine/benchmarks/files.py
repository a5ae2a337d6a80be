"""Reading a file that someone else wrote: only up to a limit, which also bounds its size after decompression."""

import gzip
import os
import tomllib
import zlib
from io import BufferedReader
from pathlib import Path
from typing import Any

from mage_es.events.disk.opening import opened
from mage_es.events.errors import PrerequisiteError, UsageError

VARIABLE = "MAGE_ES_MAX_FILE_MIB"
MIB = 2**20
_DEFAULT = 256
_LONGEST_SETTINGS, _DEEPEST_SETTINGS = 64 * 2**10, 32


def most_bytes(mib: int = _DEFAULT) -> int:
    """Return how many bytes a file may hold, unpacked: `mib` unless the environment sets another limit. Raises
    `UsageError`."""
    said = os.environ.get(VARIABLE) or str(mib)
    if not (said.isascii() and said.isdigit() and int(said[:9]) > 0 and len(said) < 9):
        raise UsageError(f"{VARIABLE}: {said!r} is not valid. Give a whole number of MiB, such as 1024.")
    return int(said) * MIB


def too_much(path: Path, found: str, most: int) -> PrerequisiteError:
    return PrerequisiteError(
        f"{path} holds {found}, over the limit of {most // MIB} MiB for one file. Nothing was loaded. If you expect so "
        f"much, raise the limit: {VARIABLE}={4 * most // MIB}"
    )


def contents(path: Path, most: int = 0) -> bytes:
    """Return the bytes of a file, unpacked if gzipped. Raises `PrerequisiteError`; `most` is the limit, if given."""
    most, pieces, held = most or most_bytes(), list[bytes](), 0
    try:
        with BufferedReader(opened(path)) as plain:
            is_packed = plain.peek(2)[:2] == b"\x1f\x8b" or path.suffix == ".gz"
            file = gzip.GzipFile(fileobj=plain) if is_packed else plain
            while piece := file.read(MIB):
                pieces.append(piece)
                held += len(piece)
                if held > most:
                    size = f"{path.stat().st_size:,} bytes"
                    found = f"{size}, which unpack to more than {most:,} bytes" if is_packed else f"{size} or more"
                    raise too_much(path, found, most)
    except (OSError, EOFError, zlib.error) as error:
        raise PrerequisiteError(f"{path} cannot be read: {error}.") from error
    return b"".join(pieces)


def read_text(path: Path, most: int = _LONGEST_SETTINGS) -> str:
    """Return the text of a short file. Raises `OSError`, and `UsageError` for a long one or one that is not UTF-8."""
    with opened(path) as file:
        raw = file.read(most + 1)
    if len(raw) > most:
        raise UsageError(f"{path} has more than {most:,} bytes. Is it the file that you meant?")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise UsageError(f"{path}, line {line}, is not UTF-8 text: {error}. Save it as UTF-8.") from error


def read_toml(path: Path, most: int = _LONGEST_SETTINGS) -> dict[str, Any]:
    """Return the content of a settings file. Raises what `read_text` raises, and `UsageError` if it is malformed or
    deeply nested."""
    text = read_text(path, most)
    try:
        found = tomllib.loads(text)
        level: list[Any] = [found]
        for _ in range(_DEEPEST_SETTINGS):
            children = [each.values() if isinstance(each, dict) else each for each in level]
            level = [child for some in children for child in some if isinstance(child, dict | list)]
        if level:
            raise RecursionError
    except ValueError as error:  # tomllib's own is a subclass; a number of 5,000 digits raises a plain one
        raise UsageError(f"{path} is not valid TOML: {error}. Correct that line.") from error
    except RecursionError as error:
        lines = text.splitlines()
        line = 1 + max(range(len(lines)), key=lambda at: sum(map(lines[at].count, "[{.")))
        raise UsageError(f"{path} is nested too deeply, apparently in line {line}. No setting needs that.") from error
    return found
