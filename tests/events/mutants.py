"""The log with one safety step taken out, each a way to lose events that the explorer must find.

Some steps guard what another one guards too, so that taking out one alone does no harm: a segment beside its
write-ahead file is sealed again by recovery, whatever it looks like. Those mutants take out both; `HARMLESS` has them
one by one.
"""

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any
from unittest.mock import patch

from mage_es.events import wal
from mage_es.events.disk import FileSystem, Layout, Range, write_new
from mage_es.events.disk.documents import Format
from mage_es.events.disk.filesystem import TEMPORARY, write_all
from mage_es.events.facts.vocabulary import Vocabulary
from mage_es.events.log import Log, recovery
from mage_es.events.log import writer as log
from mage_es.events.log.recovery import Recovered, read_head, recover
from mage_es.events.log.tail import Tail
from mage_es.events.segments import sealing
from mage_es.events.segments.sealing import seal, whole_wal
from mage_es.events.vocabulary import SegmentSealed
from mage_es.events.wal.active import ActiveWal
from tests.events.disks import ForgetfulDisk

Mutant = Callable[[ForgetfulDisk], AbstractContextManager[Any]]
"""Breaks the log, or its disk, while the context lasts."""


def _ignoring(ignored: Callable[[Path], bool]) -> Mutant:
    return lambda disk: patch.object(disk, "ignores_sync", ignored)


def _all(*mutants: Mutant) -> Mutant:
    def together(disk: ForgetfulDisk) -> ExitStack:
        stack = ExitStack()
        for mutant in mutants:
            stack.enter_context(mutant(disk))
        return stack

    return together


def _is_segment_in_the_making(path: Path) -> bool:
    return path.name.endswith(f".parquet{TEMPORARY}")


def _is_of_segments(path: Path) -> bool:
    return path.name == "seg"


# ---------------------------------------------------------------- the writer


def _no_sync_of_a_new_wal(disk: ForgetfulDisk) -> AbstractContextManager[Any]:
    def new_wal(self: Log, first: int) -> ActiveWal:
        file = self._fs.create(self._layout.wal(first))
        try:
            file.sync()
        except BaseException:
            file.close()
            raise
        return ActiveWal(first, file)

    return patch.object(Log, "_new_wal", new_wal)


def _in_place(disk: ForgetfulDisk) -> AbstractContextManager[Any]:
    def write_in_place(fs: FileSystem, path: Path, data: bytes) -> Path:
        if fs.exists(path):
            fs.unlink(path)
        file = fs.create(path)
        try:
            write_all(file, data)
            file.sync()
        finally:
            file.close()
        return path

    return patch.object(sealing, "write_temporary", write_in_place)


def _going_on(disk: ForgetfulDisk) -> AbstractContextManager[Any]:
    return patch.object(Log, "_require_sound", Log._require_active)


def _hiding_errors(disk: ForgetfulDisk) -> AbstractContextManager[Any]:
    hidden = True
    return patch.object(disk, "hides_errors", hidden)


# ---------------------------------------------------------------- recovery


def _recovering(change: Callable[[FileSystem, Layout, bytes], Recovered]) -> Mutant:
    return lambda disk: patch.object(log, "recover", change)


def _without_syncs(ignored: Callable[[Path], bool]) -> Mutant:
    """Take the syncs of some files and folders out of recovery."""

    def mutant(disk: ForgetfulDisk) -> AbstractContextManager[Any]:
        def recover_without(fs: FileSystem, layout: Layout, start: bytes) -> Recovered:
            with patch.object(disk, "ignores_sync", ignored):
                return recover(fs, layout, start)

        return patch.object(log, "recover", recover_without)

    return mutant


def _syncing_in_place(disk: ForgetfulDisk) -> AbstractContextManager[Any]:
    """Sync the last write-ahead file as it stands, instead of writing it anew."""

    def renew(fs: FileSystem, path: Path, data: bytes) -> None:
        if path.parent.name == "wal" and fs.read(path) == data:
            file = fs.append(path)
            try:
                file.sync()
            finally:
                file.close()
            fs.sync_folder(path.parent)
        else:
            write_new(fs, path, data)

    return patch.object(recovery, "write_new", renew)


def _believing(disk: ForgetfulDisk) -> AbstractContextManager[Any]:
    """Take a segment that is there for a whole one, instead of sealing its write-ahead file again."""

    def believe(fs: FileSystem, layout: Layout, first: int, about: Format, vocabulary: Vocabulary) -> SegmentSealed:
        frames = whole_wal(fs, layout, first)
        span = Range(first, frames[-1].last)
        if not fs.exists(layout.segment(span)):
            return seal(fs, layout, first, about, vocabulary)
        vectors = layout.vectors(span)
        return SegmentSealed(
            first=first,
            last=span.last,
            rows=span.last - first + 1,
            sha256=_hash(fs, layout.segment(span)),
            vectors_sha256=_hash(fs, vectors) if fs.exists(vectors) else "",
            chain=frames[-1].chain.hex(),
        )

    return patch.object(log, "seal", believe)


def _hash(fs: FileSystem, path: Path) -> str:
    return hashlib.sha256(fs.read(path)).hexdigest()


def _cut_to_head(fs: FileSystem, layout: Layout, start: bytes) -> Recovered:
    """Take HEAD for where the log ends: what follows in the last write-ahead file is thrown away."""
    bound, last = read_head(fs, layout).seq, layout.listing(fs).wals[-1]
    data = fs.read(layout.wal(last))
    begin = wal.decode(data)
    frames, _ = wal.scan(data, first=last, previous=begin.previous if isinstance(begin, wal.Frame) else b"")
    kept = [frame for frame in frames if frame.last <= bound]
    size = kept[-1].offset + kept[-1].size if kept else 0
    write_new(fs, layout.wal(last), data[:size])
    return recover(fs, layout, start)


# ---------------------------------------------------------------- readers


def _showing_all(disk: ForgetfulDisk) -> AbstractContextManager[Any]:
    """Show the last frame although neither HEAD, nor the watermark, nor a frame after it says that it is synced."""
    take = Tail._take

    def take_all(self: Tail, *args: Any) -> None:
        take(self, *args[:-1], 1 << 62)

    return patch.object(Tail, "_take", take_all)


# ---------------------------------------------------------------- all of them

MUTANTS: dict[str, Mutant] = {
    "no sync on commit": _ignoring(lambda path: path.suffix == ".wal"),
    "a segment is not synced before it is renamed": _ignoring(_is_segment_in_the_making),
    "no sync of the folder between sealing and removing the write-ahead file": _ignoring(_is_of_segments),
    "no sync of the folder after creating a write-ahead file": _no_sync_of_a_new_wal,
    "a segment is written in place, and one that is there believed": _all(_in_place, _believing),
    "recovery does not sync what it found": _without_syncs(lambda path: True),
    "recovery syncs bytes that the system calls clean": _syncing_in_place,
    "recovery removes a write-ahead file before it syncs the folder that shows its segment": _all(
        _without_syncs(_is_of_segments), _believing
    ),
    "a failed sync is ignored": _hiding_errors,
    "the writer goes on after a failed write or sync": _going_on,
    "HEAD is taken for an upper bound": _recovering(_cut_to_head),
    "a reader shows frames that may not be synced": _showing_all,
}

HARMLESS: dict[str, Mutant] = {
    "a segment is written in place": _in_place,
    "recovery does not sync the folder of the segments": _without_syncs(_is_of_segments),
    "recovery believes a segment that is there": _believing,
}
