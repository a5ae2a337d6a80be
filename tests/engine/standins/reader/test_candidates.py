"""Candidates: the weightiest is chosen without a temperature, at 1 each as often as its weight says."""

from __future__ import annotations

from collections import Counter

from mage_es.engine.seams.model import Request
from mage_es.engine.standins.reader.candidates import WeighedAnswer, choose, ranked

THREE = [WeighedAnswer("a", 6.0), WeighedAnswer("b", 3.0), WeighedAnswer("c", 1.0)]
DRAWS = 2_000


def drawn(candidates: list[WeighedAnswer], temperature: float) -> Counter[str]:
    requests = (Request(prompt="p", temperature=temperature, sample=sample) for sample in range(DRAWS))
    return Counter(choose(candidates, request) for request in requests)


def test_an_answer_stands_once_with_its_greatest_weight_and_equals_as_they_came() -> None:
    given = [WeighedAnswer("b", 1.0), WeighedAnswer("a", 1.0), WeighedAnswer("c", 2.0), WeighedAnswer("b", 0.5)]
    assert ranked(given) == [WeighedAnswer("c", 2.0), WeighedAnswer("b", 1.0), WeighedAnswer("a", 1.0)]


def test_without_a_temperature_the_weightiest_is_chosen() -> None:
    assert drawn(THREE, 0.0) == {"a": DRAWS}


def test_at_one_answers_are_drawn_in_proportion_to_their_weights_and_cooler_less_evenly() -> None:
    warm, cool = drawn(THREE, 1.0), drawn(THREE, 0.25)
    for answer, weight in THREE:
        assert abs(warm[answer] / DRAWS - weight / 10) < 0.04
    assert cool["a"] > 0.9 * DRAWS
    assert drawn(THREE, 1e-320) == {"a": DRAWS}


def test_without_any_weight_the_first_is_chosen() -> None:
    assert drawn([WeighedAnswer("a", 0.0), WeighedAnswer("b", 0.0)], 1.0) == {"a": DRAWS}
