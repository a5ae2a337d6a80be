"""Which anchors become cases, in which snapshot, and as what."""

import msgspec
import numpy as np
import pytest

from mage_es.engine.commands import TakeSnapshot
from mage_es.engine.rules.refit import anchors_to_refit, refitted
from mage_es.engine.rules.setting import Setting
from mage_es.engine.seams.benchmark import Question
from mage_es.events.vocabulary import MemoryAppended, MemoryReinforced
from mage_es.projections.fold import State
from tests.engine.rules.states import Built, setting_of
from tests.engine.rules.test_curriculum import judged

ANCHORS = ("a", "b")
LAST = 3


def setting(**facts: object) -> Setting:
    made = setting_of(cases=True, teacher_sees="answers", iterations=LAST + 1)
    return made._replace(anchors=ANCHORS, is_labelled=True)._replace(**facts)  # type: ignore[arg-type]


def asked(*names: str) -> State:
    built = Built()
    for name in names:
        verdict = judged(LAST, "t", correct=True, purpose="anchor")
        built.state.apply(msgspec.structs.replace(verdict, question_id=name))
    return built.state


def test_anchors_become_cases_in_the_last_snapshot_alone() -> None:
    state = asked(*ANCHORS)
    assert [anchors_to_refit(setting(), state, k) for k in (-1, 0, LAST - 1, LAST)] == [[], [], [], ["a", "b"]]


def test_an_anchor_that_was_never_answered_becomes_none() -> None:
    assert anchors_to_refit(setting(), asked("b"), LAST) == ["b"]


@pytest.mark.parametrize(
    "facts", [{"is_labelled": False}, {"has_episodes": True}, {"is_served": True}, {"reproof": 9, "first": 0}]
)
def test_where_answers_are_reasoned_or_nothing_is_learned_there_are_none(facts: dict[str, object]) -> None:
    assert anchors_to_refit(setting(**facts), asked(*ANCHORS), LAST) == []


def test_short_answers_are_enough() -> None:
    assert anchors_to_refit(setting(is_labelled=False, is_short=True), asked(*ANCHORS), LAST) == ["a", "b"]


def question(name: str, text: str, gold: str = "Birch") -> Question:
    return Question(id=name, benchmark="b", split="evolution", task_type="t", question=text, gold=gold)


def taken(state: State, *questions: Question, **facts: object) -> list[MemoryAppended | MemoryReinforced]:
    vectors = {each.id: np.array([1, 0], dtype=np.float32) for each in questions}
    return refitted(setting(**facts), state, TakeSnapshot(LAST, {each.id: each for each in questions}, vectors))


def test_a_case_is_the_right_answer_alone_and_names_the_verdict_that_it_came_after() -> None:
    one, other = taken(asked(*ANCHORS), question("b", "And of this?"), question("a", "What of that?"))
    assert isinstance(one, MemoryAppended) and isinstance(other, MemoryAppended)
    assert (one.question_id, other.question_id, one.ordinal, other.ordinal) == ("a", "b", 0, 1)
    assert (one.question, one.answer, one.reasoning, one.kind, one.phase) == (
        "What of that?", "Birch", "", "case", "snapshot",
    )  # fmt: skip
    assert len(one.origin.facts) == 1 and one.origin.saw == "answers"


def test_two_anchors_of_the_same_words_are_one_case_met_twice() -> None:
    found = taken(asked(*ANCHORS), question("a", "What of that?"), question("b", "what of that?"))
    assert [type(each) for each in found] == [MemoryAppended, MemoryReinforced]


def test_a_teacher_that_may_not_see_answers_leaves_nothing_to_keep() -> None:
    hidden = setting_of(cases=True, teacher_sees="errors", iterations=LAST + 1).config
    assert taken(asked("a"), question("a", "What of that?"), config=hidden) == []
