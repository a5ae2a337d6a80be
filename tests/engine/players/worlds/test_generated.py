"""Questions are drawn by index until there are enough different ones."""

from mage_es.engine.players.worlds.generated import distinct
from mage_es.engine.seams.benchmark import Question, Split


def drawn(source: str, split: Split, index: int) -> Question:
    text = f"How many are {index // 2}?"  # each text twice
    return Question(id=f"{source}{index}", benchmark="b", split=split, task_type="t", question=text, gold="1")


def test_the_first_question_of_each_text_is_kept_in_order() -> None:
    assert [question.id for question in distinct(drawn, "q", "test", 3)] == ["q0", "q2", "q4"]


def test_no_question_is_drawn_beyond_those_needed_and_none_twice() -> None:
    indices: list[int] = []

    def counted(source: str, split: Split, index: int) -> Question:
        indices.append(index)
        return drawn(source, split, index)

    assert len(distinct(counted, "q", "test", 2)) == 2
    assert distinct(counted, "q", "test", 2) is distinct(counted, "q", "test", 2)
    assert indices == [0, 1, 2]
