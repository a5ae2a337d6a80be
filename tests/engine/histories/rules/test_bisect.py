"""Where a row flips, and how seldom it takes to find out."""

from math import ceil, log2
from types import SimpleNamespace

from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.histories.rules.bisect import bracket, crossings, most_asked, next_asked


def searched(row: list[str], verdicts: dict[str, bool], known: dict[str, bool] | None = None) -> SimpleNamespace:
    """Search a row to its end, and return what was found, the places that were asked, and the bound before each."""
    known = {**(known or {})}
    asked, bounds = list[int](), [most_asked(row, known)]
    while (place := next_asked(row, known)) is not None:
        asked.append(place)
        known[row[place]] = verdicts[row[place]]
        bounds.append(most_asked(row, known))
    return SimpleNamespace(found=bracket(row, known), asked=asked, bounds=bounds)


rows = st.lists(st.sampled_from("abcdefghijklmnop"), min_size=2, max_size=40)


@given(st.integers(1, 200), st.data())
def test_one_planted_flip_is_found_exactly_within_the_halvings_of_the_steps_and_the_two_ends(
    steps: int, data: st.DataObject
) -> None:
    row = [str(place) for place in range(steps + 1)]
    flip, first = data.draw(st.integers(1, steps)), data.draw(st.booleans())
    done = searched(row, {name: first == (place < flip) for place, name in enumerate(row)})
    assert done.found == (flip - 1, flip)
    assert len(done.asked) <= 2 + ceil(log2(steps)) and len(set(done.asked)) == len(done.asked)


@given(rows, st.data())
def test_whatever_the_verdicts_are_two_neighbours_that_differ_are_found_and_equal_prompts_are_asked_once(
    row: list[str], data: st.DataObject
) -> None:
    verdicts = {name: data.draw(st.booleans(), label=name) for name in dict.fromkeys(row)}
    on_record = data.draw(st.sets(st.sampled_from(row)))
    done = searched(row, verdicts, {name: verdicts[name] for name in on_record})
    names = [row[place] for place in done.asked]
    assert len(set(names)) == len(names) and on_record.isdisjoint(names)
    assert len(names) <= done.bounds[0]
    # A bound holds after each answer, too: what was promised is never raised.
    assert all(now <= was - 1 for was, now in zip(done.bounds, done.bounds[1:], strict=False)) and done.bounds[-1] == 0
    if verdicts[row[0]] == verdicts[row[-1]]:
        assert done.found is None and len(names) <= 2
    else:
        low, high = done.found
        assert high == low + 1 and verdicts[row[low]] == verdicts[row[0]] != verdicts[row[high]]


def test_what_is_on_record_narrows_the_search_to_the_first_flip_that_is_known() -> None:
    row = list("abcdefgh")
    known = {"a": True, "b": True, "c": False, "f": True, "h": False}
    assert next_asked(row, known) is None and bracket(row, known) == (1, 2)
    assert next_asked(list("aabbc"), {"a": True, "c": False}) == 2, "of equal prompts the first"
    assert next_asked(list("aabbc"), {"a": True, "b": False, "c": False}) is None


def test_a_level_crosses_where_it_gets_past_the_first_one_and_where_it_comes_back() -> None:
    assert crossings([0.8, 0.8, 0.7, 0.6]) == [2]
    assert crossings([0.8, 0.7, 0.8, 0.9, 0.75, 0.6]) == [1, 2, 4], "down, back, down for good"
    assert crossings([0.2, None, 0.2, 0.3, None, 0.5]) == [3]
    assert crossings([0.5, 0.9, 0.1, 0.5]) == [], "the ends are the same"


@given(st.lists(st.sampled_from([0.1, 0.2, 0.3, None]), min_size=1, max_size=12))
def test_between_two_crossings_all_levels_are_on_one_side(between: list[float | None]) -> None:
    levels = [0.2, *between, 0.1]
    found = crossings(levels)
    assert len(found) % 2 == 1, "the last level is past the first"
    for place, level in enumerate(levels):
        if level is not None:
            assert (level < 0.2) == (sum(each <= place for each in found) % 2 == 1), place
