"""ReAct: what is searched is read, what is read can be looked up in, and seven steps are the most."""

import msgspec
import pytest

from mage_es.engine.courses import Ask, Look
from mage_es.engine.seams.search import Page
from mage_es.engine.study.baselines.react import STEPS, PageReading, react, read_action, split
from tests.engine.study.baselines.driving import attempt, drive

CONTEXT = "[1] Béla Bartók: He was born. He died in 1945. He wrote music. A. B. The end of 1945.\n[2] Opera: Music."


def tried():
    given = attempt()
    return given._replace(question=msgspec.structs.replace(given.question, context=CONTEXT))


def step(thought: str, action: str) -> str:
    return f"Thought: {thought}\nAction: {action}"


def test_a_page_is_searched_then_looked_up_in_then_the_answer_is_given() -> None:
    replies = [
        step("Who?", "Search[Béla Bartók]"),
        step("When?", "Lookup[1945]"),
        step("Again", "Lookup[1945]"),
        step("Once more", "Lookup[1945]"),
        step("Done", "Finish[1945]"),
    ]
    moves, finish = drive(react(tried()), replies)
    assert finish.reply == "Answer: 1945"
    last = [move.request.prompt for move in moves if isinstance(move, Ask)][-1]
    assert "> Observation 1: He was born. He died in 1945. He wrote music. A. B.\n" in last
    assert "> Observation 2: (Result 1 / 2) He died in 1945." in last
    assert "> Observation 3: (Result 2 / 2) The end of 1945." in last
    assert "> Observation 4: No more results." in last
    assert CONTEXT not in last


def test_a_page_that_is_not_there_names_similar_ones() -> None:
    moves, _ = drive(react(tried()), [step("?", "Search[Bartók]"), step("ok", "Finish[x]")])
    last = [move.request.prompt for move in moves if isinstance(move, Ask)][-1]
    assert "Could not find Bartók. Similar: Béla Bartók, Opera." in last
    assert [(move.query, move.place) for move in moves if isinstance(move, Look)] == [("Bartók", 1)]


def test_after_seven_steps_there_is_no_answer() -> None:
    moves, finish = drive(react(tried()), [step("hm", "Lookup[x]")] * STEPS)
    assert finish.reply == ""
    assert len(moves) == STEPS


def test_a_reply_without_an_action_is_asked_for_the_action_alone() -> None:
    moves, finish = drive(react(tried()), ["I should just answer.", "Action: Finish[42]"])
    assert finish.reply == "Answer: 42"
    second = moves[1]
    assert isinstance(second, Ask) and "> Thought 1: I should just answer." in second.request.prompt


def test_what_is_no_action_is_answered_with_those_that_are() -> None:
    moves, _ = drive(react(tried()), [step("x", "Dance[now]"), step("x", "Finish[y]")])
    assert "Invalid action. Valid actions are Search, Lookup and Finish" in moves[1].request.prompt  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("reply", "parts"),
    [
        ("Thought 1: I need X.\nAction 1: Search[X]\nObservation 1: made up", ("I need X.", "Search[X]")),
        ("I need X.\n\nAction: search[X]", ("I need X.", "search[X]")),
        ("Thought: only thinking", ("only thinking", "")),
        ("", ("", "")),
    ],
)
def test_a_reply_is_split_into_thought_and_action_and_invented_observations_are_dropped(
    reply: str, parts: tuple[str, str]
) -> None:
    assert split(reply) == parts


@pytest.mark.parametrize(
    ("action", "read"),
    [
        ("Search[A [b] c]", ("search", "A [b] c")),
        ("Action: finish[ x ]", ("finish", "x")),
        ("Finish[]", ("finish", "")),
        ("nothing", ("", "")),
    ],
)
def test_an_action_is_a_name_and_what_stands_in_its_brackets(action: str, read: tuple[str, str]) -> None:
    assert read_action(action) == read


def test_another_keyword_begins_anew_and_without_a_page_there_is_nothing_to_read() -> None:
    reading = PageReading()
    assert reading.look_up("x").startswith("No page is open")
    reading.open(Page("t", "One x. Two y. Three x."))
    assert [reading.look_up(word) for word in ("X", "y", "x")] == [
        "(Result 1 / 2) One x.",
        "(Result 1 / 1) Two y.",
        "(Result 1 / 2) One x.",
    ]
