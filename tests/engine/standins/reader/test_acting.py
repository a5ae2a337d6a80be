"""Acting: names are searched, similar titles and what pages name are followed, long pages are read on, then it ends."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.baselines.answering import BaselineTrial, Shot
from mage_es.engine.baselines.react import STEPS, react, read_action, split
from mage_es.engine.courses import Ask, Finish, Look, advance, begin
from mage_es.engine.rules.prompt import PromptQuestion, Quote, Section, render_answer
from mage_es.engine.seams.model import Request
from mage_es.engine.standins.reader.acting import act, is_offered
from mage_es.engine.standins.reader.model import reply
from tests.engine.baselines.driving import attempt, called, searched

CONTEXT = (
    "[1] Kiss Me: Kiss Me is a film of 1945. It shows Anna Temple in the role of Corliss.\n"
    "[2] Anna Temple: Anna Temple was born in Ulm. She sang.\n"
    "[3] The Elbe (river): The Elbe is long.\n"
    "[4] Long Street: It is in Rome. It is old. It is wide. It is loud. It is grey. The crossing was paved in 1911."
)


def played(question: str, context: str = CONTEXT, shots: tuple[Shot, ...] = ()) -> tuple[list[str], str]:
    """Return the actions that the reader takes for a question, and what it ends with."""
    given: BaselineTrial = attempt()
    told = msgspec.structs.replace(given.question, question=question, context=context)
    course, actions = react(given._replace(question=told, shots=shots)), list[str]()
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


def test_a_page_that_goes_on_is_read_on_for_a_word_that_it_did_not_show() -> None:
    actions, reply = played("When was the crossing of Long Street paved?")
    assert actions[:2] == ["Search[Long Street]", "Lookup[crossing]"]
    assert reply == "Answer: 1911"


def test_a_word_that_a_page_does_not_have_is_looked_up_once() -> None:
    actions, _ = played("When was the crossing of Long Street whitewashed?")
    assert actions[:2] == ["Search[Long Street]", "Lookup[whitewashed]"]
    assert actions.count("Lookup[whitewashed]") == 1


def test_of_names_that_a_page_has_one_known_for_a_title_is_searched_first() -> None:
    context = "[1] Kiss Me: Max Bauer filmed Kiss Me with Anna Temple.\n[2] Anna Temple: She sang."
    actions, _ = played("Who is in Lost and in Kiss Me?", context)
    assert actions[:3] == ["Search[Lost]", "Search[Kiss Me]", "Search[Anna Temple]"]


def test_nothing_is_done_twice_and_every_course_ends_with_an_answer_in_time() -> None:
    names = ", ".join(f"Name{letter}" for letter in "abcdefghijk")
    actions, reply = played(f"What of {names}?")
    assert len(actions) == STEPS and len(set(actions)) == STEPS
    assert reply.startswith("Answer: ")


def test_a_question_without_a_name_is_searched_as_it_is() -> None:
    assert played("what is long?")[0][0] == "Search[what is long?]"


def test_yes_or_no_is_answered_as_the_trajectories_it_is_shown_were() -> None:
    shots = (Shot("s", "Is Rome old?", "Thought 1: Enough.\nAction 1: Finish[no]", "no"),)
    assert played("Was Anna Temple loud?", shots=shots)[1] == "Answer: no"
    assert played("Was Anna Temple loud?")[1] == "Answer: yes"


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
    assert read_action(split(text)[1])[0] in ("search", "lookup", "finish")
    assert len(text.splitlines()) == 2
