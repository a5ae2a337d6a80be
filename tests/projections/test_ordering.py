"""The order of skills."""

from hypothesis import given
from hypothesis import strategies as st

from mage_es.projections.ordering import Ordering

NEEDS = "prerequisite_of"


def test_a_closure_has_what_a_skill_needs_before_it_and_equals_in_lexicographic_order() -> None:
    skills = Ordering(
        ["a", "b", "c", "d", "e"],
        [("c", "a", NEEDS), ("b", "a", NEEDS), ("d", "b", NEEDS), ("d", "c", NEEDS), ("a", "e", NEEDS)],
    )
    assert skills.closure("a") == ["d", "b", "c", "a"]
    assert skills.closure("d") == ["d"]
    assert skills.closure("unknown") == ["unknown"]


def test_composition_orders_skills_and_is_no_prerequisite() -> None:
    skills = Ordering(["a", "b"], [("b", "a", "composes_into")])
    assert skills.in_order() == ["b", "a"]
    assert skills.closure("a") == ["a"] and skills.prerequisites("a") == []
    assert skills.leads("b", "a") and not skills.leads("a", "b")


def test_what_comes_directly_before_a_skill_is_needed_or_part_of_it() -> None:
    skills = Ordering(["a", "b", "c"], [("b", "a", "composes_into"), ("c", "a", NEEDS), ("c", "b", NEEDS)])
    assert skills.directly_before("a") == ["b", "c"]
    assert skills.directly_before("unknown") == []


@given(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8), st.booleans()), max_size=30))
def test_a_closure_is_closed_in_order_and_has_nothing_that_is_not_needed(pairs: list[tuple[int, int, bool]]) -> None:
    names = [str(number) for number in range(9)]
    edges = [(str(a), str(b), NEEDS if is_need else "composes_into") for a, b, is_need in pairs if a < b]
    skills = Ordering(names, edges)
    needs = {name: {a for a, b, kind in edges if b == name and kind == NEEDS} for name in names}

    for name in names:
        closure = skills.closure(name)
        assert closure[-1] == name and len(set(closure)) == len(closure)
        for place, member in enumerate(closure):
            assert needs[member] <= set(closure[:place])
        for member in closure[:-1]:
            assert any(member in needs[other] for other in closure)
