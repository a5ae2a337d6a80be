"""Acting: names are searched, similar titles and what pages name are followed, then it ends."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.baselines.trial import BaselineTrial
from mage_es.engine.courses import Ask, Finish, Look, advance, begin
from mage_es.engine.players.reader.acting import act, is_offered
from mage_es.engine.players.reader.model import reply
from mage_es.engine.rules.prompt import PromptQuestion, Quote, Section, render_answer
from mage_es.engine.seams.model import Request
from mage_es.engine.study.baselines.react import STEPS, react, read_action, split
from tests.engine.study.baselines.driving import attempt, called, searched

CONTEXT = (
    "[1] Kiss Me: Kiss Me is a film of 1945. It shows Anna Temple in the role of Corliss.\n"
    "[2] Anna Temple: Anna Temple was born in Ulm. She sang.\n"
    "[3] The Elbe (river): The Elbe is long."
)


def played(question: str) -> tuple[list[str], str]:
    """Return the actions that the reader takes for a question, and what it ends with."""
    given: BaselineTrial = attempt()
    told = msgspec.structs.replace(given.question, question=question, context=CONTEXT)
    course, actions = react(given._replace(question=told)), list[str]()
    move = begin(course)
    while not isinstance(move, Finish):
        if isinstance(move, Look):
            move = advance(course, searched(move))
            continue
        assert isinstance(move, Ask)
        text = reply(move.request)
        actions.append(split(text)[1])
        move = advance(course, called(move, text))
    return actions, move.reply


def test_a_name_of_the_question_is_searched_then_one_that_its_page_names_then_the_answer_is_given() -> None:
    actions, reply = played("Who played Corliss in the film Kiss Me?")
    assert actions[:3] == ["Search[Corliss]", "Search[Kiss Me]", "Search[Anna Temple]"]
    assert actions[-1] == "Finish[Anna Temple]" and reply == "Answer: Anna Temple"


def test_a_similar_title_is_searched_where_a_name_has_no_page() -> None:
    actions, _ = played("How long is the Elbe?")
    assert actions[:2] == ["Search[Elbe]", "Search[The Elbe (river)]"]


def test_nothing_is_done_twice_and_every_course_ends_with_an_answer_in_time() -> None:
    names = ", ".join(f"Name{letter}" for letter in "abcdefghijk")
    actions, reply = played(f"What of {names}?")
    assert len(actions) == STEPS and len(set(actions)) == STEPS
    assert reply.startswith("Answer: ")


def test_a_question_without_a_name_is_searched_as_it_is() -> None:
    assert played("what is long?")[0][0] == "Search[what is long?]"


def asking(template: str, sections: Sequence[Section], question: str) -> Request:
    prompt = render_answer(template, sections, PromptQuestion(question, "", ""))
    return Request(system=prompt.system, prompt=prompt.text)


def test_only_the_system_message_says_that_one_acts() -> None:
    told = [Section("Steps so far", [Quote("x", "Search[a] and Finish[b]")])]
    assert not is_offered(asking("answer_cot", told, "Search[a] or Finish[b]?"))
    assert is_offered(asking("react_v1", told, "Who?"))


@pytest.mark.parametrize(("template", "begins"), [("react_v1", "Thought: "), ("react_action_v1", "Action: ")])
def test_a_thought_and_an_action_or_the_action_alone_is_given_as_is_asked(template: str, begins: str) -> None:
    text = act(asking(template, [], "Who was Anna?"))
    assert text.startswith(begins) and text.endswith("Action: Search[Anna]")


@given(st.text(), st.lists(st.text(), max_size=3))
def test_whatever_is_asked_and_seen_the_reply_is_one_line_of_a_valid_action(asked: str, seen: list[str]) -> None:
    quotes = [Quote("x", f"Thought 1: t\nAction 1: Search[A]\nObservation 1: {text}") for text in seen]
    text = act(asking("react_v1", [Section("Steps so far", quotes)], asked))
    assert read_action(split(text)[1])[0] in ("search", "finish")
    assert len(text.splitlines()) == 2
