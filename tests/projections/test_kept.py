"""Things kept by id."""

import msgspec

from mage_es.events.vocabulary import MemoryQuarantined, MemoryReleased
from mage_es.projections.kept import Kept
from tests.kit.stages import round_trip


class Row(msgspec.Struct, frozen=True):
    text: str


def kept(**rows: str) -> Kept[Row]:
    found: Kept[Row] = Kept()
    for key, text in rows.items():
        found.put(key, Row(text))
    return found


def quarantined(name: str) -> MemoryQuarantined:
    return MemoryQuarantined(memory_id=name, reason="", by="")


def test_quarantine_takes_out_of_use_and_release_brings_back() -> None:
    rows = kept(a="x", b="y")
    rows.curate(quarantined("a"))
    assert [row.text for row in rows.in_use(["a", "b"])] == ["y"]
    assert rows.is_quarantined("a") and "a" in rows and rows["a"] == Row("x")

    rows.curate(MemoryReleased(memory_id="a", reason="", by=""))
    assert [row.text for row in rows.in_use(["b", "a"])] == ["y", "x"]


def test_ids_of_other_projections_are_passed_over() -> None:
    rows, before = kept(a="x"), kept(a="x").digest()
    rows.curate(quarantined("elsewhere"))
    rows.curate(MemoryReleased(memory_id="elsewhere", reason="", by=""))
    assert rows.digest() == before and len(rows) == 1 and rows.get("elsewhere") is None


def test_the_digest_sees_ids_rows_and_quarantine_and_no_order() -> None:
    digests = {kept().digest(), kept(a="x").digest(), kept(a="y").digest(), kept(b="x").digest()}
    rows = kept(a="x")
    digests.add(rows.digest())
    rows.curate(quarantined("a"))
    digests.add(rows.digest())

    assert len(digests) == 5
    assert kept(a="x", b="y").digest() == kept(b="y", a="x").digest()


def test_what_was_dumped_comes_back_as_it_was() -> None:
    rows = kept(a="x", b="y")
    rows.curate(quarantined("b"))

    found = Kept.of(round_trip(rows.dump()), Row)
    assert found.digest() == rows.digest()
    assert list(found) == ["a", "b"] and [row.text for row in found.in_use(["a", "b"])] == ["x"]
