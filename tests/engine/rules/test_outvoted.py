"""Wrong answers among right ones: outvoted by the cases around them, where that finds more right answers."""

from __future__ import annotations

import numpy as np

from mage_es.engine.rules.outvoted import VOTERS, outvoted
from tests.engine.rules.test_drift import FIRST, TERMS, TOPICS, remember, shown, stream

POISON = "team 9"


def poisoned(share: int = 5, count: int = 120) -> list[tuple[int, np.ndarray, str]]:
    """Return cases of which every so-manieth has another answer, always the same."""
    cases = stream(FIRST, each=count)
    return [
        (k, vector, POISON if place % share == share - 1 else said) for place, (k, vector, said) in enumerate(cases)
    ]


def test_what_those_around_it_contradict_is_out_and_hardly_anything_else() -> None:
    cases = poisoned()
    out = outvoted(np.array([vector for _, vector, _ in cases]), [said for *_, said in cases])
    is_wrong = np.array([said == POISON for *_, said in cases])
    assert out[is_wrong].all() and out[~is_wrong].mean() < 0.05


def test_nothing_is_out_where_all_agree_and_where_the_nearest_says_nothing() -> None:
    cases = stream(FIRST, each=120)
    vectors = np.array([vector for _, vector, _ in cases])
    assert not outvoted(vectors, [said for *_, said in cases]).any()
    by_lot = np.random.default_rng(2).integers(TOPICS, size=len(cases))
    assert not outvoted(vectors, [str(each) for each in by_lot]).any()
    assert not outvoted(vectors, [str(place) for place in range(len(cases))]).any()


def test_nothing_is_out_where_that_would_be_half_of_the_cases() -> None:
    # Of each topic 9 of 20 agree, and the others are each of one mind: right answers are found among those who agree.
    cases = stream(FIRST, each=80)
    said = [said if place // TOPICS % 20 < 9 else f"own {place % 40}" for place, (*_, said) in enumerate(cases)]
    assert not outvoted(np.array([vector for _, vector, _ in cases]), said).any()
    said = [said if place // TOPICS % 20 < 14 else f"own {place % 40}" for place, (*_, said) in enumerate(cases)]
    assert outvoted(np.array([vector for _, vector, _ in cases]), said).any()


def test_too_few_cases_outvote_nothing() -> None:
    few = poisoned(count=VOTERS)
    assert not outvoted(np.array([vector for _, vector, _ in few]), [said for *_, said in few]).any()
    assert not outvoted(np.zeros((0, 2)), []).any()


def test_what_is_outvoted_is_shown_with_no_question() -> None:
    memory = remember(poisoned())
    questions = range(TOPICS)
    assert all(shown(memory, topic) == {f"team {topic}"} for topic in questions)
    assert any(POISON in shown(memory, topic, TERMS._replace(bundle=9, is_measured=False)) for topic in questions)
