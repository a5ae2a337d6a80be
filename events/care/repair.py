"""Repair: truncate a damaged log after its last intact event, if there is no copy to restore it from.

Nothing is thrown away. If a repair is interrupted, the log is either still refused or already records the cut.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from mage_es.events import wal
from mage_es.events.care.survey import Scrap, Survey, survey
from mage_es.events.disk.documents import Head, HeadNote, pack
from mage_es.events.disk.filesystem import FileSystem, LocalFileSystem, write_new
from mage_es.events.disk.layout import Layout
from mage_es.events.disk.lock import WriterLock
from mage_es.events.errors import PrerequisiteError
from mage_es.events.facts import Draft, Event, LogRepaired, Vocabulary
from mage_es.events.wal.bodies import body_of


class CutOut(msgspec.Struct, frozen=True, kw_only=True):
    """Bytes that a repair takes out of a file, and where in quarantine/ they are kept."""

    file: str
    offset: int
    bytes: int
    kept_in: str


class RepairReport(msgspec.Struct, frozen=True, kw_only=True):
    """What is wrong with a log, and what is, or would be, lost by cutting it to its last whole prefix.

    The prefix ends with event `whole_seq`. `lost_first` is 0 if no event is lost; `lost_last` is 0 if nothing shows how
    far the log went; `reached` is the last iteration that appears in what is lost, -1 if none. `done` is whether the
    log was cut; what is cut out is in the folder `kept`; `head_seq` and `head_chain` are its present head. The caller
    adds what verifying the repaired log showed: `left`, which a repair cannot fix, `mends`, which opening the log fixes
    without a cut, the last iteration `closed` in what is left (-1: none), and the `exams` that no longer count because
    their record was cut off.
    """

    problems: tuple[str, ...]
    whole_seq: int
    lost_first: int
    lost_last: int
    cuts: tuple[CutOut, ...]
    done: bool
    head_seq: int
    head_chain: str
    kept: str = ""
    reached: int = -1
    closed: int = -1
    left: tuple[str, ...] = ()
    mends: tuple[str, ...] = ()
    exams: tuple[str, ...] = ()

    @property
    def lost(self) -> str:
        """How many events are, or would be, lost: a number, `all` if nothing shows how many, or "" for none."""
        if not self.lost_first:
            return ""
        return str(self.lost_last - self.lost_first + 1) if self.lost_last else "all"


def plan_repair(path: Path, fs: FileSystem | None = None, *, vocabulary: Vocabulary | None = None) -> RepairReport:
    """Return what `repair_log` would do; nothing is changed. Raises `UsageError` (not a log), `LogDamaged` (FORMAT)."""
    fs, layout = fs or LocalFileSystem(), Layout(path)
    found = survey(fs, layout, vocabulary or Vocabulary.default)
    return _report(layout, found, _cuts(fs, layout, found.scraps), found.head, done=False)


def repair_log(
    path: Path, *, clock: Callable[[], int], fs: FileSystem | None = None, vocabulary: Vocabulary | None = None
) -> RepairReport:
    """Truncate a log that cannot be opened: cut it after its last intact event, and record the cut in it. An intact log
    is left unchanged."""
    fs, layout = fs or LocalFileSystem(), Layout(path)
    try:
        lock = WriterLock(fs, layout.lock)
        try:
            return _repair(fs, layout, lock, clock, vocabulary or Vocabulary.default)
        finally:
            lock.release()
    except OSError as error:
        raise PrerequisiteError(f"cannot repair {path}: {error}. Fix that, then repair again.") from error


def _repair(
    fs: FileSystem, layout: Layout, lock: WriterLock, clock: Callable[[], int], vocabulary: Vocabulary
) -> RepairReport:
    found = survey(fs, layout, vocabulary)
    cuts = _cuts(fs, layout, found.scraps)
    # Opening the log fixes this by itself; a repair would only lose the tail.
    if not found.problems:
        return _report(layout, found, cuts, found.head, done=False)
    for folder in (layout.segments, layout.quarantine, layout.wals):
        fs.make_folder(folder)
    for scrap, cut in zip(found.scraps, cuts, strict=True):
        # Copies first, all of them synced, before any file of the log is touched.
        write_new(fs, layout.quarantine / cut.kept_in, scrap.data)
    # One rename makes the cut and its record visible together.
    frames, head = _records_of(found, cuts, clock(), vocabulary)
    write_new(fs, layout.wal(found.last_wal), found.kept + frames)
    for scrap in found.scraps:
        # Files cut at an offset are replaced by now; whole files are removed one by one.
        if scrap.offset == 0 and scrap.file not in (layout.head, layout.wal(found.last_wal)):
            fs.unlink(scrap.file)
    for folder in sorted({layout.segments, layout.wals, *(scrap.file.parent for scrap in found.scraps)}):
        fs.sync_folder(folder)
    # HEAD last: with the old one the log stays refused, so an interrupted repair can run again.
    write_new(fs, layout.head, pack(HeadNote(seq=head.seq, chain=head.chain)))
    lock.publish(head.seq)
    return _report(layout, found, cuts, head, done=True)


def _records_of(found: Survey, cuts: Sequence[CutOut], now: int, vocabulary: Vocabulary) -> tuple[bytes, Head]:
    repaired = LogRepaired(
        cut_first=found.lost.first,
        cut_last=found.lost.last,
        reason="; ".join(found.problems),
        quarantined=tuple(cut.kept_in for cut in cuts),
    )
    # A segment whose hash record was cut off gets a new one, or nothing would vouch for it.
    events: list[Event] = [repaired] if found.unrecorded is None else [found.unrecorded, repaired]
    data, head = b"", found.head
    for event in events:
        draft = Draft(event=event, iteration=-1, phase="log", ordinal=head.seq + 1)
        body = body_of([draft], now, vocabulary)
        frame, chain = wal.encode(body, first=head.seq + 1, count=1, previous=bytes.fromhex(head.chain))
        data, head = data + frame, Head(head.seq + 1, chain.hex())
    return data, head


def _cuts(fs: FileSystem, layout: Layout, scraps: Sequence[Scrap]) -> list[CutOut]:
    number = len(fs.names(layout.quarantine)) if fs.exists(layout.quarantine) else 0
    return [
        CutOut(
            file=str(scrap.file.relative_to(layout.path)),
            offset=scrap.offset,
            bytes=len(scrap.data),
            kept_in=f"{scrap.file.name}.{scrap.offset}.{place}",
        )
        for place, scrap in enumerate(scraps, number)
    ]


def _report(layout: Layout, found: Survey, cuts: Sequence[CutOut], head: Head, *, done: bool) -> RepairReport:
    return RepairReport(
        problems=found.problems,
        whole_seq=found.head.seq,
        lost_first=found.lost.first,
        lost_last=found.lost.last,
        cuts=tuple(cuts),
        done=done,
        head_seq=head.seq,
        head_chain=head.chain,
        kept=str(layout.quarantine),
        reached=found.reached,
    )
