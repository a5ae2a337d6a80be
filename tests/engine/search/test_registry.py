"""Searches by name, and what is said to a name that none has."""

from pathlib import Path

import pytest

from mage_es.engine.seams.benchmark import Question
from mage_es.engine.search.registry import Searches
from mage_es.events.errors import UsageError


def question(context: str) -> Question:
    return Question(id="q", benchmark="b", split="test", task_type="t", question="?", context=context, gold="x")


def test_each_question_has_its_own_paragraphs(tmp_path: Path) -> None:
    searches = Searches("record")
    assert searches.of(question("[1] A: a.")).page("A") is not None
    assert searches.of(question("[1] B: b.")).page("A") is None


def test_a_folder_is_one_corpus_for_all(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("text")
    searches = Searches(f"local/{tmp_path}")
    assert searches.of(question("")) is searches.of(question("[1] A: a."))


@pytest.mark.parametrize("spec", ["wikipaedia", "local", "record/x", "wikipedia/en"])
def test_what_is_no_search_is_refused_with_the_forms(spec: str) -> None:
    with pytest.raises(UsageError, match=r"There is no search|names no folder|by its address"):
        Searches(spec).open(())


@pytest.mark.parametrize("option", ["base_url=https://me:pa55word@host/w/api.php", "apikey=pa55word", "token=pa55word"])
def test_a_spec_that_would_put_a_secret_on_record_is_refused_unseen(option: str) -> None:
    with pytest.raises(UsageError, match="must hold no key") as refused:
        Searches(f"wikipedia?{option}")
    assert "pa55word" not in str(refused.value)
