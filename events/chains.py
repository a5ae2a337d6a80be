"""The hash chain computed anew from records, so that a head printed long ago can be found in what is sealed since.

Rules
    - The chain covers the bodies of frames, and sealing drops those; but a body is a function of its records, and each
      record knows its commit. So the chain value after every commit can be had again, byte for byte.
    - It can be had only where this release writes events as the one did that recorded them. The last value is compared
      with the one that was recorded: if they differ, none of them means anything.
    - A head that a segment's events lead to vouches for what came before as well: the segment starts with the record of
      the hash of the one before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from mage_es.events import wal
from mage_es.events.documents import Head
from mage_es.events.envelope import Record, event_id
from mage_es.events.errors import LogError, UsageError
from mage_es.events.filesystem import FileSystem
from mage_es.events.layout import Layout, Range
from mage_es.events.rows import bodies_of
from mage_es.events.sealed import SealedEvents
from mage_es.events.segment_reader import Segment
from mage_es.events.segments import Description, Files
from mage_es.events.upcasting import PRESENT
from mage_es.events.vocabulary import SegmentSealed

_HEAD = re.compile("[0-9a-f]{16,64}")


def heads(about: Description, records: Sequence[Record]) -> list[Head]:
    """Return the head after each commit of a segment's records; empty if this release would have written others.

    They stand in the form of this release or of the one before; where that began the file, it had recorded the sealing
    of the file before, and this one went on.
    """
    own = sum(1 for _ in takewhile(lambda record: record.phase == "log", records))
    for old in dict.fromkeys((0, len(records), own)):
        found = list(_heads(about.previous, records[:old], records[old:]))
        if found and found[-1] == Head(about.last, about.chain):
            return found
    return []


def _heads(previous: str, old: Sequence[Record], new: Sequence[Record]) -> Iterator[Head]:
    chain = bytes.fromhex(previous)
    for records, codec in ((old, wal.ROWS), (new, wal.DRAFTS)):
        for first, count, body in bodies_of(records, codec):
            chain = wal.chain_of(chain, first, count, body, codec=codec)
            yield Head(first + count - 1, chain.hex())


class HeadSearch:
    """Looks among all heads that a log ever had for one that was printed earlier, or for its first digits.

    `found` is that head; `untold` are the sealed ranges whose heads this release cannot compute.
    """

    def __init__(self, wanted: str) -> None:
        self._wanted = wanted.strip().lower()
        if not _HEAD.fullmatch(self._wanted):
            raise UsageError(
                f"{wanted!r} is not a head. Give the 64 hexadecimal digits that `mage-es verify` prints, or at least "
                "the first 16, as `mage-es runs show` does."
            )
        self.found: Head | None = None
        self.untold: list[Range] = []

    def among(self, heads: Iterable[Head]) -> None:
        """Look among heads that are known to be those of the log."""
        for head in heads:
            if head.chain.startswith(self._wanted):
                self.found = head

    def in_segment(self, about: Description, records: Sequence[Record]) -> None:
        """Look among the heads that the log had while a segment's events were appended."""
        computed = heads(about, records)
        if computed:
            self.among(computed)
        else:
            self.untold.append(Range(about.first, about.last))


def witness(fs: FileSystem, layout: Layout, sealed: SealedEvents) -> None:
    """Let segments speak for themselves whose recorded hash was lost with the file that came after them.

    What is read of such a segment is believed only if its events give the chain value that it was sealed with.
    """
    for span in reversed(sealed.spans):
        try:
            sealed.seal_of(span)
        except LogError:
            own = _own_word(fs, layout, span)
            if own is not None:
                sealed.show(sealed.spans, {span.first: own})


def _own_word(fs: FileSystem, layout: Layout, span: Range) -> SegmentSealed | None:
    path, side = layout.segment(span), layout.vectors(span)
    try:
        files = Files(fs.read(path), fs.read(side) if fs.exists(side) else b"")
        segment = Segment(files.segment, lambda: files.vectors, name=str(path), registry=PRESENT)
        records = segment.records(span)
    except (LogError, OSError):
        return None
    told = segment.about
    if (told.first, told.last) != span or not heads(told, records):
        return None
    if any(record.event_id != event_id(told.run, record.fact_id) for record in records):
        return None  # the chain does not cover identities
    hashes = files.hashes
    return SegmentSealed(
        first=span.first,
        last=span.last,
        rows=len(records),
        sha256=hashes[0],
        vectors_sha256=hashes[1],
        chain=told.chain,
    )
