"""The hash chain, recomputed from records, so that a head printed long ago can be found even after its events were
sealed.

Rules
    - The chain covers the bodies of frames, and sealing drops those. But a body is a function of its records, and each
      record knows its commit, so the chain value after every commit can be computed again.
    - This works only if this release encodes events exactly as the release that recorded them did. So the last computed
      value is compared with the recorded one, and if they differ, all values are discarded.
    - A head computed from a segment's events also vouches for everything before them, because each segment starts with
      a record of the previous segment's hash.
"""

import re
from collections.abc import Iterable, Sequence

from mage_es.events import wal
from mage_es.events.disk.documents import Head
from mage_es.events.disk.filesystem import FileSystem
from mage_es.events.disk.layout import Layout, Range
from mage_es.events.errors import LogError, UsageError
from mage_es.events.facts import Record, SegmentSealed, Vocabulary, event_id
from mage_es.events.segments.reader import Segment
from mage_es.events.segments.schema import Description, Files
from mage_es.events.segments.sealed import SealedEvents
from mage_es.events.wal.bodies import bodies_of

_HEAD = re.compile("[0-9a-f]{16,64}")


def heads(about: Description, records: Sequence[Record], vocabulary: Vocabulary) -> list[Head]:
    """Return the head after each commit of a segment's records; empty if this release would have written them
    differently."""
    chain, found = bytes.fromhex(about.previous), list[Head]()
    for first, count, body in bodies_of(records, vocabulary):
        chain = wal.chain_of(chain, first, count, body)
        found.append(Head(first + count - 1, chain.hex()))
    return found if found and found[-1] == Head(about.last, about.chain) else []


class HeadSearch:
    """Searches all heads that a log ever had for one that was printed earlier, or for its first digits. `found` is that
    head; `untold` are the sealed ranges whose heads this release cannot compute.
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
        for head in heads:
            if head.chain.startswith(self._wanted):
                self.found = head

    def in_segment(self, about: Description, records: Sequence[Record], vocabulary: Vocabulary) -> None:
        # Heads between commits are stored nowhere; the chain is recomputed from the records.
        computed = heads(about, records, vocabulary)
        if computed:
            self.among(computed)
        else:
            self.untold.append(Range(about.first, about.last))


def witness(fs: FileSystem, layout: Layout, sealed: SealedEvents, vocabulary: Vocabulary) -> None:
    """Find hashes of segments whose record was lost along with the file after them."""
    # From the newest back: each segment that is believed may record the hashes of those before it.
    for span in reversed(sealed.spans):
        try:
            sealed.seal_of(span)
        except LogError:
            own = _own_word(fs, layout, span, vocabulary)
            if own is not None:
                sealed.show(sealed.spans, {span.first: own})


def _own_word(fs: FileSystem, layout: Layout, span: Range, vocabulary: Vocabulary) -> SegmentSealed | None:
    path, side = layout.segment(span), layout.vectors(span)
    try:
        files = Files(fs.read(path), fs.read(side) if fs.exists(side) else b"")
        segment = Segment(files.segment, lambda: files.vectors, name=str(path), vocabulary=vocabulary)
        records = segment.records(span)
    except (LogError, OSError):
        return None
    about = segment.about
    # Its own description is only a claim; the chain value computed from its events is the proof.
    if (about.first, about.last) != span or not heads(about, records, vocabulary):
        return None
    if any(record.event_id != event_id(about.run, record.fact_id) for record in records):
        return None  # the chain does not cover identities
    hashes = files.hashes
    return SegmentSealed(
        first=span.first,
        last=span.last,
        rows=len(records),
        sha256=hashes[0],
        vectors_sha256=hashes[1],
        chain=about.chain,
    )
