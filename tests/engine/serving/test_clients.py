"""The official clients with memories in what they send; all else is theirs, and their server's."""

import asyncio
import gc
import json
import shutil
import time
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import openai
import pytest

import mage_es
from mage_es.engine.run.directory import Run
from mage_es.engine.served.notes import Note
from mage_es.engine.serving.clients import OpenedRun
from mage_es.engine.serving.open_run import open_run
from mage_es.engine.serving.shapes import read, spliced
from mage_es.events.errors import Conflict, NotFound, RunLocked, UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import FeedbackGiven, InferenceClosed, InferenceOpened, MemoryProposed, RequestShape
from tests.engine.serving.api import Api, api
from tests.engine.serving.bodies import SHAPES

QUESTION = (
    "A baker brings six boxes of rolls to the market, with 12 rolls in every box. By noon 35 rolls have been sold. "
    "How many rolls are still unsold?"
)
TOOL = {"name": "add", "description": "Add.", "parameters": {"type": "object", "properties": {}}}
IMAGE = "data:image/png;base64," + "iVBORw0KGgo" * 20
PATIENT = {"patience_s": 300.0, "holdback": 0.0}


@pytest.fixture
def server() -> Iterator[Api]:
    with api() as found:
        yield found
        for client in found.clients:
            client.close()


@pytest.fixture(scope="module")
def frozen(evolved_once: Run, tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenedRun]:
    """A run whose clients are all recorded in one."""
    path = tmp_path_factory.mktemp("runs") / evolved_once.id
    found = open_run(Run(evolved_once.id, shutil.copytree(evolved_once.path, path)))
    yield found
    found.close()


def log_of(frozen: OpenedRun) -> LogReader:
    name = f"{frozen.run.id}-served"
    return LogReader(Run(name, frozen.run.path.parent / name).log_path)


def opened(frozen: OpenedRun, *names: str) -> list[InferenceOpened]:
    found = {event.inference: event for event in log_of(frozen).of(InferenceOpened)}
    return [found[name] for name in names]


def closed(frozen: OpenedRun, *names: str) -> list[InferenceClosed]:
    """Return how inferences ended, which is recorded soon after."""
    for _ in range(30_000):
        found = {event.inference: event for event in log_of(frozen).of(InferenceClosed)}
        if found.keys() >= set(names):
            break
        time.sleep(0.01)
    return [found[name] for name in names]


def clients(server: Api, **options: Any) -> dict[RequestShape, Any]:
    gpt = openai.OpenAI(base_url=f"{server.url}/v1", api_key="k", **options)
    claude = anthropic.Anthropic(base_url=server.url, api_key="k", **options)
    server.clients += [gpt, claude]
    return {"chat": gpt, "responses": gpt, "messages": claude}


def asynchronous(server: Api, shape: RequestShape) -> Any:
    if shape == "messages":
        return anthropic.AsyncAnthropic(base_url=server.url, api_key="k")
    return openai.AsyncOpenAI(base_url=f"{server.url}/v1", api_key="k")


def create_of(shape: RequestShape, client: Any) -> Callable[..., Any]:
    ways = {"chat": lambda: client.chat.completions, "responses": lambda: client.responses}
    found = ways.get(shape, lambda: client.messages)()
    return found.create  # type: ignore[no-any-return]


def request_of(shape: RequestShape, question: str = QUESTION) -> dict[str, Any]:
    """Return a request with all that the API has: tools, an image, and the results of a tool."""
    if shape == "chat":
        call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": "{}"}}
        said: list[Any] = [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": "Add 1 and 1 — please ☃"},
            {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "c", "content": "2"},
            {"role": "assistant", "content": "2"},
        ]
        parts = [{"type": "text", "text": question}, {"type": "image_url", "image_url": {"url": IMAGE}}]
        tools = [{"type": "function", "function": TOOL}]
        return {"model": "m", "messages": [*said, {"role": "user", "content": parts}], "tools": tools}
    if shape == "responses":
        items = [
            {"role": "user", "content": "Add 1 and 1 — please ☃"},
            {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "x"},
            {"type": "function_call", "call_id": "c", "name": "add", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "2"},
            {"role": "assistant", "content": [{"type": "output_text", "text": "2"}]},
        ]
        parts = [{"type": "input_image", "image_url": IMAGE}, {"type": "input_text", "text": question}]
        tools = [{"type": "function", **TOOL}]
        return {"model": "m", "input": [*items, {"role": "user", "content": parts}], "tools": tools}
    image = {"type": "base64", "media_type": "image/png", "data": IMAGE.partition(",")[2]}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "2"}
    told = [
        {"role": "user", "content": "Add 1 and 1 — please ☃"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "add", "input": {}}]},
        {"role": "user", "content": [result]},
        {"role": "assistant", "content": "2"},
    ]
    text = {"type": "text", "text": question, "cache_control": {"type": "ephemeral"}}
    last = {"role": "user", "content": [{"type": "image", "source": image}, text]}
    tool = {"name": "add", "description": "Add.", "input_schema": TOOL["parameters"]}
    return {"model": "m", "max_tokens": 9, "system": "Be kind.", "messages": [*told, last], "tools": [tool]}


def text_of(reply: Any) -> str:
    if hasattr(reply, "choices"):
        return str(reply.choices[0].message.content)
    return str(reply.output_text if hasattr(reply, "output_text") else reply.content[0].text)


@pytest.mark.parametrize("shape", SHAPES)
def test_what_an_official_client_sends_is_read_and_only_the_note_is_added(server: Api, shape: RequestShape) -> None:
    for extra in ({}, {"stream": True}):
        create_of(shape, clients(server)[shape])(**request_of(shape), **extra)
        body = server.got[-1].body
        reading = read(shape, body)
        assert [turn.text for turn in reading.turns] == ["Add 1 and 1 — please ☃", QUESTION]
        assert (reading.model, reading.is_stream, reading.is_new) == ("m", bool(extra), True)
        added = spliced(shape, body, {0: Note(" [a]", ()), 1: Note(' ["b"]', ())})
        assert added.replace(b" [a]", b"").replace(rb" [\"b\"]", b"") == body
        assert json.dumps(json.loads(added)).count("[a]") == 1


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
def test_a_wrapped_client_sends_memories_and_gives_what_it_gave(
    server: Api, frozen: OpenedRun, shape: RequestShape, *, is_async: bool
) -> None:
    bare = asynchronous(server, shape) if is_async else clients(server)[shape]
    wrapped = frozen.wrap(bare, **PATIENT)
    assert type(wrapped) is type(bare)

    async def told(client: Any) -> list[Any]:
        create = create_of(shape, client)
        if is_async:
            stream = await create(**request_of(shape), stream=True)
            return [await create(**request_of(shape)), stream, [event async for event in stream]]
        stream = create(**request_of(shape), stream=True)
        return [create(**request_of(shape)), stream, list(stream)]

    async def both() -> list[list[Any]]:
        found = [await told(bare), await told(wrapped)]
        if is_async:
            await wrapped.close()
            assert bare.is_closed()
        return found

    plain, ours = asyncio.run(both())
    assert text_of(ours[0]) == "It is 7."
    assert ours[0]._request_id == plain[0]._request_id == "req-1"
    assert len(ours[2]) == len(plain[2])

    names = [mage_es.inference_of(ours[1]), mage_es.inference_of(ours[0])]
    assert ours[1].response.headers["x-mage-memories"]
    assert [event.treatment for event in opened(frozen, *names)] == ["memory", "memory"]
    ends = closed(frozen, *names)
    assert {(end.outcome, end.status, end.input_tokens, end.output_tokens) for end in ends} == {
        ("answered", 200, 11, 4)
    }

    got = [each.body for each in server.got]
    (note,) = {_note(before, after) for before, after in zip(got[:2], got[2:], strict=True)}
    assert note.startswith(rb"Quoted notes") and note.endswith(rb"## Question\n\n")
    own = {"content-length"}
    for before, after in zip(server.got[:2], server.got[2:], strict=True):
        assert {k: v for k, v in before.headers.items() if k not in own} == {
            k: v for k, v in after.headers.items() if k not in own
        }


def _note(before: bytes, after: bytes) -> bytes:
    """Return what was put into a body, which is one piece."""
    start = next(at for at in range(len(before)) if before[at] != after[at])
    added = len(after) - len(before)
    assert after[:start] + after[start + added :] == before
    return after[start : start + added]


def test_the_id_is_in_the_header_of_raw_responses_streams_and_errors(server: Api, frozen: OpenedRun) -> None:
    client = frozen.wrap(clients(server, max_retries=0)["chat"], **PATIENT)
    raw = client.chat.completions.with_raw_response.create(**request_of("chat"))
    assert raw.headers["x-mage-inference"] == mage_es.inference_of(raw) == mage_es.inference_of(raw.parse())
    with client.chat.completions.with_streaming_response.create(**request_of("chat")) as streamed:
        name = mage_es.inference_of(streamed)
        assert text_of(streamed.parse()) == "It is 7."
    server.fails = [429]
    with pytest.raises(openai.RateLimitError) as caught:
        client.chat.completions.create(**request_of("chat"))
    failed = mage_es.inference_of(caught.value)
    with client.chat.completions.create(**request_of("chat"), stream=True) as stream:
        left = mage_es.inference_of(stream)
    with client.chat.completions.stream(**request_of("chat")) as helped:
        helped.until_done()
    away = frozen.wrap(openai.OpenAI(api_key="k", base_url="http://127.0.0.1:1/v1", max_retries=1), **PATIENT)
    with pytest.raises(openai.APIConnectionError) as lost:
        away.chat.completions.create(**request_of("chat"))
    names = [name, failed, left, mage_es.inference_of(helped), mage_es.inference_of(lost.value)]
    ends = [(end.outcome, end.status) for end in closed(frozen, *names)]
    assert ends == [("answered", 200), ("answered", 429), ("left", 200), ("answered", 200), ("failed", 0)]


def test_an_id_that_a_server_gives_twice_names_no_inference(server: Api, frozen: OpenedRun) -> None:
    client, server.same_id = frozen.wrap(clients(server)["chat"], **PATIENT), True
    client.chat.completions.create(**request_of("chat"))
    with pytest.raises(NotFound, match=r"gave the id reply-0 to several replies.*with_raw_response"):
        mage_es.inference_of(client.chat.completions.create(**request_of("chat")))
    with pytest.raises(NotFound, match="this int"):
        mage_es.inference_of(7)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "is_async"),
    [("chat", False), ("responses", True), ("messages", False)],
    ids=["sync-chat", "async-responses", "sync-messages"],
)
def test_what_became_of_a_reply_is_recorded_as_feedback_to_the_proxy_is(
    server: Api, parent: Run, shape: RequestShape, *, is_async: bool
) -> None:
    run = open_run(parent)
    with pytest.raises(UsageError, match=r"Requests to .* are not being recorded: call wrap"):
        run.feedback("inf-1-1", value=True)
    bare = asynchronous(server, shape) if is_async else clients(server)[shape]
    create = create_of(shape, run.wrap(bare, learn="propose", **PATIENT))
    edited = {"answer": "37", "wrong_answer": "7"}

    async def said() -> list[FeedbackGiven]:
        if is_async:
            reply, stream = await create(**request_of(shape)), await create(**request_of(shape), stream=True)
            assert [event async for event in stream]
            told = [await run.afeedback(reply, value=True), await run.afeedback(stream, value=0.5, metric="helpful")]
            told.append(await run.afeedback(mage_es.inference_of(reply), value=edited, metric="edited"))
            await bare.close()
            return told
        reply, stream = create(**request_of(shape)), create(**request_of(shape), stream=True)
        assert list(stream)
        told = [run.feedback(reply, value=True), run.feedback(stream, value=0.5, metric="helpful")]
        return [*told, run.feedback(mage_es.inference_of(reply), value=edited, metric="edited")]

    given = asyncio.run(said())
    right, helpful, demonstrated = log_of(run).of(FeedbackGiven)
    assert given == [right, helpful, demonstrated]
    assert [(word.metric, word.kind, word.value_micro) for word in given] == [
        ("right", "bool", 1_000_000),
        ("helpful", "float", 500_000),
        ("edited", "demonstration", 0),
    ]
    assert right.inference == demonstrated.inference != helpful.inference
    [proposed] = log_of(run).of(MemoryProposed)
    assert (proposed.question, proposed.answer, proposed.wrong_answer) == (QUESTION, "37", "7")
    assert run.feedback(right.inference, value=False, idempotency_key="1") == run.feedback(
        right.inference, value=False, idempotency_key="1"
    )
    with pytest.raises(Conflict, match="idempotency key '1'"):
        run.feedback(right.inference, value=True, idempotency_key="1")
    for wrong, words in (({"value": 7}, "between 0 and 1"), ({"value": None}, "null"), ({"metric": ""}, "metric is")):
        with pytest.raises(UsageError, match=words):
            run.feedback(right.inference, **{"value": True, **wrong})
    with pytest.raises(NotFound, match="No inference 'inf-9-9'"):
        run.feedback("inf-9-9", value=True)
    run.close()
    run.wrap(clients(server)[shape], learn="propose", trust="gold", **PATIENT)
    assert run.feedback(right.inference, value={"answer": "38"}).trust == "gold"
    run.close()
    run.wrap(clients(server)[shape], **PATIENT)
    assert run.feedback(right.inference, value={"answer": "36"}).unused.startswith("Only recorded")  # learn="log"
    run.close()
    assert QUESTION not in "".join(event.question for event in log_of(run).of(InferenceOpened))
    assert mage_es.verify(Run(f"{parent.id}-served", parent.path.parent / f"{parent.id}-served")).ok


def test_a_retry_is_the_sdks_and_has_the_same_bytes(server: Api, frozen: OpenedRun) -> None:
    client, server.fails = frozen.wrap(clients(server, max_retries=1)["messages"], **PATIENT), [503]
    assert text_of(client.messages.create(**request_of("messages"))) == "It is 7."
    assert server.got[0].body == server.got[1].body
    assert server.got[1].headers["x-stainless-retry-count"] == "1"


def test_headers_of_a_request_say_what_those_to_the_proxy_say(server: Api, frozen: OpenedRun) -> None:
    client = frozen.wrap(clients(server)["messages"], **PATIENT)
    off = {"X-Mage-Memory": "Off", "X-Session-Id": "s-1"}
    name = mage_es.inference_of(client.messages.create(**request_of("messages"), extra_headers=off))
    clients(server)["messages"].messages.create(**request_of("messages"))
    assert server.got[0].body == server.got[1].body
    assert not [name for name in server.got[0].headers if name.startswith(("x-mage", "x-session"))]
    with pytest.raises(anthropic.BadRequestError, match="no task type 'nonsense'"):
        client.messages.create(**request_of("messages"), extra_headers={"X-Mage-Task-Type": "nonsense"})
    with pytest.raises(anthropic.BadRequestError, match="it may be on, off or shadow"):
        client.messages.create(**request_of("messages"), extra_headers={"X-Mage-Memory": "maybe"})
    assert len(server.got) == 2
    assert [(event.session, event.treatment) for event in opened(frozen, name)] == [("s-1", "off")]


@pytest.mark.slow
def test_what_is_late_or_cannot_be_recorded_goes_on_as_it_came_and_the_run_verifies(server: Api, parent: Run) -> None:
    run = open_run(parent)
    late = run.wrap(clients(server)["chat"], patience_s=0.0, holdback=0.0)
    told = [late.chat.completions.with_raw_response.create(**request_of("chat"))]
    client = run.wrap(clients(server)["chat"], **PATIENT)
    name = mage_es.inference_of(client.chat.completions.create(**request_of("chat")))
    with pytest.raises(UsageError, match=r"-served is being recorded with holdback=0\.0, .*or `close` this run"):
        run.wrap(clients(server)["chat"], holdback=0.5)
    run.close()
    told.append(client.chat.completions.with_raw_response.create(**request_of("chat")))
    assert [raw.headers["x-mage-memories"] for raw in told] == ["bypassed", "bypassed"]
    assert text_of(told[1].parse()) == "It is 7."
    for raw in told:
        with pytest.raises(NotFound, match="was sent without memories"):
            mage_es.inference_of(raw)
    bodies = [each.body for each in server.got]
    assert bodies[0] == bodies[2] != bodies[1]
    ends = {event.inference: event.outcome for event in log_of(run).of(InferenceClosed)}
    assert ends.pop(name) == "answered"
    assert set(ends.values()) == {"bypassed"}
    assert mage_es.verify(Run(f"{parent.id}-served", parent.path.parent / f"{parent.id}-served")).ok


def test_unrecorded_it_writes_nothing_and_every_turn_keeps_its_note(server: Api, frozen: OpenedRun) -> None:
    files = sorted(frozen.run.path.parent.rglob("*"))
    client = frozen.wrap(clients(server)["chat"], record=False, patience_s=300.0)
    first = [{"role": "user", "content": QUESTION}]
    more = [{"role": "assistant", "content": "7"}, {"role": "user", "content": "And with 2 more?"}]
    raw = client.chat.completions.with_raw_response.create(model="m", messages=first)
    assert "x-mage-inference" not in raw.headers
    assert raw.headers["x-mage-memories"] != "none"
    client.chat.completions.create(model="m", messages=[*first, *more])
    short, long = (json.loads(got.body)["messages"][0]["content"] for got in server.got)
    assert short == long != QUESTION
    assert sorted(frozen.run.path.parent.rglob("*")) == files


def test_all_other_requests_of_a_client_pass(server: Api, frozen: OpenedRun) -> None:
    client = frozen.wrap(clients(server)["chat"], **PATIENT)
    before = client.post("/embeddings", body={"messages": request_of("chat")["messages"]}, cast_to=object)
    assert before
    assert json.loads(server.got[0].body) == {"messages": request_of("chat")["messages"]}


def test_a_copy_of_a_wrapped_client_is_wrapped_and_the_first_one_may_go(server: Api, frozen: OpenedRun) -> None:
    client = frozen.wrap(openai.OpenAI(base_url=f"{server.url}/v1", api_key="k"), **PATIENT).with_options(timeout=300)
    gc.collect()
    assert mage_es.inference_of(client.chat.completions.create(**request_of("chat")))
    client.close()
    assert client.is_closed()


def test_what_cannot_be_wrapped_is_told(server: Api, frozen: OpenedRun) -> None:
    with pytest.raises(UsageError, match=r"str cannot be wrapped; openai.OpenAI, .*mage-es serve"):
        frozen.wrap("openai", **PATIENT)
    client = frozen.wrap(clients(server)["chat"], **PATIENT)
    with pytest.raises(UsageError, match=r"already wrapped: use it as it is.*wrap the client that it was made from"):
        frozen.wrap(client, **PATIENT)
    with pytest.raises(RunLocked, match="in Python name='OTHER', or `close` the one"):
        open_run(frozen.run).wrap(clients(server)["chat"])
