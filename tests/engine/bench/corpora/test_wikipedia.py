"""Wikipedia by its public API, against a server on loopback that speaks it and can fail."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import pytest

from mage_es.engine.bench.corpora.wikipedia import WikipediaSearch
from mage_es.events.errors import PrerequisiteError, UsageError

ARTICLES = {"Béla Bartók": "Bartók was a composer. He was Hungarian.", "Paul Hindemith": "Hindemith was a composer."}
REDIRECTS = {"Bartok": "Béla Bartók"}


class Wiki(ThreadingHTTPServer):
    """A wiki of two articles; `failures` are the statuses, or the wiki's own errors, that the next requests get."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.failures: list[int | str] = []
        self.asked: list[dict[str, str]] = []
        self.body: bytes | None = None
        """What every lookup gets instead of its answer; `is_wiki`: but not a question about the wiki itself."""
        self.is_wiki = False
        self.location = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/w/api.php"


class _Handler(BaseHTTPRequestHandler):
    server: Wiki

    def do_GET(self) -> None:
        asked = {name: values[0] for name, values in parse_qs(urlsplit(self.path).query).items()}
        self.server.asked.append(asked)
        failure = self.server.failures.pop(0) if self.server.failures else 200
        status = failure if isinstance(failure, int) else 200
        is_told = self.server.body is None or (self.server.is_wiki and "meta" in asked)
        said = {"error": {"code": failure, "info": "later"}} if isinstance(failure, str) else answer(asked)
        body = json.dumps(said).encode() if is_told else self.server.body or b""
        if self.server.location and not self.path.startswith("/moved"):
            status = 302
        self.send_response(status)
        if status == 302:
            self.send_header("Location", f"{self.server.location}?{urlsplit(self.path).query}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        pass


def answer(asked: dict[str, str]) -> object:
    assert (asked["action"], asked["format"], asked["formatversion"]) == ("query", "json", "2")
    if asked.get("meta") == "siteinfo":
        return {"query": {"general": {"sitename": "Composers"}}}
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
    wiki.failures = [503, "ratelimited", 429]
    assert WikipediaSearch("wikipedia", wiki.url).page("Paul Hindemith") is not None
    assert len(wiki.asked) == 4


@pytest.mark.parametrize("failures", [[404], [503] * 9, ["maxlag"] * 9])
def test_a_wiki_that_stays_away_ends_with_what_to_check(wiki: Wiki, failures: list[int | str]) -> None:
    wiki.failures = failures
    with pytest.raises(PrerequisiteError, match=r"does not answer as a MediaWiki does.*resume the run"):
        WikipediaSearch("wikipedia", wiki.url).page("Paul Hindemith")


MALFORMED = (
    b"<html>",
    b"[1]",
    b"[" * 10**5,
    b'{"query": {"pages": [1]}}',
    b'{"query": 5}',
    b'{"query": {"pages": [{"title": "\\ud800"}]}}',
    b"\xff",
    b'{"error": {"code": "badvalue", "info": "no such list"}}',
    b" " * (2**24 + 1),
)


@pytest.mark.parametrize("body", MALFORMED, ids=range(len(MALFORMED)))
def test_what_is_no_wiki_stops_and_a_wikis_reply_that_cannot_be_read_is_one_lookup_that_failed(
    wiki: Wiki, body: bytes
) -> None:
    wiki.body = body
    with pytest.raises(PrerequisiteError, match="does not answer as a MediaWiki does"):
        WikipediaSearch("wikipedia", wiki.url).page("x")
    wiki.is_wiki = True
    with pytest.raises(ValueError, match="the wiki's reply cannot be used"):
        WikipediaSearch("wikipedia", wiki.url).page("x")


def test_a_question_that_the_wiki_refuses_is_one_lookup_that_failed_and_no_address_is_endless(wiki: Wiki) -> None:
    wiki.failures = [414]
    search = WikipediaSearch("wikipedia", wiki.url)
    with pytest.raises(ValueError, match="the wiki's reply cannot be used: HTTP Error 414"):
        search.page("x" * 100_000)
    assert len(wiki.asked[0]["titles"]) == 300
    assert search.page("Paul Hindemith") is not None


def test_a_redirect_is_followed_at_the_same_origin_and_to_no_other(wiki: Wiki) -> None:
    wiki.location = f"http://127.0.0.1:{wiki.server_port}/moved"
    assert WikipediaSearch("wikipedia", wiki.url).page("Paul Hindemith") is not None
    before = len(wiki.asked)
    for elsewhere in (f"http://localhost:{wiki.server_port}/moved", "https://127.0.0.1/w", "file:///etc/hostname"):
        wiki.location = elsewhere
        with pytest.raises(PrerequisiteError, match=r"which is not followed.*base_url|does not answer as a MediaWiki"):
            WikipediaSearch("wikipedia", wiki.url).page("Paul Hindemith")
    assert not any("/moved" in str(asked) for asked in wiki.asked[before:])
    with pytest.raises(UsageError, match="must begin with https"):
        WikipediaSearch("wikipedia", "file:///etc/hostname")
