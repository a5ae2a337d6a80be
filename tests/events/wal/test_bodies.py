"""Records as frame bodies: what is refused, and that what is taken comes back."""

import msgspec
import pytest
from hypothesis import given

from mage_es.events import vocabulary as v
from mage_es.events import wal
from mage_es.events.errors import LogDamaged, UsageError
from mage_es.events.facts.envelope import event_id
from mage_es.events.wal.bodies import FrameReader, bodies_of, body_of, rows_of, storable
from mage_es.events.wal.storable import Checks, coordinates_of
from tests.events.samples import bits, drafts, judged, remembered


def frame_of(body: bytes, *, count: int) -> wal.Frame:
    frame = wal.decode(wal.encode(body, first=1, count=count, previous=bytes(32))[0])
    assert isinstance(frame, wal.Frame)
    return frame


def written(given_drafts: list[v.Draft]) -> wal.Frame:
    exact, _ = storable(given_drafts, v.MAGE_ES)
    return frame_of(body_of(exact, 5, v.MAGE_ES), count=len(exact))


@pytest.mark.slow
@given(drafts())
def test_events_of_every_type_come_back_bit_for_bit_and_so_does_their_commit(
    given_drafts: list[v.Draft],
) -> None:
    exact, facts = storable(given_drafts, v.MAGE_ES)
    frame = written(given_drafts)
    records = list(FrameReader(v.MAGE_ES).records(frame, "r1"))
    assert bits(r.event for r in records) == bits(d.event for d in given_drafts) == bits(d.event for d in exact)
    assert [record.event_id for record in records] == [event_id("r1", draft.fact_id) for draft in given_drafts]
    assert {record.ts_us for record in records} == {5}
    assert [(r.iteration, r.phase, r.ordinal, r.causation, r.correlation) for r in records] == [
        (d.iteration, d.phase, d.ordinal, d.causation, d.correlation) for d in given_drafts
    ]
    assert facts == [draft.coordinates for draft in given_drafts] == coordinates_of(given_drafts, Checks(v.MAGE_ES))
    assert bits([FrameReader(v.MAGE_ES).commit(frame)]) == bits([(5, given_drafts)])
    assert list(bodies_of(records, v.MAGE_ES)) == [(1, len(given_drafts), frame.body)]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"score_micro": 1 << 63}, "is above"),
        ({"score_micro": 1 << 64}, "serialize ints"),
        ({"score_micro": -(1 << 63) - 1}, "serialize ints"),
        ({"score_micro": 0.5}, "Expected `int`"),
        ({"score_micro": True}, "Expected `int`"),
        ({"answer": None}, "Expected `str`"),
        ({"answer": "\ud800"}, "surrogates"),
        ({"purpose": "fun"}, "Invalid enum value"),
        ({"correct": object()}, "unsupported"),
        ({"correct": 1}, "Expected `bool`"),
    ],
)
def test_an_event_that_could_not_be_read_back_is_refused(change: dict[str, object], says: str) -> None:
    event = msgspec.structs.replace(judged(1).event, **change)
    draft = v.Draft(event=event, iteration=0, phase="evaluate")
    with pytest.raises(UsageError, match=says):
        written([judged(2), draft])


def test_an_integer_too_large_inside_a_part_is_refused() -> None:
    target = v.Target(task_type="ages", failures=1 << 63, attempts=2, last_selected=0)
    event = v.TargetsSelected(iteration=0, targets=(target,), newly_observed=())
    draft = v.Draft(event=event, iteration=0, phase="evolve")
    with pytest.raises(UsageError, match="is above"):
        written([draft])


def test_a_vector_that_is_not_float32_is_refused() -> None:
    with pytest.raises(UsageError, match="not a whole number of float32"):
        written([remembered(1, vector=b"123")])


def test_what_was_sealed_is_recorded_by_the_log_only() -> None:
    event = v.SegmentSealed(first=1, last=2, rows=2, sha256="", vectors_sha256="", chain="")
    with pytest.raises(UsageError, match="only the log itself"):
        written([v.Draft(event=event, iteration=-1, phase="log")])


def test_events_come_back_as_readers_will_see_them_not_as_they_were_given() -> None:
    loose = msgspec.structs.replace(remembered(1).event, steps=[])
    mastery = v.MasteryUpdated(iteration=0, skill="s", before=0, after=1, evidence=1, successes=1, failures=0)
    given_drafts = [v.Draft(event=event, iteration=0, phase="update") for event in (loose, mastery)]
    exact, facts = storable(given_drafts, v.MAGE_ES)
    first, second = (draft.event for draft in exact)
    assert isinstance(first, v.MemoryAppended)
    assert first.steps == ()
    assert isinstance(second, v.MasteryUpdated)
    assert isinstance(second.after, float)
    assert facts == [draft.coordinates for draft in given_drafts]


def test_a_header_out_of_range_is_refused() -> None:
    event = v.TaskTypeCreated(task_type="ages", description="")
    for draft in (
        v.Draft(event=event, iteration=1 << 31, phase="open"),
        v.Draft(event=event, iteration=0, phase="open", causation=-1),
        v.Draft(event=event, iteration=0, phase="sleep"),  # type: ignore[arg-type]
    ):
        with pytest.raises(UsageError):
            written([draft])


def test_one_append_cannot_hold_the_same_fact_twice() -> None:
    with pytest.raises(UsageError, match=r"answer.judged about question/q1 .* give them different ordinals"):
        storable([judged(1), judged(2), judged(1)], v.MAGE_ES)


def test_an_append_above_the_frame_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mage_es.events.wal.bodies.MAX_BODY", 500)
    with pytest.raises(UsageError, match="split it"):
        written([judged(n) for n in range(9)])


def test_only_wanted_types_are_decoded() -> None:
    given_drafts = [judged(1), remembered(2), judged(3)]
    found = list(FrameReader(v.MAGE_ES).events(written(given_drafts), {"answer.judged"}))
    assert found == [(1, given_drafts[0].event), (3, given_drafts[2].event)]
    assert all(isinstance(event, v.AnswerJudged) for _, event in found)


def test_a_body_that_holds_no_records_is_damage() -> None:
    for body, count in ((b"\xc1", 1), (msgspec.msgpack.encode([1]), 1), (msgspec.msgpack.encode([]), 1)):
        with pytest.raises(LogDamaged):
            rows_of(frame_of(body, count=count))
    with pytest.raises(LogDamaged, match="holds 1 records"):
        rows_of(frame_of(body_of([judged(1)], 5, v.MAGE_ES), count=2))
