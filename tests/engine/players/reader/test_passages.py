"""Finding a short answer in a passage: near the question's words, of the kind that is asked for, and not among them."""

from __future__ import annotations

import pytest

from mage_es.engine.players.reader.passages import find_answers, names_in, nearest_sentences, words


def first(question: str, passage: str) -> str:
    found = find_answers(question, passage)
    return max(found, key=lambda answer: found[answer], default="")


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
        ("zebra?", ""),
    ],
)
def test_the_answer_is_a_name_or_a_number_and_nothing_where_no_word_is_shared(question: str, answer: str) -> None:
    assert first(question, PASSAGE) == answer


def test_the_label_of_a_paragraph_and_the_questions_own_names_are_no_answers() -> None:
    assert first("Where was Béla Bartók born?", PASSAGE) == "Hungary"
    assert first("What is Port River?", "[1] Elbe: Port River.") == ""


def test_answers_weigh_what_their_sentence_does_and_less_behind_others_in_it() -> None:
    passage = "Anna knew Bert and Carl. Dora met the old painter of Faust."
    found = find_answers("Who was the old painter of Faust that Anna knew?", passage)
    assert found["Dora"] > found["Bert"] > found["Carl"] > 0
    assert "Anna" not in found and "Faust" not in found


def test_the_nearest_sentence_has_most_of_the_questions_rare_words() -> None:
    ranked = nearest_sentences("Where was the tower built?", "A house was built. A tower was built. A tree grew.")
    assert [sentence for sentence, _ in ranked] == ["A tower was built.", "A house was built.", "A tree grew."]
    assert ranked[-1][1] == 0


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Which Restaurant did Anna of Green Gables like?", ["Restaurant", "Anna of Green Gables"]),
        ("The University of Oxford, founded early", ["University of Oxford"]),
        ("who was it", []),
    ],
)
def test_names_are_whole_and_begin_with_no_small_word(text: str, names: list[str]) -> None:
    assert names_in(text) == names
