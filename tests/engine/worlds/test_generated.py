"""Questions are drawn by index until there are enough different ones."""

from __future__ import annotations

from mage_es.engine.seams.benchmark import Question
from mage_es.engine.worlds.generated import distinct


def drawn(index: int) -> Question:
    text = f"How many are {index // 2}?"  # each text twice
    return Question(id=f"q{index}", benchmark="b", split="test", task_type="t", question=text, gold="1")


def test_the_first_question_of_each_text_is_kept_in_order() -> None:
    assert [question.id for question in distinct(drawn, 3)] == ["q0", "q2", "q4"]


def test_no_question_is_drawn_beyond_those_needed() -> None:
    indices: list[int] = []
    assert len(distinct(lambda index: indices.append(index) or drawn(index), 2)) == 2  # type: ignore[func-returns-value]
    assert indices == [0, 1, 2]
