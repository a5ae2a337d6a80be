from fractions import Fraction

import pytest

from mage_es.engine.players.arithmetic.analogies import Analogy, extend, transfer
from mage_es.engine.players.arithmetic.chains import bind
from mage_es.engine.players.arithmetic.equations import Equation, find_equations
from mage_es.engine.players.arithmetic.problems import read_problem

JARS = "Ana packs 4 boxes with 6 jars each. She gives 5 jars to a friend. How many jars are left?"
STEPS = "4 * 6 = 24\n24 - 5 = 19"


def analogies(question: str, *, example: str = JARS, reasoning: str = STEPS, answer: int = 19) -> list[Analogy]:
    known = read_problem(example)
    chain = bind(find_equations(reasoning), known.quantities, answer=Fraction(answer))
    assert chain is not None
    return transfer(known, chain, to=read_problem(question))


def test_the_best_analogy_comes_first_and_is_the_whole_chain() -> None:
    found = analogies("Each crate holds 12 figs. Omar fills 3 crates. He sells 9 figs. How many figs are left?")
    assert found[0].answer == 27
    assert found[0].is_whole
    assert [analogy.score for analogy in found] == sorted((analogy.score for analogy in found), reverse=True)


def test_the_sign_turns_where_the_wording_turns() -> None:
    found = analogies("Each crate holds 12 figs. Omar fills 3 crates. He finds 9 more figs. How many figs has he now?")
    assert found[0].answer == 45


def test_a_shorter_question_takes_a_part_of_the_chain() -> None:
    found = analogies("Omar fills 3 crates with 12 figs each. How many figs are there?")
    assert found[0].answer == 36
    assert not found[0].is_whole


def test_prices_go_with_the_things_that_they_belong_to() -> None:
    found = analogies(
        "A lamp costs $7 and a vase costs $6. On Monday 4 people buy a vase and 5 buy a lamp. What do they pay?",
        example="A candle costs $3 and a tile costs $2. Now 8 people buy a candle and 9 buy a tile. What do they pay?",
        reasoning="8 * 3 = 24\n9 * 2 = 18\n24 + 18 = 42",
        answer=42,
    )
    assert found[0].answer == 5 * 7 + 4 * 6


def test_a_likely_analogy_scores_above_an_unlikely_one() -> None:
    alike = analogies("Each crate holds 12 figs. Omar fills 3 crates. He sells 9 figs. How many figs are left?")
    unlike = analogies("Tom is 7 and his sister is 3 times as old. In 4 years, how old will she be?")
    assert alike[0].score > 0.3 > unlike[0].score


def test_too_few_numbers_give_no_analogy() -> None:
    assert analogies("There is nothing to count.") == []


@pytest.mark.parametrize(
    ("question", "left", "result", "answer"),
    [
        ("A hat costs $20. She loses $4 and then buys 3 hats. What does she pay?", 2, 16, 48),
        ("He has 24 figs and each day he eats 4 figs. How many days do they last?", 1, 24, 6),
        ("She has 24 figs and finds 4 more figs. How many figs has she?", 1, 24, 28),
        ("She has 24 figs and loses 4 figs. How many figs has she?", 1, 24, 20),
        ("A road is 90 km long, and 30 km are paved. How many km are left?", 0, 30, 60),
    ],
)
def test_a_number_left_over_is_used_as_hinted(question: str, left: int, result: int, answer: int) -> None:
    problem = read_problem(question)
    used = [quantity for at, quantity in enumerate(problem.quantities) if at != left]
    done = [Equation((Fraction(result),), Fraction(result))]
    further = extend(done, problem.quantities[left], used=used, to=problem)
    assert further is not None and further.value == answer


def test_without_a_hint_or_a_whole_result_nothing_is_added() -> None:
    plain = read_problem("There are 24 figs and 7 pens. What is the colour?")
    done = [Equation((Fraction(24),), Fraction(24))]
    assert extend(done, plain.quantities[1], used=plain.quantities[:1], to=plain) is None
    rate = read_problem("He has 24 figs and each day he eats 7 figs. How many days do they last?")
    assert extend(done, rate.quantities[1], used=rate.quantities[:1], to=rate) is None
