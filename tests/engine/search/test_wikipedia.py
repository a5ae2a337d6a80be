"""Wikipedia by its public API, against a server on loopback that speaks it and can fail."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from mage_es.engine.search.wikipedia import WikipediaSearch
from mage_es.events.errors import PrerequisiteError

ARTICLES = {"Béla Bartók": "Bartók was a composer. He was Hungarian.", "Paul Hindemith": "Hindemith was a composer."}
REDIRECTS = {"Bartok": "Béla Bartók"}


class Wiki(ThreadingHTTPServer):
    """A wiki of two articles; `failures` are the statuses that the next requests get."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.failures: list[int] = []
        self.asked: list[dict[str, str]] = []
        self.body: bytes | None = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/w/api.php"


class _Handler(BaseHTTPRequestHandler):
    server: Wiki

    def do_GET(self) -> None:
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        self.server.asked.append(asked)
        status = self.server.failures.pop(0) if self.server.failures else 200
        body = json.dumps(answer(asked)).encode() if self.server.body is None else self.server.body
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        pass


def answer(asked: dict[str, str]) -> object:
    assert (asked["action"], asked["format"], asked["formatversion"]) == ("query", "json", "2")
    if asked.get("list") == "search":
        hits = [
            title for title, text in ARTICLES.items() if asked["srsearch"].casefold() in f"{title} {text}".casefold()
        ]
        return {"query": {"search": [{"title": title} for title in hits[: int(asked["srlimit"])]]}}
    title = REDIRECTS.get(asked["titles"], asked["titles"])
    page = {"title": title, "extract": ARTICLES[title]} if title in ARTICLES else {"title": title, "missing": True}
    return {"query": {"pages": [page]}}


@pytest.fixture
def wiki() -> Iterator[Wiki]:
    server = Wiki()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_page_is_found_also_by_a_redirect(wiki: Wiki) -> None:
    page = WikipediaSearch("wikipedia", wiki.url).page("Bartok")
    assert page is not None
    assert (page.title, page.sentences[1]) == ("Béla Bartók", "He was Hungarian.")
    assert WikipediaSearch("wikipedia", wiki.url).page("Nobody") is None


def test_similar_titles_and_passages_come_from_the_wikis_own_search(wiki: Wiki) -> None:
    search = WikipediaSearch("wikipedia", wiki.url)
    assert search.similar("composer", count=5) == ["Béla Bartók", "Paul Hindemith"]
    assert [page.text for page in search.passages("composer", count=1)] == [ARTICLES["Béla Bartók"]]


def test_failures_that_pass_are_tried_again(wiki: Wiki) -> None:
    wiki.failures = [503, 429]
    assert WikipediaSearch("wikipedia", wiki.url).page("Paul Hindemith") is not None
    assert len(wiki.asked) == 3


@pytest.mark.parametrize("failures", [[404], [503] * 9])
def test_a_wiki_that_stays_away_ends_with_what_to_check(wiki: Wiki, failures: list[int]) -> None:
    wiki.failures = failures
    with pytest.raises(PrerequisiteError, match=r"does not answer as a MediaWiki does.*resume the run"):
        WikipediaSearch("wikipedia", wiki.url).page("Paul Hindemith")


@pytest.mark.parametrize("body", [b"<html>", b"[1]", b"[" * 10**5, b'{"query": {"pages": [1]}}', b'{"query": 5}'])
def test_what_is_no_wiki_is_said_to_be_none(wiki: Wiki, body: bytes) -> None:
    wiki.body = body
    with pytest.raises(PrerequisiteError, match="does not answer as a MediaWiki does"):
        WikipediaSearch("wikipedia", wiki.url).page("x")
