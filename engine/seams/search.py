"""The seam of a search: pages by title, similar titles, pages that match a query.

Rules
    - What a search returned is recorded, so that a replay, a resumed run and `show` need no search.
    - Ties are broken by title: the same corpus and query give the same pages in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

__all__ = ["LONGEST_PAGE", "Page", "Search"]

_SENTENCE = re.compile(r"""(?:(?<=[.!?])|(?<=[.!?]["')\]]))\s+(?=["'(\[]?[A-Z0-9])|\n+""")
LONGEST_PAGE = 20_000
"""Characters of a page that are kept."""


class Page(NamedTuple):
    """A page: its title and its text, at most `LONGEST_PAGE` characters."""

    title: str
    text: str

    @property
    def sentences(self) -> list[str]:
        return [sentence.strip() for sentence in _SENTENCE.split(self.text) if sentence.strip()]


class Search(Protocol):
    """A corpus. `name` is its spec, which is recorded."""

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
