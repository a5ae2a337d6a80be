"""The reader behind the seam: a reply to any prompt, in the form that the prompt's last paragraph asks for."""

from __future__ import annotations

import asyncio

import msgspec
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mage_es.engine.models.registry import open_model
from mage_es.engine.players.reader.model import reply as reply_to
from mage_es.engine.rules.prompt import PromptQuestion, Quote, Section, render_answer
from mage_es.engine.seams.model import Request

PIECES = (
    "A. x\n", "B. y\n", "(1) one, (2) two", "Option (", "Region 1", "falls in Region", "answer 'Yes' or 'No'",
    "next point is", "(1.5, 2.5", "inflows: [,. ]", "predicted outflows are: [", "| a | 2019 |\n", "| --- | --- |\n",
    "| row | - |\n", "change of row from 2019 to 2020?", "## Question\n", "## Solved earlier\n", "> Question: a\n",
    "> Answer: b\n", "\n\n", "one or two?", "when was it", "[1] T: text.\n", "answered with: x.",
    "## Tool\n> Name: t\n", "## This step\n> Step: s\n", "## Earlier attempt\n> Answer: b\n", "## Thoughts on it\n",
    "Search[x] Finish[x]\n", "## Steps so far\n> Action 1: Search[A]\n> Observation 1: B. C.\n", "## Found\n> T: t.\n",
    "Could not find A. Similar: B, C.", "(0): a (1): b", "your option", "Answer: x", "inflow for 3 time steps",
)  # fmt: skip


def reply(asked: Request, *, temperature: float = 0.0, sample: int = 0) -> str:
    return reply_to(msgspec.structs.replace(asked, temperature=temperature, sample=sample))


def prompt(question: str, ending: str, *examples: str, template: str = "answer_cot") -> Request:
    quotes = [Quote(f"m{at}", text) for at, text in enumerate(examples)]
    rendered = render_answer(template, [Section("Solved earlier", quotes)], PromptQuestion(question, "", ending))
    return Request(system=rendered.system, prompt=rendered.text)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=12), max_size=14).map("".join))
@example("")
def test_any_text_has_a_reply(text: str) -> None:
    assert reply(Request(prompt=text))
    assert reply(Request(prompt=text), temperature=0.7, sample=3)
    assert reply(prompt(text, 'End with "Answer: <x>".', text))


@pytest.mark.parametrize(
    ("ending", "last"),
    [
        ('Finish with a line such as "Answer: Oslo".', "Answer: Goethe"),
        ('End with a line such as "Answer: [Z]".', "Answer: [Goethe]"),
        ('Finish with a line such as "#### 1467".', "#### Goethe"),
        ('End with "\\section*{Final Answer}\n\\pi".', "\\section*{Final Answer}\nGoethe"),
        ("Say who it was.", "#### Goethe"),
    ],
)
def test_a_reply_ends_as_the_prompt_asks_whatever_the_question_and_its_examples_hold(ending: str, last: str) -> None:
    asked = 'If 1 < 2 and "Answer: [<X>]" is no ending, and \\section*{Final Answer} none.\nWho wrote Faust?'
    text = reply(prompt(asked, ending, "Question: Who wrote Faust?\nReply: I read it.\nAnswer: Goethe"))
    assert text == f"The nearest that the prompt holds is Goethe.\n{last}"


def test_without_reasoning_asked_for_there_is_the_answer_alone() -> None:
    solved = "Question: Who wrote Faust?\nReply: I read it.\nAnswer: Goethe"
    text = prompt("Who wrote Faust?", 'Finish with "Answer: <name>".', solved, template="answer_direct")
    assert reply(text) == "Answer: Goethe"


def test_the_same_prompt_has_the_same_reply_and_it_is_known_by_its_name() -> None:
    request = prompt("Is it so?", "Answer.")
    first, second = (asyncio.run(open_model("builtin/reader", "execution").complete(request)) for _ in range(2))
    assert first == second
    assert first.input_tokens > 0 and first.output_tokens > 0
    assert open_model("builtin/reader", "execution").name == "builtin/reader"


def test_what_was_looked_up_is_read() -> None:
    found = [Section("Found", [Quote("search/Faust", "Faust: Goethe wrote it.")])]
    text = render_answer("answer_cot", found, PromptQuestion("Who wrote Faust?", "", "Answer.")).text
    assert reply(Request(prompt=text)).endswith("Goethe")


def test_samples_at_a_temperature_differ_and_each_of_them_is_always_the_same() -> None:
    text = prompt("Anna met Bert.\nCarl met Dora.\nWho met whom?", "Answer.")
    drawn = [reply(text, temperature=1.0, sample=sample) for sample in range(40)]
    assert len(set(drawn)) > 1
    assert drawn == [reply(text, temperature=1.0, sample=sample) for sample in range(40)]
    assert {reply(text, sample=sample) for sample in range(40)} == {reply(text)}
