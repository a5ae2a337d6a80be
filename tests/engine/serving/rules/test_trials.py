"""What anchors can judge of a proposal, and what a person must."""

import numpy as np
import pytest

from mage_es.engine.serving.rules.trials import near_enough, trials_of, why_undecided
from mage_es.events.vocabulary import AnchorTrial, BundleTrimmed, GuardDecided
from mage_es.projections.fold import State
from tests.engine.rules.states import Built
from tests.engine.serving.rules.test_feedback import anchor_answer, anchor_plan

NEAR, FAR = 0.8, 0.2


def trial(*, before: bool, now: bool, similarity: float = NEAR, is_shown: bool = True) -> AnchorTrial:
    return AnchorTrial(question_id="q", similarity=similarity, is_shown=is_shown, was_right=before, is_right=now)


RIGHT, WRONG = (trial(before=each, now=each) for each in (True, False))
LOST, WON = trial(before=True, now=False), trial(before=False, now=True)
FAR_RIGHT, FAR_LOST = (trial(before=True, now=each, similarity=FAR) for each in (True, False))


@pytest.mark.parametrize("trials", [[RIGHT, RIGHT], [RIGHT, WON], [WON, WON, WRONG], [RIGHT, LOST, WON]])
def test_two_near_anchors_that_were_right_with_it_or_before_let_it_pass(trials: list[AnchorTrial]) -> None:
    assert not why_undecided(trials, 0.5)


@pytest.mark.parametrize(
    ("trials", "why"),
    [
        ([], "No anchor was asked with it"),
        ([trial(before=True, now=True, is_shown=False)] * 3, "No anchor was asked with it"),
        ([RIGHT, WRONG, WRONG], "1 can judge it"),
        ([RIGHT, FAR_RIGHT, FAR_RIGHT], "1 can judge it"),
        ([RIGHT, RIGHT, LOST], "1 turned wrong, and 0 right"),
        # However far away it was: that it does harm there is known.
        ([RIGHT, RIGHT, FAR_LOST], "1 turned wrong, and 0 right"),
    ],
)
def test_anything_less_is_for_a_person_and_says_why(trials: list[AnchorTrial], why: str) -> None:
    assert why in why_undecided(trials, 0.5)


def test_where_nothing_says_what_is_near_no_anchor_can_judge() -> None:
    assert "too few memories" in why_undecided([RIGHT] * 9, 0.0)


def tried(*anchors: str, shown: str = "m") -> State:
    """A state in which anchors were asked with a memory, and answered as before."""
    state = State()
    for k, memories in ((0, ()), (1, (shown,))):
        for name in anchors:
            state.apply(anchor_plan(k, name, memories))
            state.apply(anchor_answer(k, name))
        if not k:
            verdict = {"drop": 0.0, "p_value": 1.0, "best": 0, "best_drop": 0.0, "best_p_value": 1.0}
            state.apply(
                GuardDecided(
                    iteration=0, verdict="accepted", correct=0, total=0, against=0, smallest_drop=0.0, **verdict
                )
            )
    return state


def test_anchors_asked_with_it_are_recorded_and_the_three_nearest() -> None:
    vectors = {f"a{place}": np.array([place / 10, 0], dtype=np.float32) for place in range(10)}
    state = tried("a2", "a9")
    found = trials_of(state, 1, "m", np.array([1, 0], dtype=np.float32), vectors)
    assert [(each.question_id, each.is_shown) for each in found] == [
        ("a9", True),
        ("a8", False),
        ("a7", False),
        ("a2", True),
    ]
    assert found[0].was_right and found[0].is_right and found[0].similarity == pytest.approx(0.9)


def test_an_anchor_whose_prompt_had_no_room_for_it_was_not_asked_with_it() -> None:
    state = tried("a0")
    fields = {"about": "a0", "request_sha256": "", "problem": "too long"}
    state.apply(BundleTrimmed(iteration=1, purpose="anchor", question_id="a0", memory_id="m", **fields))
    vector = np.array([1, 0], dtype=np.float32)
    assert not [each for each in trials_of(state, 1, "m", vector, {"a0": vector}) if each.is_shown]


def test_near_is_what_half_of_the_memories_have_to_another_and_few_memories_do_not_tell() -> None:
    built = Built()
    for place in range(19):
        angle = place**2 / 300
        built.memory(f"m{place}", vector=(np.cos(angle), np.sin(angle)))
    assert near_enough(built.state.memory, ["t", "other"]) == {"t": 0.0, "other": 0.0}
    built.memory("m19", vector=(0.0, 1.0))
    found = near_enough(built.state.memory, ["t", "other"])
    assert 0.9 < found["t"] < 1.0 and found["other"] == found["t"]
