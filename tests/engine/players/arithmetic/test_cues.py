from mage_es.engine.players.arithmetic.cues import CLASSES, FUNCTION_WORDS
from mage_es.engine.players.arithmetic.words import stem


def test_every_form_of_a_word_hints_at_the_same_classes() -> None:
    assert "loss" in CLASSES[stem("sold")] and CLASSES[stem("sold")] == CLASSES[stem("selling")]


def test_a_word_can_hint_at_several_classes_but_at_none_twice() -> None:
    assert len(CLASSES[stem("further")]) > 1
    assert all(len(hints) == len(set(hints)) for hints in CLASSES.values())


def test_articles_and_pronouns_are_function_words() -> None:
    assert {"the", "her", "many"} <= FUNCTION_WORDS
