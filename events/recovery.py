"""Recovery: from whatever a crash left behind to a log that is whole up to a head, before anybody sees an event of it.

Rules
    - Sync first: what is visible becomes durable before it is acted on, folders at the start, the last file at the end.
      That file is written anew for it: after a failed sync the system calls bytes clean that never reached the disk.
    - An unfinished write can only be the end of the last write-ahead file. Such a torn tail was never acknowledged; its
      bytes are moved to quarantine/. Anything else that does not fit is damage: refuse, and change nothing.
    - HEAD is a lower bound, and so is the watermark as long as the machine was not started again. Events up to there
      have been acknowledged; a log that ends before is damaged.
    - The cost depends on the tail and the newest segment only: older ones are not hashed here, `verify_log` does that.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import NamedTuple

from mage_es.events import wal
from mage_es.events.documents import RESTORE, Format, Head, HeadNote, genesis, unpack
from mage_es.events.errors import LogDamaged, UsageError
from mage_es.events.filesystem import TEMPORARY, FileSystem, write_new
from mage_es.events.layout import Layout, Listing
from mage_es.events.lock import watermark
from mage_es.events.sealed import seals_in
from mage_es.events.sealing import whole_wal
from mage_es.events.vocabulary import SegmentSealed


class Recovered(NamedTuple):
    """A log fit for appending.

    `tails` has the frames of each write-ahead file that no segment replaces, the last file being the one to append to;
    `leftover` the files that a segment does replace, still there because a crash interrupted their removal. `bound` is
    what HEAD said.
    """

    head: Head
    bound: HeadNote
    tails: dict[int, list[wal.Frame]]
    leftover: list[int]
    listing: Listing


def read_format(fs: FileSystem, layout: Layout) -> tuple[Format, bytes]:
    """Return what FORMAT says and the chain value before the first event. Raises `UsageError`, `LogDamaged`."""
    if not fs.exists(layout.format):
        raise UsageError(f"{layout.path} is not a log: it has no file FORMAT. Give the folder of a run.")
    data = fs.read(layout.format)
    about = unpack(data, Format, name=str(layout.format))
    if about.format != 1 or about.hash != "sha256":
        raise UsageError(f"{layout.path} has log format {about.format}, this release reads 1: use a newer release.")
    return about, genesis(data)


def read_head(fs: FileSystem, layout: Layout) -> HeadNote:
    """Return what HEAD says; sequence number 0 if there is no such file. Raises `LogDamaged`."""
    if not fs.exists(layout.head):
        return HeadNote(seq=0, chain="")
    return unpack(fs.read(layout.head), HeadNote, name=str(layout.head))


def recover(fs: FileSystem, layout: Layout, start: bytes) -> Recovered:
    """Make the log whole and durable, and say how far it reaches. Call with the writer's lock held.

    `start` is the chain value before the first event. Raises `LogDamaged`; then no file has been changed.
    """
    for folder in (layout.segments, layout.quarantine):
        fs.make_folder(folder)  # copying may drop an empty one
    for folder in (layout.path, layout.wals, layout.segments):
        fs.sync_folder(folder)
    bound = read_head(fs, layout)
    listing = layout.listing(fs)
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
        if tails[first]:
            head = Head(tails[first][-1].last, tails[first][-1].chain.hex())
        if broken is not None:
            require_torn(layout, first, data, broken, is_last=first == listing.tail[-1])
    require_newest(fs, layout, listing, seals_in(frame for frames in tails.values() for frame in frames))
    require_bound(layout, bound, head, tails)
    require_mark(layout, watermark(fs, layout.lock), head)
    _remove_temporaries(fs, layout)
    _renew(fs, layout, listing.tail[-1], tails[listing.tail[-1]], data)
    return Recovered(head, bound, tails, leftover, listing)


def sealed_chain(fs: FileSystem, layout: Layout, listing: Listing, start: bytes) -> bytes:
    """Return the chain value after the last sealed event, as the first frame after it has it (there must be a file).

    While the newest segment's write-ahead file is still there that is asked, because the segment may not be whole yet;
    else `require_newest` compares the segment itself with what the tail says.
    """
    if not listing.segments:
        return start
    span = listing.segments[-1]
    if span.first in listing.wals:
        return whole_wal(fs, layout, span.first)[-1].chain
    return wal.previous_in(fs.read(layout.wal(listing.tail[0]), 0, wal.HEADER_SIZE))


def require_newest(fs: FileSystem, layout: Layout, listing: Listing, seals: Mapping[int, SegmentSealed]) -> None:
    """Raise `LogDamaged` unless the newest segment is the file that the tail after it recorded as sealed."""
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
    """Raise `LogDamaged` unless there is a write-ahead file that goes on where the segments end."""
    if not listing.tail:
        missing = layout.wal(listing.sealed + 1)
        raise LogDamaged(f"{missing} is missing, and with it every event after {listing.sealed}. {RESTORE}")


def require_torn(layout: Layout, first: int, data: bytes, broken: wal.Broken, *, is_last: bool) -> None:
    """Raise `LogDamaged` unless `broken` can be what an unfinished write leaves at the end of the last file."""
    after = wal.frame_after(data, broken.offset)
    if is_last and broken.kind == "torn" and after is None:
        return
    lost = f"; events before {after.first} are lost, the frames from {after.first} on are whole" if after else ""
    raise LogDamaged(
        f"{layout.wal(first)} is damaged at byte {broken.offset} of {len(data)}: {broken.problem}{lost}. "
        f"No crash leaves this behind, so nothing was changed. {RESTORE}"
    )


def require_bound(layout: Layout, bound: HeadNote, head: Head, tails: dict[int, list[wal.Frame]]) -> None:
    """Raise `LogDamaged` if events are missing that HEAD says were durable, or are others than those."""
    if head.seq < bound.seq:
        raise LogDamaged(
            f"{layout.path} ends with event {head.seq}, but event {bound.seq} was acknowledged: events {head.seq + 1} "
            f"to {bound.seq} are lost. Nothing was changed. {RESTORE}"
        )
    ends = {frame.last: frame.chain.hex() for frames in tails.values() for frame in frames} | {head.seq: head.chain}
    if bound.seq in ends and bound.chain and ends[bound.seq] != bound.chain:
        raise LogDamaged(f"{layout.head} has another chain at event {bound.seq}: it or the log was replaced. {RESTORE}")


def require_mark(layout: Layout, mark: int, head: Head) -> None:
    """Raise `LogDamaged` if events are missing that a writer acknowledged since this machine was started."""
    if head.seq < mark:
        raise LogDamaged(
            f"{layout.path} ends with event {head.seq}, but {layout.lock} says that event {mark} was acknowledged "
            f"since this machine was started: events {head.seq + 1} to {mark} are lost. Nothing was changed. {RESTORE}"
        )


def _remove_temporaries(fs: FileSystem, layout: Layout) -> None:
    for folder in (layout.path, layout.wals, layout.segments, layout.quarantine):
        for name in fs.names(folder):
            if name.endswith(TEMPORARY):
                fs.unlink(folder / name)


def _renew(fs: FileSystem, layout: Layout, first: int, frames: list[wal.Frame], data: bytes) -> None:
    """Replace the last write-ahead file, now `data`, by its whole frames; a torn tail is moved to quarantine first."""
    path = layout.wal(first)
    size = frames[-1].offset + frames[-1].size if frames else 0
    if size < len(data):
        number = len(fs.names(layout.quarantine))
        write_new(fs, layout.quarantine / f"{path.name}.{size}.{number}", data[size:])
    write_new(fs, path, data[:size])
