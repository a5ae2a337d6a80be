"""The server: for this machine's one browser, behind a secret address, for what is listed and nothing else."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from http.client import HTTPConnection, HTTPResponse
from urllib.parse import urlsplit

import pytest

from mage_es.engine.run.directory import Run
from mage_es.engine.verbs.memory import curate
from mage_es.engine.viewing.chunks import Viewed
from mage_es.engine.viewing.server import Viewer
from tests.engine.viewing.conftest import opened


@pytest.fixture
def server(copied: Run) -> Iterator[Viewer]:
    viewer = Viewer({copied.id: copied}, lambda name, run: Viewed(run, name=name))
    thread = threading.Thread(target=viewer.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield viewer
    viewer.shutdown()
    thread.join()
    viewer.server_close()


def ask(
    server: Viewer, path: str, *, method: str = "GET", headers: Mapping[str, str] | None = None
) -> tuple[HTTPResponse, bytes]:
    """Ask for a path exactly as it is written; one without a leading slash is below the secret address."""
    base = urlsplit(server.url)
    connection = HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    connection.putrequest(method, path if path.startswith("/") else base.path + path, skip_host=True)
    for header, value in {"Host": base.netloc, **(headers or {})}.items():
        connection.putheader(header, value)
    connection.endheaders()
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer, content


def test_it_gives_the_page_and_the_chunks_with_a_strict_policy(server: Viewer, copied: Run) -> None:
    answer, page = ask(server, "")
    assert answer.status == 200 and b"app.js" in page
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self';") and "unsafe" not in policy
    assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert (answer.headers["X-Content-Type-Options"], answer.headers["Cache-Control"]) == ("nosniff", "no-store")
    assert opened(ask(server, "data/runs.js")[1])[1]["runs"][0]["run"] == copied.id
    name, index = opened(ask(server, f"data/{copied.id}/index.js")[1])
    assert name == f"{copied.id}/index" and index["state"] == "finished"
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


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1.nip.io:80", ""])
def test_it_answers_to_no_other_name(server: Viewer, host: str) -> None:
    assert ask(server, "", headers={"Host": host})[0].status == 421


def test_pages_of_other_origins_get_nothing(server: Viewer) -> None:
    for site in ("cross-site", "same-site"):
        assert ask(server, "data/runs.js", headers={"Sec-Fetch-Site": site})[0].status == 403
    assert ask(server, "data/runs.js", headers={"Sec-Fetch-Site": "same-origin"})[0].status == 200


def test_a_run_that_grew_is_read_again_when_its_page_is_loaded(server: Viewer, copied: Run) -> None:
    index = opened(ask(server, f"data/{copied.id}/index.js")[1])[1]
    memory = opened(ask(server, f"data/{copied.id}/memories-0.js")[1])[1]["columns"]["id"][0]
    curate(copied, memory, action="quarantine", reason="doubtful", by="me")
    assert opened(ask(server, f"data/{copied.id}/memory_states-0.js")[1])[1]["rows"] == index["counts"]["memory_states"]
    again = opened(ask(server, f"data/{copied.id}/index.js")[1])[1]
    assert again["last"] > index["last"] and again["marks"][-1]["kind"] == "quarantine"
    assert opened(ask(server, f"data/{copied.id}/memory_states-0.js")[1])[1]["rows"] == again["counts"]["memory_states"]
