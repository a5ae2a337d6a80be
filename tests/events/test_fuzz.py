"""Whatever bytes the readers are given, they return what was written or raise an error of the package."""

import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import google_crc32c
import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mage_es.events import wal
from mage_es.events.care import plan_repair, verify_log
from mage_es.events.disk import Layout, LocalFileSystem, Range
from mage_es.events.disk.documents import Format, HeadNote, pack, unpack
from mage_es.events.errors import LogError, MageError, UsageError
from mage_es.events.log import Log, LogReader, markers
from mage_es.events.log.recovery import read_format, read_head
from mage_es.events.segments.reader import Segment
from mage_es.events.segments.schema import Description
from mage_es.events.vocabulary import MAGE_ES, IterationClosed
from mage_es.events.wal.bodies import FrameReader, rows_of
from mage_es.projections.fold import fold
from mage_es.projections.snapshot_files import ended, latest_snapshot, write_snapshot
from tests.events.samples import abandon, bits, clock, closed, judged, remembered
from tests.kit.sources import ListSource, chain_at
from tests.kit.stages import flat, with_digests
from tests.kit.strategies import history

pytestmark = pytest.mark.slow

ZERO = bytes(32)


@st.composite
def mutated(draw: st.DrawFn, data: bytes) -> bytes:
    """Return bytes that differ from `data` in a few places: changed, cut out, put in, or the end cut off."""
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, max(len(data) - 1, 0)))
        taken = draw(st.sampled_from([0, 1, 1, 2, 4, 16, 512]))
        data = data[:start] + draw(st.binary(max_size=max(taken, 1))) + data[start + taken :]
        if draw(st.integers(0, 9)) == 0:
            data = data[: draw(st.integers(0, len(data)))]
    return data


def framed(body: bytes, *, count: int = 1) -> bytes:
    return wal.encode(body, first=1, count=count, previous=ZERO)[0]


FRAMES = b"".join(
    wal.encode(body, first=first, count=2, previous=previous)[0]
    for first, previous, body in [(1, ZERO, b"abc"), (3, wal.chain_of(ZERO, 1, 2, b"abc"), bytes(5000))]
)


# ------------------------------------------------------------ frames and rows


@given(st.binary(max_size=300) | mutated(FRAMES), st.integers(0, 80))
@settings(max_examples=150)
def test_no_bytes_are_taken_for_frames_that_were_not_written(data: bytes, offset: int) -> None:
    assert isinstance(wal.decode(data, offset), wal.Frame | wal.Broken)
    frames, broken = wal.scan(data, first=1, previous=ZERO)
    whole, _ = wal.scan(FRAMES, first=1, previous=ZERO)
    assert [frame.body for frame in frames] == [frame.body for frame in whole][: len(frames)]
    assert broken is not None or not data or len(frames) > 0
    wal.frame_after(data, offset)


@given(st.binary(max_size=200), st.integers(0, 255), st.integers(0, 255), st.integers(0, (1 << 32) - 1))
def test_a_right_checksum_over_nonsense_is_no_frame_or_one_of_nonsense(
    stored: bytes, codec: int, flags: int, count: int
) -> None:
    header = struct.pack("<4sBBIQI32s", b"MGE1", codec, flags, len(stored), 1, count, ZERO) + stored
    data = header + struct.pack("<I", google_crc32c.value(header))
    found = wal.decode(data)
    if isinstance(found, wal.Frame):
        read_all(found)


NUMBERS = st.booleans() | st.integers(-(1 << 63), (1 << 64) - 1) | st.floats()
VALUES = st.recursive(
    st.none() | NUMBERS | st.text(max_size=4) | st.binary(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
TYPES = st.sampled_from(["answer.judged", "memory.appended", "log.segment_sealed", "nobody.knows", ""])
PAYLOADS = VALUES | st.fixed_dictionaries({"type": TYPES | VALUES}, optional={"iteration": VALUES, "first": VALUES})


def read_all(frame: wal.Frame) -> None:
    """Read a frame in every way; only errors of the package may come out."""
    for tags in (None, {"answer.judged"}, {"nobody.knows"}):
        try:
            rows = rows_of(frame)
            assert len(rows) == frame.events
            list(FrameReader(MAGE_ES).records(frame, "r1", tags))
            list(FrameReader(MAGE_ES).events(frame, {row.type for row in rows}))
        except LogError:
            continue


DRAFTS = st.tuples(
    PAYLOADS,
    st.integers(-1, 9) | VALUES,
    st.sampled_from(["open", "log", "update"]) | VALUES,
    st.integers(0, 3),
    st.integers(0, 3),
    st.text(max_size=3),
)
BODIES = st.tuples(st.integers(0, 9), st.dictionaries(TYPES, st.integers(0, 3)), st.lists(DRAFTS, max_size=3))


@given(BODIES | st.tuples(VALUES, VALUES, VALUES), st.integers(1, 3))
@settings(max_examples=150)
def test_a_whole_frame_of_any_drafts_is_read_or_refused(body: Any, count: int) -> None:
    frame = wal.decode(framed(msgspec.msgpack.encode(body), count=count))
    assert isinstance(frame, wal.Frame)
    read_all(frame)


@given(st.binary(max_size=100))
def test_a_whole_frame_of_any_bytes_is_read_or_refused(body: bytes) -> None:
    frame = wal.decode(framed(body))
    assert isinstance(frame, wal.Frame)
    read_all(frame)


# ------------------------------------------------------------ whole logs


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of one segment with vectors and a tail, which tests change and put right again."""
    path = tmp_path_factory.mktemp("fuzz") / "log"
    with Log.create(path, run="r1", clock=clock()) as log:
        log.append([judged(1), remembered(2), closed(0)])
    log = Log.open(path, clock=clock())
    log.append([judged(3)])
    log.append([judged(4), remembered(5)])
    abandon(log)
    return path


@given(data=st.data())
def test_a_log_whose_write_ahead_file_is_anything_is_read_or_refused(path: Path, data: st.DataObject) -> None:
    file = max((path / "wal").iterdir())
    whole = file.read_bytes()
    right = list(LogReader(path).records())
    file.write_bytes(data.draw(st.binary(max_size=200) | mutated(whole)))
    try:
        for use in (verify_log, plan_repair):
            with suppress(MageError):
                use(path)
        with suppress(MageError):
            found = list(LogReader(path).records())
            assert bits(found) == bits(right[: len(found)])
    finally:
        file.write_bytes(whole)


@pytest.fixture(scope="module")
def sealed(path: Path) -> tuple[bytes, bytes]:
    """The bytes of a segment and of its vectors."""
    segment = next(file for file in (path / "seg").iterdir() if ".vec." not in file.name)
    return segment.read_bytes(), next((path / "seg").glob("*.vec.parquet")).read_bytes()


@given(data=st.data())
@settings(max_examples=75)
def test_a_segment_that_nobody_hashed_is_read_or_refused(sealed: tuple[bytes, bytes], data: st.DataObject) -> None:
    """Only the page checksums and the description's stand between these bytes and a reader."""
    segment, vectors = sealed
    which = data.draw(st.sampled_from(["segment", "vectors", "footer"]))
    if which == "vectors":
        vectors = data.draw(mutated(vectors))
    elif which == "segment":
        segment = data.draw(mutated(segment))
    else:
        segment = segment[:-2000] + data.draw(mutated(segment[-2000:]))
    try:
        found = Segment(segment, lambda: vectors, name="seg", vocabulary=MAGE_ES)
        records = found.records(Range(1, 3))
        for iteration in found.iterations():
            list(found.coordinates(iteration))
    except LogError as error:
        assert str(error)
        return
    assert all(type(record.seq) is int for record in records)


# ------------------------------------------------------------ documents, snapshots, markers


@given(VALUES, st.sampled_from([Format, HeadNote, Description]))
def test_a_document_of_any_json_with_its_checksum_is_read_or_refused(value: Any, kind: type[msgspec.Struct]) -> None:
    try:
        body = msgspec.json.encode(value)[:-1]
    except (ValueError, TypeError, msgspec.MsgspecError):
        return
    data = body + b',"crc32c":"%08x"}\n' % google_crc32c.value(body)
    try:
        assert isinstance(unpack(data, kind, name="X"), kind)
    except LogError as error:
        assert "X " in str(error)


@given(data=st.binary(max_size=120) | mutated(pack(HeadNote(seq=3, chain="ab" * 32))))
def test_any_bytes_in_format_and_head_are_refused_or_were_written(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    folder = tmp_path_factory.getbasetemp() / "documents"
    folder.mkdir(exist_ok=True)
    for name in ("FORMAT", "HEAD"):
        (folder / name).write_bytes(data)
    with pytest.raises(LogError):
        read_format(LocalFileSystem(), Layout(folder))
    with suppress(LogError):
        assert read_head(LocalFileSystem(), Layout(folder)) == HeadNote(seq=3, chain="ab" * 32)


EVENTS = with_digests(flat(history(seed=9, iterations=2, questions=2)))
SEQ = max(seq for seq, event in enumerate(EVENTS, start=1) if isinstance(event, IterationClosed))


@pytest.fixture(scope="module")
def snapshot(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A snapshot that agrees with its log."""
    folder, state = tmp_path_factory.mktemp("snapshots"), fold(ListSource(EVENTS), until=SEQ)
    return write_snapshot(folder, state, chain=chain_at(EVENTS, SEQ))


@given(data=st.data())
def test_a_snapshot_of_any_bytes_changes_no_state(snapshot: Path, data: st.DataObject) -> None:
    whole, right = snapshot.read_bytes(), fold(ListSource(EVENTS), until=SEQ).digests()
    packed = VALUES.filter(_is_encodable).map(msgspec.msgpack.encode)
    body = data.draw(st.binary(max_size=60) | packed)
    signed = ended(body)
    snapshot.write_bytes(data.draw(st.sampled_from([signed, body]) | mutated(whole)))
    state = latest_snapshot(snapshot.parent, ListSource(EVENTS))
    assert fold(ListSource(EVENTS), state=state, until=SEQ).digests() == right
    snapshot.write_bytes(whole)
    assert latest_snapshot(snapshot.parent, ListSource(EVENTS)) is not None


def _is_encodable(value: Any) -> bool:
    try:
        msgspec.msgpack.encode(value)
    except (ValueError, OverflowError, TypeError):
        return False
    return True


@given(st.text(max_size=30) | st.from_regex(r"(seq:|iter-|start|latest)[0-9a-z/]{0,22}"))
@example("iter-٣")
@example("seq:٣")
@example("iter-1\n")
def test_any_text_is_a_marker_or_a_usage_error(text: str) -> None:
    try:
        marker = markers.parse(text)
    except UsageError as error:
        assert str(error)
    else:
        assert markers.parse(str(marker)) == marker
