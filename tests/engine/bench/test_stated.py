"""Which prose gives an answer, and which wrong answer a judge may be asked about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.bench.stated import may_mean, states


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
