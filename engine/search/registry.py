"""Searches by name: `record`, `local/FOLDER`, `wikipedia?base_url=...`, or another package's."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qsl

from mage_es.engine.benchmarks.protocol import Question
from mage_es.engine.plugins import load, plugins
from mage_es.engine.search.protocol import Search
from mage_es.events.errors import UsageError, nearest

RECORD, LOCAL, WIKIPEDIA = "record", "local", "wikipedia"
FORMS = (RECORD, f"{LOCAL}/<folder>", f"{WIKIPEDIA}?base_url=<url>")


class SearchSpec(NamedTuple):
    """A spec in parts: `provider/place?option=value`; `text` is the whole of it."""

    provider: str
    place: str
    options: dict[str, str]
    text: str


class Searches:
    """The search of a run: one corpus for all questions, or each question's own paragraphs."""

    def __init__(self, spec: str) -> None:
        """Open it. Raises `UsageError` for what is no search, `PrerequisiteError` for a corpus that is not there."""
        self.name = spec
        self._search = None if spec == RECORD else _opened(parse(spec))

    def of(self, question: Question) -> Search:
        """Return the search that may be used for a question."""
        from mage_es.engine.search.record import RecordSearch

        return self._search or RecordSearch(question.context)


def parse(text: str) -> SearchSpec:
    """Return a spec in parts. Raises `UsageError`."""
    named, _, query = text.partition("?")
    provider, _, place = named.partition("/")
    try:
        options = dict(parse_qsl(query, strict_parsing=bool(query)))
    except ValueError:
        raise UsageError(f"{text!r}: what follows the ? must be option=value, joined by &.") from None
    return SearchSpec(provider, place, options, text)


def _opened(spec: SearchSpec) -> Search:
    if spec.provider == LOCAL and spec.place:
        from mage_es.engine.search.local import LocalSearch

        return LocalSearch(spec.text, Path(spec.place))
    if spec.provider == WIKIPEDIA and not spec.place:
        from mage_es.engine.search.wikipedia import ENGLISH, WikipediaSearch

        return WikipediaSearch(spec.text, spec.options.get("base_url", ENGLISH))
    if spec.provider in plugins("mage_es.search"):
        offered: Search = load("mage_es.search", spec.provider)(spec)
        return offered
    raise UsageError(f"There is no search {spec.text!r}.{nearest(spec.text, list(FORMS))}")
