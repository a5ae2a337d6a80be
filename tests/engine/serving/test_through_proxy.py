"""The official clients through the proxy and straight to its upstream: they send and get the same, but for the note."""

import asyncio
import itertools
import json
from collections.abc import Iterator
from random import Random
from typing import Any, NamedTuple

import anthropic
import openai
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.served.notes import NoteBounds
from mage_es.engine.serving import proxy
from mage_es.engine.serving.live import LiveRun
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import InferenceOpened
from mage_es.events.vocabulary.serving import RequestShape
from tests.engine.serving.behind import PATIENCE_S, serving
from tests.engine.serving.bodies import SHAPES, items_of, request
from tests.engine.serving.conftest import Opening
from tests.engine.serving.test_clients import QUESTION, create_of, request_of
from tests.engine.serving.test_proxy import closing
from tests.engine.serving.test_shapes import changed
from tests.engine.serving.upstream import CALLS, Asked, Upstream

IS_ASYNC = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
PATHS = {shape: path for path, shape in proxy.SHAPES.items()}
OF_ONE_CONNECTION = ("host", "content-length", "connection")
BEGIN_OF_A_NOTE = "Quoted notes"
_SESSIONS = itertools.count()


class Got(NamedTuple):
    """A reply as a client gets it: its headers, its bytes, and what the client reads in them."""

    headers: list[tuple[str, str]]
    body: bytes
    value: Any

    def header(self, name: str) -> str:
        return dict(self.headers)[name]


class Way:
    """The clients of one address, and the loop of those that are asynchronous."""

    def __init__(self, address: str, server: Upstream, loop: asyncio.Runner) -> None:
        self._server, self._loop = server, loop
        gpt = {"api_key": "k", "base_url": f"{address}/v1", "max_retries": 0}
        claude = {"api_key": "k", "base_url": address, "max_retries": 0}
        self._of: dict[tuple[bool, bool], Any] = {
            (False, False): openai.OpenAI(**gpt),  # type: ignore[arg-type]
            (False, True): openai.AsyncOpenAI(**gpt),  # type: ignore[arg-type]
            (True, False): anthropic.Anthropic(**claude),  # type: ignore[arg-type]
            (True, True): anthropic.AsyncAnthropic(**claude),  # type: ignore[arg-type]
        }

    def ask(
        self, shape: RequestShape, body: dict[str, Any], *, is_async: bool, headers: dict[str, str], retries: int = 0
    ) -> tuple[Asked, Got]:
        """Send a request; return it as the upstream got it, and the reply. Raises as the client does."""
        client = self._of[shape == "messages", is_async].with_options(max_retries=retries)
        options = {**options_of(shape, body), "extra_headers": headers}
        got = self._loop.run(_awaited(client, shape, options)) if is_async else _got(client, shape, options)
        return self._server.asked[-1], got

    def close(self) -> None:
        for (_, is_async), client in self._of.items():
            if is_async:
                self._loop.run(client.close())
            else:
                client.close()


def options_of(shape: RequestShape, body: dict[str, Any]) -> dict[str, Any]:
    """Return a body as arguments: what a client does not know of goes in as that."""
    known = {"model", "input", "messages", "stream", "tools", "system", "instructions", "previous_response_id"}
    options = {name: value for name, value in body.items() if name in known}
    if shape == "messages":
        options["max_tokens"] = 9
    return {**options, "extra_body": {name: value for name, value in body.items() if name not in known}}


def _got(client: Any, shape: RequestShape, options: dict[str, Any]) -> Got:
    api = create_of(shape, client).__self__.with_streaming_response
    with api.create(**options) as reply:
        body, value = reply.read(), reply.parse()
        value = list(value) if options.get("stream") else value
        return Got(reply.headers.multi_items(), body, value)


async def _awaited(client: Any, shape: RequestShape, options: dict[str, Any]) -> Got:
    api = create_of(shape, client).__self__.with_streaming_response
    async with api.create(**options) as reply:
        body, value = await reply.read(), await reply.parse()
        value = [event async for event in value] if options.get("stream") else value
        return Got(reply.headers.multi_items(), body, value)


@pytest.fixture(scope="module")
def live(opening: Opening) -> LiveRun:
    return opening("through")


@pytest.fixture(scope="module")
def ways(server: Upstream, live: LiveRun) -> Iterator[tuple[Way, Way]]:
    """Straight to the upstream, and through the proxy."""
    with serving({"r": live}, server.url, retrieval_s=PATIENCE_S) as url, asyncio.Runner() as loop:
        found = Way(server.url, server, loop), Way(url, server, loop)
        yield found
        for way in found:
            way.close()


def both(
    ways: tuple[Way, Way], shape: RequestShape, body: dict[str, Any], *, is_async: bool, session: str, do: str = ""
) -> tuple[list[tuple[str, str]], Got]:
    """Send a request both ways and compare; return each text that has a note with that note, and our reply."""
    headers = {"x-do": do} if do else {}
    plain, reply = ways[0].ask(shape, body, is_async=is_async, headers=headers)
    ours, told = ways[1].ask(shape, body, is_async=is_async, headers={**headers, "x-session-id": session})

    assert (ours.method, ours.target) == (plain.method, plain.target)
    assert sent_headers(ours) == sent_headers(plain)
    notes = list[tuple[str, str]]()
    taken_out = ours.body
    for before, after in changed(json.loads(plain.body), json.loads(ours.body)):
        note = after.removesuffix(before)
        assert note.startswith(BEGIN_OF_A_NOTE)
        notes.append((before, note))
        taken_out = taken_out.replace(json.dumps(note, ensure_ascii=False)[1:-1].encode(), b"", 1)
    assert taken_out == plain.body

    assert told.body == reply.body
    assert got_headers(told) == got_headers(reply)
    assert repr(told.value) == repr(reply.value)
    return notes, told


def sent_headers(asked: Asked) -> list[tuple[str, str]]:
    return sorted((name.lower(), value) for name, value in asked.headers if name.lower() not in OF_ONE_CONNECTION)


def got_headers(got: Got) -> list[tuple[str, str]]:
    kept = ((name.lower(), value) for name, value in got.headers if not name.lower().startswith("x-mage-"))
    return sorted((name, value) for name, value in kept if name not in ("connection", "transfer-encoding"))


@pytest.mark.parametrize("shape", SHAPES)
@IS_ASYNC
@settings(max_examples=10)
@given(seed=st.integers(0, 2**64))
def test_a_conversation_is_the_same_both_ways_but_for_a_note_in_each_new_turn(
    ways: tuple[Way, Way], shape: RequestShape, seed: int, *, is_async: bool
) -> None:
    dice = Random(seed)
    made, session = request(dice, shape), f"s-{next(_SESSIONS)}"
    do = "gzip" if not made.body.get("stream") and dice.random() < 0.3 else ""
    first, told = both(ways, shape, made.body, is_async=is_async, session=session, do=do)
    has_note = told.header("x-mage-memories") not in ("far", "none", "holdback")
    assert [text for text, _ in first] == (made.texts[-1:] if has_note else [])
    assert made.is_new or not has_note

    said = items_of(made)
    items = said if isinstance(said, list) else [{"role": "user", "content": said}]
    longer = [*items, {"role": "assistant", "content": "It is 7."}, {"role": "user", "content": QUESTION}]
    body = {**made.body, "input" if shape == "responses" else "messages": longer}
    second, _ = both(ways, shape, body, is_async=is_async, session=session)
    assert second[:-1] == first, "an earlier turn has the bytes that it had"
    assert second[-1][0] == QUESTION


@pytest.mark.parametrize("shape", SHAPES)
@IS_ASYNC
def test_a_reply_that_calls_a_tool_is_read_through_the_proxy_and_recorded(
    ways: tuple[Way, Way], live: LiveRun, shape: RequestShape, *, is_async: bool
) -> None:
    for extra in ({}, {"stream": True}):
        session = f"s-{next(_SESSIONS)}"
        notes, told = both(ways, shape, {**request_of(shape), **extra}, is_async=is_async, session=session)
        assert [text for text, _ in notes] == [QUESTION]
        assert CALLS[PATHS[shape]]["id"] in repr(told.value)
        end = closing(live, told.header("x-mage-inference"))
        assert (end.outcome, end.status, end.input_tokens, end.output_tokens) == ("answered", 200, 11, 4)


@pytest.mark.parametrize("shape", SHAPES)
@IS_ASYNC
@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_an_error_of_the_upstream_is_the_same_exception_both_ways(
    ways: tuple[Way, Way], shape: RequestShape, status: int, *, is_async: bool
) -> None:
    raised = list[Any]()
    for way in ways:
        with pytest.raises((openai.APIStatusError, anthropic.APIStatusError)) as error:
            way.ask(shape, request_of(shape), is_async=is_async, headers={"x-do": str(status)})
        raised.append(error.value)
    plain, ours = raised
    assert type(ours) is type(plain) and ours.status_code == status
    assert (str(ours), ours.body) == (str(plain), plain.body) and f"upstream says {status}" in str(ours)
    assert ours.response.headers["retry-after"] == "7" == plain.response.headers["retry-after"]
    assert ours.response.headers["x-mage-inference"]


@pytest.mark.parametrize("shape", SHAPES)
@IS_ASYNC
def test_a_client_that_tries_again_sends_the_same_note_again(
    ways: tuple[Way, Way], live: LiveRun, server: Upstream, shape: RequestShape, *, is_async: bool
) -> None:
    headers = {"x-do": "429 once"}
    ways[1].ask(shape, request_of(shape), is_async=is_async, headers=headers, retries=1)
    once, again = server.asked[-2:]
    assert [each.header("x-stainless-retry-count") for each in (once, again)] == ["0", "1"]
    assert once.body == again.body and BEGIN_OF_A_NOTE.encode() in again.body
    # No header names the session: the client's count tells that it is the same one.
    [first, second] = list(LogReader(live.run.log_path).of(InferenceOpened))[-2:]
    assert first.inference != second.inference and first.session == second.session


@pytest.mark.slow
@pytest.mark.parametrize("shape", SHAPES)
def test_cases_go_as_turns_before_the_conversation_and_its_later_requests_begin_with_the_same_bytes(
    server: Upstream, opening: Opening, shape: RequestShape
) -> None:
    live = opening(f"turns-{shape}", bounds=NoteBounds(layout="turns"))
    asked = request_of(shape, QUESTION)
    key = "input" if shape == "responses" else "messages"
    first = {**asked, key: [*asked[key][: shape == "chat"], asked[key][-1]], "stream": True}
    call: dict[str, list[Any]] = {
        "chat": [
            {"role": "assistant", "content": None, "tool_calls": [CALLS[PATHS["chat"]]]},
            {"role": "tool", "tool_call_id": "call_1", "content": "7"},
        ],
        "responses": [CALLS[PATHS["responses"]], {"type": "function_call_output", "call_id": "call_1", "output": "7"}],
        "messages": [
            {"role": "assistant", "content": [CALLS[PATHS["messages"]]]},
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "7"}]},
        ],
    }
    second = {**first, key: [*first[key], *call[shape]]}
    third = {**first, key: [*second[key], {"role": "assistant", "content": "7"}, {"role": "user", "content": QUESTION}]}
    with serving({"r": live}, server.url, retrieval_s=PATIENCE_S) as url, asyncio.Runner() as loop:
        way = Way(url, server, loop)
        bodies = [
            json.loads(way.ask(shape, body, is_async=False, headers={"x-session-id": "s"})[0].body)
            for body in (first, second, third)
        ]
        way.close()
    [opened, *_] = LogReader(live.run.log_path).of(InferenceOpened)
    typed = {"type": "message"} if shape == "responses" else {}
    shown = [
        {**typed, "role": role, "content": text}
        for turn in live.inference(opened.inference).turns
        for role, text in zip(("user", "assistant"), turn, strict=True)
    ]
    assert shown
    systems = int(shape == "chat")
    assert bodies[0][key] == [*first[key][:systems], *shown, *first[key][systems:]]
    assert bodies[1][key] == [*bodies[0][key], *call[shape]]
    *earlier, last = bodies[2][key]
    assert earlier == [*bodies[1][key], {"role": "assistant", "content": "7"}]
    assert last["content"].startswith(BEGIN_OF_A_NOTE) and last["content"].endswith(QUESTION)
