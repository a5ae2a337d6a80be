"""A model provider on loopback: /chat/completions, /messages and batches, /embeddings, /models; misbehaves on demand.

Results of a batch come in the reverse order. It counts what it served (calls, texts, tokens), so that a ledger can be
held against it. How it misbehaves is a list of names, one for each request as they come; when the list is used up every
request is answered.
"""

import asyncio
import itertools
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from queue import Queue
from threading import Thread
from typing import Any, NamedTuple

from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.seams.model import Request


class Asked(NamedTuple):
    """One request as the provider saw it."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    method: str = "POST"


class Said(NamedTuple):
    """A reply as a model may give it: any `content`, thinking `aside`, and so many tokens `made` (None: its words)."""

    content: Any
    finish: str = "stop"
    made: int | None = None
    aside: str = ""


Answer = Callable[[dict[str, Any]], str | Said]
Plan = Callable[[int], str]
"""How to treat the n-th request (from 0): "" to answer it, else the name of a fault."""


def request_of(body: dict[str, Any]) -> Request:
    """Return what a request in either API asks."""
    said = {each["role"]: each["content"] for each in body["messages"]}
    system = body.get("system", said.get("system", ""))
    if not isinstance(system, str):
        system = "".join(block["text"] for block in system)
    return Request(system=system, prompt=said["user"])


class Provider:
    """The server's side of a test.

    A batch is under way for `polls` requests about it, for ever while `holds_batches`; `fate` says what becomes of the
    n-th entry (from 0, over all batches): "" to answer it, else `expired`, `canceled` or an error's type.
    """

    def __init__(self, answer: Answer, plan: Plan, latency_s: float) -> None:
        self.usage: dict[str, int] = {}
        self.batches: dict[str, list[dict[str, Any]]] = {}
        self.batch_sizes: list[int] = []
        self.polls, self.holds_batches, self.has_batches = 2, False, True
        self.fate: Plan = lambda number: ""
        self._polled: Counter[str] = Counter()
        self._entries = itertools.count()
        self._answer, self.plan, self._latency = answer, plan, latency_s
        self.asked: list[Asked] = []
        self.served = 0
        self.input_tokens = 0
        self.output_tokens = 0
        self.embedded = self.embedded_texts = self.embedded_tokens = 0
        self.tells_tokens = True
        self.context = 2048
        self.error_headers = {"retry-after": "0"}
        self.name_of: Callable[[str], str] = lambda asked: asked
        self.most_in_flight = 0
        self.connections = 0
        self.models: list[dict[str, Any]] = [{"id": "exec", "object": "model", "max_model_len": 8192}]
        self.models += [{"id": name, "object": "model"} for name in ("guide", "judge", "x", "e", "g", "gpt-x")]
        self.embed: Callable[[list[str]], list[list[float]]] = _hashed
        self._in_flight = 0
        self.port = 0

    @property
    def openai_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def anthropic_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def restart_entries(self) -> None:
        """Count the entries of batches from the beginning again."""
        self._entries = itertools.count()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until it ends or a fault ends it."""
        self.connections += 1
        try:
            while (asked := await _read(reader)) is not None:
                if "/models" in asked.path:  # a look, which takes no part in the plan
                    await _write(writer, 200, json.dumps(self._served_models(asked.path)).encode(), {})
                    continue
                number = len(self.asked)
                self.asked.append(asked)
                self._in_flight += 1
                self.most_in_flight = max(self.most_in_flight, self._in_flight)
                try:
                    await asyncio.sleep(self._latency)
                    if not await self._treat(asked, self.plan(number), writer):
                        return
                finally:
                    self._in_flight -= 1
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):  # the last: the test is over
            return
        finally:
            writer.close()

    async def _treat(self, asked: Asked, fault: str, writer: asyncio.StreamWriter) -> bool:
        """Answer one request well or badly; return whether the connection goes on."""
        is_messages = asked.path.endswith("/messages")
        if "/messages/batches" in asked.path and self.has_batches and fault in ("", "cut", "html"):
            status, content = self._batched(asked)
            if fault == "cut":
                writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {len(content)}\r\n\r\n".encode() + content[:-20])
                await writer.drain()
                return False
            await _write(writer, status, b'"sign in first"\n' if fault == "html" else content, {})
            return True
        if "/messages/batches" in asked.path and not fault:
            fault = "404"
        if fault == "reset":
            writer.transport.abort()
            return False
        if fault == "silence":
            await asyncio.sleep(30)
            return False
        if fault.removeprefix("echo ").isdigit():
            told = "the provider says " + (_key_in(asked) if fault.startswith("echo ") else fault)
            error = {"error": {"type": "some_error", "message": told}}
            await _write(writer, int(fault.removeprefix("echo ")), json.dumps(error).encode(), self.error_headers)
            return True
        if fault == "too long":
            error = {"error": {"message": f"This model's maximum context length is {self.context} tokens."}}
            await _write(writer, 400, json.dumps(error).encode(), {})
            return True
        if asked.body.get("stream"):
            return await self._stream(asked, fault, writer)
        body = json.dumps(self._reply(asked, fault, is_messages=is_messages)).encode()
        if fault == "truncated":
            await _write(writer, 200, body[: len(body) // 2], {})
            return True
        if fault == "cut":
            writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body[:20])
            await writer.drain()
            return False
        if fault == "drip":
            writer.write(
                f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n".encode()
            )
            for byte in body:
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0.05)
            return True
        await _write(writer, 200, body, {})
        return True

    async def _stream(self, asked: Asked, fault: str, writer: asyncio.StreamWriter) -> bool:
        """Answer in pieces, a word each, and with usage if that is asked for; return whether the connection goes on."""
        whole = self._reply(asked, fault, is_messages=False)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        for number, piece in enumerate(_pieces(whole, asked.body)):
            if fault == "drip":
                await asyncio.sleep(0.1)
            if number == 1 and fault == "cut":
                writer.transport.abort()
                return False
            if number == 1 and fault == "stall":
                await writer.drain()
                await asyncio.sleep(30)
            if number == 1 and fault == "unfinished":
                break
            if number == 1 and fault == "broken off":
                piece = {"error": {"message": "the engine died"}}
            told = b"data: " + json.dumps(piece).encode() + b"\n\n"
            writer.write(f"{len(told):x}\r\n".encode() + told + b"\r\n")
            await writer.drain()
        writer.write(b"e\r\ndata: [DONE]\n\n\r\n0\r\n\r\n")
        await writer.drain()
        return True

    def _batched(self, asked: Asked) -> tuple[int, bytes]:
        """Answer a request about batches."""
        if asked.method == "POST":
            name = f"msgbatch_{len(self.batch_sizes) + 1}"
            self.batches[name] = [self._entry(entry) for entry in asked.body["requests"]]
            self.batch_sizes.append(len(self.batches[name]))
            return 200, json.dumps(self._standing(name)).encode()
        name, _, results = asked.path.partition("/batches/")[2].partition("/")
        if name not in self.batches:
            return 404, b'{"error": {"type": "not_found_error", "message": "no such batch"}}'
        if results:
            return 200, b"\n".join(json.dumps(entry).encode() for entry in reversed(self.batches[name]))
        self._polled[name] += 1
        return 200, json.dumps(self._standing(name)).encode()

    def _standing(self, name: str) -> dict[str, Any]:
        ended = not self.holds_batches and self._polled[name] > self.polls
        return {
            "id": name,
            "type": "message_batch",
            "processing_status": "ended" if ended else "in_progress",
            "request_counts": {"processing": 0, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0},
            "created_at": "2026-11-21T10:00:00Z",
            "expires_at": "2026-11-22T10:00:00Z",
            "results_url": f"{self.anthropic_url}/v1/messages/batches/{name}/results" if ended else None,
        }

    def _entry(self, entry: dict[str, Any]) -> dict[str, Any]:
        fate = self.fate(next(self._entries))
        if fate in ("expired", "canceled"):
            result: dict[str, Any] = {"type": fate}
        elif fate:
            told = {"type": "error", "error": {"type": fate, "message": "not this one"}, "request_id": None}
            result = {"type": "errored", "error": told}
        else:
            alone = Asked("/v1/messages", {}, entry["params"])
            result = {"type": "succeeded", "message": self._reply(alone, "", is_messages=True)}
        return {"custom_id": entry["custom_id"], "result": result}

    def _reply(self, asked: Asked, fault: str, *, is_messages: bool) -> dict[str, Any]:
        if asked.path.endswith("/embeddings"):
            vectors = [] if fault == "shape" else self.embed(asked.body["input"])
            rows = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(vectors)]
            given = sum(len(text.split()) for text in asked.body["input"])
            if not fault:
                self.embedded += 1
                self.embedded_texts += len(rows)
                self.embedded_tokens += given if self.tells_tokens else 0
            usage = {"usage": {"prompt_tokens": given, "total_tokens": given}} if self.tells_tokens else {}
            return {"object": "list", "data": rows[::-1], "model": asked.body["model"], **usage}
        prompt = request_of(asked.body).text
        answer = "" if fault == "empty" else self._answer(asked.body)
        said = Said(answer) if isinstance(answer, str) else answer
        given, made = len(prompt.split()), len(str(said.content or "").split()) if said.made is None else said.made
        if not fault:
            self.served += 1
            self.input_tokens += given
            self.output_tokens += made
        if is_messages:
            return {
                "id": f"msg_{len(self.asked)}",
                "type": "message",
                "role": "assistant",
                "model": self.name_of(asked.body["model"]),
                "content": _blocks(said),
                "stop_reason": "refusal" if fault == "refusal" else _STOPS[said.finish],
                "stop_sequence": None,
                "usage": {"input_tokens": given, "output_tokens": made, **self.usage},
            }
        finish = "content_filter" if fault == "filter" else said.finish
        refusal = "I will not." if fault == "refusal" else None
        message = {"role": "assistant", "content": said.content, "refusal": refusal}
        if said.aside:
            message["reasoning_content"] = said.aside
        if said.finish == "tool_calls":
            function = {"name": "calculate", "arguments": "{}"}
            message["tool_calls"] = [{"id": "call_1", "type": "function", "function": function}]
        return {
            "id": f"chatcmpl-{len(self.asked)}",
            "object": "chat.completion",
            "created": 1,
            "model": self.name_of(asked.body["model"]),
            "choices": [] if fault == "shape" else [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {"prompt_tokens": given, "completion_tokens": made, "total_tokens": given + made},
        }

    def _served_models(self, path: str) -> dict[str, Any]:
        """Return the list of models, in the form of both APIs, or the one that the path names."""
        common = {"type": "model", "created": 1, "created_at": "2026-01-01T00:00:00Z", "owned_by": "us"}
        models = [{**common, "display_name": model["id"], **model} for model in self.models]
        named = [model for model in models if path.endswith(f"/models/{model['id']}")]
        return named[0] if named else {"object": "list", "data": models, "has_more": False}


def _hashed(texts: list[str]) -> list[list[float]]:
    return [[2 * float(number) for number in vector] for vector in HashEmbedder().encode(texts)]


@contextmanager
def provider(
    *, answer: Answer = lambda body: "the answer is 7", faults: Sequence[str] | Plan = (), latency_s: float = 0.0
) -> Iterator[Provider]:
    """Run a provider on a loopback port while the block lasts."""
    plan: Plan = faults if callable(faults) else (lambda number: faults[number] if number < len(faults) else "")
    state = Provider(answer, plan, latency_s)
    ready, is_over = Queue[asyncio.AbstractEventLoop](), asyncio.Event()

    async def run() -> None:
        server = await asyncio.start_server(state.serve, "127.0.0.1", 0)
        state.port = server.sockets[0].getsockname()[1]
        ready.put(asyncio.get_running_loop())
        await is_over.wait()
        server.close()

    thread = Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    loop = ready.get()
    try:
        yield state
    finally:
        loop.call_soon_threadsafe(is_over.set)
        thread.join()  # with every connection closed: what is left open would be a warning to some later test


def _pieces(whole: dict[str, Any], asked: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a chat completion as a stream has it: words, then why it ends, then what it took."""
    head = {"id": whole["id"], "object": "chat.completion.chunk", "created": 1, "model": whole["model"]}
    for choice in whole["choices"]:
        message = choice["message"]
        for word in re.findall(r"\s*\S+", message["content"]):
            yield {**head, "choices": [{"index": 0, "delta": {"content": word}, "finish_reason": None}]}
        last = {"refusal": message["refusal"]} if message["refusal"] else {}
        yield {**head, "choices": [{"index": 0, "delta": last, "finish_reason": choice["finish_reason"]}]}
    if asked.get("stream_options", {}).get("include_usage"):
        yield {**head, "choices": [], "usage": whole["usage"]}


_STOPS = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}


def _blocks(said: Said) -> list[dict[str, Any]]:
    """Return a reply as blocks of a message."""
    blocks = [{"type": "thinking", "thinking": said.aside, "signature": "s"}] if said.aside else []
    if said.finish == "tool_calls":
        blocks.append({"type": "tool_use", "id": "toolu_1", "name": "calculate", "input": {}})
    if isinstance(said.content, list):
        return [*blocks, *said.content]
    return [*blocks, {"type": "text", "text": said.content}] if said.content else blocks


def _key_in(asked: Asked) -> str:
    return asked.headers.get("authorization") or asked.headers["x-api-key"]


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    head = await reader.readuntil(b"\r\n\r\n") if not reader.at_eof() else b""
    if not head:
        return None
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    method, path = first.split()[:2]
    return Asked(path, headers, json.loads(body) if body else {}, method)


async def _write(writer: asyncio.StreamWriter, status: int, body: bytes, headers: dict[str, str]) -> None:
    fields = {"content-type": "application/json", "content-length": str(len(body)), **headers}
    head = f"HTTP/1.1 {status} Status\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    writer.write(head.encode() + b"\r\n" + body)
    await writer.drain()
