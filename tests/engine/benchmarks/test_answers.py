"""HotpotQA's normal form, exact match and F1, case by case."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.benchmarks.answers import exact_match, normalise_answer, overlap


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
