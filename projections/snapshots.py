"""Snapshots: folds kept on disk, so that a resumed run need not fold its whole log again.

    <snapshots>/<seq:020d>.<fold fingerprint, 8 digits>.msgpack

Rules
    - A snapshot is a cache and never trusted: if projection code or event schema differ, a bit flipped, or the log does
      not agree, it is skipped and the log is folded instead.
    - It agrees with a log if the event at its sequence number closes an iteration with exactly the digests that the
      state in it has, and, at the log's head, the hash chain is the one it was taken at. The file's own hash only says
      that it is whole: anyone who changes a snapshot can change that too.
    - What no digest covers is not taken from a snapshot: ledger, slots and texts are folded from the log, once they are
      asked for, and of progress a closed iteration leaves only its number.
    - A write is atomic and durable: temporary file, sync, rename, sync of the folder. Nothing is compressed:
      compression took longer than all the rest, and the files consist mostly of vectors, which hardly shrink.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from mage_es.events import facts, vocabulary
from mage_es.events.digests import token_of
from mage_es.events.disk import LocalFileSystem, write_new
from mage_es.events.disk.documents import UNREADABLE
from mage_es.events.disk.opening import LARGEST, opened
from mage_es.events.segments import Reads
from mage_es.events.vocabulary import Digest, IterationClosed
from mage_es.projections.fold import Source, State, uncollected
from mage_es.projections.protocol import Typed

KEPT = 3  # newest snapshots to keep, in addition to the first

_MAGIC = b"MGS2"
_NAME = re.compile(r"(\d{20})\.([0-9a-f]{8})\.msgpack")


class _Content(msgspec.Struct, frozen=True, array_like=True):
    seq: int
    chain: str
    fingerprint: str
    digests: tuple[Digest, ...]
    dumps: dict[str, msgspec.Raw]


def write_snapshot(folder: Path, state: State, *, chain: str, digests: Sequence[Digest] = ()) -> Path:
    """Keep the current state, and return the file written; `chain` is that of the log at `state.seq`. `digests` are the
    state's, if known: computing them takes longer than all the rest.
    """
    # Encoding makes many short-lived objects beside a large state, in which there is no garbage to find.
    known = tuple(digests) or state.digests()
    with uncollected():
        dumps = {view.name: view.dump() for view in state.digested()}
        body = msgspec.msgpack.encode((state.seq, chain, fold_fingerprint(), known, dumps), enc_hook=token_of)
    disk = LocalFileSystem()
    disk.make_folder(folder)
    path = folder / f"{state.seq:020d}.{fold_fingerprint()[:8]}.msgpack"
    write_new(disk, path, kept_as(body))
    # The first is kept: it is the start of the run, which every exam compares its end with.
    for superseded in _files(folder)[1:-KEPT]:
        disk.unlink(superseded)
    return path


def kept_as(body: bytes) -> bytes:
    """Return the bytes of a file that keeps an encoded state: they carry their own proof of being whole."""
    return b"".join((_MAGIC, hashlib.sha256(body).digest(), body))


def latest_snapshot(folder: Path, source: Source, *, until: int | None = None) -> State | None:
    """Return the newest kept state of this very log at or before event `until` (default: its head), or None. Its texts
    are opened with the keys of the log's reader."""
    last = source.head.seq if until is None else min(until, source.head.seq)
    for path in reversed(_files(folder)):
        if _seq_of(path) <= last:
            state = _read(path, source)
            if state is not None:
                return state
    return None


def disowned(folder: Path, source: Source) -> list[Path]:
    """Return the snapshots that claim the log's digests for another state, which no crash can cause. A snapshot that is
    torn, or ahead of what the disk kept of its log, claims nothing and is skipped."""
    claims = ((path, _claimed(path, source)) for path in _files(folder))
    return [path for path, claimed in claims if claimed and _loaded(path, *claimed, source) is None]


def damaged_snapshots(folder: Path) -> list[Path]:
    """Return files that are named like snapshots but are none, or are not whole; nothing uses them."""
    return [path for path in _files(folder) if _contained(path) is None]


def kept_dump(folder: Path, seq: int, projection: str) -> Any:
    """Return one projection's state at event `seq` as it was kept live, None if that is missing. Unlike
    `latest_snapshot` this requires no fingerprint and no agreement: it is not a state to continue from, but a witness,
    which shows what a fold by other code does differently."""
    for path in _files(folder):
        if _seq_of(path) == seq:
            content = _contained(path)
            if content is not None and projection in content.dumps:
                return msgspec.msgpack.decode(content.dumps[projection])
    return None


@cache
def fold_fingerprint() -> str:
    """Return the hash of everything that decides how a log is folded: the projections and the vocabulary."""
    # Source files, not a version number: a changed projection with an unchanged number would read its old dumps.
    folders = Path(facts.__file__).parent, Path(vocabulary.__file__).parent, Path(__file__).parent
    sources = [source for folder in folders for source in sorted(folder.glob("*.py"))]
    return hashlib.sha256(b"\x00".join(source.read_bytes() for source in sources)).hexdigest()


def _files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if _NAME.fullmatch(path.name))


def _seq_of(path: Path) -> int:
    return int(path.name[:20])


def _read(path: Path, source: Source) -> State | None:
    claimed = _claimed(path, source)
    return _loaded(path, *claimed, source) if claimed else None


def _loaded(path: Path, content: _Content, closed: IterationClosed, source: Source) -> State | None:
    """Return the state in a snapshot, None if its digests are not those that it claims."""
    state, keys = State(source, content.seq), source.keys
    with uncollected():
        try:
            for view in state.covered():
                kind = view.dumped if isinstance(view, Typed) else Any
                dumped = msgspec.msgpack.decode(content.dumps[view.name], type=kind)
                view.load(keys.opened(dumped) if keys else dumped)
        except Exception:  # a forged dump may fail in any way; the log has the state
            return None
    state.progress.apply(closed)
    claimed = {each.projection: each.value for each in closed.digests}
    return state if all(view.digest() == claimed.get(view.name) for view in state.covered()) else None


def _claimed(path: Path, source: Source) -> tuple[_Content, IterationClosed] | None:
    """Return what a whole snapshot of this fold contains, and the mark in the log whose digests it claims."""
    content = _contained(path)
    if content is None or content.seq != _seq_of(path) or content.fingerprint != fold_fingerprint():
        return None
    # The chain of the log is known at its head only; further back, the recorded digests must suffice.
    if content.seq == source.head.seq and content.chain != source.head.chain:
        return None
    closed = _closed_at(content.seq, source)
    return None if closed is None or closed.digests != content.digests else (content, closed)


def _contained(path: Path) -> _Content | None:
    try:
        with opened(path, LARGEST) as file:
            magic = file.read(len(_MAGIC))  # first, so that any other file, however large, is not read
            data = memoryview(file.readall() if magic == _MAGIC else b"")
    except OSError:  # another process may have replaced it with a newer one, or it is something else
        return None
    digest, body = data[:32], data[32:]
    # The hash comes first: what it does not cover is never decoded.
    if magic != _MAGIC or hashlib.sha256(body).digest() != digest:
        return None
    try:
        return msgspec.msgpack.decode(body, type=_Content)
    except UNREADABLE:  # whole, but written by another release
        return None


def _closed_at(seq: int, source: Source) -> IterationClosed | None:
    reads: Reads = {IterationClosed: IterationClosed.__struct_fields__}
    closed = (event for _, event in source.events(reads, since=seq, until=seq) if isinstance(event, IterationClosed))
    return next(closed, None)
