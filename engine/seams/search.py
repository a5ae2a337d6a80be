"""The seam of a search: pages by title, similar titles, pages that match a query.

Rules
    - What a search returned is recorded, so that a replay, a resumed run and `show` need no search.
    - A lookup that fails, for whatever reason, finds nothing and says why: no reply of a server can stop a run.
    - Titles break ties: the same corpus and query give the same pages in the same order.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from mage_es.engine.seams.faults import without_halves
from mage_es.events.errors import hidden

_SENTENCE = re.compile(r"""(?:(?<=[.!?])|(?<=[.!?]["')\]]))\s+(?=["'(\[]?[A-Z0-9])|\n+""")
LONGEST_PAGE = 20_000
"""Most characters of a page that are kept."""
_LONGEST_TITLE = 300


class Page(NamedTuple):
    """A page: its title and its text, at most `LONGEST_PAGE` characters."""

    title: str
    text: str

    @property
    def sentences(self) -> list[str]:
        return [sentence.strip() for sentence in _SENTENCE.split(self.text) if sentence.strip()]


def bounded(page: Page) -> Page:
    """Return a page from elsewhere in a form that can be recorded."""
    return Page(bounded_title(page.title), without_halves(hidden(page.text[:LONGEST_PAGE])))


def bounded_title(title: str) -> str:
    return without_halves(hidden(" ".join(title[:_LONGEST_TITLE].split())))


class Search(Protocol):
    """A corpus. `name` is its spec, which is recorded.

    `PrerequisiteError` stops the run, which can be resumed; any other error is recorded as a lookup that failed.
    """

    name: str

    def page(self, title: str) -> Page | None:
        """Return the page with that title, in any capitalisation, or None."""

    def similar(self, title: str, *, count: int) -> Sequence[str]:
        """Return the titles most similar to `title`, the best match first."""

    def passages(self, query: str, *, count: int) -> Sequence[Page]:
        """Return the pages (or parts of pages) that match a query, the best match first.

        Raises:
            PrerequisiteError: The corpus cannot be reached.
        """
