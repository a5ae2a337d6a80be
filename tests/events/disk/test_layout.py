"""Names of files, and which of them together are a log."""

from pathlib import Path

import pytest

from mage_es.events.disk import Layout, LocalFileSystem, Range
from mage_es.events.disk.layout import Listing
from mage_es.events.errors import LogDamaged


def laid_out(path: Path, *spans: tuple[int, int], wals: tuple[int, ...] = ()) -> Layout:
    layout = Layout(path)
    for folder in (layout.segments, layout.wals):
        folder.mkdir()
    for span in spans:
        layout.segment(Range(*span)).touch()
        layout.vectors(Range(*span)).touch()
    for first in wals:
        layout.wal(first).touch()
    (layout.segments / "x.parquet.tmp").touch()
    return layout


def test_a_listing_names_segments_and_write_ahead_files_in_order(tmp_path: Path) -> None:
    layout = laid_out(tmp_path, (9, 12), (1, 8), wals=(9, 13))
    listing = layout.listing(LocalFileSystem())
    assert listing == Listing([Range(1, 8), Range(9, 12)], [9, 13])
    assert (listing.sealed, listing.tail) == (12, [13])


@pytest.mark.parametrize(
    ("spans", "says"),
    [([(2, 8)], "events 1 to 1 are missing"), ([(1, 8), (10, 12)], "9 to 9"), ([(1, 8), (8, 12)], "overlaps")],
)
def test_segments_with_a_hole_or_an_overlap_are_refused(
    tmp_path: Path, spans: list[tuple[int, int]], says: str
) -> None:
    with pytest.raises(LogDamaged, match=says):
        laid_out(tmp_path, *spans).listing(LocalFileSystem())


def test_an_empty_folder_that_copying_dropped_is_as_good_as_empty(tmp_path: Path) -> None:
    layout = laid_out(tmp_path, wals=(1,))
    (layout.segments / "x.parquet.tmp").unlink()
    layout.segments.rmdir()
    assert layout.listing(LocalFileSystem()) == Listing([], [1])
