"""What a record says about what was not done: weights, intervals, refusals, and guards that judge again."""

from collections.abc import Sequence
from statistics import fmean

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import asdict
from pytest import approx

from mage_es.engine.config import Config
from mage_es.engine.histories.rules.what_if import (
    Judged,
    Toss,
    WhatIfEstimate,
    anchors_asked,
    effective_size,
    estimated,
    gated,
    right_as_served,
    rulings,
    tossed,
    weighted,
)
from mage_es.engine.rules.benefit import Pair, decide_benefit
from mage_es.engine.rules.randomness import shuffled
from mage_es.engine.worth.effect import LEAST_PAIRS
from mage_es.events.vocabulary import BenefitDecided, SlotsRolledBack
from mage_es.projections.scores import Scores
from tests.bench.what_if import simulated
from tests.engine.rules.test_curriculum import judged
from tests.engine.rules.test_snapshot import Guard, guarded
from tests.engine.worth.test_effect import found, plan

CHANCE = st.floats(0.05, 0.95)
TOSS = st.builds(
    lambda chance, taken, right, expected: Toss(chance, taken, right, 1 / chance, expected),
    *(CHANCE, st.booleans(), st.booleans(), st.floats(0, 1)),
)
TOSSES = st.lists(TOSS, min_size=1, max_size=60).filter(lambda tosses: any(toss.is_taken for toss in tosses))


def toss(chance: float, *, taken: bool = True, right: bool = True) -> Toss:
    return Toss(chance, taken, right, 1 / chance, 0.5)


@given(st.lists(st.booleans(), min_size=LEAST_PAIRS, max_size=200))
def test_of_what_was_always_done_the_estimate_is_the_mean(rights: list[bool]) -> None:
    found = estimated([toss(1.0, right=right) for right in rights])
    assert found.share == approx(100 * fmean(rights)) and found.robust == approx(100 * fmean(rights))
    assert found.effective == approx(len(rights))


@given(TOSSES, st.floats(0.01, 100))
def test_weights_count_only_relative_to_each_other(tosses: list[Toss], factor: float) -> None:
    one = estimated(tosses, least=0)
    other = estimated([toss._replace(weight=factor * toss.weight) for toss in tosses], least=0)
    assert asdict(other) == approx(asdict(one))


@given(TOSSES)
def test_an_estimate_lies_in_its_interval_and_both_lie_between_none_and_all(tosses: list[Toss]) -> None:
    found = estimated(tosses, least=0)
    for share, low, high in ((found.share, found.low, found.high), (found.robust, found.robust_low, found.robust_high)):
        assert share is not None and low is not None and high is not None
        assert 0 <= low <= share + 1e-9 and share - 1e-9 <= high <= 100


@given(TOSSES, st.floats(0, 1))
def test_a_model_that_expects_the_same_of_all_changes_nothing(tosses: list[Toss], expected: float) -> None:
    found = estimated([toss._replace(expected=expected) for toss in tosses], least=0)
    assert found.robust == approx(found.share)


@given(TOSSES)
def test_a_model_that_is_never_surprised_is_believed(tosses: list[Toss]) -> None:
    known = [toss._replace(expected=float(toss.right)) for toss in tosses]
    truth = weighted((toss.chance * toss.weight, toss.right) for toss in tosses)
    assert estimated(known, least=0).robust == approx(100 * truth)


@given(TOSSES)
def test_answers_are_worth_no_more_than_as_many_of_equal_weight(tosses: list[Toss]) -> None:
    assert 0 < effective_size(tosses) <= sum(toss.is_taken for toss in tosses) + 1e-9


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1), CHANCE)
def test_by_one_coin_those_let_in_would_be_as_right_as_those_left_out(
    tossed: list[tuple[bool, bool]], chance: float
) -> None:
    left_out = [right for is_out, right in tossed if is_out]
    assume(left_out)
    tosses = [Toss(chance, is_out, right, (1 - chance) / chance) for is_out, right in tossed]
    assert estimated(tosses, least=0).share == approx(100 * fmean(left_out))


@given(TOSSES, st.integers(1, 500))
def test_other_prompts_than_those_that_fell_so_have_a_wider_interval(tosses: list[Toss], apart: int) -> None:
    one, other = estimated(tosses, least=0), estimated(tosses, apart=apart, least=0)
    assert one.low is not None and one.high is not None and other.low is not None and other.high is not None
    assert other.share == one.share and other.high - other.low > one.high - one.low


def test_a_toss_is_for_all_memories_that_were_retrieved_and_those_left_out_stand_for_those_let_in() -> None:
    names = frozenset("ab")
    [let_in, half, left_out, other] = found(
        (plan("q", "ac", coin=0.2), True),
        (plan("r", "a", left="b", coin=0.2), True),
        (plan("s", "c", left="ab", coin=0.2), False),
        (plan("t", "c", left="d", coin=0.2), True),
    )
    assert tossed(let_in, names) == toss(0.2, taken=False)._replace(chance=approx(0.2), weight=approx(4), expected=None)
    assert tossed(half, names) == toss(0.04, taken=False)._replace(
        chance=approx(0.04), weight=approx(24), expected=None
    )
    assert tossed(left_out, names) == toss(0.04, right=False)._replace(
        chance=approx(0.04), weight=approx(24), expected=None
    )
    assert tossed(other, names) is None


def test_without_a_toss_for_each_memory_there_is_none() -> None:
    certain, principle = found((plan("q", "a"), True), (plan("r", "a", principles=("b",), coin=0.2), True))
    assert tossed(certain, frozenset("a")) is None
    assert tossed(principle, frozenset("ab")) is None and tossed(principle, frozenset("a")) is not None


def test_too_few_answers_of_equal_weight_give_no_number() -> None:
    tosses = [toss(0.5, taken=number % 2 == 0) for number in range(2 * LEAST_PAIRS)]
    assert estimated(tosses).share == 100
    fewer = estimated(tosses[2:])
    assert (fewer.taken, fewer.effective) == (LEAST_PAIRS - 1, approx(LEAST_PAIRS - 1))
    assert (fewer.share, fewer.low, fewer.robust, fewer.robust_high) == (None, None, None, None)


def test_prompts_that_were_as_good_as_never_asked_so_leave_no_number_however_many_others_there_are() -> None:
    often = [toss(0.5, taken=number % 2 == 0) for number in range(400)]
    never = [toss(0.0001, taken=False) for _ in range(400)]
    assert estimated(often).effective == approx(200)
    assert estimated([*often, *never]).share is None


def test_nothing_that_fell_so_gives_no_number() -> None:
    assert estimated([toss(0.5, taken=False)] * 100) == WhatIfEstimate(of=100, taken=0, effective=0.0)


@pytest.mark.slow
def test_intervals_hold_the_truth_in_made_up_runs() -> None:
    """Nine seeds of the hundred of the bench, and all their arms."""
    found = [each for seed in range(1, 10) for each in simulated(seed, 200, 5) if each.estimate.share is not None]
    inside = [e.estimate.low <= e.truth <= e.estimate.high for e in found if e.estimate.low and e.estimate.high]
    assert len(inside) > 5 and sum(inside) >= 0.9 * len(inside)


# ------------------------------------------------------------ guard and gate


def recorded(guard: Guard, correct: Sequence[int]) -> tuple[Config, Scores, list[Judged]]:
    """Return what a run with so many of 100 right answers in each iteration recorded."""
    scores, found = Scores(), list[Judged]()
    for k, (verdict, consequence) in enumerate(guarded(guard, *correct)):
        restored = consequence.to_iteration if isinstance(consequence, SlotsRolledBack) else None
        found.append(Judged(verdict, restored))
        for place in range(100):
            answer = judged(k, "t", correct=place < correct[k], purpose="fresh" if guard == "paper" else "anchor")
            fields = {name: getattr(answer, name) for name in answer.__struct_fields__}
            scores.apply(type(answer)(**{**fields, "question_id": f"q{place}"}))
    return Config(benchmark="wordmath", guard=guard), scores, found


@pytest.mark.parametrize("guard", ["paired", "paper", "off"])
@given(st.lists(st.integers(60, 100), min_size=1, max_size=6))
def test_the_guard_of_the_run_judges_again_as_it_judged(guard: Guard, correct: list[int]) -> None:
    config, scores, snapshots = recorded(guard, correct)
    found = list(rulings(config, scores, snapshots, ()))
    assert len(found) == len(snapshots) and all(ruling.is_same for ruling in found)
    for ruling, snapshot in zip(found, snapshots, strict=True):
        assert snapshot.decided.verdict in ("off", ruling.decision.verdict)


def test_another_guard_judges_up_to_the_first_snapshot_after_which_the_run_is_another() -> None:
    _, scores, snapshots = recorded("paper", (90, 91, 80, 95, 70))
    other = Config(benchmark="wordmath", guard="off")
    found = list(rulings(other, scores, snapshots, ()))
    assert [ruling.is_same for ruling in found] == [True, True, False]
    assert (snapshots[2].restored, found[2].decision.restore) == (1, None)


def test_a_verdict_of_another_name_with_the_same_consequence_does_not_end_it() -> None:
    """A drop of 7 points against iteration 0 is a catastrophe at 5 points, and a drop at 10; both restore 0."""
    _, scores, snapshots = recorded("paper", (90, 83, 90))
    milder = Config(benchmark="wordmath", guard="paper", catastrophic_drop=0.1)
    found = list(rulings(milder, scores, snapshots, ()))
    assert [ruling.decision.verdict for ruling in found] == ["accepted", "soft_rollback", "accepted"]
    assert snapshots[1].decided.verdict == "hard_rollback" and all(ruling.is_same for ruling in found)


@pytest.mark.parametrize(
    ("drop", "recorded_asked", "asked"), [(0.2, 10, 10), (0.2, 40, 10), (0.03, 40, 40), (0.03, 10, 20)]
)
def test_a_guard_that_allows_less_asks_more_anchors_than_are_on_record_and_one_that_allows_more_asks_fewer(
    drop: float, recorded_asked: int, asked: int
) -> None:
    """All answers stay right: after ten of forty, one loss more would be a drop of 10 points."""
    names = tuple(f"q{number:02}" for number in range(40))
    order = shuffled(names, 42, purpose="anchors", iteration=1)
    scores, config = Scores(), Config(benchmark="wordmath", guard_drop=drop)
    for k in (0, 1):
        for name in names:
            scores.apply(msgspec.structs.replace(judged(k, "t", correct=True, purpose="anchor"), question_id=name))
    decided = guarded("paired", 90)[0][0]
    snapshot = Judged(msgspec.structs.replace(decided, iteration=1), None, names, frozenset(order[:recorded_asked]))
    [ruling] = rulings(config, scores, [snapshot], (0,))
    assert anchors_asked(config, scores, ruling) == asked
    assert anchors_asked(config, scores, ruling._replace(accepted=())) == 40, "nothing to compare with"


PAIRS = st.dictionaries(
    st.sampled_from("abc"), st.lists(st.builds(Pair, st.booleans(), st.booleans()), max_size=30), min_size=1
)


@given(PAIRS, st.sampled_from(["paired", "off"]), st.floats(0, 1))
def test_a_gate_decides_by_the_counts_as_it_does_by_the_pairs(
    pairs: dict[str, list[Pair]], gate: str, gate_p: float
) -> None:
    counted, pooled = decide_benefit(pairs, p=0.25)
    decided = BenefitDecided(iteration=3, records=counted, pooled=pooled, stale=0)
    config = Config(benchmark="wordmath", gate=gate, gate_p=gate_p)  # type: ignore[arg-type]
    records = gated(decided, config)
    assert records == decide_benefit(pairs, p=gate_p, is_gated=gate == "paired")[0]
    right = [
        pair.learned if record.served == "learned" else pair.bare
        for record in records
        for pair in pairs[record.task_type]
    ]
    assert right_as_served(records) == sum(right)
