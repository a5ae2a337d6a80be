"""Wikipedia, or any other MediaWiki, through its public API: pages as plain text, titles, full-text search.

Rules
    - Failures that pass (a time-out, 429, 5xx) are tried again a few times; then the run stops and can be resumed.
    - Wikipedia changes: what it answered is on record with the question, and the base address with the run.
"""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Sequence
from http.client import HTTPException

import msgspec

from mage_es.engine.seams.search import LONGEST_PAGE, Page
from mage_es.events.errors import PrerequisiteError

ENGLISH = "https://en.wikipedia.org/w/api.php"
_ATTEMPTS = 4
_TIMEOUT_S, _MOST_BYTES = 20.0, 2**26
_PASSES = frozenset({408, 429, 500, 502, 503, 504})


class _Entry(msgspec.Struct):
    title: str
    extract: str = ""
    missing: bool = False


class _Found(msgspec.Struct):
    pages: list[_Entry] = []
    search: list[_Entry] = []


class _Answer(msgspec.Struct):
    query: _Found = msgspec.field(default_factory=_Found)


class WikipediaSearch:
    def __init__(self, name: str, base_url: str = ENGLISH) -> None:
        self.name, self._base_url = name, base_url

    def page(self, title: str) -> Page | None:
        found = self._asked(action="query", prop="extracts", explaintext="1", redirects="1", titles=title)
        for page in found.pages:
            if not page.missing and page.extract:
                return Page(page.title, page.extract[:LONGEST_PAGE])
        return None

    def similar(self, title: str, *, count: int) -> Sequence[str]:
        return self._hits(title, count)

    def passages(self, query: str, *, count: int) -> Sequence[Page]:
        pages = (self.page(title) for title in self._hits(query, count))
        return [page for page in pages if page is not None]

    def _hits(self, query: str, count: int) -> list[str]:
        found = self._asked(action="query", list="search", srsearch=query, srlimit=str(count))
        return [hit.title for hit in found.search[:count]]

    def _asked(self, **parameters: str) -> _Found:
        import tenacity

        query = urllib.parse.urlencode({**parameters, "format": "json", "formatversion": "2"})
        request = urllib.request.Request(f"{self._base_url}?{query}", headers={"User-Agent": "mage-es"})
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(_ATTEMPTS),
            wait=tenacity.wait_random_exponential(multiplier=0.2, max=10),
            retry=tenacity.retry_if_exception(_passes),
            reraise=True,
        )
        try:
            return retrying(_answer, request)
        except (OSError, ValueError, HTTPException, msgspec.MsgspecError, RecursionError) as error:
            raise PrerequisiteError(
                f"{self._base_url} does not answer as a MediaWiki does: {error}. Check the network and the address "
                "(--search wikipedia?base_url=...), then resume the run."
            ) from error


def _answer(request: urllib.request.Request) -> _Found:
    try:
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as response:
            said = response.read(_MOST_BYTES + 1)
    except urllib.error.HTTPError as error:
        error.close()
        raise
    if len(said) > _MOST_BYTES:
        raise ValueError(f"it sent more than {_MOST_BYTES} bytes")
    return msgspec.json.decode(said, type=_Answer).query


def _passes(error: BaseException) -> bool:
    return error.code in _PASSES if isinstance(error, urllib.error.HTTPError) else isinstance(error, OSError)
