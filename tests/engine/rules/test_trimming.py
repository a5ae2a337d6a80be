"""What a prompt does without where it does not fit."""

import pytest

from mage_es.engine.courses import Ask, Finish, advance, begin
from mage_es.engine.rules.ingredients import droppable, trimming_of, without
from mage_es.engine.rules.routes import ROUTING_ARMS, Route, follow
from mage_es.engine.seams.model import Request
from mage_es.events.vocabulary import BundleTrimmed, QuestionPlanned, Retrieved
from tests.engine.rules.states import Built, setting_of
from tests.engine.rules.test_routes import QUESTION, planned, told


def bundle(*hits: tuple[str, float], principles: tuple[str, ...] = ()) -> QuestionPlanned:
    return planned(memories=tuple(Retrieved(memory_id=n, similarity=s) for n, s in hits), principles=principles)


def trimmed(move: Ask) -> BundleTrimmed:
    return BundleTrimmed(
        iteration=1,
        purpose="fresh",
        question_id="q",
        about=move.about,
        request_sha256=move.request.sha256,
        memory_id=move.droppable[0],
        problem="too long",
    )


@pytest.mark.paper("Eq. 4, context limits")
def test_the_least_similar_memory_goes_first_and_the_last_principle_after_all_memories() -> None:
    plan = bundle(("a", 0.9), ("b", 0.5), ("c", 0.7), principles=("p1", "p2"))
    assert droppable(plan) == ("b", "c", "a", "p2", "p1")


def test_of_equally_similar_memories_the_later_in_the_bundle_goes_first() -> None:
    assert droppable(bundle(("a", 0.5), ("b", 0.5), ("c", 0.5))) == ("c", "b", "a")


def test_a_plan_without_what_was_dropped_keeps_the_order_of_the_rest() -> None:
    plan = bundle(("a", 0.9), ("b", 0.5), ("c", 0.7), principles=("p1", "p2"))
    left = without(plan, {"b", "p1"})
    assert [hit.memory_id for hit in left.memories] == ["a", "c"] and left.principles == ("p2",)
    assert without(plan, set()) is plan


def test_a_course_asks_again_without_what_is_dropped_until_nothing_is_left_to_drop() -> None:
    built = Built()
    built.memory("f1", "failure_memory")
    built.memory("s1")
    plan = planned(memories=(Retrieved(memory_id="s1", similarity=0.9), Retrieved(memory_id="f1", similarity=0.8)))
    course = follow(Route(setting_of(), built.state, plan, QUESTION))
    first = begin(course)
    assert isinstance(first, Ask) and first.droppable == ("f1", "s1")
    second = advance(course, trimmed(first))
    assert isinstance(second, Ask) and second.droppable == ("s1",)
    assert {span.source for span in second.spans} == {"memory/s1"}
    third = advance(course, trimmed(second))
    assert isinstance(third, Ask) and third.droppable == () and third.spans == ()
    assert {move.about for move in (first, second, third)} == {"q"}
    assert len(third.request.prompt) < len(second.request.prompt) < len(first.request.prompt)
    assert advance(course, told(third, "#### 1")) == Finish("#### 1")


def test_what_one_call_of_a_course_had_to_do_without_the_later_ones_do_without_too() -> None:
    built = Built()
    built.skill("part")
    built.memory("s1")
    memories = (Retrieved(memory_id="s1", similarity=0.9),)
    plan = planned("chain", memories=memories, chain=("part", "goal"), template=ROUTING_ARMS["chain"].template)
    course = follow(Route(setting_of(), built.state, plan, QUESTION))
    move = begin(course)
    assert isinstance(move, Ask) and "memory/s1" in {span.source for span in move.spans}
    again = advance(course, trimmed(move))
    assert isinstance(again, Ask) and again.about == move.about == "q/1"
    later = advance(course, told(again, "one"))
    assert isinstance(later, Ask) and later.about == "q/2"
    assert "memory/s1" not in {span.source for span in later.spans} and later.droppable == ()


def test_what_was_left_out_is_found_by_the_prompt_that_did_not_fit_and_by_what_it_could_do_without() -> None:
    first = Ask("q", Request(prompt="long"), droppable=("a", "b"))
    second = Ask("q", Request(prompt="shorter"), droppable=("b",))
    recorded = [trimmed(first), trimmed(second)]
    assert [trimming_of(move, recorded) for move in (first, second)] == recorded
    assert trimming_of(Ask("q", Request(prompt="shortest")), recorded) is None
    assert trimming_of(Ask("q/1", Request(prompt="long"), droppable=("a", "b")), recorded) is None
    assert trimming_of(Ask("q", Request(prompt="long"), droppable=("b",)), recorded) is None
