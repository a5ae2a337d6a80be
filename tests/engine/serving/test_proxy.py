"""The way of a request through the proxy: what goes on, what comes back, and what becomes of it when that fails."""

import gzip
import json
import re
import shutil
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anthropic
import httpx2
import openai
import pytest

from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.seams.embedder import Vectors
from mage_es.engine.serving.live import LiveRun
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import InferenceClosed, InferenceOpened
from tests.engine.serving.behind import PATIENCE_S, exchanged, serving
from tests.engine.serving.conftest import Opening
from tests.engine.serving.upstream import REPLIES, Upstream, events
from tests.events.disks import RefusingDisk

CHAT = {"model": "m", "messages": [{"role": "user", "content": "What is 3 + 4?"}]}
MESSAGES = {**CHAT, "max_tokens": 9}
RESPONSES = {"model": "m", "input": "What is 3 + 4?"}
STALL_S, BODY_S = 0.5, 0.5


@pytest.fixture(scope="module")
def live(opening: Opening) -> LiveRun:
    return opening("served")


@pytest.fixture(scope="module")
def proxy(server: Upstream, live: LiveRun) -> Iterator[str]:
    with serving({"r": live}, server.url, retrieval_s=PATIENCE_S, body_s=PATIENCE_S, most_body=100_000) as url:
        yield url


@pytest.fixture(scope="module")
def impatient(server: Upstream, opening: Opening) -> Iterator[str]:
    """A proxy that soon gives up who says nothing: for those that say nothing at all, however slow the machine is."""
    with serving({"r": opening("impatient")}, server.url, stall_s=STALL_S, body_s=BODY_S) as url:
        yield url


@pytest.fixture
def client(proxy: str) -> Iterator[httpx2.Client]:
    with httpx2.Client(base_url=proxy, timeout=PATIENCE_S) as found:
        yield found


def test_every_byte_but_the_note_goes_on_and_comes_back_as_it_was(
    client: httpx2.Client, server: Upstream, live: LiveRun
) -> None:
    question = json.dumps(known_question(live)).encode()
    body = b'{ "model":"m\xe2\x82\xac\\u00b7",\n "messages" : [{"role":"user","content":' + question + b'}], "x":1e2 }'
    given = {
        "x-session-id": "s",
        "x-mage-memory": "on",
        "openai-organization": "o",
        "connection": "x-hop",
        "x-hop": "1",
    }
    reply = client.post("/v1/chat/completions?a=%20b&a", content=body, headers={**given, "authorization": "Bearer k"})
    asked = server.asked[-1]
    begin, end = body.removesuffix(rest := body[body.index(question) + 1 :]), rest
    assert asked.body.startswith(begin) and asked.body.endswith(end) and len(asked.body) > len(body)
    assert asked.target == "/v1/chat/completions?a=%20b&a"
    assert asked.header("authorization") == "Bearer k" and asked.header("openai-organization") == "o"
    assert asked.header("host") == server.url.removeprefix("http://")
    assert not {"x-session-id", "x-mage-memory", "x-hop"} & {name.lower() for name, _ in asked.headers}
    assert reply.content == json.dumps(REPLIES["/v1/chat/completions"]).encode()
    assert reply.headers["x-request-id"] == "r-1" and reply.headers["x-mage-marker"] != "forged"
    assert re.fullmatch("[0-9a-f]{4,}(,[0-9a-f]{4,})*", reply.headers["x-mage-memories"])
    assert reply.headers["x-mage-inference"].startswith("inf-") and float(reply.headers["x-mage-overhead-ms"]) > 0


def test_what_is_no_chat_passes_through_untouched(client: httpx2.Client, server: Upstream) -> None:
    reply = client.get("/v1/models/a%2Fb?limit=2", headers={"accept-encoding": "identity"})
    assert (server.asked[-1].method, server.asked[-1].target) == ("GET", "/v1/models/a%2Fb?limit=2")
    assert "x-mage-inference" not in reply.headers and reply.json()["asked"] == "/v1/models/a%2Fb?limit=2"
    client.post("/v1/files", content=iter([b"a" * 30_000] * 3))
    assert server.asked[-1].body == b"a" * 90_000
    client.request("DELETE", "/v1/files/f", content=b"why")
    assert (server.asked[-1].method, server.asked[-1].body) == ("DELETE", b"why")
    packed = gzip.compress(json.dumps(CHAT).encode())
    for body, encoding in ((packed, "zstd"), (packed[:-9], "gzip"), (gzip.compress(b"1" * 100_001), "gzip")):
        reply = client.post("/v1/chat/completions", content=body, headers={"content-encoding": encoding})
        assert server.asked[-1].body == body and server.asked[-1].header("content-encoding") == encoding
        assert reply.headers["x-mage-memories"] == "none"


@pytest.mark.parametrize(("encoding", "packed"), [("gzip", gzip.compress), ("Deflate", zlib.compress)])
def test_a_packed_request_is_unpacked_and_gets_memories(
    client: httpx2.Client, server: Upstream, live: LiveRun, encoding: str, packed: Callable[[bytes], bytes]
) -> None:
    asked = {"model": "m", "messages": [{"role": "user", "content": known_question(live)}]}
    headers = {"content-encoding": encoding, "x-session-id": encoding}
    reply = client.post("/v1/chat/completions", content=packed(json.dumps(asked).encode()), headers=headers)
    assert "content-encoding" not in {name.lower() for name, _ in server.asked[-1].headers}
    assert json.loads(server.asked[-1].body) != asked and "," in reply.headers["x-mage-memories"]


def test_tokens_are_counted_of_a_request_as_it_will_be_sent(
    client: httpx2.Client, server: Upstream, live: LiveRun
) -> None:
    opened = [event.inference for event in LogReader(live.run.log_path).of(InferenceOpened)]
    own = {"model": "m", "metadata": {"user_id": "who counts"}}
    first = {**own, "messages": [{"role": "user", "content": known_question(live)}]}
    counted, sent = "/v1/messages/count_tokens", {**first, "max_tokens": 9}

    def asked(path: str, body: object, **headers: str) -> tuple[list[object], str]:
        reply = client.post(path, json=body, headers=headers)
        return json.loads(server.asked[-1].body)["messages"], reply.headers["x-mage-memories"]

    before = asked(counted, first)
    assert before[0] != first["messages"] and "," in before[1] and before == asked(counted, first)
    after = [event.inference for event in LogReader(live.run.log_path).of(InferenceOpened)]
    assert after == opened, "nothing is recorded but the ends of what was asked before"
    assert asked("/v1/messages", sent) == before
    later = [{"role": "assistant", "content": "It is 7."}, {"role": "user", "content": "Are you sure?"}]
    noted, told = asked(counted, {**own, "messages": [*first["messages"], *later]})
    assert noted[: len(before[0])] == before[0] and told.startswith(before[1])
    assert asked(counted, first, **{"x-mage-memory": "off"}) == (first["messages"], "none")
    refused = client.post(counted, json=first, headers={"x-mage-task-type": "bad"})
    assert refused.status_code == 400 and refused.json()["error"]["type"] == "invalid_request_error"
    client.post(counted, content=b"not json")
    assert server.asked[-1].body == b"not json"


@pytest.mark.parametrize("path", ["/v1/chat/completions/", "/v1//chat/completions", "/v1/chat/completions//"])
def test_a_slash_too_many_costs_no_memories(client: httpx2.Client, server: Upstream, live: LiveRun, path: str) -> None:
    asked = {"model": "m", "messages": [{"role": "user", "content": known_question(live)}]}
    reply = client.post(path, json=asked, headers={"x-session-id": path})
    assert re.fullmatch("[0-9a-f]{4,}(,[0-9a-f]{4,})*", reply.headers["x-mage-memories"])
    assert server.asked[-1].target == path and json.loads(server.asked[-1].body) != asked


def test_a_base_url_that_cannot_be_right_is_told_what_is(client: httpx2.Client, proxy: str, server: Upstream) -> None:
    before = len(server.asked)
    claude = anthropic.Anthropic(api_key="k", base_url=f"{proxy}/v1", max_retries=0)
    with pytest.raises(anthropic.NotFoundError, match="that of an Anthropic client before it"):
        claude.messages.create(**MESSAGES)  # type: ignore[call-overload]
    for path in ("/v1/v1/chat/completions", "/v1//v1/chat/completions", "/v1/feedback/", "/v1/inferences"):
        assert client.post(path, json=CHAT).status_code == 404
    assert len(server.asked) == before


def test_a_turn_whose_reply_the_client_begins_gets_memories_and_keeps_them(
    client: httpx2.Client, server: Upstream, live: LiveRun
) -> None:
    first = {"role": "user", "content": known_question(live)}
    asked = {**MESSAGES, "metadata": {"user_id": "who begins replies"}}
    reply = client.post("/v1/messages", json={**asked, "messages": [first, {"role": "assistant", "content": "It"}]})
    *noted, begun = json.loads(server.asked[-1].body)["messages"]
    assert "," in reply.headers["x-mage-memories"] and noted != [first] and begun["content"] == "It"
    later = [{"role": "assistant", "content": "It is 7."}, {"role": "user", "content": "Are you sure?"}]
    client.post("/v1/messages", json={**asked, "messages": [first, *later]})
    assert json.loads(server.asked[-1].body)["messages"][: len(noted)] == noted


def test_a_stream_arrives_piece_by_piece_while_it_is_written(client: httpx2.Client, server: Upstream) -> None:
    server.go_on.clear()
    with client.stream("POST", "/v1/chat/completions", json=CHAT, headers={"x-do": "wait"}) as reply:
        pieces = reply.iter_raw()
        begin = next(pieces)
        assert begin.startswith(events("/v1/chat/completions")[0])  # and the rest of it is not written yet
        server.go_on.set()
        assert begin + b"".join(pieces) == b"".join(events("/v1/chat/completions"))


@pytest.mark.parametrize("do", ["silence", "endless", "wait"])
def test_a_client_that_hangs_up_ends_the_call_of_the_upstream(
    proxy: str, server: Upstream, live: LiveRun, do: str
) -> None:
    before, gone, asked = {each.inference for each in closed(live)}, server.left, len(server.asked)
    server.go_on.clear()
    body = json.dumps(CHAT).encode()
    head = f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nx-do: {do}\r\ncontent-length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", int(proxy.rpartition(":")[2])), timeout=PATIENCE_S) as client:
        client.sendall(head.encode() + body)
        until(lambda: len(server.asked) > asked)
        assert do == "silence" or client.recv(1)
    until(lambda: server.left > gone and "left" in {x.outcome for x in closed(live) if x.inference not in before})


@pytest.mark.parametrize("do", ["reset", "silence", "huge head", "nonsense"])
def test_what_the_upstream_does_wrong_is_an_error_that_the_sdk_of_its_api_understands(
    proxy: str, impatient: str, do: str
) -> None:
    status, proxy = (504, impatient) if do == "silence" else (502, proxy)
    theirs = openai.OpenAI(api_key="k", base_url=f"{proxy}/v1", max_retries=0)
    with pytest.raises(openai.APIStatusError) as raised:
        theirs.chat.completions.create(**CHAT, extra_headers={"x-do": do})  # type: ignore[call-overload]
    assert raised.value.status_code == status
    claude = anthropic.Anthropic(api_key="k", base_url=proxy, max_retries=0)
    with pytest.raises(anthropic.APIStatusError) as told:
        claude.messages.create(**MESSAGES, extra_headers={"x-do": do})  # type: ignore[call-overload]
    assert told.value.status_code == status
    assert told.value.body["type"] == "error" and raised.value.body["message"]  # type: ignore[index]


def test_healthz_says_since_when_the_upstream_fails_until_it_answers_again(client: httpx2.Client) -> None:
    def after(do: str) -> Any:
        client.post("/v1/chat/completions", json=CHAT, headers={"x-do": do} if do else {})
        return client.get("/healthz").json()

    well, ill, iller, again = (after(do) for do in ("", "reset", "nonsense", ""))
    assert (well["status"], ill["status"], again["status"]) == ("ok", "degraded", "ok")
    states = [each["upstream"]["state"] for each in (well, ill, iller, again)]
    assert states == ["answers", "fails", "fails", "answers"] and not again["upstream"]["problem"]
    assert ill["upstream"]["problem"] != iller["upstream"]["problem"] and "Error" in ill["upstream"]["problem"]
    assert ill["upstream"]["since"] == iller["upstream"]["since"] <= iller["upstream"]["last"]


def test_a_reply_that_is_broken_off_is_broken_off_here_too(client: httpx2.Client, live: LiveRun) -> None:
    for do in ("cut", "cut stream"):
        asking = client.stream("POST", "/v1/chat/completions", json=CHAT, headers={"x-do": do})
        with asking as reply, pytest.raises(httpx2.RemoteProtocolError):
            reply.read()
        end = closing(live, reply.headers["x-mage-inference"])
        assert (end.outcome, end.status) == ("failed", 200) and "peer closed" in end.problem


def test_a_stream_that_stalls_ends_in_an_error_for_both_sdks(impatient: str) -> None:
    theirs = openai.OpenAI(api_key="k", base_url=f"{impatient}/v1", max_retries=0)
    with pytest.raises(openai.APIError, match="did not answer in time"):
        list(theirs.chat.completions.create(**CHAT, stream=True, extra_headers={"x-do": "stall"}))  # type: ignore[call-overload]
    claude = anthropic.Anthropic(api_key="k", base_url=impatient, max_retries=0)
    with pytest.raises(anthropic.APIError, match="did not answer in time"):
        list(claude.messages.create(**MESSAGES, stream=True, extra_headers={"x-do": "stall"}))  # type: ignore[call-overload]


def test_a_redirect_is_passed_on_and_not_followed(client: httpx2.Client, server: Upstream) -> None:
    for do, status in (("redirect", 307), ("broken redirect", 302)):
        reply = client.post("/v1/chat/completions", json=CHAT, headers={"x-do": do, "x-api-key": "secret"})
        assert reply.status_code == status and reply.content == b"over there" and reply.headers["location"]
    assert not [asked for asked in server.asked if "stolen" in asked.target]


def test_packed_replies_come_back_packed(client: httpx2.Client) -> None:
    for do in ("gzip", "bomb"):
        with client.stream("POST", "/v1/chat/completions", json=CHAT, headers={"x-do": do}) as reply:
            packed = b"".join(reply.iter_raw())
        assert reply.headers["content-encoding"] == "gzip" and packed.startswith(b"\x1f\x8b")


def test_a_body_is_read_up_to_a_limit_and_not_waited_for_without_end(
    proxy: str, impatient: str, server: Upstream
) -> None:
    before = len(server.asked)
    large = {"model": "m", "messages": [{"role": "user", "content": "x" * 100_001}]}
    with pytest.raises(openai.APIStatusError, match="larger than 100000 bytes") as told:
        openai.OpenAI(api_key="k", base_url=f"{proxy}/v1", max_retries=0).chat.completions.create(**large)  # type: ignore[call-overload]
    assert told.value.status_code == 413
    with pytest.raises(anthropic.RequestTooLargeError):
        anthropic.Anthropic(api_key="k", base_url=proxy, max_retries=0).messages.create(**large, max_tokens=9)  # type: ignore[call-overload]
    head = b"POST /v1/messages HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n"
    piece = b"ffff\r\n" + b"x" * 0xFFFF + b"\r\n"
    assert exchanged(proxy, head + 2 * piece + b"0\r\n\r\n").startswith(b"HTTP/1.1 413")
    assert exchanged(proxy, head + 99 * piece).startswith(b"HTTP/1.1 413")  # whose end never comes
    for path in (b"/v1/messages", b"/v1/files"):  # by what it says itself, before a byte of it has come
        said = b"POST " + path + b" HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100001\r\n\r\n"
        assert exchanged(proxy, said).startswith(b"HTTP/1.1 413")
    slow = exchanged(impatient, head + b"5\r\nhel")
    assert slow.startswith(b"HTTP/1.1 408") and b'"type":"error"' in slow
    assert len(server.asked) == before


def test_a_head_that_does_not_come_whole_in_time_closes_the_connection(server: Upstream) -> None:
    with serving({}, server.url, head_s=0.3) as url:
        assert exchanged(url, b"GET /v1/models HTTP/1.1\r\nhost: localhost\r\nx-slow: ") == b""
        assert exchanged(url, b"") == b""


@pytest.mark.parametrize(
    "lines",
    [
        b"content-length: 5\r\ncontent-length: 6",
        b"content-length: +5",
        b"content-length: 5, 6",
        b"transfer-encoding: identity, chunked",
        b"transfer-encoding: xchunked",
        b"transfer-encoding : chunked",
        b"x-a: b\r\n continued: c\r\ncontent-length: 5",
    ],
    ids=["twice", "signed", "listed", "coded", "unknown", "spaced", "folded"],
)
def test_a_request_whose_end_two_servers_could_see_at_two_places_never_becomes_two(
    proxy: str, server: Upstream, lines: bytes
) -> None:
    before = len(server.asked)
    hidden = b"GET /v1/smuggled HTTP/1.1\r\nhost: localhost\r\n\r\n"
    head = b"POST /v1/files HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n" + lines + b"\r\n\r\n"
    exchanged(proxy, head + b"0\r\n\r\n" + hidden)
    assert not [asked for asked in server.asked[before:] if "smuggled" in asked.target]
    assert len(server.asked) - before <= 1


def test_of_length_and_chunks_the_chunks_count_on_both_sides(proxy: str, server: Upstream) -> None:
    head = b"POST /v1/files HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n"
    head += b"content-length: 3\r\ntransfer-encoding: chunked\r\n\r\n"
    exchanged(proxy, head + b"5\r\nhello\r\n0\r\n\r\n")
    asked = server.asked[-1]
    assert asked.body == b"hello" and bool(asked.header("content-length")) != bool(asked.header("transfer-encoding"))


@pytest.mark.parametrize(
    "target",
    [
        *(b"/v1/../admin", b"/v1/%2e%2e/admin", b"/v1/%252e%252e/admin", b"/v1/a/..%2f..%2fadmin", b"/v1/..;/admin"),
        *(b"/v1/%5c..%5cadmin", b"/admin", b"//v1/models"),
    ],
)
def test_no_path_leads_out_of_v1(proxy: str, server: Upstream, target: bytes) -> None:
    before = len(server.asked)
    reply = exchanged(proxy, b"GET " + target + b" HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
    assert reply.split()[1] in (b"400", b"404") and b'{"error":' in reply
    assert len(server.asked) == before


def test_no_method_or_target_leads_to_another_host(proxy: str, server: Upstream) -> None:
    before = len(server.asked)
    for line in (b"CONNECT other:443", b"TRACE /v1/models", b"GET http://other/v1/models"):
        reply = exchanged(proxy, line + b" HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        assert reply.split()[1] in (b"400", b"404", b"405")
    assert len(server.asked) == before


@pytest.mark.slow
def test_what_is_not_ready_in_time_goes_on_without_memories_and_is_recorded_as_that(
    server: Upstream, opening: Opening
) -> None:
    live = opening("late")
    with (
        serving({"r": live}, server.url, retrieval_s=0.0) as url,
        httpx2.Client(base_url=url, timeout=PATIENCE_S) as client,
    ):
        reply = client.post("/v1/chat/completions", json=CHAT)
        assert reply.status_code == 200 and reply.headers["x-mage-memories"] == "bypassed"
        assert json.loads(server.asked[-1].body) == CHAT
    assert (closed(live)[-1].outcome, closed(live)[-1].status) == ("bypassed", 200)


def test_a_body_that_the_upstream_sends_after_a_head_is_no_reply_to_the_next_request(client: httpx2.Client) -> None:
    for path in ("/v1/models", "/v1/files") * 3:
        assert client.head(path).status_code == 200
        assert client.get(path).json()["asked"] == path


def test_a_client_is_told_what_of_its_request_is_too_large(client: httpx2.Client) -> None:
    named = client.post("/v1/chat/completions", json=CHAT, headers={"x-session-id": "s" * 129})
    assert named.status_code == 400 and "X-Session-Id has 129 characters: give at most 128." in named.text
    word = client.post("/v1/feedback", content=b" " * (2**20 + 1))
    assert word.status_code == 413 and "larger than 1048576 bytes. Send less." in word.text


def test_a_fault_of_ours_has_the_form_of_the_api_and_its_cause_is_printed(
    server: Upstream, opening: Opening, caplog: pytest.LogCaptureFixture
) -> None:
    live = opening("damaged")
    with serving({"r": live}, server.url) as url, httpx2.Client(base_url=url, timeout=PATIENCE_S) as client:
        shutil.move(live.run.log_path, live.run.path / "gone")
        reply = client.get("/v1/inferences/inf-1-1")
        shutil.move(live.run.path / "gone", live.run.log_path)
    assert reply.status_code == 500 and reply.json()["error"]["type"] == "api_error"
    assert "GET /v1/inferences/inf-1-1 failed" in caplog.text and "Traceback" in caplog.text


class Waiting(HashEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.go_on, self.asked = threading.Event(), 0
        self.go_on.set()

    def encode(self, texts: Sequence[str]) -> Vectors:
        if not self.go_on.is_set():
            self.asked += 1
            self.go_on.wait()
        return super().encode(texts)


def test_what_no_thread_was_free_for_in_time_is_not_looked_up_later(server: Upstream, opening: Opening) -> None:
    live = opening("held-up", embedder=(embedder := Waiting()))
    live.frozen(live.marker).warm()
    with (
        serving({"r": live}, server.url, retrieval_s=0.05) as url,
        httpx2.Client(base_url=url, timeout=PATIENCE_S) as client,
    ):
        embedder.go_on.clear()
        for _ in range(12):
            assert client.post("/v1/chat/completions", json=CHAT).headers["x-mage-memories"] == "bypassed"
        embedder.go_on.set()
        until(lambda: len(closed(live)) == 4)
        assert 'mage_unrecorded_total{run="r"} 8.0' in client.get("/metrics").text
    assert embedder.asked == 4, "as many as there are threads"


class Breaking(HashEmbedder):
    is_broken = False

    def encode(self, texts: Sequence[str]) -> Vectors:
        if self.is_broken:
            raise OSError("the index is gone")
        return super().encode(texts)


def test_an_embedder_that_fails_is_told_once_and_once_that_it_is_back(
    server: Upstream, opening: Opening, caplog: pytest.LogCaptureFixture
) -> None:
    live = opening("broken", embedder=(embedder := Breaking()), learn="propose", say=(told := list[str]()).append)
    about = {"inference_id": "", "metric": "m", "value": {"answer": "7"}}
    search = {"jsonrpc": "2.0", "id": 1, "method": "tools/call"}
    search["params"] = {"name": "search_memory", "arguments": {"query": "How many?"}}  # type: ignore[assignment]
    with (
        serving({"r": live}, server.url, retrieval_s=PATIENCE_S) as url,
        httpx2.Client(base_url=url, timeout=PATIENCE_S, headers={"accept": "application/json"}) as client,
    ):

        def ask() -> str:
            return client.post("/v1/chat/completions", json=CHAT).headers["x-mage-memories"]

        about["inference_id"] = client.post("/v1/chat/completions", json=CHAT).headers["x-mage-inference"]
        assert ask() != "bypassed"
        embedder.is_broken = True
        assert [ask() for _ in range(3)] == ["bypassed"] * 3
        found = client.post("/mcp", json=search).json()["result"]
        assert found["isError"] and "cannot be answered at present" in found["content"][0]["text"]
        said = client.post("/v1/feedback", json={**about, "idempotency_key": "1"})
        assert said.status_code == 503 and said.headers["retry-after"]
        embedder.is_broken = False
        assert ask() != "bypassed"
        assert client.post("/v1/feedback", json={**about, "idempotency_key": "1"}).status_code == 200
    assert [line.partition(":")[0] for line in told] == ["broken", "broken"] and not caplog.text
    assert "The embedder hash fails" in told[0] and "OSError: the index is gone." in told[0] and "doctor" in told[0]
    assert "The embedder hash answers again" in told[1] and "It had failed 5 times." in told[1]


def test_on_a_full_disk_earlier_turns_keep_their_notes_and_the_new_one_gets_none(
    server: Upstream, opening: Opening
) -> None:
    disk = RefusingDisk()
    live = opening("full", fs=disk)
    first = {"role": "user", "content": known_question(live)}
    with (
        serving({"r": live}, server.url, retrieval_s=PATIENCE_S) as url,
        httpx2.Client(base_url=url, timeout=PATIENCE_S) as client,
    ):
        client.post("/v1/chat/completions", json={"model": "m", "messages": [first]})
        [noted] = json.loads(server.asked[-1].body)["messages"]
        disk.refuse = "write"
        later = [
            first,
            REPLIES["/v1/chat/completions"]["choices"][0]["message"],
            {"role": "user", "content": f"Again: {first['content']}"},
        ]
        reply = client.post("/v1/chat/completions", json={"model": "m", "messages": later})
        assert reply.headers["x-mage-memories"] == "bypassed"
        assert client.get("/healthz").json()["status"] == "degraded"
    assert noted != first and json.loads(server.asked[-1].body)["messages"] == [noted, *later[1:]]


@pytest.mark.slow
@pytest.mark.parametrize("is_slow", [False, True], ids=["fails", "takes too long"])
def test_where_the_sync_fails_or_is_late_the_reply_is_dropped_and_the_request_goes_on_without_a_new_note(
    server: Upstream, opening: Opening, *, is_slow: bool
) -> None:
    disk = RefusingDisk()
    live = opening(f"unsynced-{is_slow}", fs=disk)
    question = known_question(live)
    first, second = ({"role": "user", "content": text} for text in (question, f"Again: {question}"))
    with (
        # Of this the late sync takes all, and the note, which must be there in time, as much as it needs.
        serving({"r": live}, server.url, retrieval_s=8.0 if is_slow else PATIENCE_S) as url,
        httpx2.Client(base_url=url, timeout=PATIENCE_S) as client,
    ):
        earlier = client.post("/v1/chat/completions", json={"model": "m", "messages": [first]})
        [noted] = json.loads(server.asked[-1].body)["messages"]
        later, before = [first, REPLIES["/v1/chat/completions"]["choices"][0]["message"], second], len(server.asked)
        # What the first one leaves is durable: else its sync would be the one that is late, before the next is written.
        said = {"inference_id": closing(live, earlier.headers["x-mage-inference"]).inference, "idempotency_key": "k"}
        assert client.post("/v1/feedback", json={**said, "metric": "solved", "value": True}).status_code == 200
        disk.refuse = None if is_slow else "sync"
        disk.syncs.clear()
        with ThreadPoolExecutor(1) as thread:
            replying = thread.submit(client.post, "/v1/chat/completions", json={"model": "m", "messages": later})
            try:
                until(lambda: replying.done() if is_slow else len(server.asked) > before)
            finally:
                disk.syncs.set()
            reply = replying.result()
        dropped, kept = (json.loads(each.body)["messages"] for each in server.asked[before:])
        assert dropped[:2] == kept[:2] == [noted, later[1]] and dropped[2] != kept[2] == second
        assert reply.status_code == 200 and reply.headers["x-mage-memories"] == "bypassed"
        assert ("x-mage-inference" in reply.headers) == is_slow
        rows = client.get("/metrics").text
        assert 'mage_sent_again_total{run="r"} 1.0' in rows
        if is_slow:
            assert closing(live, reply.headers["x-mage-inference"]).outcome == "bypassed"
        else:
            assert 'mage_unrecorded_total{run="r"} 1.0' in rows


def test_where_the_sync_fails_a_request_without_a_note_goes_on_once(server: Upstream, opening: Opening) -> None:
    disk = RefusingDisk()
    live = opening("unsynced", fs=disk)
    with (
        serving({"r": live}, server.url, retrieval_s=PATIENCE_S) as url,
        httpx2.Client(base_url=url, timeout=PATIENCE_S) as client,
    ):
        before, disk.refuse = len(server.asked), "sync"
        reply = client.post("/v1/chat/completions", json=CHAT, headers={"x-mage-memory": "off"})
        assert reply.headers["x-mage-memories"] == "bypassed" and len(server.asked) == before + 1


@pytest.mark.slow
def test_it_is_not_ready_while_its_upstream_fails_and_finds_out_by_itself_when_it_answers_again(
    server: Upstream, opening: Opening
) -> None:
    with serving({"r": opening("ready")}, server.url) as url, httpx2.Client(base_url=url, timeout=PATIENCE_S) as client:
        assert client.get("/readyz").status_code == 200
        server.always = "503"
        try:
            client.post("/v1/chat/completions", json=CHAT)
            asked = len(server.asked)
            assert client.get("/readyz").status_code == 503
        finally:
            server.always = ""
        until(lambda: client.get("/readyz").status_code == 200)
        assert client.get("/readyz").json()["upstream"]["state"] == "answers"
        probes = server.asked[asked:]
        assert {(probe.target, probe.header("authorization")) for probe in probes} == {("/v1/models", "")}


@pytest.mark.slow
def test_it_is_not_ready_while_its_upstream_is_away_or_nothing_is_recorded(server: Upstream, opening: Opening) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        away = f"http://127.0.0.1:{taken.getsockname()[1]}"
        with serving({"r": opening("unready")}, away) as url, httpx2.Client(base_url=url, timeout=PATIENCE_S) as client:
            assert client.post("/v1/chat/completions", json=CHAT).status_code == 502
            time.sleep(1.1)
            assert client.get("/readyz").status_code == 503
            assert client.get("/healthz").status_code == 200
    disk = RefusingDisk()
    live = opening("unready-too", fs=disk)
    with (
        serving({"r": live}, server.url, retrieval_s=PATIENCE_S) as url,
        httpx2.Client(base_url=url, timeout=PATIENCE_S) as client,
    ):
        disk.refuse = "write"
        client.post("/v1/chat/completions", json=CHAT)
        assert client.get("/readyz").json()["status"] == "degraded" and client.get("/readyz").status_code == 503


def test_metrics_have_the_upstreams_latency_its_tokens_and_what_was_refused(server: Upstream, opening: Opening) -> None:
    with (
        serving({"r": opening("counted")}, server.url) as url,
        httpx2.Client(base_url=url, timeout=PATIENCE_S) as client,
    ):
        for _ in range(3):
            client.post("/v1/chat/completions", json=CHAT)
        with pytest.raises(httpx2.RemoteProtocolError):
            client.post("/v1/chat/completions", json=CHAT, headers={"x-do": "cut"})
        assert client.post("/v1/chat/completions", json=CHAT, headers={"x-mage-memory": "maybe"}).status_code == 400
        rows = client.get("/metrics").text.splitlines()
    counted = {row.rpartition(" ")[0]: float(row.rpartition(" ")[2]) for row in rows if not row.startswith("#")}
    assert counted['mage_upstream_seconds_count{route="chat",run="r",until="begin"}'] == 4
    assert counted['mage_upstream_seconds_count{route="chat",run="r",until="end"}'] == 3
    assert counted['mage_tokens_total{kind="input",run="r"}'] == 3 * 11
    assert counted['mage_tokens_total{kind="output",run="r"}'] == 3 * 4
    assert counted['mage_refused_total{run="r",status="400"}'] == 1


def test_a_wish_or_a_task_type_that_does_not_exist_is_refused(client: httpx2.Client, server: Upstream) -> None:
    before = len(server.asked)
    for header in ({"x-mage-memory": "maybe"}, {"x-mage-task-type": "bad"}):
        reply = client.post("/v1/messages", json=MESSAGES, headers=header)
        assert reply.status_code == 400 and reply.json()["error"]["type"] == "invalid_request_error"
    assert len(server.asked) == before


def test_a_wish_may_be_in_letters_of_either_case(client: httpx2.Client) -> None:
    wishes = {"x-mage-memory": "OFF", "x-session-id": "loud"}
    assert client.post("/v1/messages", json=MESSAGES, headers=wishes).headers["x-mage-memories"] == "off"


def test_an_inference_is_explained_takes_feedback_and_is_counted(client: httpx2.Client, live: LiveRun) -> None:
    asked = {"model": "m", "messages": [{"role": "user", "content": known_question(live)}]}
    name = client.post("/v1/chat/completions", json=asked).headers["x-mage-inference"]
    said = {"inference_id": name, "metric": "solved", "value": True, "idempotency_key": "once"}
    assert client.post("/v1/feedback", json=said).json()["inference"] == name
    assert closing(live, name).input_tokens == 11
    report = client.get(f"/v1/inferences/{name}").json()
    assert report["note_verified"] and [each["metric"] for each in report["feedback"]] == ["solved"]
    [memory, *_] = report["opened"]["memories"]
    reply = client.get(f"/v1/memories/{memory}")
    assert reply.status_code == 200 and memory in reply.text
    for action, status in (("quarantine", "quarantined"), ("release", "active")):
        said_of_it = {"action": action, "reason": "it misleads"}
        assert client.post(f"/v1/memories/{memory}", json=said_of_it).json()["item"]["status"] == status
    for wrong in (
        {"action": "delete", "reason": "w"},
        {"action": "quarantine"},
        {"action": "quarantine", "reason": ""},
    ):
        assert client.post(f"/v1/memories/{memory}", json=wrong).status_code == 400
    for path in (f"/v1/inferences/{name}", f"/v1/memories/{memory}"):
        deleted = client.delete(path)
        assert deleted.status_code == 405 and "DELETE does nothing" in deleted.json()["error"]["message"]
    assert client.post(f"/v1/inferences/{name}", json=said).status_code == 405
    unknown = "/v1/memories/ffffffffffff"
    assert client.get(unknown).status_code == 404
    assert client.post(unknown, json={"action": "quarantine", "reason": "w"}).status_code == 404
    for wrong, status in (
        ({**said, "inference_id": "inf-9-9"}, 404),
        ({**said, "value": False}, 409),
        ({**said, "more": 1}, 400),
        ([], 400),
    ):
        assert client.post("/v1/feedback", json=wrong).status_code == status
    counted = client.get("/metrics").text
    assert (
        'route="chat",run="r",status="200",treatment="memory"' in counted and 'mage_recording{run="r"} 1.0' in counted
    )
    assert client.get("/healthz").json()["status"] == "ok"


def test_tools_are_at_mcp_and_both_are_for_this_machine_alone(client: httpx2.Client) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}
    tools = client.post("/mcp", json=call, headers=headers).json()["result"]["tools"]
    assert {tool["name"] for tool in tools} == {"search_memory", "task_types", "report_outcome"}
    for path in ("/mcp", "/v1/feedback", "/v1/chat/completions"):
        assert client.post(path, json=call, headers={**headers, "host": "evil.example"}).status_code == 403


def known_question(live: LiveRun) -> str:
    """Return a question that the run has a memory of."""
    return next(row.question for row in live.state.memory.rows() if row.outcome == "success_memory")


def closed(live: LiveRun) -> list[InferenceClosed]:
    return list(LogReader(live.run.log_path).of(InferenceClosed))


def closing(live: LiveRun, inference: str) -> InferenceClosed:
    """Return what became of an inference, once the log has it."""
    until(lambda: any(each.inference == inference for each in closed(live)))
    return next(each for each in closed(live) if each.inference == inference)


def until(is_so: Any) -> None:
    """Wait until something is so."""
    ends = time.monotonic() + PATIENCE_S
    while not is_so():
        assert time.monotonic() < ends
        time.sleep(0.01)
