"""Any folder of documents as a corpus, by LanceDB's full-text search (BM25).

Rules
    - Text files (`.txt`, `.md`) are one page each, named by their title line (`# ...`) or their file; `.jsonl` files
      hold one page per line, as `title` and `text`.
    - If pages share a title, the first keeps it, in the order of file names; the others are numbered, as in `Title
      (2)`.
    - The index lives in memory: nothing is written beside the user's documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from mage_es.engine.benchmarks.files import contents
from mage_es.engine.benchmarks.records import read_records
from mage_es.engine.seams.search import LONGEST_PAGE, Page
from mage_es.engine.search.registry import SearchSpec
from mage_es.events.errors import PrerequisiteError, UsageError
from mage_es.projections.lance import require_lance

_TEXTS = (".txt", ".md")
_MORE = 4
"""How many times more hits are fetched than wanted, so that ties at the end can be broken by title."""


class _Row(msgspec.Struct):
    title: str
    text: str


def open_folder(spec: SearchSpec) -> LocalSearch:
    """Return the search over `local/FOLDER`. Raises `UsageError` without a folder, and `PrerequisiteError`."""
    if not spec.place:
        raise UsageError(f"--search {spec.text} names no folder: write local/FOLDER.")
    return LocalSearch(spec.text, Path(spec.place))


class LocalSearch:
    def __init__(self, name: str, folder: Path) -> None:
        """Read and index every document. Raises `PrerequisiteError`."""
        self.name = name
        if not folder.is_dir():
            raise PrerequisiteError(
                f"There is no folder {folder} to search in: give one that holds .txt, .md or .jsonl."
            )
        self._folded: dict[str, str] = {}
        self._pages = {page.title: page for page in _apart(_read(folder), self._folded)}
        if not self._pages:
            raise PrerequisiteError(f"{folder} holds no documents: put .txt, .md or .jsonl files there.")
        self._texts, self._titles = self._index()

    def page(self, title: str) -> Page | None:
        found = self._folded.get(title.strip().casefold())
        return self._pages[found] if found is not None else None

    def similar(self, title: str, *, count: int) -> Sequence[str]:
        near = [*self._best(self._titles, title, count), *self._best(self._texts, title, count)]
        return list(dict.fromkeys(near))[:count]

    def passages(self, query: str, *, count: int) -> Sequence[Page]:
        return [self._pages[title] for title in self._best(self._texts, query, count)]

    def _index(self) -> tuple[Any, Any]:
        require_lance(f"The search {self.name}")
        import lancedb
        from lancedb.index import FTS

        database = lancedb.connect("memory://")
        tables = []
        for name in ("text", "title"):
            rows = [{"title": page.title, "words": getattr(page, name) or page.title} for page in self._pages.values()]
            table = database.create_table(name, rows)
            table.create_index("words", config=FTS())
            tables.append(table)
        return tables[0], tables[1]

    @staticmethod
    def _best(table: Any, query: str, count: int) -> list[str]:
        from lancedb.query import MatchQuery

        if not query.strip():
            return []
        search = table.search(MatchQuery(query, "words")).select(["title", "_score"]).limit(_MORE * count)
        hits = [(-float(hit["_score"]), str(hit["title"])) for hit in search.to_list()]
        return [title for _, title in sorted(hits)[:count]]


def _apart(pages: Iterable[Page], folded: dict[str, str]) -> Iterator[Page]:
    """Yield pages with unique titles, numbering all duplicates after the first; fill `titles`, by case-folded form."""
    for page in pages:
        title, number = page.title.strip(), 1
        while title.casefold() in folded:
            number += 1
            title = f"{page.title.strip()} ({number})"
        folded[title.casefold()] = title
        yield page._replace(title=title)


def _read(folder: Path) -> Iterator[Page]:
    for path in sorted(folder.rglob("*")):
        if path.suffix in _TEXTS and path.is_file():
            text = contents(path).decode(errors="replace")
            first, _, rest = text.lstrip().partition("\n")
            is_title = first.startswith("# ")
            title = first.removeprefix("# ").strip() if is_title else path.stem
            yield Page(title, (rest if is_title else text).strip()[:LONGEST_PAGE])
        elif path.name.endswith((".jsonl", ".jsonl.gz")):
            yield from read_records(path, _Row, lambda _, row: Page(row.title, row.text[:LONGEST_PAGE])).items
