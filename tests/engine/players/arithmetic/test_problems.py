import pytest

from mage_es.engine.players.arithmetic.problems import read_problem
from mage_es.engine.players.arithmetic.quantities import Quantity


def quantities(text: str) -> list[Quantity]:
    return read_problem(text).quantities


@pytest.mark.parametrize(
    ("text", "per"),
    [
        ("There are 6 jars in each box.", "box"),
        ("Each box holds 6 jars.", "box"),
        ("The jars cost $6 apiece.", "?"),
        ("She earns $6 an hour.", "hour"),
        ("He reads 6 pages per day.", "day"),
    ],
)
def test_a_rate_is_told_by_its_each(text: str, per: str) -> None:
    assert [quantity.per for quantity in quantities(text)] == [per]


def test_a_rate_is_told_without_an_each_where_its_unit_is_counted() -> None:
    assert [quantity.per for quantity in quantities("A box holds 6 jars. There are 4 boxes.")] == ["box", ""]
    assert [quantity.per for quantity in quantities("She carries 4 boxes of 6 jars.")] == ["", "box"]


def test_the_noun_is_what_a_number_counts() -> None:
    nouns = [quantity.noun for quantity in quantities("She sold 48 of her red clips to 3 old friends for $5.")]
    assert nouns == ["clip", "friend", "$"]


def test_a_number_in_a_sentence_about_nothing_else_is_apart() -> None:
    text = "Lea has 20 cards. The tower is 31 metres tall. She gives 8 cards away. How many cards has she left?"
    assert [quantity.is_apart for quantity in quantities(text)] == [False, True, False]


def test_the_question_tells_the_noun_that_is_asked_for() -> None:
    problem = read_problem("Lea has 20 cards. How many more stickers than cards has she?")
    assert problem.target == "sticker"
    assert read_problem("Find the number of red cards.").target == "card"


def test_numbers_beside_the_same_word_are_tied() -> None:
    problem = read_problem("A candle costs $7 and a tile costs $6. Today 4 people want a tile and 5 want a candle.")
    assert {(0, 3), (1, 2)} <= problem.ties
    assert (0, 2) not in problem.ties
