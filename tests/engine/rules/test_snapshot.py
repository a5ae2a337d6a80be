"""SNAPSHOT: what is compared with what, and that a rollback by events equals restoring a copy."""

from typing import Literal

import pytest

from mage_es.engine.commands import TakeSnapshot
from mage_es.engine.config import Config
from mage_es.engine.rules.setting import Setting
from mage_es.engine.rules.snapshot import take_snapshot
from mage_es.events.vocabulary import Event, GuardDecided, Purpose, SlotsRolledBack, SnapshotTaken
from mage_es.projections.fold import State
from tests.engine.rules.rollbacks import live_all
from tests.engine.rules.test_curriculum import judged

Guard = Literal["paired", "paper", "off"]


def guarded(guard: Guard, *correct: int, total: int = 100, is_served: bool = False) -> list[tuple[GuardDecided, Event]]:
    """Give iterations 0, 1, ... so many right answers and return each verdict with its consequence."""
    setting = Setting(Config(benchmark="wordmath", guard=guard), (), (), (), (), "", is_served=is_served)
    purpose: Purpose = "fresh" if guard == "paper" else "anchor"
    state, found = State(), []
    for k, right in enumerate(correct):
        for place in range(total):
            answer = judged(k, "t", correct=place < right, purpose=purpose)
            state.apply(type(answer)(**{**_fields(answer), "question_id": f"q{place}"}))
        verdict, consequence, _ = (draft.event for draft in take_snapshot(setting, state, TakeSnapshot(k)))
        assert isinstance(verdict, GuardDecided)
        state.apply(verdict)
        found.append((verdict, consequence))
    return found


def _fields(event: Event) -> dict[str, object]:
    return {name: getattr(event, name) for name in event.__struct_fields__}


@pytest.mark.paper("section 3.3, rollback")
def test_a_rollback_by_events_equals_restoring_the_copy_taken_at_the_snapshot() -> None:
    """The long form: python -m tests.engine.rules.rollbacks 20000."""
    verdicts = live_all(range(150))
    assert min(verdicts["accepted"], verdicts["soft_rollback"], verdicts["hard_rollback"]) >= 50


def test_the_papers_guard_asks_no_anchor_and_compares_with_the_iteration_before_even_if_that_was_rolled_back() -> None:
    """90, 80 (hard), 82: better than the one before, but more than 0.05 below the best accepted."""
    first, second, third = guarded("paper", 90, 80, 82)
    assert (first[0].verdict, first[1]) == ("accepted", SnapshotTaken(iteration=0))
    assert (second[0].verdict, second[1]) == ("hard_rollback", SlotsRolledBack(iteration=1, to_iteration=0))
    assert (third[0].verdict, third[0].against, third[0].best) == ("hard_rollback", 1, 0)
    assert (second[0].correct, second[0].total, second[0].p_value) == (80, 100, 1.0)


def test_the_papers_soft_rollback_restores_the_last_accepted_snapshot() -> None:
    decided = guarded("paper", 90, 86, 90, 86)
    assert [verdict.verdict for verdict, _ in decided] == ["accepted", "soft_rollback", "accepted", "soft_rollback"]
    assert decided[3][1] == SlotsRolledBack(iteration=3, to_iteration=2)
    drifting = guarded("paper", 90, 86, 82)
    assert drifting[2][0].against == 1
    assert drifting[2][1] == SlotsRolledBack(iteration=2, to_iteration=0)


def test_the_paired_guard_compares_with_the_last_accepted_snapshot() -> None:
    decided = guarded("paired", 90, 84, 84, 90)
    assert [verdict.verdict for verdict, _ in decided] == ["accepted", "soft_rollback", "soft_rollback", "accepted"]
    assert decided[2][0].against == 0


def test_what_clients_say_is_refused_for_a_smaller_loss_than_what_was_learned() -> None:
    for is_served, verdicts in ((False, ["accepted", "accepted"]), (True, ["accepted", "soft_rollback"])):
        decided = guarded("paired", 90, 88, is_served=is_served)
        assert [verdict.verdict for verdict, _ in decided] == verdicts
    one_lost = guarded("paired", 90, 89, is_served=True)
    assert one_lost[1][0].verdict == "accepted" and one_lost[1][0].p_value > 0.25


@pytest.mark.parametrize("guard", ["paired", "paper"])
def test_the_first_snapshot_has_nothing_to_be_compared_with(guard: Guard) -> None:
    assert [verdict.verdict for verdict, _ in guarded(guard, 1)] == ["accepted"]


def test_with_the_guard_off_every_snapshot_is_taken() -> None:
    assert [(v.verdict, type(c)) for v, c in guarded("off", 90, 10)] == [("off", SnapshotTaken), ("off", SnapshotTaken)]


def test_without_fresh_questions_the_papers_guard_accepts() -> None:
    assert [verdict.verdict for verdict, _ in guarded("paper", 0, 0, total=0)] == ["accepted", "accepted"]
