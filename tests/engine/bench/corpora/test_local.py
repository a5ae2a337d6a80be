"""A folder of documents is a corpus: by title, by words, the same in any order of reading."""

import json
import sys
from pathlib import Path

import pytest

from mage_es.engine.bench.corpora.local import LocalSearch
from mage_es.events.errors import PrerequisiteError

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "bartok.md").write_text("# Béla Bartók\n\nA composer who was born in Hungary.")
    (tmp_path / "plain.txt").write_text("The river Danube flows through Hungary and Austria.")
    rows = [{"title": f"Town {k}", "text": "A quiet town in the hills."} for k in (2, 1, 3)]
    (tmp_path / "towns.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    (tmp_path / "picture.png").write_bytes(b"\x89PNG")
    return tmp_path


def test_pages_are_named_by_their_title_line_their_file_or_their_record(folder: Path) -> None:
    search = LocalSearch("local/x", folder)
    found = [search.page(title) for title in ("béla bartók", "plain", "TOWN 2", "picture")]
    assert [page.title if page else None for page in found] == ["Béla Bartók", "plain", "Town 2", None]
    assert search.page("Béla Bartók").text == "A composer who was born in Hungary."


def test_the_pages_that_fit_best_come_first_and_ties_go_by_title(folder: Path) -> None:
    search = LocalSearch("local/x", folder)
    assert [page.title for page in search.passages("Hungary composer", count=5)] == ["Béla Bartók", "plain"]
    assert [page.title for page in search.passages("quiet hills", count=2)] == ["Town 1", "Town 2"]
    assert search.passages("", count=3) == []


def test_similar_titles_come_before_pages_that_only_speak_of_it(folder: Path) -> None:
    assert LocalSearch("local/x", folder).similar("town", count=3) == ["Town 1", "Town 2", "Town 3"]
    assert LocalSearch("local/x", folder).similar("Hungary", count=3) == ["Béla Bartók", "plain"]


def test_pages_of_one_title_are_all_kept_and_the_first_has_it(tmp_path: Path) -> None:
    for name, text in (("a", "Salt is mined in Wieliczka."), ("b", "Tin is mined in Cornwall.")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "index.md").write_text(text)
    (tmp_path / "c.jsonl").write_text('{"title": " INDEX ", "text": "Gold is mined in Ballarat."}')
    search = LocalSearch("local/x", tmp_path)
    found = [search.passages(words, count=1)[0].title for words in ("salt", "tin", "gold")]
    assert found == ["index", "index (2)", "INDEX (3)"]
    assert search.page("Index").text == "Salt is mined in Wieliczka."


def test_a_query_is_words_and_no_syntax(folder: Path) -> None:
    assert LocalSearch("local/x", folder).passages('"Danube" AND (river OR', count=1)[0].title == "plain"


def test_a_search_in_a_folder_without_lancedb_names_the_command_that_installs_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lancedb", None)
    with pytest.raises(PrerequisiteError, match=r"local/docs needs .* pip install 'mage-es\[lance\]'"):
        LocalSearch("local/docs", folder)


def test_a_folder_without_documents_or_none_at_all_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match="holds no documents"):
        LocalSearch("local/x", tmp_path)
    with pytest.raises(PrerequisiteError, match="There is no folder"):
        LocalSearch("local/x", tmp_path / "none")
