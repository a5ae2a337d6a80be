import pytest

from mage_es.engine.players.arithmetic.words import LONGEST_TEXT, count_tokens, stem, tokenize


@pytest.mark.parametrize(
    "forms",
    [
        ("give", "gives", "gave", "given", "giving"),
        ("box", "boxes"),
        ("crate", "crates"),
        ("child", "children"),
        ("berry", "berries"),
        ("stop", "stopped", "stopping"),
    ],
)
def test_the_common_forms_of_a_word_have_one_stem(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1


def test_sentences_end_at_marks_before_white_space_and_not_inside_numbers() -> None:
    tokens = tokenize("It costs $3.50. She pays 1,200 at 5 p.m. today! Why?")
    assert [token.text for token in tokens if token.kind == "number"] == ["3.50", "1,200", "5"]
    assert tokens[-1].sentence == 3
    assert next(token for token in tokens if token.text == "pays").sentence == 1


def test_a_capital_inside_a_sentence_marks_a_name() -> None:
    names = [token.text for token in tokenize("Lena meets Omar. They talk.") if token.is_name]
    assert names == ["omar"]


def test_only_the_beginning_of_an_endless_text_is_read() -> None:
    assert len(tokenize("a " * LONGEST_TEXT)) == LONGEST_TEXT // 2


def test_words_numbers_and_marks_are_counted_as_tokens() -> None:
    assert count_tokens("She pays $1,200.50, twice!") == 7
