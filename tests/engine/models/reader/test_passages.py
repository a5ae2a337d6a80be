"""Finding a short answer in a passage: near the question's words, of the kind that is asked for, and not among them."""

from __future__ import annotations

import pytest

from mage_es.engine.models.reader.passages import find_answer, words

PASSAGE = (
    "[1] Port River: The Port River lies north of Adelaide. It is 12 km long.\n"
    "[2] Béla Bartók: Bartók was born in 1881 in Hungary. He taught Paul Sacher."
)


def test_words_that_say_nothing_of_a_text_are_left_out() -> None:
    assert words("Where is the River of the North?") == {"river", "north"}


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which city lies south of the Port River?", "Adelaide"),
        ("When was Bartók born?", "1881"),
        ("How many km long is it?", "12"),
        ("Which was longer, Port River or the Elbe?", "Port River"),
        ("zebra?", ""),
    ],
)
def test_the_answer_is_a_name_a_number_or_one_of_two_and_nothing_where_no_word_is_shared(
    question: str, answer: str
) -> None:
    assert find_answer(question, PASSAGE) == answer


def test_the_label_of_a_paragraph_and_the_questions_own_names_are_no_answers() -> None:
    assert find_answer("Where was Béla Bartók born?", PASSAGE) == "Hungary"
    assert find_answer("What is Port River?", "[1] Elbe: Port River.") == ""


def test_one_word_that_does_not_end_takes_no_time() -> None:
    assert find_answer(f"{'a' * 50_000} or", "a") == ""
