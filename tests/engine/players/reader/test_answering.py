"""Answering: examples vote, a principle has a vote, and without votes the question's own words and passage decide."""

from __future__ import annotations

from collections import Counter

from mage_es.engine.players.prompts import Example
from mage_es.engine.players.reader.answering import UNKNOWN, candidates, choose
from mage_es.engine.seams.model import Request


def decide(question: str, examples: list[Example], advice: list[str], found: str = "") -> str:
    return choose(candidates(question, examples, advice, found), Request(prompt=""))


def example(question: str, answer: str) -> Example:
    return Example(question=question, reasoning="", answer=answer)


CHOICE = "A child has spots and fever.\n\nA. Measles\nB. Gout"


def test_right_answers_to_similar_questions_vote_for_the_option_with_their_text() -> None:
    examples = [example("A girl has spots.\n\nA. Gout\nB. Measles", "[B]")]
    assert decide(CHOICE, examples, []) == "A"


def test_without_texts_the_option_of_the_same_name_has_the_vote() -> None:
    asked = "The taxi turns back. Please answer 'Yes' or 'No'."
    assert decide(asked, [example(asked, "No"), example(asked, "no"), example("x", "Yes")], []) == "No"


def test_a_principle_that_names_an_answer_has_a_vote() -> None:
    asked = "Is it so? Please answer 'Yes' or 'No'."
    assert decide(asked, [], ["Questions of this kind are mostly answered with: No."]) == "No"
    assert decide("Who was it?", [], ["Questions of this kind are mostly answered with: Bert."]) == "Bert"


def test_without_votes_the_option_that_shares_words_with_the_question_wins() -> None:
    options = "A. Measles, mumps or pox\nB. Acute gout\nC. Flu"
    assert decide(f"Which pain is it? It is gout of the toe.\n\n{options}", [], []) == "B"


def test_a_long_option_is_not_preferred_for_its_length() -> None:
    assert decide("The way goes on to 3.\n\nA. 3, 1, 4 and 5\nB. 3", [], []) == "B"


def test_what_was_looked_up_is_read_before_the_passage_that_a_question_brings() -> None:
    asked = "Faust was written by Marlowe.\nWho wrote Faust?"
    assert decide(asked, [], [], "Faust: Goethe wrote it.") == "Goethe"
    assert decide(asked, [], [], "Nothing about it.") == "Marlowe"


def test_nearly_the_same_question_has_the_same_answer_and_another_one_is_the_last_resort() -> None:
    solved = [example("Who wrote Faust?", "Goethe"), example("Where is Rome?", "Italy")]
    assert decide("who wrote faust", solved, []) == "Goethe"
    assert decide("What about zebras?", solved, []) == "Goethe"


def test_an_example_without_an_answer_says_nothing() -> None:
    assert decide("Who wrote Faust?", [example("Who wrote Faust?", "")], []) == UNKNOWN


def test_the_passage_is_read_before_other_questions_are_believed() -> None:
    assert (
        decide("Faust was written by Goethe.\nWho wrote Faust?", [example("Where is Rome?", "Italy")], []) == "Goethe"
    )


THREE = {"b": 3.0, "a": 6.0, "c": 1.0}
DRAWS = 2_000


def drawn(answers: dict[str, float], temperature: float) -> Counter[str]:
    requests = (Request(prompt="p", temperature=temperature, sample=sample) for sample in range(DRAWS))
    return Counter(choose(answers, request) for request in requests)


def test_without_a_temperature_the_weightiest_is_chosen() -> None:
    assert drawn(THREE, 0.0) == {"a": DRAWS}


def test_at_one_answers_are_drawn_in_proportion_to_their_weights_and_cooler_less_evenly() -> None:
    warm, cool = drawn(THREE, 1.0), drawn(THREE, 0.25)
    for answer, weight in THREE.items():
        assert abs(warm[answer] / DRAWS - weight / 10) < 0.04
    assert cool["a"] > 0.9 * DRAWS
    assert drawn(THREE, 1e-320) == {"a": DRAWS}


def test_without_any_weight_the_first_is_chosen() -> None:
    assert drawn({"a": 0.0, "b": 0.0}, 1.0) == {"a": DRAWS}
