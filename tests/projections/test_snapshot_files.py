"""A snapshot and the rest of the log give what the whole log gives, or the snapshot is passed over."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import BanditUpdated, Event, IterationClosed
from mage_es.projections import snapshot_files
from mage_es.projections.fold import State, fold
from mage_es.projections.protocol import Projection
from mage_es.projections.snapshot_files import (
    COVERED,
    damaged_snapshots,
    disowned,
    ended,
    latest_snapshot,
    write_snapshot,
)
from tests.kit.invariants import sorted_dump
from tests.kit.sources import ListSource, chain_at
from tests.kit.stages import Stage, drafts_of, flat, round_trip, with_digests
from tests.kit.strategies import histories, history

EVENTS = with_digests(flat(history(seed=9, iterations=5, questions=3)))


def closes(events: list[Event]) -> list[int]:
    return [seq for seq, event in enumerate(events, start=1) if isinstance(event, IterationClosed)]


def keep(folder: Path, events: list[Event], seq: int) -> Path:
    """Write the snapshot that a live run writes after event `seq`."""
    return write_snapshot(folder, fold(ListSource(events), until=seq), chain=chain_at(events, seq))


@pytest.mark.slow
@given(histories(), st.data())
def test_a_snapshot_and_the_tail_equal_the_whole_fold(stages: list[Stage], data: st.DataObject) -> None:
    events = with_digests(flat(stages))
    seq = data.draw(st.sampled_from(closes(events)))
    until = data.draw(st.integers(seq, len(events)))
    with TemporaryDirectory() as folder:
        keep(Path(folder), events, seq)
        found = latest_snapshot(Path(folder), ListSource(events), until=until)

        assert found is not None and found.seq == seq
        state, whole = fold(ListSource(events), state=found, until=until), fold(ListSource(events), until=until)
        assert state.digests() == whole.digests()
        assert state.progress.dump() == whole.progress.dump()


def test_the_newest_snapshot_that_is_not_past_the_wanted_event_is_taken(tmp_path: Path) -> None:
    marks = closes(EVENTS)
    for seq in marks[:3]:
        keep(tmp_path, EVENTS, seq)

    def found(until: int | None) -> int | None:
        state = latest_snapshot(tmp_path, ListSource(EVENTS), until=until)
        return state.seq if state else None

    assert found(None) == marks[2]
    assert found(marks[2] - 1) == marks[1]
    assert found(marks[0] - 1) is None
    assert latest_snapshot(tmp_path / "nothing here", ListSource(EVENTS)) is None


def test_the_first_and_the_newest_three_are_kept(tmp_path: Path) -> None:
    marks = closes(EVENTS)
    for seq in marks:
        keep(tmp_path, EVENTS, seq)

    assert [int(path.name[:20]) for path in sorted(tmp_path.iterdir())] == [marks[0], *marks[-3:]]


@pytest.mark.parametrize(("change", "times"), [("flip", 40), ("cut", 10), ("empty", 1), ("garbage", 5)])
def test_a_damaged_snapshot_changes_nothing(tmp_path: Path, change: str, times: int) -> None:
    marks, random, source = closes(EVENTS), Random(0), ListSource(EVENTS)
    keep(tmp_path, EVENTS, marks[0])
    path = keep(tmp_path, EVENTS, marks[1])
    whole, right = path.read_bytes(), fold(source, until=marks[1]).digests()

    for _ in range(times):
        place = random.randrange(len(whole))
        flipped = whole[:place] + bytes([whole[place] ^ 1 << random.randrange(8)]) + whole[place + 1 :]
        path.write_bytes({"flip": flipped, "cut": whole[:place], "empty": b"", "garbage": random.randbytes(90)}[change])
        assert damaged_snapshots(tmp_path) == [path]
        assert disowned(tmp_path, source) == []
        found = latest_snapshot(tmp_path, source)
        assert found is not None and found.seq == marks[change == "flip" and found.seq > marks[0]]
        assert fold(source, state=found, until=marks[1]).digests() == right


def test_only_what_is_asked_for_is_read_from_a_snapshot(tmp_path: Path) -> None:
    seq, source = closes(EVENTS)[-1], ListSource(EVENTS)
    path = keep(tmp_path, EVENTS, seq)
    state = latest_snapshot(tmp_path, source)
    assert state is not None

    memories = len(state.memory)
    path.unlink()
    whole = fold(source, until=seq)
    assert memories == len(state.memory) == len(whole.memory)
    assert state.graph.digest() == whole.graph.digest()  # from the log, since its snapshot is gone


def test_a_snapshot_of_another_fold_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(tmp_path, EVENTS, closes(EVENTS)[-1])

    monkeypatch.setattr(snapshot_files, "fold_fingerprint", lambda: "0" * 64)

    assert latest_snapshot(tmp_path, ListSource(EVENTS)) is None


def test_a_snapshot_of_another_log_is_passed_over(tmp_path: Path) -> None:
    seq = closes(EVENTS)[-1]
    keep(tmp_path, EVENTS, seq)
    other = with_digests(flat(history(seed=10, iterations=5, questions=3)))
    shorter = EVENTS[: seq - 1]
    longer_before = [EVENTS[0], *EVENTS]

    for events in (other, shorter, longer_before):
        assert latest_snapshot(tmp_path, ListSource(events)) is None


def test_a_log_that_differs_in_one_number_before_the_snapshot_is_another_log(tmp_path: Path) -> None:
    keep(tmp_path, EVENTS, closes(EVENTS)[-2])
    place = max(i for i, event in enumerate(EVENTS[: closes(EVENTS)[-2]]) if isinstance(event, BanditUpdated))
    changed = msgspec.structs.replace(EVENTS[place], pulls_after=99)
    doctored = with_digests([*EVENTS[:place], changed, *EVENTS[place + 1 :]])

    assert latest_snapshot(tmp_path, ListSource(EVENTS)) is not None
    assert latest_snapshot(tmp_path, ListSource(doctored)) is None


def test_a_snapshot_is_believed_by_the_digests_that_it_was_kept_with(tmp_path: Path) -> None:
    seq = closes(EVENTS)[-1]
    state, other = fold(ListSource(EVENTS), until=seq), fold(ListSource(EVENTS), until=closes(EVENTS)[0])

    write_snapshot(tmp_path, state, chain=chain_at(EVENTS, seq), digests=other.digests())
    assert latest_snapshot(tmp_path, ListSource(EVENTS)) is None
    write_snapshot(tmp_path, state, chain=chain_at(EVENTS, seq), digests=state.digests())
    assert latest_snapshot(tmp_path, ListSource(EVENTS)) is not None


def test_at_the_head_the_chain_must_be_the_same(tmp_path: Path) -> None:
    write_snapshot(tmp_path, fold(ListSource(EVENTS)), chain="0" * 64)

    assert latest_snapshot(tmp_path, ListSource(EVENTS)) is None


def test_a_snapshot_renamed_to_another_place_is_passed_over(tmp_path: Path) -> None:
    marks = closes(EVENTS)
    path = keep(tmp_path, EVENTS, marks[1])
    path.rename(path.with_name(f"{marks[2]:020d}{path.name[20:]}"))

    assert latest_snapshot(tmp_path, ListSource(EVENTS)) is None


def test_a_state_in_the_middle_of_an_iteration_is_not_taken_up(tmp_path: Path) -> None:
    keep(tmp_path, EVENTS, closes(EVENTS)[1] + 2)

    assert latest_snapshot(tmp_path, ListSource(EVENTS)) is None


def test_a_snapshot_of_a_live_run_is_found_again_in_its_real_log(tmp_path: Path) -> None:
    live, kept = State(), []
    with Log.create(tmp_path / "log", run="r", clock=lambda: 0) as log:
        for batch in drafts_of(history(seed=19, iterations=3, questions=4)):
            for seq, event in zip(*log.append(batch), strict=True):
                live.apply(event)
                live.seq = seq
            if isinstance(event, IterationClosed):
                write_snapshot(tmp_path / "snapshots", live, chain=log.head.chain)
                kept.append(live.seq)
                in_flight = latest_snapshot(tmp_path / "snapshots", LogReader(tmp_path / "log"))
                assert in_flight is not None and in_flight.seq == live.seq
    reader = LogReader(tmp_path / "log")

    for seq in kept:
        found = latest_snapshot(tmp_path / "snapshots", reader, until=seq)
        assert found is not None
        assert fold(reader, state=found).digests() == live.digests()


@pytest.mark.parametrize("asked", ["at once", "after the rest", "as the rest comes"])
def test_what_no_digest_covers_is_the_logs_whenever_it_is_asked_for(tmp_path: Path, asked: str) -> None:
    seq, source = closes(EVENTS)[2], ListSource(EVENTS)
    keep(tmp_path, EVENTS, seq)
    state, whole = latest_snapshot(tmp_path, source, until=seq), fold(source)
    assert state is not None and len(EVENTS) > seq

    if asked == "at once":
        assert state.ledger.accounts() == fold(source, until=seq).ledger.accounts() != whole.ledger.accounts()
    if asked == "as the rest comes":
        for event in EVENTS[seq:]:
            state.apply(event)
    else:
        fold(source, state=state)

    for view, other in ((state.slots, whole.slots), (state.ledger, whole.ledger), (state.texts, whole.texts)):
        assert view.dump() == other.dump()


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of every value that holds no others."""
    items = list(value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ())
    for key, each in items:
        yield from leaves(each, (*path, key))
    if not items and not isinstance(value, dict | list):
        yield path


def contents(view: Projection) -> object:
    """Return the digest of a view, or what it holds if no digest covers that."""
    return view.digest() if type(view) in COVERED else sorted_dump(round_trip(view.dump()))


@pytest.mark.slow
def test_what_is_forged_in_a_snapshot_comes_from_the_log_whichever_value_is_changed(tmp_path: Path) -> None:
    seq, source = closes(EVENTS)[-1], ListSource(EVENTS)
    path = keep(tmp_path, EVENTS, seq)
    kept, whole = path.read_bytes(), latest_snapshot(tmp_path, source)
    assert whole is not None
    expected = list(map(contents, whole.projections()))
    size = int.from_bytes(kept[-44:-36])
    *about, dumps = msgspec.msgpack.decode(kept[-44 - size : -44])
    content = {
        name: {number: msgspec.msgpack.decode(kept[start : start + size]) for number, (start, size, _) in parts.items()}
        for name, parts in dumps.items()
    }
    # One value of each kind: those that lie alike, as far as names and numbers of rows go.
    places = {
        (place[0], len(place), place[-1] if isinstance(place[-1], int) else ""): place for place in leaves(content)
    }
    for *place, last in sorted(places.values(), key=str):
        held = content
        for key in place:
            held = held[key]
        true, others = held[last], {str: "forged", int: 12345, float: 0.123, bytes: bytes(8)}
        held[last] = not true if isinstance(true, bool) else others.get(type(true), "forged")
        forged, body = dict[str, Any](), b""
        for name, parts in content.items():
            for number, value in parts.items():
                data = msgspec.msgpack.encode(value)
                forged.setdefault(name, {})[number] = (len(body), len(data), hashlib.sha256(data).digest())
                body += data
        path.write_bytes(body + ended(msgspec.msgpack.encode([*about, forged])))
        found = latest_snapshot(tmp_path, source)
        assert found is not None
        assert list(map(contents, found.projections())) == expected, (place, last)
        is_covered = [*place, last][0] not in ("slots", "ledger")
        assert disowned(tmp_path, source) == ([path] if is_covered else []), (place, last)
        held[last] = true
