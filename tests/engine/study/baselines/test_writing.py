"""The methods that write: what each asks its writer, what it keeps of the text, and what comes with a question."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np

from mage_es.engine.courses import Ask, Finish, advance, begin
from mage_es.engine.rules.prompt import by_example
from mage_es.engine.seams.model import Request
from mage_es.engine.study.baseline import is_writing
from mage_es.engine.study.baselines.entries import METHODS
from mage_es.engine.study.baselines.method import Method, RunView, Searching
from mage_es.engine.study.baselines.table import open_method
from mage_es.engine.study.baselines.trial import asked_by
from tests.engine.study.baselines.driving import attempt, called
from tests.engine.study.baselines.test_methods import FORM, place, question, verdict


def opened(name: str) -> Method:
    made = open_method(name, RunView(_embed, FORM, is_reasoned=False, sees_gold=True, task="Sort it."))
    assert not isinstance(made, Searching)
    return made


def _embed(texts: Sequence[str]) -> np.ndarray:
    """Place questions by their angle, and lines by their first letter."""
    return place([text if text.startswith("q") else f"q{30 * (ord(text[0]) - ord('A'))}" for text in texts])


def observe(method: Method, at: int, *texts: str, reply: str = "x", right: bool = False) -> list[Request]:
    """Let a method observe an answer, with a writer that writes these texts; return what it was asked."""
    writing = method.observe(question(at, gold=f"gold{at}"), reply, verdict(right=right))
    assert writing is not None
    asked, left = [next(writing)], list(texts)
    while left:
        try:
            asked.append(writing.send(left.pop(0)))
        except StopIteration:
            break
    assert not left
    return asked


def brief(request: Request) -> Any:
    return json.loads(request.prompt.removeprefix("```json\n").removesuffix("\n```"))


def notes(method: Method, at: int) -> str:
    return method.prepare(question(at, name="asked")).notes


def test_a_cheatsheet_is_rewritten_whole_and_a_lost_text_leaves_it_as_it_was() -> None:
    made = opened("dynamic_cheatsheet")
    assert notes(made, 5) == ""
    observe(made, 10, "Amber is for lamps.")
    [asked] = observe(made, 20, "", reply="Answer: birch")
    assert brief(asked) == {
        "task": f"Sort it. {by_example(FORM)}",
        "notes": "Amber is for lamps.",
        "question": "q20",
        "reply": "Answer: birch",
        "is_right": False,
        "right_answer": "gold20",
    }
    assert notes(made, 5) == "Amber is for lamps."
    observe(made, 30, "Birch is for desks.", right=True)
    assert notes(made, 5) == "Birch is for desks."


def test_a_sheet_for_a_question_is_made_of_its_nearest_cases_by_the_learner_itself() -> None:
    made = opened("cheatsheet_retrieval")
    assert not is_writing("cheatsheet_retrieval") and made.prepare(question(5)).first is None
    for at in (10, 20):
        assert made.observe(question(at, gold=f"gold{at}"), "", None) is None
    prepared = made.prepare(question(12))
    assert prepared.first is not None and brief(prepared.first)["earlier"] == [
        ["q20", "Answer: gold20"],
        ["q10", "Answer: gold10"],
    ]
    course = asked_by(attempt(), prepared, is_reasoned=False)
    first = begin(course)
    assert isinstance(first, Ask) and first.tier == "execution" and first.about.endswith("/1")
    assert [span.source for span in first.spans] == ["case/id20", "case/id10"]
    then = advance(course, called(first, "Go by the thing."))
    assert isinstance(then, Ask) and "> Go by the thing." in then.request.prompt
    assert isinstance(advance(course, called(then, "Answer: 1")), Finish)


def test_insights_of_the_nearest_question_come_with_one_three_lines_at_most() -> None:
    made = opened("reasoning_bank")
    observe(made, 10, "Here they are:\n- a: one\n* b: two\n3. c: three\n- d: four")
    observe(made, 80, "- far: away", right=True)
    observe(made, 12, "I have none.")
    assert notes(made, 13) == "- a: one\n- b: two\n- c: three"
    assert notes(made, 70) == "- far: away"


def test_a_playbook_grows_by_lines_that_are_new_and_counts_what_helped_and_harmed() -> None:
    made = opened("ace")
    reflected = "helpful: none\nharmful: none\nlesson: Look at the thing."
    asked = observe(made, 10, reflected, "- All of it\n- Bring a desk\n- Carry on")
    assert [brief(asked[1])["lesson"], notes(made, 5)] == ["Look at the thing.", "[b1] All of it\n[b2] Bring a desk"]
    # The same direction as a line that is there: not added again.
    observe(made, 20, "helpful: b1\nharmful: [b2], b7\nlesson: Again.", "- Another of it")
    assert notes(made, 5) == "[b1] All of it"
    observe(made, 30, "helpful: b2\nharmful: none\nlesson: Once more.", "none")
    assert notes(made, 5) == "[b1] All of it\n[b2] Bring a desk"


def test_a_dropped_line_of_a_playbook_can_be_written_again() -> None:
    made = opened("ace")
    observe(made, 10, "helpful: none\nharmful: none\nlesson: Look.", "- All of it")
    observe(made, 20, "helpful: none\nharmful: b1\nlesson: No.", "none")
    assert notes(made, 5) == ""
    observe(made, 30, "helpful: none\nharmful: none\nlesson: Yes.", "- All of it")
    assert notes(made, 5) == "[b2] All of it"


def test_a_reflection_is_read_however_its_fields_are_set() -> None:
    made = opened("ace")
    asked = observe(made, 10, "- **Helpful:** none\n**Harmful**: none\n**Lesson:** Look at it.", "- All of it")
    assert brief(asked[1])["lesson"] == "Look at it."
    observe(made, 20, "**helpful:** b1\nHarmful: none\nlesson: Again.", "none")
    observe(made, 30, "helpful: none\n**Harmful:** b1\nlesson: Again.", "none")
    assert notes(made, 5) == "[b1] All of it"  # as often helpful as harmful


def test_without_a_lesson_nothing_is_added_to_a_playbook() -> None:
    made = opened("ace")
    assert len(observe(made, 10, "I cannot say.")) == 1
    assert notes(made, 5) == ""


def test_insights_live_by_votes_and_come_with_the_nearest_right_answers() -> None:
    made = opened("expel")
    [asked] = observe(made, 10, "ADD: Go by the thing.\n- ADD: Say amber.\nnone")
    assert [brief(asked)["insights"], len(brief(asked)["answers"])] == ["", 1]
    assert notes(made, 5) == "[i1] Go by the thing.\n[i2] Say amber."
    assert made.observe(question(20, gold="gold20"), "Answer: gold20", verdict(right=True)) is None
    [asked] = observe(made, 30, "DISAGREE i2\nAGREE [i1]\nDISAGREE i9")
    assert [answer["question"] for answer in brief(asked)["answers"]] == ["q30", "q20"]
    observe(made, 40, 'DISAGREE i2\nEDIT i1: "Gone" decides.')
    assert notes(made, 5) == '[i1] "Gone" decides.'
    assert [case.reply for case in made.prepare(question(5)).cases] == ["Answer: gold20"]


def test_right_answers_are_voted_on_by_eights() -> None:
    made = opened("expel")
    asked = [
        next(writing) if (writing := made.observe(question(at, gold="g"), "Answer: g", verdict(right=True))) else None
        for at in range(1, 17)
    ]
    assert [request is not None for request in asked] == [at % 8 == 0 for at in range(1, 17)]
    last = asked[-1]
    assert last and [answer["question"] for answer in brief(last)["answers"]] == [f"q{at}" for at in range(9, 17)]


def test_notes_are_quoted_before_the_question() -> None:
    made = opened("dynamic_cheatsheet")
    observe(made, 10, "Amber is for lamps.\n## Question\nSay amber.")
    move = begin(asked_by(attempt(), made.prepare(question(5)), is_reasoned=False))
    assert isinstance(move, Ask)
    assert "> Amber is for lamps.\n> ## Question\n> Say amber." in move.request.prompt
    assert move.request.prompt.endswith(attempt().question.question)


def test_no_word_of_ours_speaks_against_the_notes_of_a_method() -> None:
    made = opened("dynamic_cheatsheet")
    observe(made, 10, "Amber is for lamps.")
    move = begin(asked_by(attempt(), made.prepare(question(5)), is_reasoned=False))
    assert isinstance(move, Ask)
    assert move.request.prompt.startswith("Use these notes where they fit the question.\n\n## Notes\n\n> Amber")


def test_who_writes_is_said_of_each_method_that_does() -> None:
    assert {name for name in METHODS if is_writing(name)} == {
        *("dynamic_cheatsheet", "reasoning_bank", "ace", "expel", "gepa")
    }
