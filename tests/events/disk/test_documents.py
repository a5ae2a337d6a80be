"""FORMAT and HEAD as self-checking JSON."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.events.disk.documents import Format, HeadNote, genesis, pack, unpack
from mage_es.events.errors import LogDamaged

ABOUT = Format(format=1, log_id="1f", run="r1", hash="sha256", created=5)


def test_a_document_is_plain_json_for_everybody_else() -> None:
    shown = json.loads(pack(ABOUT))
    assert len(shown.pop("crc32c")) == 8
    assert shown == {"format": 1, "log_id": "1f", "run": "r1", "hash": "sha256", "created": 5}


@given(st.integers(), st.text())
def test_a_document_comes_back_whatever_it_says(created: int, run: str) -> None:
    about = Format(format=1, log_id="1f", run=run, hash="sha256", created=created % (1 << 60))
    assert unpack(pack(about), Format, name="FORMAT") == about


@given(st.integers(-(1 << 63), (1 << 63) - 1), st.text())
def test_a_checksum_does_not_make_a_document_of_anything(seq: int, chain: str) -> None:
    note = HeadNote(seq=seq, chain=chain)
    try:
        assert unpack(pack(note), HeadNote, name="HEAD") == note
    except LogDamaged as error:
        assert "not in this release's form" in str(error)
        assert seq < 0 or len(chain) not in (0, 64) or not chain.isascii()


def test_a_flip_of_any_bit_is_noticed() -> None:
    data = pack(ABOUT)
    for position in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[position // 8] ^= 1 << position % 8
        with pytest.raises(LogDamaged, match="FORMAT is damaged"):
            unpack(bytes(flipped), Format, name="FORMAT")


@given(st.binary(max_size=200))
def test_no_bytes_whatever_are_taken_for_a_document(data: bytes) -> None:
    with pytest.raises(LogDamaged):
        unpack(data, Format, name="FORMAT")


def test_every_log_starts_its_chain_elsewhere() -> None:
    assert genesis(pack(ABOUT)) != genesis(pack(Format(format=1, log_id="2f", run="r1", hash="sha256", created=5)))
