"""Examples, principles, steps and tools are heard in the order of what they are worth."""

from __future__ import annotations

from fractions import Fraction

from mage_es.engine.players.analogist.opinions import Solution, solve
from mage_es.engine.players.arithmetic.problems import read_problem
from mage_es.engine.players.prompts import Example, QuestionPrompt, ToolOutcome

LEMONS = "Each crate holds 12 lemons, and Omar fills 3 crates. After selling 9 lemons, how many are left?"
JARS = Example(
    question="Ana packs 4 boxes with 6 jars each. She gives 5 jars to a friend. How many jars are left?",
    reasoning="4 * 6 = 24\n24 - 5 = 19",
    answer="19",
)
NEUTRAL = "Ana packs 4 boxes with 6 jars each. She thinks of 5 jars. How many jars are there?"
MORE = Example(question=NEUTRAL, reasoning="4 * 6 = 24\n24 + 5 = 29", answer="29")
LESS = Example(question=NEUTRAL, reasoning="4 * 6 = 24\n24 - 5 = 19", answer="19")


def solved(question: str = LEMONS, **fields: object) -> Solution:
    values: dict[str, object] = {"is_direct": False, "before": "", "after": "", "examples": (), "advice": ()}
    return solve(read_problem(question), QuestionPrompt(question=question, **(values | fields)))  # type: ignore[arg-type]


def test_an_example_outweighs_a_tool_and_a_tool_outweighs_a_guess() -> None:
    wrong = ToolOutcome(name="left", arguments="{}", result="5")
    assert solved(examples=(JARS,), outcome=wrong).answer == Fraction(27)
    assert solved(outcome=wrong) == Solution(Fraction(5), [], "left gives 5 for {}.")


def test_a_tool_without_a_result_is_not_heard() -> None:
    for result in ("", "no number"):
        assert solved(outcome=ToolOutcome(name="left", arguments="{}", result=result)) == solved()


def test_a_principle_is_carried_out_where_nothing_else_is_known() -> None:
    question = "A shop sells 15 lamps for 8 dollars each. The rent is 50 dollars. What is its profit?"
    principle = 'When the question says "profit", multiply, then subtract.'
    assert solved(question, principles=(principle,)).answer == Fraction(70)
    assert solved(question, principles=('When the question says "loss", add, then add.',)) == solved(question)


def test_a_principle_decides_between_examples_that_fit_alike() -> None:
    question = "Omar fills 3 crates with 12 lemons each. He thinks of 9 lemons. How many lemons are there?"
    answers = {
        operation: solved(
            question,
            examples=(MORE, LESS),
            principles=(f'When the question says "crates", multiply, then {operation}.',),
        ).answer
        for operation in ("add", "subtract")
    }
    assert answers == {"add": Fraction(45), "subtract": Fraction(27)}


def test_without_a_number_the_answer_is_zero() -> None:
    assert solved("Who is it?") == Solution(Fraction(0), [])


def test_what_a_tool_or_an_earlier_step_came_to_backs_the_example_that_agrees() -> None:
    question = "Omar fills 3 crates with 12 lemons each. He thinks of 9 lemons. How many lemons are there?"
    tool = ToolOutcome(name="left", arguments="{}", result="27")
    assert solved(question, examples=(LESS, MORE)).answer == Fraction(45)  # which hints alone give, too
    assert solved(question, examples=(LESS, MORE), outcome=tool).answer == Fraction(27)
    assert solved(question, examples=(LESS, MORE), outputs=("36 - 9 = 27",)).answer == Fraction(27)
