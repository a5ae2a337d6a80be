"""Records as frame bodies: what is refused, and that what is taken comes back."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given

from mage_es.events import wal
from mage_es.events.envelope import Draft
from mage_es.events.errors import LogDamaged, UsageError
from mage_es.events.rows import RowReader, decode, encode, ids_of
from mage_es.events.upcasting import PRESENT
from mage_es.events.vocabulary import AnswerJudged, MemoryAppended, Target, TargetsSelected, TaskTypeCreated
from tests.events.samples import bits, drafts, judged, remembered


def frame_of(body: bytes, *, count: int) -> wal.Frame:
    frame = wal.decode(wal.encode(body, first=1, count=count, previous=bytes(32))[0])
    assert isinstance(frame, wal.Frame)
    return frame


@given(drafts())
def test_events_of_every_type_come_back_bit_for_bit(given_drafts: list[Draft]) -> None:
    ids = ids_of("r1", given_drafts)
    batch = encode(given_drafts, ids, 5)
    records = list(RowReader(PRESENT).records(frame_of(batch.body, count=len(ids)), "r1"))
    assert bits(record.event for record in records) == bits(draft.event for draft in given_drafts) == bits(batch.events)
    assert [record.event_id for record in records] == ids
    assert [(r.iteration, r.phase, r.ordinal, r.causation, r.correlation) for r in records] == [
        (d.iteration, d.phase, d.ordinal, d.causation, d.correlation) for d in given_drafts
    ]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"score_micro": 1 << 63}, "is above"),
        ({"score_micro": 1 << 64}, "serialize ints"),
        ({"score_micro": 0.5}, "Expected `int`"),
        ({"answer": None}, "Expected `str`"),
        ({"answer": "\ud800"}, "surrogates"),
        ({"purpose": "fun"}, "Invalid enum value"),
        ({"correct": object()}, "unsupported"),
    ],
)
def test_an_event_that_could_not_be_read_back_is_refused(change: dict[str, object], says: str) -> None:
    event = msgspec.structs.replace(judged(1).event, **change)
    draft = Draft(event=event, iteration=0, phase="evaluate")
    with pytest.raises(UsageError, match=says):
        encode([judged(2), draft], ids_of("r1", [judged(2), draft]), 5)


def test_an_integer_too_large_inside_a_part_is_refused() -> None:
    target = Target(task_type="ages", failures=1 << 63, attempts=2, last_selected=0)
    event = TargetsSelected(iteration=0, targets=(target,), newly_observed=())
    draft = Draft(event=event, iteration=0, phase="evolve")
    with pytest.raises(UsageError, match="is above"):
        encode([draft], ids_of("r1", [draft]), 5)


def test_a_vector_that_is_not_float32_is_refused() -> None:
    with pytest.raises(UsageError, match="no whole number of float32"):
        encode([remembered(1, vector=b"123")], [bytes(16)], 5)


def test_events_come_back_as_readers_will_see_them_not_as_they_were_given() -> None:
    loose = msgspec.structs.replace(remembered(1).event, steps=[])
    [event] = encode([Draft(event=loose, iteration=0, phase="update")], [bytes(16)], 5).events
    assert isinstance(event, MemoryAppended)
    assert event.steps == ()


def test_a_header_out_of_range_is_refused() -> None:
    event = TaskTypeCreated(task_type="ages", description="")
    for draft in (
        Draft(event=event, iteration=1 << 31, phase="open"),
        Draft(event=event, iteration=0, phase="open", causation=-1),
        Draft(event=event, iteration=0, phase="sleep"),  # type: ignore[arg-type]
    ):
        with pytest.raises(UsageError):
            encode([draft], [bytes(16)], 5)


def test_one_append_cannot_hold_the_same_fact_twice() -> None:
    with pytest.raises(UsageError, match=r"answer.judged about question/q1 .* give them different ordinals"):
        ids_of("r1", [judged(1), judged(2), judged(1)])


def test_an_append_above_the_frame_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mage_es.events.rows.MAX_BODY", 500)
    with pytest.raises(UsageError, match="split it"):
        encode([judged(n) for n in range(9)], [bytes([n]) * 16 for n in range(9)], 5)


def test_only_wanted_types_are_decoded() -> None:
    given_drafts = [judged(1), remembered(2), judged(3)]
    batch = encode(given_drafts, ids_of("r1", given_drafts), 5)
    frame = frame_of(batch.body, count=3)
    assert list(RowReader(PRESENT).events(frame, {"answer.judged"})) == [(1, batch.events[0]), (3, batch.events[2])]
    assert all(isinstance(event, AnswerJudged) for event in (batch.events[0], batch.events[2]))


def test_a_body_that_holds_no_records_is_damage() -> None:
    for body, count in ((b"\xc1", 1), (msgspec.msgpack.encode([1]), 1), (msgspec.msgpack.encode([]), 1)):
        with pytest.raises(LogDamaged):
            decode(frame_of(body, count=count))
