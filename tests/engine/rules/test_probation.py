"""Probation: what the coin shows of memories that a merge brought, and when that is enough."""

from collections.abc import Sequence

import pytest

from mage_es.engine.rules.distributions import LEAST
from mage_es.engine.rules.probation import PROBATION, count_tosses
from mage_es.engine.rules.routes import RECALL
from mage_es.events.vocabulary import AnswerJudged, ProbationCounted, QuestionPlanned, Retrieved, RunMerged
from mage_es.projections.fold import State
from tests.kit.plain_events import plain


def merged(parent: str, *names: str) -> RunMerged:
    about = {"path": parent, "iteration": 0, "seq": 1, "head_seq": 1, "head_chain": parent}
    return RunMerged(parent=parent, memory_ids=names, left_out=(), **about)  # type: ignore[arg-type]


def state_with(*parents: RunMerged) -> State:
    state = State()
    for parent in parents:
        state.apply(parent)
    return state


def hits(names: str, coin: float) -> tuple[Retrieved, ...]:
    return tuple(Retrieved(memory_id=name, similarity=0.5, coin=coin) for name in names)


def asked(
    state: State, question: str, shown: str, left: str, *, right: bool, coin: float = PROBATION, route: str = "cot"
) -> AnswerJudged:
    """Let a question be planned and answered; `shown` and `left` have a letter for each memory."""
    state.apply(
        plain(
            QuestionPlanned,
            iteration=1,
            question_id=question,
            routing_arm=route,
            memories=hits(shown, coin),
            left_out=hits(left, coin),
        )
    )
    verdict = plain(AnswerJudged, iteration=1, question_id=question, task_type="t", skill="s", correct=right)
    state.apply(verdict)
    return verdict


def counts(state: State, verdicts: Sequence[AnswerJudged]) -> list[ProbationCounted]:
    found = list(count_tosses(state, 1, verdicts))
    for each in found:
        state.apply(each)
    return found


def sides(count: ProbationCounted) -> tuple[int, int, int, int]:
    return count.shown, count.shown_right, count.left_out, count.left_out_right


def test_every_toss_counts_for_the_run_that_brought_the_memory_and_for_both_if_two_did() -> None:
    state = state_with(merged("one", "a", "b"), merged("two", "b", "c"))
    verdicts = [asked(state, "p", "ab", "c", right=True), asked(state, "q", "c", "b", right=False)]
    assert {each.parent: sides(each) for each in counts(state, verdicts)} == {"one": (2, 2, 1, 0), "two": (2, 1, 2, 1)}


def test_counts_are_totals_over_iterations_and_nothing_is_counted_without_a_toss() -> None:
    state = state_with(merged("one", "a"))
    counts(state, [asked(state, "p", "a", "", right=True)])
    [count] = counts(state, [asked(state, "q", "", "a", right=False)])
    assert sides(count) == (1, 1, 1, 0)
    assert not counts(state, [asked(state, "r", "a", "", right=True, coin=0.0)])
    assert not counts(state, [asked(state, "s", "a", "", right=True, route=RECALL)])
    assert not counts(state, [asked(state, "t", "x", "", right=True)])


@pytest.mark.parametrize(
    ("with_it", "without", "left_out", "is_over"),
    [(LEAST, 0, LEAST, True), (5, 5, LEAST, True), (4, 5, LEAST, False), (LEAST, 0, LEAST - 1, False)],
)
def test_probation_is_over_with_enough_tosses_and_an_effect_that_is_not_negative(
    with_it: int, without: int, left_out: int, is_over: bool
) -> None:
    state = state_with(merged("one", "a"))
    verdicts = [asked(state, f"in-{n}", "a", "", right=n < with_it) for n in range(LEAST)]
    verdicts += [asked(state, f"out-{n}", "", "a", right=n < without) for n in range(left_out)]
    [count] = counts(state, verdicts)
    assert count.is_over == is_over and ("a" not in state.probation) == is_over
    assert bool(counts(state, [asked(state, "again", "a", "", right=True)])) != is_over
