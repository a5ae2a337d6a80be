"""A server on loopback that answers as a request's own header tells it: well, badly, or not at all.

It speaks HTTP byte by byte, so that it can break what a library would not let it break.
"""

import asyncio
import gzip
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from queue import Queue
from typing import Any, NamedTuple

REPLIES: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "It is 7."}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 11, "completion_tokens": 4, "total_tokens": 15},
    },
    "/v1/messages": {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": "m",
        "content": [{"type": "text", "text": "It is 7."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 11, "output_tokens": 4},
    },
    "/v1/responses": {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": "m",
        "status": "completed",
        "output": [
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": "It is 7.", "annotations": []}],
            }
        ],
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {"input_tokens": 11, "output_tokens": 4, "total_tokens": 15},
    },
}
ARGUMENTS = '{"a": 3, "b": "\\u00e4\u2603"}'
CALLS: dict[str, dict[str, Any]] = {
    "/v1/chat/completions": {"id": "call_1", "type": "function", "function": {"name": "add", "arguments": ARGUMENTS}},
    "/v1/messages": {"type": "tool_use", "id": "toolu_1", "name": "add", "input": json.loads(ARGUMENTS)},
    "/v1/responses": {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "add",
        "arguments": ARGUMENTS,
        "status": "completed",
    },
}
"""What a reply to a request with tools asks of one, after its text."""
BOMB = gzip.compress(bytes(2**26))
WORDS = ("It", " is", " 7", ".")


class Asked(NamedTuple):
    """A request as it came."""

    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    def header(self, name: str) -> str:
        """Return the value of a header, empty for none."""
        return next((value for found, value in self.headers if found.lower() == name), "")


class Upstream:
    """The server, and what it saw. The header `x-do` of a request says how to treat it."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []
        self.left = 0
        """Connections that the other side closed before their reply was whole."""
        self.sent = 0
        """Bytes of the last endless reply."""
        self.port = 0
        self.go_on = threading.Event()
        """What `wait` waits for, in the middle of its reply."""
        self.always = ""
        """How to treat requests that do not say it."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while (asked := await _read(reader)) is not None:
                self.asked.append(asked)
                treat = asyncio.ensure_future(self._treat(asked, writer))
                gone = asyncio.ensure_future(reader.read(1))
                await asyncio.wait({treat, gone}, return_when=asyncio.FIRST_COMPLETED)
                has_left = not treat.done() or isinstance(treat.exception(), ConnectionError)
                self.left += has_left
                for task in (treat, gone):
                    task.cancel()
                await asyncio.gather(treat, gone, return_exceptions=True)
                if has_left or not treat.result():
                    return
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            return
        finally:
            writer.close()

    async def _treat(self, asked: Asked, writer: asyncio.StreamWriter) -> bool:
        """Answer a request; return whether the connection goes on."""
        do, path = asked.header("x-do") or self.always, asked.target.partition("?")[0]
        wish = _wish(asked.body)
        has_call = bool(wish.get("tools"))
        reply = reply_of(path, has_call=has_call) if path in REPLIES else {"data": [], "asked": asked.target}
        body = json.dumps(reply).encode()
        if do == "reset":
            writer.transport.abort()
            return False
        if do == "silence":
            await asyncio.sleep(600)
        if do == "429 once":
            do = "" if asked.header("x-stainless-retry-count") == "1" else "429"
        if do.isdigit():
            error = {"type": "error", "error": {"type": "some_error", "message": f"upstream says {do}", "code": None}}
            await _write(writer, json.dumps(error).encode(), do, {"retry-after": "7", "retry-after-ms": "1"})
        elif do == "redirect":
            await _write(writer, b"over there", "307", {"location": f"http://localhost:{self.port}/stolen"})
        elif do == "broken redirect":
            await _write(writer, b"over there", "302", {"location": "http://[/"})
        elif do == "gzip":
            await _write(writer, gzip.compress(body), "200", {"content-encoding": "gzip"})
        elif do == "bomb":
            await _write(writer, BOMB, "200", {"content-encoding": "gzip"})
        elif do == "huge head":
            await _write(writer, body, "200", {f"x-{number}": "y" * 1000 for number in range(300)})
        elif do == "nonsense":
            writer.write(b"this is no HTTP\r\n\r\n")
            await writer.drain()
            return False
        elif do == "cut":
            writer.write(f"HTTP/1.1 200 OK\r\ncontent-length: {len(body)}\r\n\r\n".encode() + body[:20])
            await writer.drain()
            writer.transport.abort()
            return False
        elif do in ("stream", "wait", "cut stream", "stall", "endless") or (not do and wish.get("stream")):
            return await self._stream(do, events(path, has_call=has_call), writer)
        else:
            await _write(writer, body, "200", {"x-request-id": "r-1", "x-mage-marker": "forged", "set-cookie": "a=b"})
        return True

    async def _stream(self, do: str, pieces: list[bytes], writer: asyncio.StreamWriter) -> bool:
        await _begin(writer)
        self.sent = 0
        while do == "endless":
            await _chunk(writer, b": " + b"x" * 65000 + b"\n\n")
            self.sent += 65000
        for number, piece in enumerate(pieces):
            await _chunk(writer, piece)
            if number == 1:
                if do == "cut stream":
                    writer.transport.abort()
                    return False
                if do == "stall":
                    await asyncio.sleep(600)
                if do == "wait":
                    while not self.go_on.is_set():
                        await asyncio.sleep(0.01)
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True


def reply_of(path: str, *, has_call: bool = False) -> dict[str, Any]:
    """Return a reply, with the call of a tool if one is asked for."""
    reply = deepcopy(REPLIES[path])
    if has_call and path == "/v1/chat/completions":
        reply["choices"][0]["message"]["tool_calls"] = [CALLS[path]]
        reply["choices"][0]["finish_reason"] = "tool_calls"
    elif has_call:
        reply["content" if path == "/v1/messages" else "output"].append(CALLS[path])
        reply |= {"stop_reason": "tool_use"} if path == "/v1/messages" else {}
    return reply


def events(path: str, *, has_call: bool = False) -> list[bytes]:
    """Return a reply as a stream of events."""
    reply = reply_of(path, has_call=has_call)
    if path == "/v1/chat/completions":
        return [*(b"data: " + json.dumps(piece).encode() + b"\n\n" for piece in _chunks(reply)), b"data: [DONE]\n\n"]
    said = _of_messages(reply) if path == "/v1/messages" else _of_responses(reply)
    return [f"event: {kind}\ndata: {json.dumps({'type': kind, **rest})}\n\n".encode() for kind, rest in said]


def _chunks(reply: dict[str, Any]) -> Iterator[dict[str, Any]]:
    head = {"id": reply["id"], "object": "chat.completion.chunk", "created": 1, "model": "m"}
    [choice] = reply["choices"]
    deltas: list[dict[str, Any]] = [{"content": word} for word in WORDS]
    for call in choice["message"].get("tool_calls", ()):
        begun = {"index": 0, **call, "function": {**call["function"], "arguments": ""}}
        deltas.append({"tool_calls": [begun]})
        deltas += [{"tool_calls": [{"index": 0, "function": {"arguments": piece}}]} for piece in _halves()]
    for delta in deltas:
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]}
    yield {**head, "choices": [], "usage": reply["usage"]}


_Events = Iterator[tuple[str, dict[str, Any]]]


def _of_messages(reply: dict[str, Any]) -> _Events:
    yield "message_start", {"message": {**reply, "content": [], "stop_reason": None}}
    yield "ping", {}
    for index, block in enumerate(reply["content"]):
        is_text = block["type"] == "text"
        empty = {"text": ""} if is_text else {"input": {}}
        yield "content_block_start", {"index": index, "content_block": {**block, **empty}}
        kind, key = ("text_delta", "text") if is_text else ("input_json_delta", "partial_json")
        for piece in WORDS if is_text else _halves():
            yield "content_block_delta", {"index": index, "delta": {"type": kind, key: piece}}
        yield "content_block_stop", {"index": index}
    delta = {"stop_reason": reply["stop_reason"], "stop_sequence": None}
    yield "message_delta", {"delta": delta, "usage": {"output_tokens": 4}}
    yield "message_stop", {}


def _of_responses(reply: dict[str, Any]) -> _Events:
    def numbered() -> _Events:
        begun = {**reply, "output": [], "status": "in_progress", "usage": None}
        yield "response.created", {"response": begun}
        yield "response.in_progress", {"response": begun}
        for index, item in enumerate(reply["output"]):
            at = {"item_id": item["id"], "output_index": index}
            is_text = item["type"] == "message"
            empty = {"content": []} if is_text else {"arguments": ""}
            begun = {**item, **empty, "status": "in_progress"}
            yield "response.output_item.added", {"output_index": index, "item": begun}
            if is_text:
                [part], at = item["content"], {**at, "content_index": 0}
                yield "response.content_part.added", {**at, "part": {**part, "text": ""}}
                for word in WORDS:
                    yield "response.output_text.delta", {**at, "delta": word, "logprobs": []}
                yield "response.output_text.done", {**at, "text": part["text"], "logprobs": []}
                yield "response.content_part.done", {**at, "part": part}
            else:
                for piece in _halves():
                    yield "response.function_call_arguments.delta", {**at, "delta": piece}
                done = {"name": item["name"], "arguments": item["arguments"]}
                yield "response.function_call_arguments.done", {**at, **done}
            yield "response.output_item.done", {"output_index": index, "item": item}
        yield "response.completed", {"response": reply}

    for number, (kind, rest) in enumerate(numbered()):
        yield kind, {"sequence_number": number, **rest}


def _halves() -> tuple[str, str]:
    return ARGUMENTS[:7], ARGUMENTS[7:]


def _wish(body: bytes) -> dict[str, Any]:
    """Return a request as its API reads it; what it does not understand is an empty one."""
    try:
        found = json.loads(body)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


@contextmanager
def upstream() -> Iterator[Upstream]:
    """Run a server on a loopback port while the block lasts."""
    state, ready, is_over = Upstream(), Queue[asyncio.AbstractEventLoop](), asyncio.Event()

    async def run() -> None:
        server = await asyncio.start_server(state.serve, "127.0.0.1", 0, limit=2**20)
        state.port = server.sockets[0].getsockname()[1]
        ready.put(asyncio.get_running_loop())
        await is_over.wait()
        server.close()

    thread = threading.Thread(target=lambda: asyncio.run(run()), daemon=True)
    thread.start()
    loop = ready.get()
    try:
        yield state
    finally:
        state.go_on.set()
        loop.call_soon_threadsafe(is_over.set)
        thread.join()


async def _read(reader: asyncio.StreamReader) -> Asked | None:
    head = await reader.readuntil(b"\r\n\r\n") if not reader.at_eof() else b""
    if not head:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in lines if line)]
    method, target, _ = first.split()
    asked = Asked(method, target, headers, b"")
    if asked.header("transfer-encoding"):
        body = b""
        while size := int(await reader.readline(), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readline()
        return asked._replace(body=body)
    return asked._replace(body=await reader.readexactly(int(asked.header("content-length") or 0)))


async def _write(writer: asyncio.StreamWriter, body: bytes, status: str, headers: dict[str, str]) -> None:
    fields = {"content-type": "application/json", "content-length": str(len(body)), **headers}
    head = f"HTTP/1.1 {status} Status\r\n" + "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    writer.write(head.encode() + b"\r\n" + body)
    await writer.drain()


async def _begin(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
    await writer.drain()


async def _chunk(writer: asyncio.StreamWriter, piece: bytes) -> None:
    writer.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
    await writer.drain()
