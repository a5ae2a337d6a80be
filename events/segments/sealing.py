"""Sealing: a full write-ahead file becomes a segment, and a power cut at any moment loses nothing.

Rules (the order is what makes it safe)
    1. Encode the write-ahead file's contents, decode them again and compare, bit for bit. Write the segment, and its
       vectors, under temporary names; sync them.
    2. Read them back from the disk and compare every byte.
    3. Rename both, sync the folder. From here on the events are on stable storage twice.
    4. The writer records `log.segment_sealed` with the files' hashes, in the next write-ahead file.
    5. Only then is the old write-ahead file removed and its folder synced.
"""

import hashlib

from mage_es.events import wal
from mage_es.events.disk.documents import RESTORE, Format
from mage_es.events.disk.filesystem import FileSystem, write_temporary
from mage_es.events.disk.layout import Layout, Range
from mage_es.events.errors import LogDamaged
from mage_es.events.facts import SegmentSealed, Vocabulary
from mage_es.events.segments.schema import Files
from mage_es.events.segments.writer import Commit, write
from mage_es.events.wal.bodies import FrameReader


def seal(fs: FileSystem, layout: Layout, first: int, about: Format, vocabulary: Vocabulary) -> SegmentSealed:
    """Do steps 1 to 3 for the write-ahead file that begins with event `first`; return what step 4 records."""
    files, sealed = made_of(fs, layout, first, about, vocabulary)
    span = Range(sealed.first, sealed.last)
    segment = write_temporary(fs, layout.segment(span), files.segment)
    vectors = write_temporary(fs, layout.vectors(span), files.vectors) if files.vectors else None
    # From the disk, not from memory: after this the write-ahead file will be deleted.
    if fs.read(segment) != files.segment or (vectors and fs.read(vectors) != files.vectors):
        raise LogDamaged(
            f"{segment} was just written, and its events {span.first} to {span.last} are not those of "
            f"{layout.wal(first).name}. That file is kept; check the disk of this machine."
        )
    # The vectors first: a segment that is visible must be complete.
    if vectors:
        fs.rename(vectors, layout.vectors(span))
    fs.rename(segment, layout.segment(span))
    fs.sync_folder(layout.segments)
    return sealed


def made_of(
    fs: FileSystem, layout: Layout, first: int, about: Format, vocabulary: Vocabulary
) -> tuple[Files, SegmentSealed]:
    """Return the segment that a whole write-ahead file is sealed as. Raises `LogDamaged`."""
    frames = whole_wal(fs, layout, first)
    reader = FrameReader(vocabulary)
    commits = (Commit(frame.first, *reader.commit(frame)) for frame in frames)
    span, chain = Range(first, frames[-1].last), frames[-1].chain.hex()
    files = write(commits, run=about.run, log_id=about.log_id, previous=frames[0].previous.hex(), chain=chain)
    hashes = files.hashes
    return files, SegmentSealed(
        first=first, last=span.last, rows=span.last - first + 1, sha256=hashes[0], vectors_sha256=hashes[1], chain=chain
    )


def is_sealed_as(fs: FileSystem, layout: Layout, sealed: SegmentSealed) -> bool:
    span = Range(sealed.first, sealed.last)
    expected = [(layout.segment(span), sealed.sha256)]
    if sealed.vectors_sha256:
        expected.append((layout.vectors(span), sealed.vectors_sha256))
    return all(fs.exists(path) and hashlib.sha256(fs.read(path)).hexdigest() == sha256 for path, sha256 in expected)


def whole_wal(fs: FileSystem, layout: Layout, first: int) -> list[wal.Frame]:
    """Return the frames of a complete write-ahead file. Raises `LogDamaged`."""
    path = layout.wal(first)
    # The chain before this file is not known here; continuity within the file is what counts.
    frames, broken = wal.scan(fs.read(path), first=first)
    if broken is not None or not frames:
        problem = broken.problem if broken else "it is empty"
        reached = frames[-1].last if frames else first - 1
        raise LogDamaged(f"{path} is damaged after event {reached}: {problem}. {RESTORE}")
    return frames
