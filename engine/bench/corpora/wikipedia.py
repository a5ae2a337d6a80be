"""Wikipedia, or any other MediaWiki, through its public API: pages as plain text, titles, full-text search.

Rules
    - Temporary failures (a time-out, 429, 5xx) are retried a few times; then the run stops and can be resumed.
    - A reply that cannot be read is one failed lookup if the wiki answers other requests. If it answers none, the
      address is wrong, and the run stops.
    - A redirect to another origin is not followed.
    - Wikipedia changes: its answers are on record with the question, and the base address with the run.
"""

from __future__ import annotations

import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from contextlib import suppress
from http.client import HTTPException, HTTPMessage
from typing import IO, Any, TypeVar

import msgspec

from mage_es.engine.seams.faults import shortened
from mage_es.engine.seams.search import LONGEST_PAGE, Page
from mage_es.engine.search.registry import SearchSpec
from mage_es.events.errors import PrerequisiteError, UsageError

ENGLISH = "https://en.wikipedia.org/w/api.php"
_ATTEMPTS = 4
_TIMEOUT_S, _MOST_BYTES = 20.0, 2**24
_LONGEST_QUERY = 300  # a MediaWiki rejects longer queries, and every server limits the length of an address
_PASSES = frozenset({408, 429, 500, 502, 503, 504})
_PASSING = ("ratelimited", "maxlag", "readonly", "internal_api_error")
"""Prefixes of a wiki's own error codes for temporary failures."""
_CLOSED = frozenset({401, 403, 404, 407, 410})
"""HTTP statuses that every later lookup would get too."""


class _Entry(msgspec.Struct):
    title: str
    extract: str = ""
    missing: bool = False


class _Found(msgspec.Struct):
    pages: list[_Entry] = []
    search: list[_Entry] = []


class _Error(msgspec.Struct):
    code: str = ""
    info: str = ""


class _Answer(msgspec.Struct):
    query: _Found = msgspec.field(default_factory=_Found)
    error: _Error | None = None
    """A MediaWiki reports errors with status 200."""


class _Refused(ValueError):
    """The wiki answers with its own error."""

    def __init__(self, error: _Error) -> None:
        super().__init__(f"{error.code}: {error.info}")
        self.code = error.code


SaidT = TypeVar("SaidT")
_FAILURES = (OSError, ValueError, HTTPException, RecursionError)


class _Site(msgspec.Struct):
    query: dict[str, dict[str, Any]]


def open_wiki(spec: SearchSpec) -> WikipediaSearch:
    """Return the search for `wikipedia?base_url=URL`. Raises `UsageError` for any other form."""
    if spec.place:
        raise UsageError(f"--search {spec.text}: name another wiki by its address, wikipedia?base_url=URL.")
    return WikipediaSearch(spec.text, spec.options.get("base_url", ENGLISH))


class WikipediaSearch:
    def __init__(self, name: str, base_url: str = ENGLISH) -> None:
        """Raises `UsageError` for anything but a web address."""
        if urllib.parse.urlsplit(base_url).scheme not in ("http", "https"):
            raise UsageError(f"--search {name}: base_url must begin with https:// or http://.")
        self.name, self._base_url, self._is_known = name, base_url, False

    def page(self, title: str) -> Page | None:
        found = self._ask(action="query", prop="extracts", explaintext="1", redirects="1", titles=title)
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
        found = self._ask(action="query", list="search", srsearch=query, srlimit=str(count))
        return [hit.title for hit in found.search[:count]]

    def _ask(self, **parameters: str) -> _Found:
        try:
            found = self._read({name: value[:_LONGEST_QUERY] for name, value in parameters.items()}, _Answer).query
        except _FAILURES as error:
            is_closed = isinstance(error, urllib.error.HTTPError) and error.code in _CLOSED
            if not (_passes(error) or is_closed) and self._is_wiki():
                raise ValueError(f"the wiki's reply cannot be used: {error}") from error
            raise PrerequisiteError(
                f"{self._base_url} does not answer as a MediaWiki does: {shortened(str(error))}. Check the network and "
                "the address (--search wikipedia?base_url=...), then resume the run."
            ) from error
        self._is_known = True
        return found

    def _is_wiki(self) -> bool:
        """Return whether this is a MediaWiki at all: if so, an unreadable reply affects only one lookup."""
        if not self._is_known:
            with suppress(*_FAILURES):
                self._read({"action": "query", "meta": "siteinfo"}, _Site)
                self._is_known = True
        return self._is_known

    def _read(self, parameters: Mapping[str, str], kind: type[SaidT]) -> SaidT:
        import tenacity

        query = urllib.parse.urlencode({**parameters, "format": "json", "formatversion": "2"})
        request = urllib.request.Request(f"{self._base_url}?{query}", headers={"User-Agent": "mage-es"})
        retrying = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(_ATTEMPTS),
            wait=tenacity.wait_random_exponential(multiplier=0.2, max=10),
            retry=tenacity.retry_if_exception(_passes),
            reraise=True,
        )
        found: SaidT = retrying(_decoded, request, kind)
        return found


class _SameOrigin(urllib.request.HTTPRedirectHandler):
    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> urllib.request.Request | None:
        here, there = (urllib.parse.urlsplit(url)[:2] for url in (req.full_url, newurl))
        if here != there:
            fp.close()
            raise PrerequisiteError(
                f"{here[0]}://{here[1]} redirects to {shortened('://'.join(there))}, which is not followed. If that "
                f"address is right, give it: --search wikipedia?base_url=..."
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _decoded(request: urllib.request.Request, kind: type[SaidT]) -> SaidT:
    said = msgspec.json.decode(_content(request), type=kind)
    if isinstance(said, _Answer) and said.error:
        raise _Refused(said.error)
    return said


def _content(request: urllib.request.Request) -> bytes:
    try:
        with urllib.request.build_opener(_SameOrigin).open(request, timeout=_TIMEOUT_S) as response:
            said: bytes = response.read(_MOST_BYTES + 1)
    except urllib.error.HTTPError as error:
        error.close()
        raise
    if len(said) > _MOST_BYTES:
        raise ValueError(f"it sent more than {_MOST_BYTES} bytes")
    return said


def _passes(error: BaseException) -> bool:
    if isinstance(error, _Refused):
        return error.code.startswith(_PASSING)
    return error.code in _PASSES if isinstance(error, urllib.error.HTTPError) else isinstance(error, OSError)
