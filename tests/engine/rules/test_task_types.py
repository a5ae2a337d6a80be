"""Induced task types: what is kept of a reply, and when a type goes out of use."""

from collections.abc import Mapping

import pytest

from mage_es.engine.briefs import InducedType, KnownType, TaskTypesReply
from mage_es.engine.rules.leaks import Guarded
from mage_es.engine.rules.task_types import MOST_TYPES, revised_types, settle_types, task_types_brief, with_reply
from mage_es.engine.seams.benchmark import ONE_TYPE, Question
from mage_es.events.vocabulary import AnswerJudged, TaskTypeCreated
from mage_es.projections.fold import State
from tests.engine.rules.states import setting_of
from tests.kit.plain_events import plain

QUESTIONS = [
    Question(id=name, benchmark="b", split="evolution", task_type="", question=f"What of {name}?", gold="7")
    for name in "abcdef"
]
BRIEF, _ = task_types_brief(setting_of(), "b", QUESTIONS, {}, "")


def kept(*types: tuple[str, str], known: Mapping[str, str] = {}) -> dict[str, str]:
    """Return the examples of each type after a reply, given those of the known types."""
    reply = TaskTypesReply(task_types=tuple(InducedType(name=name, examples=tuple(ids)) for name, ids in types))
    before = {name: TaskTypeCreated(task_type=name, description="", examples=tuple(ids)) for name, ids in known.items()}
    found = with_reply(before, BRIEF, reply, Guarded())
    return {name: "".join(each.examples) for name, each in found.items()}


def test_guidance_reads_the_questions_and_what_was_named_before() -> None:
    known = {"sums": TaskTypeCreated(task_type="sums", description="Add up.", examples=("x",))}
    brief, _ = task_types_brief(setting_of(), "b", QUESTIONS[:2], known, "")
    assert [each.question for each in brief.questions] == ["What of a?", "What of b?"]
    assert brief.known == (KnownType(name="sums", description="Add up."),)


@pytest.mark.paper("section 4.1, task types")
def test_a_type_has_the_examples_that_no_type_before_it_claimed() -> None:
    assert kept(("sums", "abc"), ("rates", "cde")) == {"sums": "abc", "rates": "de"}


def test_a_known_type_gets_further_examples() -> None:
    assert kept(("rates", "ab"), ("sums", "c"), known={"sums": "xy"}) == {"sums": "xyc", "rates": "ab"}


def test_what_is_no_name_and_no_question_of_the_brief_is_left_out() -> None:
    assert kept(("", "ab"), ("a\nb", "cd"), ("sums", "aXb")) == {"sums": "ab"}
    many = [(f"t{number}", "a") for number in range(MOST_TYPES + 3)]
    assert len(kept(*many)) == MOST_TYPES


def test_a_type_needs_two_examples() -> None:
    def in_use(**known: str) -> list[str]:
        types = {name: TaskTypeCreated(task_type=name, description="", examples=tuple(e)) for name, e in known.items()}
        return [each.task_type for each in settle_types(types)]

    assert in_use(sums="ab", rates="cd", rest="e") == ["sums", "rates"]
    assert (in_use(sums="ab", rest="e"), in_use(rest="e"), in_use()) == (["sums"], [ONE_TYPE], [ONE_TYPE])


def revised(
    answers: Mapping[str, tuple[int, int]], doubtful: Mapping[str, str], *, iteration: int = 4
) -> dict[str, str]:
    """Return the types that go out of use, given (right, wrong) answers of each in an iteration."""
    state = State()
    for name, (right, wrong) in answers.items():
        state.apply(TaskTypeCreated(task_type=name, description="", examples=(f"e-{name}",)))
        for number in range(right + wrong):
            state.apply(judged(f"{name}{number}", name, iteration, is_right=number < right))
    return {each.task_type: each.into for each in revised_types(setting_of(), state, iteration, doubtful)}


def judged(question: str, task_type: str, iteration: int, *, is_right: bool) -> AnswerJudged:
    return plain(AnswerJudged, iteration=iteration, question_id=question, task_type=task_type, correct=is_right)


def all_of(task_type: str, count: int, near: str) -> dict[str, str]:
    return {f"{task_type}{number}": near for number in range(count)}


def test_a_type_that_no_question_had_goes_out_of_use() -> None:
    assert revised({"t": (4, 4), "u": (0, 0)}, {}) == {"u": ""}
    assert revised({"u": (0, 0)}, {}) == {}, "the last one stays"


def test_a_type_that_cannot_be_told_from_another_goes_into_it() -> None:
    assert revised({"t": (4, 4), "u": (5, 3)}, all_of("t", 5, "u")) == {"t": "u"}
    assert revised({"t": (4, 4), "u": (5, 3)}, all_of("t", 4, "u")) == {}, "half of the questions are told apart"


def test_types_whose_answers_differ_stay_apart() -> None:
    assert revised({"t": (20, 0), "u": (0, 20)}, all_of("t", 20, "u")) == {}


def test_types_are_revised_once_in_a_refresh_gap() -> None:
    for iteration, expected in ((3, {}), (4, {"u": ""}), (5, {}), (9, {"u": ""})):
        assert revised({"t": (4, 4), "u": (0, 0)}, {}, iteration=iteration) == expected
