"""The frame codec by itself."""

import struct

import google_crc32c
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.events import wal

START = bytes(32)


def chained(*bodies: bytes) -> tuple[bytes, list[bytes]]:
    data, chain, first, chains = b"", START, 1, []
    for body in bodies:
        frame, chain = wal.encode(body, first=first, count=2, previous=chain)
        data, first = data + frame, first + 2
        chains.append(chain)
    return data, chains


@given(st.lists(st.binary(max_size=6000) | st.just(b"long " * 4000), max_size=5))
def test_frames_come_back_as_they_were_written(bodies: list[bytes]) -> None:
    data, chains = chained(*bodies)
    frames, broken = wal.scan(data, first=1, previous=START)
    assert broken is None
    assert [frame.body for frame in frames] == bodies
    assert [frame.chain for frame in frames] == chains
    assert [frame.first for frame in frames] == list(range(1, 2 * len(bodies), 2))
    assert sum(frame.size for frame in frames) == len(data)


@pytest.mark.parametrize(("codec", "flags"), [(1, 0), (3, 0), (2, 1)])
def test_a_frame_in_another_form_is_not_taken_for_damage(codec: int, flags: int) -> None:
    covered = struct.pack("<4sBBIQI32s", b"MGE1", codec, flags, 3, 1, 1, START) + b"one"
    broken = wal.decode(covered + struct.pack("<I", google_crc32c.value(covered)))
    assert isinstance(broken, wal.Broken) and broken.kind == "alien"
    assert "written by a newer release?" in broken.problem


def test_a_cut_at_any_byte_leaves_a_torn_frame_and_those_before_it() -> None:
    data, _ = chained(b"one", b"two", b"long " * 1000)
    ends = [frame.offset + frame.size for frame in wal.scan(data, first=1, previous=START)[0]]
    for size in range(len(data)):
        frames, broken = wal.scan(data[:size], first=1, previous=START)
        assert len(frames) == sum(end <= size for end in ends)
        assert (broken is None) == (size in (0, *ends))
        assert broken is None or broken.kind == "torn"


def test_a_flip_of_any_bit_is_noticed() -> None:
    data, _ = chained(b"one", b"two")
    for position in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[position // 8] ^= 1 << position % 8
        frames, broken = wal.scan(bytes(flipped), first=1, previous=START)
        assert broken is not None
        assert [frame.body for frame in frames] == [b"one", b"two"][: len(frames)]


@given(st.binary(max_size=300))
def test_no_bytes_whatever_are_taken_for_a_frame(data: bytes) -> None:
    frames, broken = wal.scan(data, first=1, previous=START)
    assert not frames
    assert (broken is None) == (not data)


def test_a_whole_frame_of_another_place_or_another_log_is_alien() -> None:
    elsewhere, _ = wal.encode(b"x", first=7, count=1, previous=START)
    other_log, _ = wal.encode(b"x", first=1, count=1, previous=b"\1" * 32)
    for frame in (elsewhere, other_log):
        frames, broken = wal.scan(frame, first=1, previous=START)
        assert not frames
        assert broken is not None and broken.kind == "alien"


def test_a_whole_frame_behind_damage_is_found() -> None:
    data, _ = chained(b"one", b"two", b"three")
    second = wal.scan(data, first=1, previous=START)[0][1]
    damaged = data[: second.offset] + b"\0" * 10 + data[second.offset + 10 :]
    frames, broken = wal.scan(damaged, first=1, previous=START)
    assert [frame.body for frame in frames] == [b"one"]
    assert broken is not None
    after = wal.frame_after(damaged, broken.offset)
    assert after is not None and after.body == b"three"
    assert wal.frame_after(damaged, after.offset) is None


def test_a_length_above_the_limit_is_refused_before_it_is_read() -> None:
    data, _ = chained(b"one")
    huge = data[:6] + b"\xff\xff\xff\xff" + data[10:]
    broken = wal.decode(huge)
    assert isinstance(broken, wal.Broken) and "above the limit" in broken.problem
