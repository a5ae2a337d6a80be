"""Which task types were seen and selected, and when."""

import pytest

from mage_es.events.vocabulary import Target, TargetsSelected
from mage_es.projections.coverage import Coverage


def selected(k: int, *targets: str, new: tuple[str, ...] = ()) -> TargetsSelected:
    return TargetsSelected(
        iteration=k,
        targets=tuple(Target(task_type=name, failures=0, attempts=0, last_selected=-1) for name in targets),
        newly_observed=new,
    )


def test_a_new_type_counts_as_selected_just_before_it_was_seen() -> None:
    coverage = Coverage()
    coverage.apply(selected(4, "b", new=("b", "a")))

    assert coverage.observed() == ["a", "b"]
    assert coverage.dump()["a"] == (4, 3)
    assert coverage.dump()["b"] == (4, 4)


def test_selection_moves_the_last_iteration_and_not_the_first() -> None:
    coverage = Coverage()
    for event in (selected(0, "a", new=("a", "b")), selected(1, "b"), selected(5, "a")):
        coverage.apply(event)

    assert coverage.dump()["a"] == (0, 5)
    assert coverage.last_selected("b") == 1


def test_selecting_a_type_that_was_never_observed_is_an_error() -> None:
    with pytest.raises(KeyError, match="ghost"):
        Coverage().apply(selected(0, "ghost"))
