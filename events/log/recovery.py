"""Recovery: repairs a log after a crash, before any of its events is shown.

An unfinished write can only be the end of the last write-ahead file. Such a torn tail was never acknowledged; its bytes
are moved to quarantine/. Anything else that does not fit is damage: the log is refused, and nothing is changed.
"""

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

from mage_es.events import wal
from mage_es.events.disk.documents import RESTORE, Format, Head, HeadNote, genesis, unpack
from mage_es.events.disk.filesystem import TEMPORARY, FileSystem, write_new
from mage_es.events.disk.layout import Layout, Listing
from mage_es.events.disk.lock import watermark
from mage_es.events.disk.opening import SMALL
from mage_es.events.errors import LogDamaged, UsageError
from mage_es.events.facts import SegmentSealed
from mage_es.events.segments.sealed import seals_in
from mage_es.events.segments.sealing import whole_wal

_LARGEST_HEAD = 1 << 26  # bytes; it lists what each segment holds


class Recovered(NamedTuple):
    """A log that is fit for appending. `tails` has the frames of each write-ahead file that no segment replaces, the
    last file being the one to append to; `leftover` are the files that a segment does replace, still there because a
    crash interrupted their removal. `bound` is the content of HEAD.
    """

    head: Head
    bound: HeadNote
    tails: dict[int, list[wal.Frame]]
    leftover: list[int]
    listing: Listing


def read_format(fs: FileSystem, layout: Layout) -> tuple[Format, bytes]:
    """Return the content of FORMAT and the chain value before the first event. Raises `UsageError`, `LogDamaged`."""
    if not fs.exists(layout.format):
        require_nothing(fs, layout)
        raise UsageError(f"{layout.path} is not a log: it has no file FORMAT. Give the folder of a run.")
    data = fs.read(layout.format, 0, SMALL)
    about = unpack(data, Format, name=str(layout.format))
    if about.format != (2 if about.past else 1) or about.hash != "sha256":
        raise UsageError(
            f"{layout.path} has log format {about.format}, and this release reads 1 and 2: use a newer release."
        )
    return about, genesis(data)


def require_nothing(fs: FileSystem, layout: Layout) -> None:
    """Raise `LogDamaged` if a folder without FORMAT holds events, or shows that it did."""
    left = layout.events(fs)
    if not left and read_head(fs, layout).seq:
        left = [layout.head]
    if left:
        raise LogDamaged(f"{layout.format} is missing, and without it {left[0]} cannot be read. {RESTORE}")


def read_head(fs: FileSystem, layout: Layout) -> HeadNote:
    """Return the content of HEAD; sequence number 0 without that file. Raises `LogDamaged`."""
    if not fs.exists(layout.head):
        return HeadNote(seq=0, chain="")
    return unpack(fs.read(layout.head, 0, _LARGEST_HEAD), HeadNote, name=str(layout.head))


def recover(fs: FileSystem, layout: Layout, start: bytes) -> Recovered:
    """Repair the log, make it durable, and return how far it reaches. Call with the writer's lock held.

    `start` is the chain value before the first event. Raises `LogDamaged`; then no file has been changed.
    """
    for folder in (layout.segments, layout.quarantine):
        # Copying a run may drop empty folders.
        fs.make_folder(folder)
    for folder in (layout.path, layout.wals, layout.segments):
        # A name that is visible may still be lost to a power cut: make it durable before acting on it.
        fs.sync_folder(folder)
    bound = read_head(fs, layout)
    listing = layout.listing(fs)
    # Sealed, but the crash came before the file was removed.
    leftover = [first for first in listing.wals if first <= listing.sealed]
    require_tail(layout, listing)
    head = Head(listing.sealed, sealed_chain(fs, layout, listing, start).hex())
    tails: dict[int, list[wal.Frame]] = {}
    data = b""
    for first in listing.tail:
        if first != head.seq + 1:
            raise LogDamaged(f"{layout.wal(first)} does not follow event {head.seq}, the last before it. {RESTORE}")
        data = fs.read(layout.wal(first))
        tails[first], broken = wal.scan(data, first=first, previous=bytes.fromhex(head.chain))
        # An empty file is a roll that crashed before the first append.
        if tails[first]:
            head = Head(tails[first][-1].last, tails[first][-1].chain.hex())
        if broken is not None:
            require_torn(layout, first, data, broken, is_last=first == listing.tail[-1])
    # All checks before the first change: a damaged log is left exactly as it was found.
    require_newest(fs, layout, listing, seals_in(frame for frames in tails.values() for frame in frames))
    require_bound(layout, bound, head, tails)
    require_mark(layout, watermark(fs, layout.lock), head)
    _remove_temporaries(fs, layout)
    _renew(fs, layout, listing.tail[-1], tails[listing.tail[-1]], data)
    return Recovered(head, bound, tails, leftover, listing)


def sealed_chain(fs: FileSystem, layout: Layout, listing: Listing, start: bytes) -> bytes:
    """Return the chain value after the last sealed event, as the first frame after that event holds it (there must be a
    file)."""
    if not listing.segments:
        return start
    span = listing.segments[-1]
    if span.first in listing.wals:
        # The segment may be half written: its write-ahead file counts until that is removed.
        return whole_wal(fs, layout, span.first)[-1].chain
    # Otherwise `require_newest` compares the segment itself with what the tail says.
    return wal.previous_in(fs.read(layout.wal(listing.tail[0]), 0, wal.HEADER_SIZE))


def require_newest(fs: FileSystem, layout: Layout, listing: Listing, seals: Mapping[int, SegmentSealed]) -> None:
    if not listing.segments or listing.segments[-1].first in listing.wals:
        return
    span = listing.segments[-1]
    path = layout.segment(span)
    if span.first not in seals:
        raise LogDamaged(f"nothing in the log records the hash of {path}: the end of the log is missing. {RESTORE}")
    if hashlib.sha256(fs.read(path)).hexdigest() != seals[span.first].sha256:
        affected = f"events {span.first} to {span.last} are affected"
        raise LogDamaged(f"{path} is not the file that was sealed; {affected}. {RESTORE}")


def require_tail(layout: Layout, listing: Listing) -> None:
    if not listing.tail:
        missing = layout.wal(listing.sealed + 1)
        raise LogDamaged(f"{missing} is missing, and with it every event after {listing.sealed}. {RESTORE}")


def require_torn(layout: Layout, first: int, data: bytes, broken: wal.Broken, *, is_last: bool) -> None:
    after = wal.frame_after(data, broken.offset)
    # A crash cuts only the end of the last file.
    if is_last and broken.kind == "torn" and after is None:
        return
    lost = f"; events before {after.first} are lost, the frames from {after.first} on are whole" if after else ""
    raise LogDamaged(
        f"{layout.wal(first)} is damaged at byte {broken.offset} of {len(data)}: {broken.problem}{lost}. "
        f"A crash cannot cause this, so nothing was changed. {RESTORE}"
    )


def require_bound(layout: Layout, bound: HeadNote, head: Head, tails: dict[int, list[wal.Frame]]) -> None:
    if head.seq < bound.seq:
        raise LogDamaged(
            f"{layout.path} ends with event {head.seq}, but event {bound.seq} was acknowledged: events {head.seq + 1} "
            f"to {bound.seq} are lost. Nothing was changed. {RESTORE}"
        )
    # HEAD may point into the tail; sealed chain values are checked by verify, not at every open.
    ends = {frame.last: frame.chain.hex() for frames in tails.values() for frame in frames} | {head.seq: head.chain}
    if bound.seq in ends and bound.chain and ends[bound.seq] != bound.chain:
        raise LogDamaged(
            f"{layout.head} has a different chain at event {bound.seq}: it or the log was replaced. {RESTORE}"
        )


def require_mark(layout: Layout, mark: int, head: Head) -> None:
    if head.seq < mark:
        raise LogDamaged(
            f"{layout.path} ends with event {head.seq}, but {layout.lock} says that event {mark} was acknowledged "
            f"since this machine was started: events {head.seq + 1} to {mark} are lost. Nothing was changed. {RESTORE}"
        )


def _remove_temporaries(fs: FileSystem, layout: Layout) -> None:
    beside = [folder for folder in (layout.questions, layout.golds) if fs.exists(folder)]
    for folder in (layout.path, layout.wals, layout.segments, layout.quarantine, *beside):
        for name in fs.names(folder):
            if name.endswith(TEMPORARY):
                fs.unlink(folder / name)


def _renew(fs: FileSystem, layout: Layout, first: int, frames: list[wal.Frame], data: bytes) -> None:
    # After a failed sync the kernel reports bytes as clean that never reached the disk: rewriting beats syncing again.
    path = layout.wal(first)
    size = frames[-1].offset + frames[-1].size if frames else 0
    if size < len(data):
        # Numbered, so that a second recovery never overwrites what the first one kept.
        number = len(fs.names(layout.quarantine))
        write_new(fs, layout.quarantine / f"{path.name}.{size}.{number}", data[size:])
    # Even if nothing is cut, since only rewritten bytes are known to reach the disk.
    write_new(fs, path, data[:size])
