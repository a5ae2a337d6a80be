"""When two questions count as the same."""

import pytest

from mage_es.engine.rules.near_duplicates import normalise, question_hash, shingle_hash, shingle_run


@pytest.mark.parametrize(
    "text",
    [
        "How many are left?",
        "how many are left",
        "  How\tmany \n are   LEFT ?? ",
        "«How many are left?»",
        "How many are left …",
    ],
)
def test_case_space_and_outer_punctuation_do_not_matter(text: str) -> None:
    assert normalise(text) == "how many are left"


def test_punctuation_inside_and_numbers_do_matter() -> None:
    assert normalise("It costs $1,200.50 today.") == "it costs $1,200.50 today"
    assert normalise("She has 4.") != normalise("She has 5.")


def test_case_folding_reaches_beyond_ascii() -> None:
    assert normalise("Straße") == normalise("STRASSE")


def test_normalising_twice_changes_nothing() -> None:
    text = normalise(" ?! A  strange\u00a0one (really) ")
    assert normalise(text) == text


def test_a_question_hash_has_sixteen_hexadecimal_digits() -> None:
    assert question_hash("how many are left") == "4f44bae87988d2fc"


def test_shingles_are_runs_of_five_words_and_a_short_text_is_its_own() -> None:
    assert shingle_run("a b c d e f") == ["a b c d e", "b c d e f"]
    assert shingle_run("a b") == ["a b"] and shingle_run("?!") == [""]


def test_punctuation_around_a_word_does_not_matter_to_shingles() -> None:
    assert shingle_run('She asked: "How (many) are - left, then?"') == shingle_run("she asked how many are left then")
    assert shingle_run("it costs 1,200.50 in all") == ["it costs 1,200.50 in all"]


def test_a_shingle_stands_in_a_log_as_eight_bytes() -> None:
    assert shingle_hash("how many are left now").hex() == "b241d5a32c80de4f"
