"""Streams and shuffles depend on their key and on nothing else."""

import pytest

from mage_es.engine.rules.randomness import shuffled, stream


def test_the_same_key_gives_the_same_draws_whatever_was_drawn_before() -> None:
    stream(42, "search", 2, "q1").random(100)
    assert stream(42, "search", 3, "q1").random(4).tolist() == stream(42, "search", 3, "q1").random(4).tolist()


@pytest.mark.parametrize("other", [(43, "a", 0, "q"), (42, "b", 0, "q"), (42, "a", 1, "q"), (42, "a", 0, "r")])
def test_each_part_of_the_key_matters(other: tuple[int, str, int, str]) -> None:
    assert stream(42, "a", 0, "q").random() != stream(*other).random()


def test_parts_of_the_key_do_not_run_into_each_other() -> None:
    assert stream(1, "a", 1, "2").random() != stream(1, "a", 12, "").random()


def test_a_shuffle_is_pinned_for_every_numpy() -> None:
    assert shuffled("abcdefgh", 42, purpose="split") == list("hbecfagd")


def test_a_shuffle_keeps_every_item_once() -> None:
    assert sorted(shuffled(range(500), 7, purpose="x")) == list(range(500))
    assert shuffled([], 7, purpose="x") == []


def test_every_place_is_about_equally_likely() -> None:
    first = [shuffled(range(4), seed, purpose="fair")[0] for seed in range(2000)]
    assert all(400 < first.count(item) < 600 for item in range(4))
