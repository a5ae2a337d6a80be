"""HotpotQA's normal form, exact match and F1, case by case."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.benchmarks.answers import exact_match, may_mean, normalise_answer, overlap, states


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The Chief  of\tProtocol.", "chief of protocol"),
        ("1881-1945", "18811945"),
        ("1881–1945", "1881–1945"),
        ("“Up”", "“up”"),
        ("an A-team, the then", "ateam then"),
        ("THE THEATRE", "theatre"),
        ("café", "café"),
        ("U.S.", "us"),
        ("the", ""),
        ("!?", ""),
    ],
)
def test_the_normal_form_lowers_deletes_ascii_punctuation_then_articles_then_space(text: str, normal: str) -> None:
    assert normalise_answer(text) == normal


def test_composed_and_decomposed_accents_are_not_equal() -> None:
    assert not exact_match("caf\u00e9", "cafe\u0301")


@pytest.mark.paper("appendix, HotpotQA EM and F1")
@pytest.mark.parametrize(
    ("answer", "gold", "em", "f1", "precision", "recall"),
    [
        ("Chief of Protocol", "chief of protocol.", 1, 1, 1, 1),
        ("Béla Bartók", "Béla Viktor János Bartók", 0, 2 / 3, 1, 0.5),
        ("the", "a", 1, 0, 0, 0),
        ("...", "!", 1, 0, 0, 0),
        ("Yes, they are", "yes", 0, 0, 0, 0),
        ("yes", "Yes.", 1, 1, 1, 1),
        ("no", "no way", 0, 0, 0, 0),
        ("noanswer", "no answer", 0, 0, 0, 0),
        ("red red blue", "red blue blue", 0, 2 / 3, 2 / 3, 2 / 3),
        ("green", "blue", 0, 0, 0, 0),
        ("", "blue", 0, 0, 0, 0),
    ],
)
def test_exact_match_and_f1_are_upstreams(
    answer: str, gold: str, em: int, f1: float, precision: float, recall: float
) -> None:
    assert exact_match(answer, gold) == bool(em)
    assert overlap(answer, gold) == pytest.approx((f1, precision, recall))


@given(st.text(), st.text())
def test_f1_is_symmetric_and_never_fails(left: str, right: str) -> None:
    one, other = overlap(left, right), overlap(right, left)
    assert one.f1 == pytest.approx(other.f1) and 0 <= one.f1 <= 1
    assert (one.precision, one.recall) == (other.recall, other.precision)


@pytest.mark.paper("section 4, semantic judge")
@pytest.mark.parametrize(
    ("answer", "gold", "may"),
    [
        ("Ambassador Shirley Temple", "Shirley Jane Temple Black", True),
        ("NYC", "New York City", True),
        ("United States of America", "USA", False),
        ("United States America", "U.S.A.", True),
        ("in 1945", "1945 or so", True),
        ("Yes, they are", "yes", True),
        ("yes", "no", False),
        ("the city of Rome", "University of Oxford", False),
        ("that was for him", "this was for her", False),
        ("", "Rome", False),
        ("red", "blue", False),
    ],
)
def test_a_judge_may_be_asked_where_a_wrong_answer_has_something_of_the_right_one(
    answer: str, gold: str, may: bool
) -> None:
    assert may_mean(answer, gold) is may


@pytest.mark.parametrize(
    ("prose", "gold"),
    [
        ("It was written by J.R.R. Tolkien.", "J. R. R. Tolkien"),
        ("The prize went to Wilhelm Röntgen in 1901.", "Wilhelm Conrad Röntgen"),
        ("The colours of light are red, green, and blue.", "Red, Blue and Green"),
        ("ADP (Adenosine diphosphate).", "adenosine diphosphate (ADP)"),
        ("It was published in 19741.", "1974"),
        ("It lives 10-12 years.", "10–12 years"),
        ("It is called simply “gravity”.", "Gravity"),
        ("Dmitri Shostakovich wrote it.", "Dimitri Shostakovitch"),
        ("It is by J. M. W. Turner.", "Joseph Turner"),
        ("Yes, both are plants.", "yes"),
    ],
)
def test_prose_states_an_answer_in_its_own_words(prose: str, gold: str) -> None:
    assert states(prose, gold)


@pytest.mark.parametrize(
    ("prose", "gold", "question"),
    [
        ("It is not in Paris but in Rome.", "Paris", ""),
        ("It is Rome rather than Paris.", "Paris", ""),
        ("Paris or Rome", "Paris", ""),
        ("Norway is larger than Sweden.", "Sweden", "Is Norway or Sweden larger?"),
        ("It changed in 1975. Since 1979 it is a rule.", "1979", ""),
        ("From 1982-1988.", "1988", ""),
        ("I do not know whether it is Paris.", "Paris", ""),
        ("No, only one is a plant.", "yes", ""),
        ("Parish", "Paris", ""),
        ("", "Paris", ""),
    ],
)
def test_what_is_denied_hedged_or_said_in_passing_is_not_stated(prose: str, gold: str, question: str) -> None:
    assert not states(prose, gold, question)


@given(st.text(), st.text(), st.text())
def test_stating_never_raises(prose: str, gold: str, question: str) -> None:
    assert states(prose, gold, question) in (True, False)
