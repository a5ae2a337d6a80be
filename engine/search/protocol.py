"""What a search is: pages by title, titles like a title, pages that fit a query; always the same for the same corpus.

Rules
    - What a search returned is recorded, so that a replay, a resumed run and `show` need no search.
    - Ties are broken by title: the same corpus and query give the same pages in the same order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple, Protocol

_SENTENCE = re.compile(r"""(?:(?<=[.!?])|(?<=[.!?]["')\]]))\s+(?=["'(\[]?[A-Z0-9])|\n+""")
LONGEST_PAGE = 20_000
"""Characters of a page that are kept: what is behind them is not read."""


class Page(NamedTuple):
    """A page: its title and its text, at most `LONGEST_PAGE` characters."""

    title: str
    text: str

    @property
    def sentences(self) -> list[str]:
        """Return the sentences of the text, as far as punctuation tells them."""
        return [sentence.strip() for sentence in _SENTENCE.split(self.text) if sentence.strip()]


class Search(Protocol):
    """A corpus that can be asked. `name` is its spec, which is recorded."""

    name: str

    def page(self, title: str) -> Page | None:
        """Return the page of that title, however it is capitalised; None where there is none."""
        ...

    def similar(self, title: str, *, count: int) -> Sequence[str]:
        """Return titles of pages that are most like what was asked for, the likeliest first."""
        ...

    def passages(self, query: str, *, count: int) -> Sequence[Page]:
        """Return the pages (or parts of pages) that fit a query best, the best first.

        Raises:
            PrerequisiteError: The corpus cannot be reached.
        """
        ...
