"""The ratchet's bounds, in the form that is true."""

from pathlib import Path

import msgspec
import pytest

from mage_es.engine.auditing.theorems.ratchet import check_ratchet
from mage_es.engine.rules.mastery import ratchet
from mage_es.engine.run.directory import Run
from mage_es.engine.seams.check import Check
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import Draft, Event, MasteryUpdated, SkillCreated, SlotsRolledBack, SnapshotTaken
from tests.engine.conftest import SMALL
from tests.engine.forgery import forged, instead


def step(before: float, after: float) -> MasteryUpdated:
    return MasteryUpdated(iteration=0, skill="s", before=before, after=after, evidence=0.5, successes=1, failures=1)


def checked(folder: Path, *events: Event, mastery: float = 1.0) -> Check:
    created = SkillCreated(skill="s", mastery=mastery, prompt_template="", strategy="")
    with Log.create(folder / "log", run="r", clock=lambda: 0) as log:
        log.append(
            [
                Draft(event=event, iteration=0, phase="update", ordinal=k)
                for k, event in enumerate([created, SnapshotTaken(iteration=-1), *events])
            ]
        )
    return check_ratchet(LogReader(folder / "log"), SMALL)


def test_a_true_run_keeps_the_bounds_and_tells_how_near_it_came(small_run: Run) -> None:
    check = check_ratchet(LogReader(small_run.log_path), SMALL)
    assert check.ok and check.seq == 0
    assert check.measured.startswith("least slack ") and check.bound == "at least 0"


def test_a_step_that_falls_too_far_is_found_in_a_run(small_run: Run, tmp_path: Path) -> None:
    def fallen(event: Event) -> bool:
        return isinstance(event, MasteryUpdated) and event.before > 0

    change = instead(MasteryUpdated, lambda event: msgspec.structs.replace(event, after=0.0), fallen)
    forged(small_run.log_path, tmp_path / "log", change)
    reader = LogReader(tmp_path / "log")
    check = check_ratchet(reader, SMALL)
    named = next(iter(reader.records(since=check.seq, until=check.seq))).event
    assert not check.ok and isinstance(named, MasteryUpdated) and named.after == 0.0


def test_the_printed_form_is_false_and_the_true_one_holds_where_it_breaks(tmp_path: Path) -> None:
    once = ratchet(1.0, 0.0, increase=0.6, decay=0.1)
    twice = ratchet(once, 0.0, increase=0.6, decay=0.1)
    assert twice < 0.9  # (1 - gamma)^1 times the peak of all steps up to the last but one

    check = checked(tmp_path, step(1.0, once), step(once, twice))
    assert check.ok and check.measured == "least slack 0"


@pytest.mark.parametrize(
    ("before", "after"), [(1.0, 0.89), (0.5, 0.44), (0.5, 0.81)], ids=["fall", "second fall", "rise"]
)
def test_a_step_outside_of_its_bounds_is_found(tmp_path: Path, before: float, after: float) -> None:
    check = checked(tmp_path, step(before, after), mastery=before)
    assert (check.ok, check.seq) == (False, 3)
    assert f"from {before:g} to {after:g}" in check.detail


def test_a_step_that_starts_elsewhere_than_the_last_one_ended_is_found(tmp_path: Path) -> None:
    check = checked(tmp_path, step(1.0, 0.95), step(0.9, 0.9))
    assert (check.ok, check.seq) == (False, 4) and "starts at 0.9, where its mastery was 0.95" in check.detail


def test_after_a_rollback_steps_count_from_the_restored_mastery(tmp_path: Path) -> None:
    back = SlotsRolledBack(iteration=0, to_iteration=-1)
    assert checked(tmp_path / "a", step(0.2, 0.6), back, step(0.2, 0.19), mastery=0.2).ok
    check = checked(tmp_path / "b", step(0.2, 0.6), back, step(0.6, 0.6), mastery=0.2)
    assert (check.ok, check.seq) == (False, 5)


def test_a_rollback_to_a_snapshot_that_was_never_taken_is_found(tmp_path: Path) -> None:
    check = checked(tmp_path, SlotsRolledBack(iteration=0, to_iteration=7))
    assert (check.ok, check.seq) == (False, 3) and "iteration 7" in check.detail
