"""Second thoughts: an attempt is doubted where others are close, and a revision gives what was doubted least."""

from __future__ import annotations

from collections.abc import Sequence

from mage_es.engine.rules.prompt import PromptQuestion, Quote, Section, render_answer
from mage_es.engine.seams.model import Request
from mage_es.engine.standins.reader.candidates import WeighedAnswer
from mage_es.engine.standins.reader.model import reply
from mage_es.engine.standins.reader.reflecting import CLOSE, heeding

FORM = 'Finish with a line "Answer: <name>".'


def said(template: str, sections: Sequence[Section], asked: PromptQuestion) -> str:
    prompt = render_answer(template, sections, asked)
    return reply(Request(system=prompt.system, prompt=prompt.text))


def test_a_close_answer_casts_doubt_on_an_attempt_and_a_revision_gives_that_one() -> None:
    asked = PromptQuestion("Who wrote Faust?", "Anna wrote Faust.\nBert wrote Faust.", FORM)
    first = said("answer_cot", [], asked)
    attempt = Section("Earlier attempt", [Quote("call/q", first)])
    critique = said("reflect_v1", [attempt], asked)
    assert "It may not be Anna" in critique and "Bert" not in critique
    thoughts = Section("Thoughts on it", [Quote("call/q/1", f"- {critique}")])
    assert said("revise_v1", [attempt, thoughts], asked).endswith("Answer: Bert")


def test_an_answer_that_no_other_is_close_to_is_kept() -> None:
    asked = PromptQuestion("Who wrote Faust at home?", "Anna wrote Faust at home.\nBert saw the home.", FORM)
    attempt = Section("Earlier attempt", [Quote("call/q", said("answer_cot", [], asked))])
    critique = said("reflect_v1", [attempt], asked)
    assert "Nothing in the text speaks against" in critique
    thoughts = Section("Thoughts on it", [Quote("call/q/1", f"- {critique}")])
    assert said("revise_v1", [attempt, thoughts], asked).endswith("Answer: Anna")


def test_of_close_answers_that_were_all_doubted_as_often_the_weightiest_is_given() -> None:
    close, far = [WeighedAnswer("a", 1.0), WeighedAnswer("b", CLOSE)], WeighedAnswer("c", CLOSE / 2)
    doubts = "- It may not be a: x\n- It may not be b: x"
    assert heeding({"Thoughts on it": doubts}, [*close, far]) == [*close, far]
    assert heeding({"Thoughts on it": doubts.replace("be b", "be a")}, [*close, far]) == [*reversed(close), far]
    assert heeding({}, [*close, far]) == [*close, far]
