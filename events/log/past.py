"""The past of a log: an earlier log that it continues. It takes some of that log's events, numbered from 0 downwards.

Rules
    - The other log is in past/, complete: its sealed files are hard-linked, so that a fork copies nothing and no longer
      needs the other's folder. It never changes.
    - FORMAT says which events are taken and where the other log ended, and the chain begins with a hash of FORMAT. So a
      head vouches for the whole past as well.
    - The last event taken has number 0 or less, and a log's own events begin with 1. If the other log has a past
      itself, its numbers continue downwards.
"""

from mage_es.events import wal
from mage_es.events.disk.documents import HeadNote, pack
from mage_es.events.disk.filesystem import TEMPORARY, FileSystem, write_new
from mage_es.events.disk.layout import Layout, Listing
from mage_es.events.errors import PrerequisiteError


def link(fs: FileSystem, layout: Layout, target: Layout, listing: Listing, frames: list[wal.Frame]) -> None:
    """Make `target` the same log, with its sealed files and questions as hard links to this one's. FORMAT is written
    last: without it, after a crash, this is done again. Raises `PrerequisiteError` if nothing vouches for the newest
    sealed file."""
    if not frames:
        raise PrerequisiteError(f"{layout.path} has nothing to continue from at the moment: try again later.")
    names = {layout.segments: target.segments, layout.questions: target.questions, layout.golds: target.golds}
    sealed = {path.name for span in listing.segments for path in (layout.segment(span), layout.vectors(span))}
    for source, folder in names.items():
        if not fs.exists(source):
            continue
        fs.make_folder(folder)
        for name in fs.names(folder):
            fs.unlink(folder / name)
        for name in fs.names(source):
            if not name.endswith(TEMPORARY) and (name in sealed or source != layout.segments):
                fs.link(source / name, folder / name)
        fs.sync_folder(folder)
    for folder in (target.wals, target.quarantine):
        fs.make_folder(folder)
    for name in fs.names(target.wals):
        fs.unlink(target.wals / name)
    # The unsealed file is copied: the other log still appends to it, and it is small.
    data, chain = bytearray(), frames[0].previous
    for frame in frames:
        encoded, chain = wal.encode(frame.body, first=frame.first, count=frame.events, previous=chain)
        data += encoded
    write_new(fs, target.wal(frames[0].first), bytes(data))
    write_new(fs, target.head, pack(HeadNote(seq=frames[-1].last, chain=chain.hex())))
    write_new(fs, target.format, fs.read(layout.format))
