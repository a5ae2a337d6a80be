import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.models.registry import open_model
from mage_es.engine.players.analogist.model import reply as reply_to
from mage_es.engine.players.prompts import read_question_prompt
from mage_es.engine.seams.model import Request

SYSTEM = 'Work step by step. Finish with a line "#### 1467".'
DIRECT = 'Finish with a line "#### 1467". Write nothing else: no reasoning.'


def reply(prompt: str, system: str = SYSTEM) -> str:
    return reply_to(Request(system=system, prompt=prompt))


def prompt(question: str, *, solved: str = "", corrected: str = "") -> str:
    parts = (("Solved earlier", solved), ("Corrected earlier", corrected))
    sections = [f"## {name}\n\n" + "\n".join(f"> {line}" for line in text.splitlines()) for name, text in parts if text]
    return "\n\n".join([*sections, f"## Question\n\n{question}"])


def solved(question: str, reasoning: str, answer: str) -> str:
    return f"Question: {question}\nReply: {reasoning}\n#### {answer}"


JARS = solved(
    "Ana packs 4 boxes with 6 jars each. She gives 5 jars to a friend. How many jars are left?",
    "4 * 6 = 24\n24 - 5 = 19",
    "19",
)


@pytest.mark.parametrize(
    ("question", "example", "answer"),
    [
        ("Omar had a cousin who is 31. Each crate holds 12 lemons, and Omar fills 3 crates. After selling 9 lemons,"
         " how many lemons does he still have?", JARS, 27),
        ("There are 7 racks in a shop, every rack carrying 8 vases. 10 vases broke. How many vases remain?", JARS, 46),
        ("Tom wants 4 lamps. The usual price of a lamp is 60 dollars, but this week everything is 10 percent cheaper."
         " What does Tom pay in all?",
         solved("A shirt costs $40. The shop takes 25% off. Lena buys 3 shirts. How much does she pay?",
                "40 * 25 / 100 = 10\n40 - 10 = 30\n30 * 3 = 90", "90"), 216),
        ("Together, how many cards do Lea and Max own if Lea owns 20 and Max owns 7 more than she does?",
         solved("Ada has 14 stamps and Bo has 9 more than Ada. How many stamps do they have together?",
                "14 + 9 = 23\n14 + 23 = 37", "37"), 47),
        ("A painter mixes white and green paint in the ratio 3 to 4 and needs 35 liters in total. How many liters of"
         " green paint does he need?",
         solved("The ratio of red to blue beads is 2 to 3. There are 40 beads. How many are blue?",
                "2 + 3 = 5\n40 / 5 = 8\n8 * 3 = 24", "24"), 20),
        ("There are 6 goats and 9 geese in a yard. Find the total number of legs.",
         solved("A farm has 8 chickens and 5 cows. How many legs do they have in all?",
                "8 * 2 = 16\n5 * 4 = 20\n16 + 20 = 36", "36"), 42),
    ],
)  # fmt: skip
def test_an_example_carries_over_to_another_wording(question: str, example: str, answer: int) -> None:
    assert reply(prompt(question, solved=example)).endswith(f"\n#### {answer}")


def test_the_example_makes_the_difference() -> None:
    question = "White and green paint are mixed in the ratio 3 to 4, 35 liters in all. How many liters are green?"
    example = solved(
        "The ratio of red to blue beads is 2 to 3. There are 40 beads. How many are blue?",
        "2 + 3 = 5\n40 / 5 = 8\n8 * 3 = 24",
        "24",
    )
    assert not reply(prompt(question)).endswith("#### 20")
    assert reply(prompt(question, solved=example)).endswith("#### 20")


def test_a_correction_serves_as_an_example() -> None:
    question = "Each crate holds 12 lemons, and Omar fills 3 crates. After selling 9 lemons, how many has he left?"
    assert reply(prompt(question, corrected=JARS)).endswith("#### 27")


def test_the_reply_to_an_example_can_serve_as_an_example_again() -> None:
    first = "Each crate holds 12 lemons, and Omar fills 3 crates. After selling 9 lemons, how many are left?"
    lines = reply(prompt(first, solved=JARS)).splitlines()
    again = solved(first, "\n".join(lines[:-1]), lines[-1].removeprefix("#### "))
    second = "There are 7 racks in a shop, every rack carrying 8 vases. 10 vases broke. How many vases remain?"
    assert reply(prompt(second, solved=again)).endswith("#### 46")


def test_an_example_of_another_kind_is_not_followed() -> None:
    question = "Half of the 48 students walk to school, and a third of the rest take the bus. How many take the bus?"
    assert reply(prompt(question, solved=JARS)) == reply(prompt(question))


def test_two_examples_that_fit_badly_are_not_followed_though_they_agree() -> None:
    question = "Half of the 48 students walk to school, and a third of the rest take the bus. How many take the bus?"
    again = "> " + JARS.replace("\n", "\n> ") + "\n\n## Question"
    twice = prompt(question, solved=JARS).replace("## Question", again)
    assert len(read_question_prompt(Request(prompt=twice)).examples) == 2
    assert reply(twice) == reply(prompt(question))


def test_only_the_answer_is_given_where_only_the_answer_is_wanted() -> None:
    question = "Each crate holds 12 lemons, and Omar fills 3 crates. After selling 9 lemons, how many are left?"
    assert reply(prompt(question, solved=JARS), DIRECT) == "#### 27"


LEMONS = "Each crate holds 12 lemons, and Omar fills 3 crates. After selling 9 lemons, how many are left?"


def section(name: str, *lines: str) -> str:
    return f"## {name}\n\n" + "\n".join(f"> {line}" for line in lines) + "\n\n"


def test_a_step_gives_equations_without_a_final_line() -> None:
    step = section("This step", "Step: multiply-1", "Description: Solve with one equation.")
    assert reply(step + prompt(LEMONS, solved=JARS)) == "3 * 12 = 36\n36 - 9 = 27"
    assert reply(step + prompt("Who is it?")) == "It asks for nothing."


def test_a_tool_gets_the_numbers_in_order_or_is_declined_where_it_takes_another_count() -> None:
    tool = ("Name: left", "Description: x", "Parameters:", "- a: a number", "- b: a number", "- c: a number")
    assert reply(section("Tool", *tool) + prompt(LEMONS)) == '{"a": 12, "b": 3, "c": 9}'
    assert reply(section("Tool", *tool[:-1]) + prompt(LEMONS)) == "none"


def test_it_learns_from_examples_and_from_nothing_else() -> None:
    told = (
        section("Principles", 'When the question says "left", add.'),
        section("Skill", "Instruction: Add.", "Approach: Step 1: add A to B."),
        section("Strategy", "When: x", "How: Step 1: add A to B."),
        section("Tool result", "Name: left", "Description: x", "Arguments: {}", "Result: 5"),
    )
    assert reply("".join(told) + prompt(LEMONS, solved=JARS)) == reply(prompt(LEMONS, solved=JARS))


def test_without_a_number_the_answer_is_zero() -> None:
    assert reply(prompt("Who is it?")) == "#### 0"


def test_tokens_are_words_numbers_and_marks() -> None:
    completion = asyncio.run(
        open_model("builtin/analogist", "execution").complete(Request(prompt=prompt("She has 7 cats. How many?")))
    )
    assert completion.text == "#### 7"
    assert completion.output_tokens == 5
    assert completion.stop_reason == "end"


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300), st.text(alphabet="0123456789 .,+-*/x()=%$\nabofeach", max_size=300))
def test_no_prompt_makes_it_raise(text: str, sums: str) -> None:
    for odd in (
        text,
        sums,
        prompt(sums, solved=solved(text, sums, sums)),
        section("Principles", text, sums) + prompt(text),
    ):
        assert "#### " in reply(odd)
    for odd in (section("Tool", f"- {text}: {sums}"), section("This step", f"Description: {text}")):
        reply(odd + prompt(sums))


def test_a_hostile_length_is_cut_and_answered() -> None:
    many = " ".join(f"{n} boxes with {n + 1} jars each and 30% off," for n in range(3, 900))
    long = "\n".join(f"{n} * {n + 1} = {n * (n + 1)}" for n in range(3, 900))
    example = solved(many, long + "\n3 * 4 = 12", "12")
    text = prompt(many + " How many?", solved="\n".join([example] * 3))
    assert "#### " in reply(text)
