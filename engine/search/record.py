"""The paragraphs that a question brings with it, as a corpus of their own."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mage_es.engine.search.protocol import LONGEST_PAGE, Page
from mage_es.engine.search.ranking import ranked

_PARAGRAPH = re.compile(r"^\[\d+\] (.+?): (.*)$", re.MULTILINE)


class RecordSearch:
    """A search in the context of one question, whose paragraphs stand there as `[k] Title: text`, one on a line."""

    name = "record"

    def __init__(self, context: str) -> None:
        self._pages = [Page(title, text[:LONGEST_PAGE]) for title, text in _PARAGRAPH.findall(context)]

    def page(self, title: str) -> Page | None:
        """Return the paragraph of that title."""
        wanted = title.strip().casefold()
        return next((page for page in self._pages if page.title.casefold() == wanted), None)

    def similar(self, title: str, *, count: int) -> Sequence[str]:
        """Return the titles of paragraphs that are most like it; then the others, in the record's order."""
        near = ranked([Page(page.title, "") for page in self._pages], title)
        return list(dict.fromkeys([*(page.title for page in near), *(page.title for page in self._pages)]))[:count]

    def passages(self, query: str, *, count: int) -> Sequence[Page]:
        """Return the paragraphs that share most with the query."""
        return ranked(self._pages, query)[:count]
