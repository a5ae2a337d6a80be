"""A model provider on loopback: /v1/chat/completions, /messages, /embeddings, /models; it misbehaves on demand.

It counts what it served (`calls`, tokens), so that a ledger can be held against it. How it misbehaves is a list of
names, one for each request as they come; when the list is used up every request is answered.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import Any, NamedTuple

from mage_es.engine.embedders.hash import HashEmbedder


class Asked(NamedTuple):
    """One request as the provider saw it."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


Answer = Callable[[dict[str, Any]], str]
Plan = Callable[[int], str]
"""How to treat the n-th request (from 0): "" to answer it, else the name of a fault."""


class Provider:
    """The server's side of a test."""

    def __init__(self, answer: Answer, plan: Plan, latency_s: float) -> None:
        self._answer, self.plan, self._latency = answer, plan, latency_s
        self.asked: list[Asked] = []
        self.served = 0
        self.input_tokens = 0
        self.output_tokens = 0
        self.most_in_flight = 0
        self.models: list[dict[str, Any]] = [{"id": "exec", "object": "model", "max_model_len": 8192}]
        self.embed: Callable[[list[str]], list[list[float]]] = _hashed
        self._in_flight = 0
        self.port = 0

    @property
    def openai_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def anthropic_url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection until it ends or a fault ends it."""
        try:
            while (asked := await _read(reader)) is not None:
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
        except (ConnectionError, asyncio.IncompleteReadError):
            return
        finally:
            writer.close()

    async def _treat(self, asked: Asked, fault: str, writer: asyncio.StreamWriter) -> bool:
        """Answer one request well or badly; return whether the connection goes on."""
        is_messages = asked.path.endswith("/messages")
        if fault == "reset":
            writer.transport.abort()
            return False
        if fault == "silence":
            await asyncio.sleep(30)
            return False
        if fault.removeprefix("echo ").isdigit():
            told = "the provider says " + (_key_in(asked) if fault.startswith("echo ") else fault)
            error = {"error": {"type": "some_error", "message": told}}
            await _write(writer, int(fault.removeprefix("echo ")), json.dumps(error).encode(), {"retry-after": "0"})
            return True
        if fault == "too long":
            error = {"error": {"message": "This model's maximum context length is 2048 tokens."}}
            await _write(writer, 400, json.dumps(error).encode(), {})
            return True
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

    def _reply(self, asked: Asked, fault: str, *, is_messages: bool) -> dict[str, Any]:
        if "/models" in asked.path:
            return self._served_models(asked.path)
        if asked.path.endswith("/embeddings"):
            vectors = [] if fault == "shape" else self.embed(asked.body["input"])
            rows = [{"object": "embedding", "index": at, "embedding": vector} for at, vector in enumerate(vectors)]
            usage = {"prompt_tokens": 1, "total_tokens": 1}
            return {"object": "list", "data": rows[::-1], "model": asked.body["model"], "usage": usage}
        prompt = asked.body["messages"][0]["content"]
        text = "" if fault == "empty" else self._answer(asked.body)
        given, made = len(prompt.split()), len(text.split())
        if not fault:
            self.served += 1
            self.input_tokens += given
            self.output_tokens += made
        if is_messages:
            return {
                "id": f"msg_{len(self.asked)}",
                "type": "message",
                "role": "assistant",
                "model": asked.body["model"],
                "content": [{"type": "text", "text": text}] if text else [],
                "stop_reason": "refusal" if fault == "refusal" else "end_turn",
                "stop_sequence": None,
                "usage": {"input_tokens": given, "output_tokens": made},
            }
        finish = "content_filter" if fault == "filter" else "stop"
        message = {"role": "assistant", "content": text, "refusal": "I will not." if fault == "refusal" else None}
        return {
            "id": f"chatcmpl-{len(self.asked)}",
            "object": "chat.completion",
            "created": 1,
            "model": asked.body["model"],
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
    loop, ready = asyncio.new_event_loop(), Event()

    async def run() -> None:
        server = await asyncio.start_server(state.serve, "127.0.0.1", 0)
        state.port = server.sockets[0].getsockname()[1]
        ready.set()
        async with server:
            await server.serve_forever()

    def main() -> None:
        asyncio.set_event_loop(loop)
        with suppress(asyncio.CancelledError):
            loop.run_until_complete(run())

    thread = Thread(target=main, daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield state
    finally:
        loop.call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks(loop)])
        thread.join(10)
        loop.close()


def _key_in(asked: Asked) -> str:
    return asked.headers.get("authorization") or asked.headers["x-api-key"]


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    head = await reader.readuntil(b"\r\n\r\n") if not reader.at_eof() else b""
    if not head:
        return None
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Asked(first.split()[1], headers, json.loads(body) if body else {})


async def _write(writer: asyncio.StreamWriter, status: int, body: bytes, headers: dict[str, str]) -> None:
    fields = {"content-type": "application/json", "content-length": str(len(body)), **headers}
    head = f"HTTP/1.1 {status} Status\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    writer.write(head.encode() + b"\r\n" + body)
    await writer.drain()
