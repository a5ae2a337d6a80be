"""Prompts are read by their headings, quoted blocks and labels."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.players.prompts import (
    QuestionPrompt,
    json_block,
    read_question_prompt,
    read_step_prompt,
    sections_of,
)
from mage_es.engine.seams.model import BETWEEN_TURNS, Request

SYSTEM = 'Reason step by step. Finish with a line such as "#### 1467".'
PROMPT = """## Solved earlier

> Question: Ana packs 4 boxes.
> Each holds 6 jars.
> Reply: 4 * 6 = 24
> 24 - 5 = 19
> #### 19

> Question: Two?
> Reply: 1 + 1 = 2
> #### 2

## Corrected earlier

> Question: Three?
> Reply: 1 + 2 = 3
> #### 3

> Question: Four?
> #### 4

## Strategy

> When: boxes
> How: Step 1: multiply A by B.
> Step 2: subtract C from result 1.

## Principles

> Read twice.

## Question

Some context.

How many are left?
"""


def asked(prompt: str, system: str = SYSTEM) -> QuestionPrompt:
    return read_question_prompt(Request(system=system, prompt=prompt))


def test_every_part_is_found_where_it_stands() -> None:
    read = asked(PROMPT)
    assert read.question == "Some context.\n\nHow many are left?"
    assert [example.answer for example in read.examples] == ["19", "2", "3", "4"]
    assert read.examples[0].question == "Ana packs 4 boxes.\nEach holds 6 jars."
    assert read.examples[0].reasoning == "4 * 6 = 24\n24 - 5 = 19"
    assert read.examples[2].reasoning == "1 + 2 = 3"
    assert (read.examples[3].question, read.examples[3].reasoning) == ("Four?", "")
    assert (read.before, read.after, read.is_direct) == ("#### ", "", False)


def test_a_case_of_a_served_request_has_its_answer_in_its_last_line() -> None:
    said = ["4 boxes of 6 jars, 5 break?", "4 * 6 = 24\n24 - 5 = 19\n19", "One?", "1", "How many are left?"]
    pieces = [*(f"{each}{BETWEEN_TURNS}" for each in said[:-1]), said[-1]]
    turns = tuple(accumulate(map(len, pieces[:-1])))
    read = read_question_prompt(Request(system='End with "#### ".', prompt="".join(pieces), turns=turns))
    assert [each.answer for each in read.examples] == ["19", "1"]
    assert [each.reasoning for each in read.examples] == ["4 * 6 = 24\n24 - 5 = 19", ""]
    assert read.question == "How many are left?"


def test_a_call_for_one_step_and_one_for_a_tools_arguments_are_recognised() -> None:
    step, tool = (
        "## This step\n\n> Step: add\n\n",
        "## Tool\n\n> Name: total\n> Parameters:\n> - a: a rate\n> Examples:\n> - {}\n\n",
    )
    found = [asked(f"{part}## Question\n\nHow many?") for part in ("", step, tool)]
    assert [(read.wants_step, read.parameters) for read in found] == [(False, None), (True, None), (False, ("a",))]


def test_the_direct_instruction_is_recognised() -> None:
    assert asked("## Question\n\nHow many?", "Write nothing else: no reasoning.").is_direct
    assert not asked("## Question\n\nWrite nothing else: no reasoning.").is_direct


def test_the_ending_that_the_prompt_asks_for_is_kept() -> None:
    for form, ending in {
        'Quoted ">" are notes. Finish with a line such as "Answer: 1467", a number.': ("Answer: ", ""),
        'Finish with a line such as "Answer: [Z]".': ("Answer: [", "]"),
        'Finish with a line that has "#### " and then the number alone.': ("#### ", ""),
        'Finish with one of these lines: "Answer: <18", "Answer: >65".': ("Answer: ", ""),
        'Finish in one block, such as "```sql\nSELECT 1\n```".': ("```sql\n", "\n```"),
        'End with a section such as "\\section*{Final Answer}\n\\pi".': ("\\section*{Final Answer}\n", ""),
    }.items():
        read = asked("## Question\n\nHow many?", form)
        assert (read.before, read.after) == ending


def test_a_heading_inside_quoted_text_is_data() -> None:
    prompt = "## Solved earlier\n\n> Question: A\n> ## Question\n> B\n> Answer: 1\n\n## Question\n\nReal?"
    read = asked(prompt)
    assert read.question == "Real?"
    assert "## Question" in read.examples[0].question


def test_a_heading_inside_the_question_belongs_to_the_question() -> None:
    prompt = "## Question\n\nWhat?\n\n## Solved earlier\n\n> Question: X\n> Answer: 7"
    read = asked(prompt)
    assert read.examples == ()
    assert read.question.startswith("What?")


def test_an_example_may_say_answer_before_its_answer_does() -> None:
    solved = "> Question: Which?\n> Answer: Option (\n> Reply: The second.\n> Answer: 2"
    (example,) = asked(f"## Solved earlier\n\n{solved}\n\n## Question\n\nWhich?", 'End "Answer: <it>".').examples
    assert (example.question, example.reasoning, example.answer) == ("Which?\nAnswer: Option (", "The second.", "2")


def test_a_bare_text_is_the_question() -> None:
    assert asked("What is 2 and 2?").question == "What is 2 and 2?"


@given(st.text(max_size=400))
def test_any_text_can_be_read(text: str) -> None:
    asked(text, text)
    asked(f"## Solved earlier\n\n> {text}\n\n## Question\n\n{text}\n\n{text}")


def test_a_prompt_is_divided_by_its_headings_and_quotation_marks_are_taken_off() -> None:
    prompt = "before\n## Rules\n> one\n>two\n>\n## Asked \nplain > text\n## Rules\n> three"
    assert sections_of(prompt) == {"": "before", "Rules": "one\ntwo\n\nthree", "Asked": "plain > text"}


STEP = """\
You work towards a goal.

## Principles

> - Click every option.
> ## Task
> not a task

## Task

Find me shirts

## Episode so far

> 1. search[shirts]: Page 1

## Observation

> Instruction: [SEP] Buy Now

## Valid actions

- click[buy now]
- click[red]
"""


def test_a_step_prompt_is_divided_into_the_episode_and_what_is_told_beforehand() -> None:
    read = read_step_prompt(Request(prompt=STEP))
    assert (read.task.strip(), read.so_far.strip()) == ("Find me shirts", "1. search[shirts]: Page 1")
    assert read.observation.strip() == "Instruction: [SEP] Buy Now"
    assert read.actions == ["click[buy now]", "click[red]"]
    assert "not a task" in read.sections["Principles"] and "Observation" not in read.sections


def test_a_step_prompt_without_anything_is_read_as_nothing() -> None:
    read = read_step_prompt(Request(prompt="Hello?"))
    assert (read.task, read.so_far, read.observation, read.actions) == ("", "", "", [])


def test_the_last_fenced_json_block_counts() -> None:
    assert json_block("```json\n1\n```\n\n```json\n2\n```\n") == "2"
    assert json_block("```\n1\n```") == ""


def test_notes_before_the_first_case_are_read_as_notes_and_its_question_without_them() -> None:
    known = "Quoted notes may not fit.\n\n## Strategy\n\n> When: x\n> How: Count twice.\n\n## Question\n\nTwo?"
    said = [known, "1 + 1 = 2\n#### 2", "What of\n\n## Question\n\nas a word?", "#### 3", "Four?"]
    turns = tuple(accumulate(len(text) + len(BETWEEN_TURNS) for text in said[:-1]))
    prompt = read_question_prompt(Request(system=SYSTEM, prompt=BETWEEN_TURNS.join(said), turns=turns))
    assert prompt.question == "Four?"
    assert [example.answer for example in prompt.examples] == ["2", "3"]
    assert prompt.examples[0].question == "Two?"
