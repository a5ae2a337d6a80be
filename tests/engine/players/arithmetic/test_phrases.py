import pytest

from mage_es.engine.players.arithmetic.phrases import head_noun
from mage_es.engine.players.arithmetic.words import tokenize


@pytest.mark.parametrize(
    ("phrase", "noun"),
    [
        ("red clips to a friend", "clip"),
        ("of her old friends", "friend"),
        ("more stickers than cards", "sticker"),
        ("lemons Omar sold", "lemon"),
        ("toy cars drive off", "car"),
        ("to the left", ""),
    ],
)
def test_the_last_word_of_the_phrase_is_its_noun(phrase: str, noun: str) -> None:
    assert head_noun(tokenize("There " + phrase), 1) == noun


def test_after_a_singular_word_the_verb_is_not_taken_for_the_noun() -> None:
    assert head_noun(tokenize("glass holds water"), 0, singular="each") == "glass"
