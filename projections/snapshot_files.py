"""Snapshots: folds kept on disk, so that a resumed run need not fold its whole log again.

    <snapshots>/<seq:020d>.<fold fingerprint, 8 digits>.msgpack

Rules
    - A snapshot is a cache and never trusted: the log is folded instead if the projection code or the event schema
      differs, a bit has flipped, or the snapshot disagrees with the log.
    - It agrees with a log if the event at its sequence number closes an iteration with exactly the digests that the
      snapshot claims. At the log's head, the chain value must also be the one at which it was taken. Each view is read
      when it is asked for, and used if its digest is right. The file's own hashes show only that it is whole: anyone
      who changes a snapshot can change those too.
    - Views that no digest covers are not taken from a snapshot: ledger, slots and texts are folded from the log when
      they are asked for, and of progress only the number of the closed iteration is left.
    - A write is atomic and durable: temporary file, sync, rename, sync of the folder. Nothing is compressed:
      compression took longer than all the rest, and the files consist mostly of vectors, which hardly shrink.
    - A file is mapped, not read, and every part is hashed before it is used. If a view keeps a part encoded, the system
      can reclaim its memory, and the part remains readable after the file is deleted. No file is ever changed in place,
      because a process that has it mapped would see the change.

Form
    the dumps of the views, one after another, some in parts; then the head: what they are of, and the size and SHA-256
    of each part; then the size of the head in 8 bytes, its SHA-256, and four letters
"""

import hashlib
import mmap
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mage_es.events import facts, vocabulary
from mage_es.events.digests import sha256_of_each, token_of
from mage_es.events.disk import LocalFileSystem, write_new
from mage_es.events.disk.documents import UNREADABLE
from mage_es.events.disk.opening import LARGEST, opened
from mage_es.events.segments import Reads
from mage_es.events.vocabulary import Digest, IterationClosed
from mage_es.projections.fold import DIGESTED, UNCOVERED, State, uncollected
from mage_es.projections.progress import Progress
from mage_es.projections.protocol import Projection, is_parted

if TYPE_CHECKING:  # as in fold.py
    from mage_es.events.log import LogReader

COVERED = tuple(view for view in DIGESTED if view not in UNCOVERED)
"""The projections whose every field a digest covers."""
KEPT = 3  # newest snapshots to keep, in addition to the first

_MAGIC = b"MGS4"
_END = 8 + 32 + len(_MAGIC)
_MOST = 1 << 26  # bytes of a head
_encoder = msgspec.msgpack.Encoder(enc_hook=token_of)
_NAME = re.compile(r"(\d{20})\.([0-9a-f]{8})\.msgpack")


class _Part(msgspec.Struct, frozen=True, array_like=True):
    start: int
    size: int
    sha256: bytes


class _Head(msgspec.Struct, frozen=True, array_like=True):
    seq: int
    chain: str
    fingerprint: str
    digests: tuple[Digest, ...]
    dumps: dict[str, dict[int, _Part]]
    """By the name of a view, then by the number of a part; a dump in one piece is part 0."""


class _File(NamedTuple):
    path: Path
    head: _Head

    def dump(self, name: str) -> dict[int, memoryview] | None:
        """Return the parts of a view that were kept, None if they are missing or not whole."""
        parts, found = self.head.dumps.get(name), dict[int, memoryview]()
        try:
            with opened(self.path, LARGEST) as file:
                data = memoryview(mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ))
        except (OSError, ValueError):  # superseded by a newer one, and deleted; or empty
            return None
        if parts is None:
            return None
        for number, part in parts.items():
            if not 0 <= part.start <= part.start + part.size <= len(data):
                return None
            found[number] = data[part.start : part.start + part.size]
        # The hash comes first: what it does not cover is never decoded.
        is_whole = sha256_of_each([*found.values()]) == [part.sha256 for part in parts.values()]
        return found if is_whole else None


class _Kept(NamedTuple):
    """A snapshot that agrees with a log, and the event there that closes its iteration."""

    file: _File
    closed: IterationClosed
    source: "LogReader"

    @property
    def seq(self) -> int:
        return self.file.head.seq

    def fill(self, view: Projection) -> bool:
        if isinstance(view, Progress):
            view.apply(self.closed)
            return True
        if type(view) not in COVERED or (data := self.file.dump(view.name)) is None:
            return False
        keys, kind = self.source.keys, getattr(view, "dumped", Any)
        with uncollected():
            try:
                dumped = data if is_parted(view) and not keys else _decoded(view, data, kind)
                view.load(keys.opened(dumped) if keys else dumped)
                if is_parted(view):
                    view.believe({number: part.sha256 for number, part in self.file.head.dumps[view.name].items()})
                return Digest(projection=view.name, value=view.digest()) in self.closed.digests
            except Exception:  # a forged dump may fail in any way; the state can be folded from the log
                return False


def _decoded(view: Projection | type[Projection], data: Mapping[int, memoryview], kind: Any = Any) -> Any:
    decoder = msgspec.msgpack.Decoder(kind)
    parts = {number: decoder.decode(part) for number, part in data.items()}
    return parts if is_parted(view) else parts[0]


def write_snapshot(folder: Path, state: State, *, chain: str, digests: Sequence[Digest] = ()) -> Path:
    """Keep the current state, and return the file written; `chain` is that of the log at `state.seq`. `digests` are the
    state's, if known: computing them takes longer than all the rest.
    """
    disk = LocalFileSystem()
    disk.make_folder(folder)
    path = folder / f"{state.seq:020d}.{fold_fingerprint()[:8]}.msgpack"
    # Encoding makes many short-lived objects beside a large state, in which there is no garbage to find.
    with uncollected():
        write_new(disk, path, _parts(state, chain, tuple(digests) or state.digests()))
    # The first is kept: it is the start of the run, which every exam compares its end with.
    for superseded in _files(folder)[1:-KEPT]:
        disk.unlink(superseded)
    return path


def _parts(state: State, chain: str, digests: tuple[Digest, ...]) -> Iterator[bytes]:
    start, dumps = 0, dict[str, dict[int, _Part]]()
    for view in state.digested():
        parts = dumps[view.name] = {}
        for number, dumped in (view.dump() if is_parted(view) else {0: view.dump()}).items():
            data = _encoder.encode(dumped)
            yield data
            parts[number] = _Part(start, len(data), hashlib.sha256(data).digest())
            start += len(data)
    yield ended(msgspec.msgpack.encode(_Head(state.seq, chain, fold_fingerprint(), digests, dumps)))


def ended(head: bytes) -> bytes:
    """Return the end of a file that keeps a state: it carries its own proof of being whole."""
    return b"".join((head, len(head).to_bytes(8), hashlib.sha256(head).digest(), _MAGIC))


def latest_snapshot(folder: Path, source: "LogReader", *, until: int | None = None) -> State | None:
    """Return the newest kept state of this very log at or before event `until` (default: its head), or None. Its texts
    are opened with the keys of the log's reader."""
    last = source.head.seq if until is None else min(until, source.head.seq)
    for path in reversed(_files(folder)):
        if _seq_of(path) <= last and (kept := _kept(path, source)):
            return State(source, kept)
    return None


def disowned(folder: Path, source: "LogReader") -> list[Path]:
    """Return the snapshots that claim the log's digests for another state, which no crash can cause. A snapshot that is
    torn, or ahead of what the disk kept of its log, claims nothing and is skipped."""
    agreeing = filter(None, (_kept(path, source) for path in _files(folder)))
    return [
        kept.file.path
        for kept in agreeing
        if any(kept.file.dump(view.name) is not None and not kept.fill(view()) for view in COVERED)
    ]


def damaged_snapshots(folder: Path) -> list[Path]:
    """Return files that are named like snapshots but are not snapshots, or are not whole; nothing uses them."""
    return [path for path in _files(folder) if not (file := _file(path)) or None in map(file.dump, file.head.dumps)]


def kept_dump(folder: Path, seq: int, projection: str) -> Any:
    """Return one projection's state at event `seq` as it was kept live, None if that is missing. Unlike
    `latest_snapshot` this requires no fingerprint and no agreement: it is not a state to continue from, but a witness,
    which shows what a fold by other code does differently."""
    for path in _files(folder):
        if _seq_of(path) == seq:
            file = _file(path)
            if file and (data := file.dump(projection)) is not None:
                return _decoded(next(view for view in DIGESTED if view.name == projection), data)
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


def _kept(path: Path, source: "LogReader") -> _Kept | None:
    """Return a snapshot of this fold, if the log has the digests that it claims."""
    file = _file(path)
    if file is None or file.head.seq != _seq_of(path) or file.head.fingerprint != fold_fingerprint():
        return None
    # The chain of the log is known at its head only; further back, the recorded digests must suffice.
    if file.head.seq == source.head.seq and file.head.chain != source.head.chain:
        return None
    closed = _closed_at(file.head.seq, source)
    return None if closed is None or closed.digests != file.head.digests else _Kept(file, closed, source)


def _file(path: Path) -> _File | None:
    """Return what a file claims to keep, None if it is no snapshot."""
    try:
        with opened(path, LARGEST) as file:
            size = file.seek(0, 2)
            file.seek(max(size - _END, 0))
            end = file.read(_END)
            length = int.from_bytes(end[:8])
            if end[40:] != _MAGIC or not 0 < length <= min(size - _END, _MOST):
                return None
            file.seek(size - _END - length)
            head = file.read(length)
    except OSError:  # another process may have replaced it with a newer one, or it is something else
        return None
    if hashlib.sha256(head).digest() != end[8:40]:
        return None
    try:
        about = msgspec.msgpack.decode(head, type=_Head)
    except UNREADABLE:  # whole, but written by another release
        return None
    kept = sum(part.size for parts in about.dumps.values() for part in parts.values())
    return _File(path, about) if size == kept + len(head) + _END else None


def _closed_at(seq: int, source: "LogReader") -> IterationClosed | None:
    reads: Reads = {IterationClosed: IterationClosed.__struct_fields__}
    closed = (event for _, event in source.events(reads, since=seq, until=seq) if isinstance(event, IterationClosed))
    return next(closed, None)
