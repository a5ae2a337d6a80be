"""A question's own paragraphs can be searched by title and by words."""

from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.search import Page
from mage_es.engine.search.record import ParagraphSearch, in_record
from mage_es.engine.search.registry import Searches

CONTEXT = "[1] Béla Bartók: He was a Hungarian composer. He died in 1945.\n[2] Paul Hindemith: A German composer."


def test_a_paragraph_is_found_by_its_title_however_it_is_written() -> None:
    page = ParagraphSearch(CONTEXT).page(" béla BARTÓK ")
    assert page is not None
    assert page.sentences == ["He was a Hungarian composer.", "He died in 1945."]
    assert ParagraphSearch(CONTEXT).page("Bartók") is None


COLON = "[1] Alien: Covenant: A film: of 2017.\n[2] Alien: A film of 1979."


def test_a_title_that_holds_a_colon_is_whole_where_the_titles_are_known() -> None:
    search = ParagraphSearch(COLON, ["Alien: Covenant", "Alien"])
    covenant, alien = search.page("Alien: Covenant"), search.page("Alien")
    assert covenant is not None and covenant.text == "A film: of 2017."
    assert alien is not None and alien.text == "A film of 1979."
    assert ParagraphSearch(COLON).page("Alien: Covenant") is None


def test_a_question_with_titles_is_searched_by_them() -> None:
    asked = Question(
        id="q", benchmark="b", split="test", task_type="t", question="?", gold="", context=COLON,
        titles=("Alien: Covenant", "Alien"),
    )  # fmt: skip
    assert in_record(asked).page("Alien: Covenant") == Page("Alien: Covenant", "A film: of 2017.")
    assert Searches("record").of(asked).page("Alien: Covenant") == Page("Alien: Covenant", "A film: of 2017.")


def test_titles_that_do_not_fit_are_passed_over() -> None:
    search = ParagraphSearch(COLON + "\n[3] no mark here", ["Aliens", "Alien", "", "more"])
    assert search.similar("", count=5) == ["Alien"]
    assert search.page("Alien") == Page("Alien", "Covenant: A film: of 2017.")


def test_titles_like_it_come_first_and_the_others_after_them() -> None:
    assert ParagraphSearch(CONTEXT).similar("Hindemith's life", count=5) == ["Paul Hindemith", "Béla Bartók"]


def test_paragraphs_that_share_rarer_words_come_first() -> None:
    found = ParagraphSearch(CONTEXT).passages("Which German composer was it?", count=2)
    assert [page.title for page in found] == ["Paul Hindemith", "Béla Bartók"]
    assert ParagraphSearch(CONTEXT).passages("zebra", count=2) == []


def test_a_question_without_paragraphs_finds_nothing() -> None:
    search = ParagraphSearch("just prose")
    assert (search.page("x"), search.similar("x", count=3), search.passages("prose", count=3)) == (None, [], [])


def test_a_page_ends_its_sentences_at_marks_and_lines() -> None:
    page = Page("x", 'He said "No." Then he left! Was it 3.5 km?\nYes')
    assert page.sentences == ['He said "No."', "Then he left!", "Was it 3.5 km?", "Yes"]
