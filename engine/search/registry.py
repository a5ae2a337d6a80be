"""Searches by name: `record`, or what a wing or another package offers, such as `local/FOLDER`."""

from collections.abc import Iterable
from functools import cached_property
from threading import Lock
from typing import NamedTuple
from urllib.parse import parse_qsl

from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.plugins import load, open_plugin, plugins, require_has
from mage_es.engine.seams.search import Search
from mage_es.events.errors import UsageError, nearest, redacted

RECORD = "record"


class SearchSpec(NamedTuple):
    """A spec in parts: `provider/place?option=value`; `text` is all of it."""

    provider: str
    place: str
    options: dict[str, str]
    text: str


class Searches:
    """The search of a run: one corpus for all questions, or each question's own paragraphs.

    A corpus is opened at the first lookup; recorded results can be read without it.
    """

    def __init__(self, spec: str) -> None:
        self.name, self._spec = spec, parse(spec)
        self._lock = Lock()

    def open(self, questions: Iterable[Question]) -> None:
        """Open the corpus now.

        Raises:
            PrerequisiteError: It is missing.
            UsageError: Each question's own paragraphs should be searched, but none of `questions` has any.
        """
        from mage_es.engine.search.record import have_paragraphs

        if self._spec.provider != RECORD:
            self._opened()
        elif not have_paragraphs(questions):
            raise UsageError("--search record looks in the paragraphs of each question, and no question here has any.")

    def of(self, question: Question) -> Search:
        """Return the search for a question. Raises `PrerequisiteError` for a corpus that is missing."""
        from mage_es.engine.search.record import in_record

        return in_record(question) if self._spec.provider == RECORD else self._opened()

    def _opened(self) -> Search:
        with self._lock:  # courses look things up concurrently
            return self._corpus

    @cached_property
    def _corpus(self) -> Search:
        provider = self._spec.provider
        opened: Search = open_plugin("mage_es.search", provider, load("mage_es.search", provider), self._spec)
        require_has("mage_es.search", provider, opened, "name", "page", "similar", "passages")
        return opened


def parse(text: str) -> SearchSpec:
    if redacted(text) != text:
        raise UsageError(f"{redacted(text)}: a search is recorded with the run and must hold no key, name or password.")
    named, _, query = text.partition("?")
    provider, _, place = named.partition("/")
    try:
        options = dict(parse_qsl(query, strict_parsing=bool(query)))
    except ValueError:
        raise UsageError(f"{text!r}: what follows the ? must be option=value, joined by &.") from None
    if named != RECORD and provider not in (offered := plugins("mage_es.search")):
        raise UsageError(f"There is no search {text!r}.{nearest(provider, [RECORD, *offered])}")
    return SearchSpec(provider, place, options, text)
