"""What must hold after a crash at any moment: everything acknowledged is there, in order, once, and nothing else is."""

from pathlib import Path
from random import Random

import pytest

from tests.events.explore import explore
from tests.events.kills import kill_again_and_again
from tests.events.mutants import HARMLESS, MUTANTS

pytestmark = pytest.mark.slow

HISTORIES = 150
"""The long form: python -m tests.events.explore."""

CATCHING = {
    "no sync on commit": 3,
    "a segment is not synced before it is renamed": 0,
    "no sync of the folder between sealing and removing the write-ahead file": 0,
    "no sync of the folder after creating a write-ahead file": 6,
    "a segment is written in place, and one that is there believed": 40,
    "recovery does not sync what it found": 49,
    "recovery syncs bytes that the system calls clean": 3875,
    "recovery removes a write-ahead file before it syncs the folder that shows its segment": 3546,
    "a failed sync is ignored": 80,
    "the writer goes on after a failed write or sync": 13,
    "HEAD is taken for an upper bound": 0,
    "a reader shows frames that may not be synced": 77,
}
"""For each mutant a history that catches it; `python -m tests.events.explore` prints another if the log has changed."""


def test_nothing_acknowledged_or_shown_is_lost_in_crashes_and_on_failing_disks() -> None:
    assert explore("", range(HISTORIES)) == []


@pytest.mark.parametrize("name", MUTANTS)
def test_the_log_without_one_of_its_safety_steps_is_found_out(name: str) -> None:
    assert explore(name, [CATCHING[name]]), "this history catches it no more: pin another one"


@pytest.mark.parametrize("name", HARMLESS)
def test_a_step_that_another_one_backs_may_fail_alone(name: str) -> None:
    assert explore(name, range(20)) == []


def test_a_process_that_is_killed_again_and_again_loses_nothing_it_acknowledged(tmp_path: Path) -> None:
    assert kill_again_and_again(tmp_path / "log", 6, Random(7)) > 0
