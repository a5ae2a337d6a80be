"""Protected memories only grow."""

from pathlib import Path

import msgspec
import pytest

from mage_es.engine.auditing.theorems.growth import check_growth
from mage_es.engine.run.directory import Run
from mage_es.engine.seams.check import Check
from mage_es.events import vocabulary as v
from mage_es.events.log import LogReader
from tests.engine.forgery import Change, after, forged, instead


def first_memory(run: Run) -> v.MemoryAppended:
    event = next(LogReader(run.log_path).of(v.MemoryAppended))
    assert isinstance(event, v.MemoryAppended)
    return event


def checked(run: Run, folder: Path, change: Change) -> tuple[Check, v.Event]:
    """Return the finding on a forged log, and the event that it names."""
    forged(run.log_path, folder / "log", change)
    reader = LogReader(folder / "log")
    check = check_growth(reader)
    named = next(iter(reader.records(since=check.seq, until=check.seq)))
    return check, named.event


@pytest.mark.paper("Theorem 1")
def test_a_true_run_only_grows(small_run: Run) -> None:
    check = check_growth(LogReader(small_run.log_path))
    assert check.ok and check.seq == 0
    assert check.measured == check.bound == "0 gone, 0 changed"
    assert "3 closed iterations: 0, " in check.detail


def test_quarantine_and_release_take_nothing_away(small_run: Run, tmp_path: Path) -> None:
    name = first_memory(small_run).memory_id
    events = (
        v.MemoryQuarantined(memory_id=name, reason="", by="user"),
        v.MemoryReleased(memory_id=name, reason="", by="user"),
        v.MemoryQuarantined(memory_id=name, reason="", by="user"),
    )
    forged(small_run.log_path, tmp_path / "log", after(v.MemoryAppended, *events))
    assert check_growth(LogReader(tmp_path / "log")).ok


def test_a_memory_whose_words_were_changed_is_not_called_by_their_hash(small_run: Run, tmp_path: Path) -> None:
    change = instead(v.MemoryAppended, lambda event: msgspec.structs.replace(event, reasoning="something else"))
    check, named = checked(small_run, tmp_path, change)
    assert not check.ok and isinstance(named, v.MemoryAppended) and named.reasoning == "something else"
    assert "is not the hash of its content" in check.detail


def test_a_memory_that_is_given_again_with_other_words_is_found(small_run: Run, tmp_path: Path) -> None:
    again = msgspec.structs.replace(first_memory(small_run), recognise="other words")
    check, named = checked(small_run, tmp_path, after(v.MemoryAppended, again))
    assert not check.ok and named == again and "a second time" in check.detail


@pytest.mark.paper("Theorem 1")
def test_a_protected_memory_that_is_pruned_is_found(small_run: Run, tmp_path: Path) -> None:
    pruned = v.PatternPruned(memory_id=first_memory(small_run).memory_id, confidence_micro=1, reason="low")
    check, named = checked(small_run, tmp_path, after(v.MemoryAppended, pruned))
    assert not check.ok and named == pruned and "is a success_memory, not a pattern" in check.detail


@pytest.mark.parametrize(
    "event",
    [
        v.MemorySuperseded(memory_id="nobody", by="nobody"),
        v.MemoryReinforced(memory_id="nobody", question_id="q", count=2),
        v.MemoryQuarantined(memory_id="nobody", reason="", by="user"),
        v.MemoryReleased(memory_id="nobody", reason="", by="user"),
        v.PatternSupported(memory_id="nobody", successes=1, failures=1, confidence_micro=1),
    ],
    ids=lambda event: type(event).__name__,
)
def test_what_is_said_of_a_memory_that_is_not_there_is_found(small_run: Run, tmp_path: Path, event: v.Event) -> None:
    check, named = checked(small_run, tmp_path, after(v.MemoryAppended, event))
    assert not check.ok and named == event and "nobody" in check.detail
