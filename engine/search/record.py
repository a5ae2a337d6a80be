"""A question's own paragraphs as a corpus."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import zip_longest

from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.search import LONGEST_PAGE, Page
from mage_es.engine.search.ranking import ranked

_PARAGRAPH = re.compile(r"^\[\d+\] (.+)$", re.MULTILINE)
_MARK = ": "


def in_record(question: Question) -> ParagraphSearch:
    """Return the search in a question's own context; its `titles`, if any, show where each title ends."""
    return ParagraphSearch(question.context, question.titles)


def have_paragraphs(questions: Iterable[Question]) -> bool:
    return any(in_record(question).similar("", count=1) for question in questions)


class ParagraphSearch:
    """A search in the context of one question, whose paragraphs are lines of the form `[k] Title: text`.

    A title may contain the mark itself (`Alien: Covenant`). `titles` are those of the paragraphs, in order; without
    them, the first mark ends a title.
    """

    name = "record"

    def __init__(self, context: str, titles: Sequence[str] = ()) -> None:
        self._pages = list(_pages(_PARAGRAPH.findall(context), titles))

    def page(self, title: str) -> Page | None:
        wanted = title.strip().casefold()
        return next((page for page in self._pages if page.title.casefold() == wanted), None)

    def similar(self, title: str, *, count: int) -> Sequence[str]:
        """Return the titles of the paragraphs: first those most like `title`, then the others in the record's order."""
        near = ranked([Page(page.title, "") for page in self._pages], title)
        return list(dict.fromkeys([*(page.title for page in near), *(page.title for page in self._pages)]))[:count]

    def passages(self, query: str, *, count: int) -> Sequence[Page]:
        return ranked(self._pages, query)[:count]


def _pages(paragraphs: Sequence[str], titles: Sequence[str]) -> Iterator[Page]:
    for paragraph, title in zip_longest(paragraphs, titles[: len(paragraphs)], fillvalue=""):
        if title and paragraph.startswith(title + _MARK):
            yield Page(title, paragraph[len(title + _MARK) :][:LONGEST_PAGE])
        elif _MARK in paragraph:
            head, _, text = paragraph.partition(_MARK)
            yield Page(head, text[:LONGEST_PAGE])
