"""The copier repeats what its prompt shows, and draws from what is offered where it shows nothing."""

import ast
import inspect
import re

import mage_es.engine.players.copier as copier
from mage_es.engine.players.copier import reply
from mage_es.engine.players.worlds.workshop.lands import LANDS, PLACES, THINGS
from mage_es.engine.seams.model import Request

SYSTEM = 'Reason first. Finish with a line such as "Answer: <x>".'
CASES = (
    "## Solved earlier\n\n> Question: Which river is in Rome?\n> Reply: Answer: Tiber\n\n"
    "> Question: Which lake is in Geneva?\n> Reply: Answer: Leman\n\n"
)
GOAL = "## Task\n\nMake the saw.\n\n## Valid actions\n\n- go to lake\n- make saw\n- search[words of your own]"


def said(prompt: str, system: str = SYSTEM, temperature: float = 0.0) -> str:
    return reply(Request(prompt=prompt, system=system, temperature=temperature)).splitlines()[-1]


def test_the_answer_is_that_of_the_question_most_like_its_own() -> None:
    assert said(f"{CASES}## Question\n\nWhich river is in Paris?") == "Answer: Tiber"
    assert said(f"{CASES}## Question\n\nWhich lake is in Como?") == "Answer: Leman"


def test_without_cases_it_draws_an_option_or_a_word_of_the_question() -> None:
    drawn = {said(f"## Question\n\nWhich, {number}?\nA. this\nB. that") for number in range(20)}
    assert drawn == {"Answer: A", "Answer: B"}
    assert said("## Question\n\nRome?") == "Answer: Rome"


def test_where_it_may_search_it_looks_once_and_then_answers() -> None:
    system, asked = 'Write "Thought: " and "Action: ": Search[x] or Finish[x].', "## Question\n\nRome?"
    assert said(asked, system) == "Action: Search[Rome?]"
    steps = "## Steps so far\n\n> Thought 1: x\n> Action 1: Search[Rome?]\n> Observation 1: A city.\n\n"
    assert said(steps + asked, system) == "Action: Finish[Rome]"


def test_actions_are_repeated_in_the_order_in_which_they_are_shown() -> None:
    shown = "## Corrected earlier\n\n> Reply: go to lake: You walk.\n> go to lake: You walk.\n> make saw: Done.\n\n"
    done = "## Episode so far\n\n> 1. go to lake: You walk.\n\n"
    assert said(shown + GOAL) == said(shown + done + GOAL) == "Action: go to lake"
    assert said(shown + done + done.replace("1.", "2.").partition("\n\n")[2] + GOAL) == "Action: make saw"


def test_where_no_action_is_shown_it_tries_one_that_was_not_done_and_fills_in_what_is_asked() -> None:
    done = "## Episode so far\n\n> 1. go to lake: Nothing happens.\n> 2. make saw: Nothing happens.\n\n"
    assert said(done + GOAL) == "Action: search[make the saw.]"


def test_at_a_temperature_that_share_of_its_actions_are_trials() -> None:
    shown = "## Principles\n\n> First `go to lake`.\n\n"
    drawn = [said(f"{shown}{GOAL}\n\n{number}", temperature=0.5) for number in range(60)]
    assert 30 < drawn.count("Action: go to lake") < 60


def test_it_knows_no_world_by_name() -> None:
    known = {word for node in ast.walk(ast.parse(inspect.getsource(copier))) for word in words_of(node)}
    assert not known & {*THINGS, *PLACES, *LANDS}


def words_of(node: ast.AST) -> list[str]:
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return re.findall(r"[a-z]+", node.value) if is_text else []
