"""The certificate that nothing learned holds a question that must not be learned."""

from functools import partial
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.auditing.theorems.leaks import WRITTEN, check_leaks, check_splits
from mage_es.engine.benchmarks.tasks.spec import TaskSpec
from mage_es.engine.rules.leaks import texts_of
from mage_es.engine.run.directory import Run
from mage_es.engine.run.world import reopen_world
from mage_es.engine.seams.check import Check
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import (
    Event,
    MemoryAppended,
    NoteWritten,
    RunStarted,
    SkillCreated,
    SplitCommitted,
    Template,
)
from tests.engine.forgery import Change, forged, instead
from tests.kit.stages import flat
from tests.kit.strategies import history


@pytest.fixture(scope="module")
def secret(small_run: Run) -> str:
    """A held-out question of the small run."""
    world = reopen_world(LogReader(small_run.log_path), data_dir=None)
    return world.questions[world.setting.held_out[0]].question


def checked(run: Run, folder: Path, change: Change) -> tuple[Check, Event]:
    forged(run.log_path, folder / "log", change)
    reader = LogReader(folder / "log")
    check = check_leaks(reader)
    return check, next(iter(reader.records(since=check.seq, until=check.seq))).event


def test_a_true_run_gets_its_certificate(small_run: Run) -> None:
    check = check_leaks(LogReader(small_run.log_path))
    assert check.ok and check.seq == 0 and check.bound == "below 0.8"
    assert check.measured.startswith("largest similarity 0.")
    for part in (
        "memory.appended",
        "skill.created",
        "12 anchors",
        "20 held_out",
        "32 by shingles",
        "0 refused",
        "nearest:",
    ):
        assert part in check.detail


@pytest.mark.paper("section 4.1, held-out pool")
@pytest.mark.parametrize("form", ["{0}", "So we learn: {0} The answer is 4.", "  {0}  "])
def test_a_memory_that_holds_a_held_out_question_is_found(
    small_run: Run, tmp_path: Path, secret: str, form: str
) -> None:
    leaking = form.format(secret.upper())
    change = instead(MemoryAppended, lambda event: msgspec.structs.replace(event, reasoning=leaking))
    check, named = checked(small_run, tmp_path, change)
    assert not check.ok and isinstance(named, MemoryAppended) and named.reasoning == leaking
    assert "of held_out" in check.detail and check.measured != "largest similarity 0.000"


def test_a_strategy_that_holds_one_is_found(small_run: Run, tmp_path: Path, secret: str) -> None:
    change = instead(SkillCreated, lambda event: msgspec.structs.replace(event, strategy=f"Like this: {secret}"))
    check, named = checked(small_run, tmp_path, change)
    assert not check.ok and isinstance(named, SkillCreated) and "skill.created" in check.detail


def test_an_instruction_a_label_or_a_template_that_holds_one_is_found(
    small_run: Run, tmp_path: Path, secret: str
) -> None:
    """Every prompt holds them, so that an exam would measure what was written there."""
    told = f"Add. {secret} The answer is 4."
    given = {
        "instruction": {"benchmark": TaskSpec("t.csv", instruction=told).name},
        "labels": {"benchmark": TaskSpec("t.csv", labels=("4", *told.split(", "))).name},
        "template": {"templates": (Template(name="answer_cot", wording=told),)},
    }
    for name, fields in given.items():
        change = instead(RunStarted, partial(msgspec.structs.replace, **fields))
        check, named = checked(small_run, tmp_path / name, change)
        assert not check.ok and isinstance(named, RunStarted) and name in check.detail


def test_a_memory_of_a_question_of_no_split_is_found(small_run: Run, tmp_path: Path) -> None:
    change = instead(
        MemoryAppended,
        lambda event: msgspec.structs.replace(event, question="A question from nowhere?"),
        lambda event: isinstance(event, MemoryAppended) and event.question != "",
    )
    check, named = checked(small_run, tmp_path, change)
    assert not check.ok and isinstance(named, MemoryAppended) and "of no split" in check.detail


def test_splits_that_share_a_question_are_found_at_the_later_commitment(small_run: Run, tmp_path: Path) -> None:
    seen: list[str] = []

    def shared(event: Event) -> Event:
        if not isinstance(event, SplitCommitted):
            return event
        hashes = (*event.question_hashes[len(seen[:1]) :], *seen[:1])
        seen.append(event.question_hashes[0])
        return msgspec.structs.replace(event, question_hashes=hashes)

    forged(small_run.log_path, tmp_path / "log", lambda record: shared(record.event))
    reader = LogReader(tmp_path / "log")
    check = check_splits(reader)
    named = next(iter(reader.records(since=check.seq, until=check.seq))).event
    assert not check.ok and isinstance(named, SplitCommitted) and named.split == "anchors"
    assert check_splits(LogReader(small_run.log_path)).ok


def test_a_split_without_the_hash_of_a_question_of_its_own_is_found(small_run: Run, tmp_path: Path) -> None:
    def shorter(event: Event) -> Event:
        if not isinstance(event, SplitCommitted) or event.split != "held_out":
            return event
        return msgspec.structs.replace(event, question_hashes=event.question_hashes[1:])

    forged(small_run.log_path, tmp_path / "log", lambda record: shorter(record.event))
    check = check_splits(LogReader(tmp_path / "log"))
    assert not check.ok and check.detail.startswith("held_out commits to")


def test_every_event_with_words_is_in_the_certificate() -> None:
    worded = {type(event) for event in flat(history(seed=1, iterations=2, questions=1)) if texts_of(event)}
    # Notes are those of a method that learns, which no evolution has.
    assert worded | {NoteWritten} == WRITTEN
