"""A recheck names the first iteration, projection and field that fold differently from what was live."""

import shutil
from pathlib import Path

import msgspec

from mage_es.engine.auditing.recheck import first_mismatch, recheck
from mage_es.engine.run.directory import Run, clock
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import Draft, MasteryUpdated, SegmentSealed


def test_a_sound_run_is_equal_at_every_closed_iteration(small_run: Run) -> None:
    checks = recheck(LogReader(small_run.log_path), small_run.snapshots_path)
    assert [(check.iteration, check.equal) for check in checks] == [(-1, True), (0, True), (1, True)]


def altered(run: Run, folder: Path) -> Run:
    """A log, sound in every byte, in which one mastery of iteration 1 is another; the cached folds are as they were."""
    copy = Run(run.id, folder / "altered")
    with Log.create(copy.log_path, run=run.id, clock=clock) as log:
        batch: list[Draft] = []
        for record in LogReader(run.log_path).records():
            event = record.event
            if isinstance(event, SegmentSealed):
                continue
            if (
                isinstance(event, MasteryUpdated)
                and record.iteration == 1
                and not any(isinstance(draft.event, MasteryUpdated) and draft.iteration == 1 for draft in batch)
            ):
                event = msgspec.structs.replace(event, after=0.125)
            batch.append(Draft(event=event, iteration=record.iteration, phase=record.phase, ordinal=record.ordinal))
        log.append(batch)
    shutil.copytree(run.snapshots_path, copy.snapshots_path)
    return copy


def test_the_first_difference_is_named_down_to_the_field(small_run: Run, tmp_path: Path) -> None:
    run = altered(small_run, tmp_path)
    last = recheck(LogReader(run.log_path), run.snapshots_path)[-1]
    assert (last.iteration, last.equal, last.projection) == (1, False, "slots")
    assert "rebuilt 0.125" in last.field


def test_without_a_cached_fold_the_projection_is_still_named(small_run: Run, tmp_path: Path) -> None:
    run = altered(small_run, tmp_path)
    last = recheck(LogReader(run.log_path), tmp_path / "nothing")[-1]
    assert (last.projection, last.field) == ("slots", "")
    assert last.recorded != last.rebuilt


def test_mismatches_are_found_in_nested_values() -> None:
    one = {"a": [1, {"b": 2}], "c": 3}
    assert first_mismatch(one, {"a": [1, {"b": 2}], "c": 3}) is None
    assert first_mismatch(one, {"a": [1, {"b": 4}], "c": 5}) == ("['a'][1]['b']", "2", "4")
    assert first_mismatch(one, {"a": [1]}) == ("['a']", "[1, {'b': 2}]", "[1]")
    assert first_mismatch({"a": 1}, {}) == ("['a']", "1", "None")
