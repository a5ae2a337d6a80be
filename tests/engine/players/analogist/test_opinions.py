"""An example outweighs hints, and hints decide between examples that fit alike."""

from fractions import Fraction

from mage_es.engine.players.analogist.model import solve
from mage_es.engine.players.arithmetic.problems import read_problem
from mage_es.engine.players.prompts import Example

LEMONS = "Each crate holds 12 lemons, and Omar fills 3 crates. After selling 9 lemons, how many are left?"
JARS = Example(
    question="Ana packs 4 boxes with 6 jars each. She gives 5 jars to a friend. How many jars are left?",
    reasoning="4 * 6 = 24\n24 - 5 = 19",
    answer="19",
)
NEUTRAL = "Ana packs 4 boxes with 6 jars each. She thinks of 5 jars. How many jars are there?"
MORE = Example(question=NEUTRAL, reasoning="4 * 6 = 24\n24 + 5 = 29", answer="29")
LESS = Example(question=NEUTRAL, reasoning="4 * 6 = 24\n24 - 5 = 19", answer="19")


def solved(question: str, *examples: Example) -> Fraction:
    return solve(read_problem(question), examples)[-1].value


def test_an_example_outweighs_hints() -> None:
    assert solved(LEMONS, JARS) == 27


def test_an_example_without_an_answer_is_not_heard() -> None:
    assert solved(LEMONS, Example(question=NEUTRAL, reasoning="", answer="unknown")) == solved(LEMONS)


def test_hints_back_the_example_that_gives_their_answer() -> None:
    question = "Omar fills 3 crates with 12 lemons each. He thinks of 9 lemons. How many lemons are there?"
    assert solved(question, LESS, MORE) == solved(question) == 45


def test_without_a_number_there_is_no_equation() -> None:
    assert solve(read_problem("Who is it?"), ()) == []
