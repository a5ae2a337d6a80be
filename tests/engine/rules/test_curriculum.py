"""The round-robin is exact and covers every type; the frontier is what can be learned next."""

from fractions import Fraction
from math import ceil, floor

from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.rules.curriculum import Candidate, frontier, n_fail, select_targets

LAMBDA = Fraction(3, 10)


def chosen(candidates: list[Candidate], iteration: int, count: int = 3, signal: str = "rate") -> list[str]:
    targets = select_targets(
        candidates,
        iteration=iteration,
        recency_weight=LAMBDA,
        count=count,
        signal="rate" if signal == "rate" else "window",
    )
    return [target.task_type for target in targets]


def test_the_type_with_the_higher_failure_rate_comes_first() -> None:
    assert chosen([Candidate("a", 1, 10, 4), Candidate("b", 9, 10, 4)], 5) == ["b", "a"]


def test_waiting_outweighs_failing_in_the_end() -> None:
    assert chosen([Candidate("waits", 0, 10, 0), Candidate("fails", 10, 10, 4)], 5, count=1) == ["waits"]


def test_a_tie_in_exact_fractions_goes_to_the_longer_waiting_then_the_smaller_name() -> None:
    """1/10 + 3/10 * 2 = 4/10 + 3/10 * 1, which floating point gets wrong."""
    tied = [Candidate("b", 4, 10, 4), Candidate("a", 1, 10, 3), Candidate("c", 1, 10, 3)]
    assert chosen(tied, 5) == ["a", "c", "b"]


def test_the_window_signal_counts_failures_instead_of_their_rate() -> None:
    few, many = Candidate("few", 2, 2, 4), Candidate("many", 5, 50, 4)
    assert chosen([few, many], 5) == ["few", "many"]
    assert chosen([few, many], 5, signal="window") == ["many", "few"]


def test_a_type_without_attempts_has_no_failures() -> None:
    assert n_fail(Candidate("a", 0, 0, 1), "rate") == 0


@settings(max_examples=60)
@given(st.data(), st.integers(1, 12), st.integers(1, 4))
def test_between_two_selections_at_most_the_bound_passes(data: st.DataObject, types: int, count: int) -> None:
    last = dict.fromkeys([f"t{i:02d}" for i in range(types)], -1)
    bound = floor(1 / LAMBDA) + ceil(Fraction(types, count))  # Theorem 2 for failure rates, which are at most 1
    for iteration in range(25):
        rates = data.draw(st.lists(st.integers(0, 10), min_size=types, max_size=types))
        candidates = [Candidate(name, rate, 10, last[name]) for (name, rate) in zip(last, rates, strict=True)]
        for name in chosen(candidates, iteration, count=count):
            assert iteration - last[name] <= bound
            last[name] = iteration
        assert all(iteration - seen <= bound for seen in last.values())


def test_a_skill_is_learnable_once_all_its_prerequisites_are_mastered() -> None:
    needs = {"b": ["a"], "c": ["a", "b"]}
    assert frontier({"a": 0.2, "b": 0.0, "c": 0.0}, needs, 0.5) == ["a"]
    assert frontier({"a": 0.5, "b": 0.1, "c": 0.0}, needs, 0.5) == ["b"]


def test_where_nothing_is_learnable_the_lowest_mastery_is_worked_on() -> None:
    assert frontier({"a": 0.9, "b": 0.6, "c": 0.6}, {}, 0.5) == ["b", "c"]
    assert frontier({}, {}, 0.5) == []
