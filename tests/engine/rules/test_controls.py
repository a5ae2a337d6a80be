"""A control shows memories that can teach a question nothing, and keeps their form."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.commands import Asked
from mage_es.engine.rules.controls import donors, form_of, permutation
from mage_es.engine.seams.benchmark import Question
from mage_es.events.vocabulary import MemorySuperseded
from tests.engine.rules.test_retrieval import NEAR, STRATEGY, WRONG, memory_of, remembered, unit


def asked(name: str, task_type: str = "task", angle: float = 0.0) -> Asked:
    question = Question(id=name, benchmark="b", split="test", task_type=task_type, question=name, gold="1")
    return Asked(question, task_type, unit(float(np.cos(angle)), float(np.sin(angle))), "exam")


def test_a_donor_is_always_of_another_type_where_there_is_one() -> None:
    several = [asked(f"q{i}", "ab"[i % 2]) for i in range(9)]
    chosen = donors(several, 1)
    assert all(chosen[each.question.id].task_type != each.task_type for each in several)


def test_of_one_type_a_donor_is_none_of_the_half_that_is_nearest_and_many_questions_donate() -> None:
    several = [asked(f"q{i}", angle=i * np.pi / 20) for i in range(20)]
    chosen = donors(several, 1)
    for each in several:
        likeness = sorted(float(each.vector @ other.vector) for other in several if other is not each)
        assert each.vector @ chosen[each.question.id].vector <= likeness[len(likeness) // 2]
    assert len({donor.question.id for donor in chosen.values()}) >= 8


def test_a_question_alone_has_no_donor_and_of_two_that_are_alike_each_is_the_others() -> None:
    assert donors([asked("q1")], 1) == {}
    assert {name: donor.question.id for name, donor in donors([asked("a"), asked("b")], 1).items()} == {
        "a": "b",
        "b": "a",
    }


@given(
    st.lists(st.tuples(st.integers(0, 9), st.sampled_from(["7", "-1.5 %", "B", "late", "lost parcel"])), max_size=30)
)
def test_every_answer_is_shown_once_and_never_with_its_own_question(cases: list[tuple[int, str]]) -> None:
    memories = [
        remembered(f"m{i}", NEAR, ordinal=i, question_id=f"q{question}", answer=answer)
        for i, (question, answer) in enumerate(cases)
    ]
    rows = {each.memory_id: each for each in memories}
    found = permutation(memory_of(*memories), seed=3)
    assert found.keys() == rows.keys()
    assert all(rows[name].question_id != rows[other].question_id for name, other in found.items() if other)
    assert Counter(found.values()).most_common(1)[0][1] == 1 if all(found.values()) and found else True
    assert found == permutation(memory_of(*memories), seed=3)


def test_an_answer_is_that_of_a_memory_of_the_same_index_and_form() -> None:
    forms = ("12", "-3.5", "A", "(C)", "a late parcel", "Paris")
    solved = [remembered(f"s{i}", NEAR, ordinal=i, answer=answer) for i, answer in enumerate(forms)]
    missed = [remembered(f"f{i}", NEAR, ordinal=i, **WRONG | {"answer": answer}) for i, answer in enumerate(forms)]
    answers = {each.memory_id: each.answer for each in (*solved, *missed)}
    found = permutation(memory_of(*solved, *missed), seed=0)
    assert set(found) == set(answers)
    assert all(
        name[0] == other[0] and form_of(answers[name]) == form_of(answers[other]) for name, other in found.items()
    )


def test_an_answer_is_that_of_a_memory_of_the_same_type_so_that_which_answers_a_type_has_still_shows() -> None:
    tone = [remembered(f"a{i}", NEAR, ordinal=i, task_type="tone", answer=("good", "bad")[i % 2]) for i in range(6)]
    topic = [remembered(f"b{i}", NEAR, ordinal=i, task_type="topic", answer=("tax", "rent")[i % 2]) for i in range(6)]
    found = permutation(memory_of(*tone, *topic), seed=0)
    assert len(found) == 12 and all(name[0] == other[0] for name, other in found.items())


def test_strategies_and_what_is_out_of_use_take_no_part_and_a_memory_alone_is_left_out() -> None:
    alone = remembered("alone", NEAR, ordinal=0)
    how, old = remembered("how", NEAR, ordinal=1, **STRATEGY), remembered("old", NEAR, ordinal=2)
    memory = memory_of(alone, how, old, MemorySuperseded(memory_id="old", by="alone"))
    assert permutation(memory, seed=0) == {"alone": ""}
    assert permutation(memory_of(), seed=0) == {}


def test_the_only_answer_of_its_form_takes_another() -> None:
    memory = memory_of(
        *(remembered(f"m{i}", NEAR, ordinal=i, answer=answer) for i, answer in enumerate(("1", "2", "x")))
    )
    found = permutation(memory, seed=0)
    assert sorted(found) == ["m0", "m1", "m2"] and all(name != other for name, other in found.items())
