"""The server: for this machine's one browser, behind a secret address, for what is listed and nothing else."""

import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from typing import Any
from urllib.parse import urlsplit

import pytest

from mage_es.engine.run.directory import Run
from mage_es.engine.upkeep.memory import curate, memories
from mage_es.engine.viewing.chunks import Viewed
from mage_es.engine.viewing.server import Viewer
from mage_es.events.disk.keys import make_keys
from tests.engine.viewing.conftest import opened


def seen(name: str, run: Run, tell: Callable[[float], None]) -> Viewed:
    return Viewed(run, name=name, tell=tell)


@pytest.fixture
def server(copied: Run) -> Iterator[Viewer]:
    with serving(Viewer(lambda: {copied.id: copied}, seen)) as viewer:
        yield viewer


@contextmanager
def serving(viewer: Viewer) -> Iterator[Viewer]:
    thread = threading.Thread(target=viewer.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield viewer
    finally:
        viewer.shutdown()
        thread.join()
        viewer.server_close()


def ask(
    server: Viewer, path: str, *, method: str = "GET", headers: Mapping[str, str] | None = None
) -> tuple[HTTPResponse, bytes]:
    """Ask for a path exactly as it is written; one without a leading slash is below the secret address."""
    base = urlsplit(server.url)
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=300)
    connection.putrequest(method, path if path.startswith("/") else base.path + path, skip_host=True)
    for header, value in {"Host": base.netloc, **(headers or {})}.items():
        connection.putheader(header, value)
    connection.endheaders()
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer, content


def read(server: Viewer, run: Run) -> Any:
    """Return the index of a run once its log was read, as a page does."""
    while "reading" in (index := opened(ask(server, f"data/{run.id}/index.js")[1])[1]):
        pass
    return index


def test_it_gives_the_page_and_the_chunks_with_a_strict_policy(server: Viewer, copied: Run) -> None:
    answer, page = ask(server, "")
    assert answer.status == 200 and b"app.js" in page
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self';") and "unsafe" not in policy
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert (answer.headers["X-Content-Type-Options"], answer.headers["Cache-Control"]) == ("nosniff", "no-store")
    assert opened(ask(server, "data/runs.js")[1])[1]["runs"][0]["run"] == copied.id
    assert read(server, copied)["state"] == "finished"
    assert opened(ask(server, f"data/{copied.id}/answers-0.js")[1])[1]["rows"] > 0
    assert ask(server, "app.css")[0].headers["Content-Type"].startswith("text/css")


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/data/runs.js",
        "/wrong/data/runs.js",
        "../../etc/passwd",
        "%2e%2e/%2e%2e/etc/passwd",
        "data/../index.html",
        "data/small/../../keys.js",
        "data//index.js",
        "data/small/answers-99999.js",
        "data/small/answers--1.js",
        "data/small/answers-%C2%B2.js",
        "data/small/nothing-0.js",
        "data/other/index.js",
        "app.js/",
        "chunks.py",
        "%00",
    ],
)
def test_there_is_nothing_at_any_other_address(server: Viewer, path: str) -> None:
    assert ask(server, path)[0].status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "CONNECT"])
def test_nothing_can_be_done_but_get(server: Viewer, method: str) -> None:
    assert ask(server, "", method=method)[0].status == 405


@pytest.mark.parametrize("header", ["Content-Length: 500", "content-length: 500", "transfer-encoding: chunked"])
def test_a_body_is_never_taken_for_the_next_request(server: Viewer, header: str) -> None:
    place = urlsplit(server.url)
    line = f"GET {place.path}app.css HTTP/1.1\r\nHost: {place.netloc}\r\n"
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=60) as connection:
        connection.sendall(f"{line}{header}\r\n\r\n{line}\r\n{line}\r\n".encode())
        answers = b"".join(iter(lambda: connection.recv(65_536), b""))
    assert answers.count(b"HTTP/1.1 200 OK") == 1


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1.nip.io:80", ""])
def test_it_answers_to_no_other_name(server: Viewer, host: str) -> None:
    assert ask(server, "", headers={"Host": host})[0].status == 421


def test_pages_of_other_origins_get_nothing(server: Viewer) -> None:
    for site in ("cross-site", "same-site"):
        assert ask(server, "data/runs.js", headers={"Sec-Fetch-Site": site})[0].status == 403
    assert ask(server, "data/runs.js", headers={"Sec-Fetch-Site": "same-origin"})[0].status == 200


def test_a_run_that_grew_is_read_again_when_its_page_is_loaded(server: Viewer, copied: Run) -> None:
    index = read(server, copied)
    memory = opened(ask(server, f"data/{copied.id}/memories-0.js")[1])[1]["columns"]["id"][0]
    curate(copied, memory, action="quarantine", reason="doubtful", by="me")
    assert opened(ask(server, f"data/{copied.id}/memory_states-0.js")[1])[1]["rows"] == index["counts"]["memory_states"]
    again = read(server, copied)
    assert again["last"] > index["last"] and again["marks"][-1]["kind"] == "quarantine"
    assert opened(ask(server, f"data/{copied.id}/memory_states-0.js")[1])[1]["rows"] == again["counts"]["memory_states"]


def test_the_list_of_runs_is_made_anew_when_it_is_asked_for(copied: Run) -> None:
    runs = {copied.id: copied}
    with serving(Viewer(lambda: dict(runs), seen)) as viewer:

        def listed() -> list[str]:
            return [row["run"] for row in opened(ask(viewer, "data/runs.js")[1])[1]["runs"]]

        assert listed() == [copied.id]
        runs["later"] = Run("later", copied.path)
        assert ask(viewer, "data/later/card.js")[0].status == 404, "no page has seen it in the list yet"
        assert listed() == [copied.id, "later"]
        assert opened(ask(viewer, "data/later/card.js")[1])[1]["state"] == "finished"


def test_a_chunk_is_kept_by_its_address_until_the_run_grows(server: Viewer, copied: Run) -> None:
    stamp = read(server, copied)["stamp"]
    chunk = f"data/{copied.id}/memory_states-0.js"
    assert "immutable" in ask(server, f"{chunk}?{stamp}")[0].headers["Cache-Control"]
    for name in (
        chunk,
        f"data/{copied.id}/verify-0.js?{stamp}",
        f"data/{copied.id}/index.js",
        "data/runs.js",
        "app.js",
    ):
        assert ask(server, name)[0].headers["Cache-Control"] == "no-store", name
    assert read(server, copied)["stamp"] == stamp, "nothing has changed"
    curate(copied, memories(copied, at="latest").items[0].memory_id, action="quarantine", reason="doubtful", by="me")
    assert ask(server, f"{chunk}?{stamp}")[0].status == 200, "a page goes on with what it was loaded with"
    later = read(server, copied)["stamp"]
    assert later != stamp and ask(server, f"{chunk}?{stamp}")[0].status == 404, "tables of two moments are never mixed"
    assert ask(server, f"{chunk}?{later}")[0].status == 200


def test_what_shows_texts_of_subjects_is_nowhere_kept(copied: Run) -> None:
    make_keys(copied.log_path, ["ada"])
    with serving(Viewer(lambda: {copied.id: copied}, seen)) as viewer:
        stamp = read(viewer, copied)["stamp"]
        answer, _ = ask(viewer, f"data/{copied.id}/memories-0.js?{stamp}")
        assert (answer.status, answer.headers["Cache-Control"]) == (200, "no-store")


def test_words_are_explained_where_they_are_shown(copied: Run) -> None:
    with serving(Viewer(lambda: {copied.id: copied}, seen, words={"anchor": "asked again"})) as viewer:
        assert opened(ask(viewer, "data/words.js")[1])[1] == {"words": {"anchor": "asked again"}}


def test_a_page_is_told_how_much_of_a_long_log_was_read_and_then_gets_it(copied: Run) -> None:
    may_end, readings = threading.Event(), list[int]()

    def look(name: str, run: Run, tell: Callable[[float], None]) -> Viewed:
        tell(0.34)
        viewed = Viewed(run, name=name)
        readings.append(may_end.wait())
        return viewed

    memory = memories(copied, at="latest").items[0].memory_id
    with serving(Viewer(lambda: {copied.id: copied}, look)) as viewer:
        index = f"data/{copied.id}/index.js"
        while (said := opened(ask(viewer, index)[1])[1]) != {"reading": 0.34}:
            assert said == {"reading": 0.0}
        assert ask(viewer, "app.js")[0].status == 200
        before = copied.events
        curate(copied, memory, action="quarantine", reason="doubtful", by="me")
        may_end.set()
        # A run that is written on and on would never be shown if it were read again before it was shown.
        assert read(viewer, copied)["last"] == before
        assert read(viewer, copied)["last"] == copied.events
    assert len(readings) == 2
