"""Where the files of a log are, what their names mean, and whether together they form a whole log.

    FORMAT, HEAD, LOCK            what log this is, how far it reached, and who writes it
    wal/<first>.wal               frames; normally one file, two while the older one is sealed
    seg/<first>-<last>.parquet    sealed events (and <first>-<last>.vec.parquet: their vectors)
    questions/<sha256>.parquet    texts of questions; a file's name is its hash
    golds/<sha256>.parquet        their gold answers, which a copy may lack
    heads/<seq>-<root8>.note      signed heads, each of events 1 to <seq>
    quarantine/                   what recovery cut off; never deleted by code
    past/log/                     the log that this one continues, complete, as of that moment

Numbers have twenty digits, so names sort as the events do. There is no manifest: the listing must be contiguous.
"""

import re
from pathlib import Path
from typing import NamedTuple

from mage_es.events.disk.documents import RESTORE
from mage_es.events.disk.filesystem import FileSystem
from mage_es.events.errors import LogDamaged

_SEGMENT = re.compile(r"(\d{20})-(\d{20})\.parquet")
_WAL = re.compile(r"(\d{20})\.wal")


class Range(NamedTuple):
    """Sequence numbers, both ends included."""

    first: int
    last: int


class Listing(NamedTuple):
    """The files of a log at one moment: sealed ranges, and the first sequence number of each write-ahead file."""

    segments: list[Range]
    wals: list[int]

    @property
    def sealed(self) -> int:
        """The last sequence number in any segment, or 0."""
        return self.segments[-1].last if self.segments else 0

    @property
    def tail(self) -> list[int]:
        """The write-ahead files whose events are in no segment."""
        return [first for first in self.wals if first > self.sealed]


class Layout:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.format = path / "FORMAT"
        self.head = path / "HEAD"
        self.lock = path / "LOCK"
        self.wals = path / "wal"
        self.segments = path / "seg"
        self.questions = path / "questions"
        self.golds = path / "golds"
        self.heads = path / "heads"
        self.quarantine = path / "quarantine"
        self.past = path / "past" / "log"

    def wal(self, first: int) -> Path:
        return self.wals / f"{first:020d}.wal"

    def segment(self, span: Range) -> Path:
        return self.segments / f"{span.first:020d}-{span.last:020d}.parquet"

    def vectors(self, span: Range) -> Path:
        return self.segments / f"{span.first:020d}-{span.last:020d}.vec.parquet"

    def found(self, fs: FileSystem) -> Listing:
        """Return the files that exist now, whether or not they make a whole log."""
        # Write-ahead files first: one that is sealed in between shows up twice rather than not at all.
        wals = [int(match[1]) for name in _names(fs, self.wals) if (match := _WAL.fullmatch(name))]
        segments = [match for name in _names(fs, self.segments) if (match := _SEGMENT.fullmatch(name))]
        return Listing([Range(int(match[1]), int(match[2])) for match in segments], wals)

    def events(self, fs: FileSystem) -> list[Path]:
        """Return the files that hold events, whole or not: everything among the segments, and what was appended."""
        segments = [self.segments / name for name in _names(fs, self.segments)]
        wals = [self.wals / name for name in _names(fs, self.wals)]
        return [*segments, *(path for path in wals if fs.read(path, 0, 1))]

    def listing(self, fs: FileSystem) -> Listing:
        # Copying a run badly, or deleting a file by hand, leaves names that do not add up.
        listing = self.found(fs)
        expected = 1
        for span in listing.segments:
            # No manifest that could be out of date or lost: the names themselves must add up.
            if span.first != expected:
                gap = f"events {expected} to {span.first - 1} are missing" if span.first > expected else "it overlaps"
                raise LogDamaged(f"{self.segment(span)} does not follow event {expected - 1}: {gap}. {RESTORE}")
            expected = span.last + 1
        return listing


def _names(fs: FileSystem, folder: Path) -> list[str]:
    return fs.names(folder) if fs.exists(folder) else []  # copying may drop an empty folder
