"""Traces of a served run: requests are parts of their clients' traces, and no request knows of the collector."""

import socket
import threading
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from mage_es.engine.exports.otel.live import sending
from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Telemetry
from mage_es.engine.run.served import Serving
from mage_es.engine.serving.live import LiveRun
from mage_es.engine.serving.serve import serve
from mage_es.events.errors import UsageError
from tests.engine.exports.receiver import Received, receiving, said
from tests.engine.serving.behind import PATIENCE_S, serving
from tests.engine.serving.conftest import Opening
from tests.engine.serving.test_proxy import CHAT, MESSAGES, known_question
from tests.engine.serving.upstream import REPLIES, Upstream

TRACE, CLIENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = {"traceparent": f"00-{TRACE}-{CLIENT}-01"}


Asked = tuple[Received, list[dict[str, str]], str]


@pytest.fixture(scope="module")
def live(opening: Opening) -> LiveRun:
    return opening("traced", record_texts=True)


@pytest.fixture(scope="module")
def asked(live: LiveRun, server: Upstream) -> Iterator[Asked]:
    """What a collector receives of some requests, their headers at the upstream, and the question of them all."""
    question = known_question(live)
    told, upstreams = list[str](), list[dict[str, str]]()
    chat = {**CHAT, "messages": [{"role": "user", "content": question}]}

    def post(path: str, body: dict[str, Any], **headers: str) -> httpx2.Response:
        reply = client.post(path, json=body, headers=headers)
        upstreams.append({name.lower(): value for name, value in server.asked[-1].headers})
        return reply

    with receiving() as received, sending(Telemetry(received.url), told.append) as outbox:
        with (
            serving({"r": live}, server.url, outbox=outbox, retrieval_s=PATIENCE_S) as url,
            httpx2.Client(base_url=url, timeout=PATIENCE_S) as client,
        ):
            first = post("/v1/chat/completions", chat, **SAMPLED)
            post("/v1/messages", MESSAGES)
            post("/v1/chat/completions", CHAT, traceparent=f"00-{TRACE}-{CLIENT}-00", **{"x-mage-memory": "off"})
            post("/v1/chat/completions", CHAT, traceparent="no-trace\x7f", **{"x-do": "503"})
            name = first.headers["x-mage-inference"]
            word = {"inference_id": name, "metric": "solved", "value": True, "idempotency_key": "1"}
            assert client.post("/v1/feedback", json=word).status_code == 200
        outbox.close()
        assert not told
        yield received, upstreams, question


def below(received: Received, span: Any) -> list[Any]:
    return [each for each in received.spans if each.parent_span_id == span.span_id]


def test_a_request_is_in_its_clients_trace_and_the_upstream_is_below_our_chat(asked: Asked, live: LiveRun) -> None:
    received, upstreams, _ = asked
    [request] = [span for span in received.spans if span.parent_span_id.hex() == CLIENT]
    search, chat = below(received, request)
    assert {span.trace_id.hex() for span in (request, search, chat)} == {TRACE}
    assert (request.name, search.name, chat.name) == ("POST /v1/chat/completions", "search_memory", "chat m")
    assert upstreams[0]["traceparent"] == f"00-{TRACE}-{chat.span_id.hex()}-01"
    assert said(chat)["gen_ai.usage.input_tokens"] == 11 and said(chat)["gen_ai.response.id"] == "chatcmpl-1"
    ids = [each["id"] for each in said(search)["gen_ai.memory.records"]]
    assert ids and all(live.state.memory.row(name) for name in ids)
    assert said(search)["mage_es.nearest"] == pytest.approx(1.0, abs=1e-3)


def test_a_request_without_a_trace_begins_one_and_one_that_is_not_sampled_goes_on_as_it_came(asked: Asked) -> None:
    received, upstreams, _ = asked
    [messages] = received.named("POST /v1/messages")
    assert not messages.parent_span_id and upstreams[1]["traceparent"].split("-")[1] == messages.trace_id.hex()
    assert upstreams[2]["traceparent"] == f"00-{TRACE}-{CLIENT}-00"
    assert len([span for span in received.spans if span.kind == 2]) == 3


def test_what_is_no_trace_is_replaced_and_the_upstreams_refusal_is_an_error(asked: Asked) -> None:
    received, upstreams, _ = asked
    [failed] = [span for span in received.named("POST") if said(span)["http.response.status_code"] == 503]
    assert upstreams[3]["traceparent"].split("-")[1] == failed.trace_id.hex() != TRACE
    assert said(failed)["error.type"] == "503" and failed.status.code == 2


def test_feedback_is_a_verdict_on_the_chat(asked: Asked) -> None:
    received, _, _ = asked
    [verdict] = received.logs
    [chat] = [span for span in received.named("chat ") if span.span_id == verdict.span_id]
    assert chat.trace_id.hex() == verdict.trace_id.hex() == TRACE
    assert said(verdict) | {"gen_ai.evaluation.name": "solved", "gen_ai.evaluation.score.value": 1.0} == said(verdict)


def test_recorded_texts_stay_here(asked: Asked) -> None:
    received, _, question = asked
    bodies = b"\n".join(received.bodies)
    for text in (question, CHAT["messages"][0]["content"], "It is 7."):
        assert text.encode() not in bodies


def test_texts_are_sent_if_that_is_asked_for(opening: Opening, server: Upstream) -> None:
    with receiving() as received, sending(Telemetry(received.url, texts=True), print) as outbox:
        with serving({"r": opening("told", record_texts=True)}, server.url, outbox=outbox) as url:
            httpx2.post(f"{url}/v1/chat/completions", json=CHAT, timeout=PATIENCE_S)
        outbox.close()
        [chat], [request] = received.named("chat "), received.named("POST ")
        assert said(request)["input.value"] == CHAT["messages"][0]["content"]
        assert said(request)["output.value"] == "It is 7."
        assert said(chat)["gen_ai.input.messages"][0]["parts"][0]["content"] == CHAT["messages"][0]["content"]
        assert said(chat)["gen_ai.output.messages"][0]["parts"][0]["content"] == "It is 7."


@pytest.mark.slow
def test_a_search_by_mcp_is_in_its_clients_trace_and_its_outcome_is_a_verdict_on_it(
    opening: Opening, server: Upstream
) -> None:
    pytest.importorskip("mcp", reason="python -m pip install 'mage-es[mcp]'")
    live = opening("agents", record_texts=True)
    question = known_question(live)
    with receiving() as received, sending(Telemetry(received.url, texts=True), print) as outbox:
        with (
            serving({"r": live}, server.url, outbox=outbox) as url,
            httpx2.Client(base_url=url, timeout=PATIENCE_S) as client,
        ):

            def call(name: str, **arguments: Any) -> Any:
                asked = {"method": "tools/call", "params": {"name": name, "arguments": arguments}}
                accepted = {"accept": "application/json, text/event-stream", **SAMPLED}
                reply = client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, **asked}, headers=accepted)
                return reply.json()["result"]["structuredContent"]

            found = call("search_memory", query=question, limit=3)
            call("report_outcome", search_id=found["search_id"], right=True)
        outbox.close()
        [request] = received.named("POST /mcp")
        [search] = below(received, request)
        assert (request.trace_id.hex(), request.parent_span_id.hex()) == (TRACE, CLIENT)
        records = said(search)["gen_ai.memory.records"]
        assert [each["id"] for each in records] == [each["memory_id"] for each in found["memories"]]
        assert [each["content"]["question"] for each in records] == [live.row(each["id"]).question for each in records]
        assert said(search)["gen_ai.memory.query.text"] == said(search)["input.value"] == question
        [verdict] = received.logs
        assert verdict.span_id == request.span_id and said(verdict)["gen_ai.evaluation.score.value"] == 1.0


@pytest.mark.parametrize("is_away", [False, True])
def test_requests_do_not_wait_for_a_collector_that_says_nothing_or_is_away(
    opening: Opening, server: Upstream, monkeypatch: pytest.MonkeyPatch, is_away: bool
) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "4")
    monkeypatch.setenv("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", "1")
    told = list[str]()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoint = f"http://127.0.0.1:{silent.getsockname()[1]}"
        if is_away:
            silent.close()
        with (
            sending(Telemetry(endpoint), told.append) as outbox,
            serving({"r": opening(f"alone-{is_away}")}, server.url, outbox=outbox) as url,
            httpx2.Client(base_url=url, timeout=PATIENCE_S) as client,
        ):
            for _ in range(20):
                reply = client.post("/v1/chat/completions", json=CHAT, headers={"x-mage-memory": "off"})
                assert reply.json() == REPLIES["/v1/chat/completions"]
    [problem] = told
    assert problem.startswith(endpoint) and "lost" in problem


@pytest.mark.slow
def test_the_command_sends_what_its_settings_name(parent: Run, server: Upstream) -> None:
    stop, told = threading.Event(), list[str]()
    with receiving() as received:

        def ask(report: Any) -> None:
            def asking() -> None:
                httpx2.post(f"{report.address}/v1/chat/completions", json=CHAT, timeout=PATIENCE_S)
                stop.set()

            threading.Thread(target=asking).start()

        telemetry = Telemetry(received.url)
        settings = Serving(upstream=server.url, port=0)
        serve(str(parent.path), settings, telemetry=telemetry, begun=ask, stop=stop.is_set, say=told.append)
        assert len(received.named("POST ")) == len(received.named("chat ")) == 1


def test_texts_that_are_not_recorded_cannot_be_sent(parent: Run, server: Upstream) -> None:
    with pytest.raises(UsageError, match="add --record-texts"):
        telemetry = Telemetry("http://127.0.0.1:1", texts=True)
        serve(str(parent.path), Serving(upstream=server.url, port=0), telemetry=telemetry)
