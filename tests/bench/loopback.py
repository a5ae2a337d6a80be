"""Servers on loopback, each in a process of its own: an upstream that answers at once, and a bare pass-through to it.

The upstream says `REPLY` to a request, or as many events as its header `x-events` asks for, `x-pause-ms` apart; with
`x-echo: 1` it says the request's own body.
The bare pass-through is what a proxy of this stack needs at least: a route of Starlette's, the body, the headers but
those of the connection, httpx's transport set up as `mage-es serve` does, as its uvicorn is, and the reply's pieces.
"""

import asyncio
import json
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Route

_USAGE = {"prompt_tokens": 900, "completion_tokens": 40, "prompt_tokens_details": {"cached_tokens": 512}}
_OF = {"id": "chatcmpl-1", "created": 1, "model": "m"}
SAID = "There are six boxes with seven jars in each, and six times seven is 42: she packs 42 jars in all. " * 8
REPLY = json.dumps(
    {
        **_OF,
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": SAID}, "finish_reason": "stop"}],
        "usage": _USAGE,
    }
).encode()
HOPS = {b"connection", b"host", b"content-length", b"transfer-encoding", b"keep-alive", b"te", b"upgrade"}


def word(number: int) -> str:
    """Return what an event of a streamed reply says."""
    return f"word {number} "


def event(number: int) -> bytes:
    """Return one event of a streamed reply."""
    delta = {"index": 0, "delta": {"content": word(number)}, "finish_reason": None}
    return b"data: " + json.dumps({**_OF, "object": "chat.completion.chunk", "choices": [delta]}).encode() + b"\n\n"


END = b"data: [DONE]\n\n"


def stream(events: int) -> bytes:
    """Return all that a streamed reply says."""
    return b"".join(event(number) for number in range(events)) + END


def upstream(port: int) -> None:
    """Answer as fast as this can be done."""
    whole = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%s"
    begin = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"

    def chunk(piece: bytes) -> bytes:
        return b"%x\r\n%s\r\n" % (len(piece), piece)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError), closing(writer):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).lower()
                body = await reader.readexactly(_number(head, b"content-length"))
                said = body if _number(head, b"x-echo") else REPLY
                if not (events := _number(head, b"x-events")):
                    writer.write(whole % (len(said), said))
                    continue
                writer.write(begin + chunk(event(0)))
                pause = _number(head, b"x-pause-ms") / 1000
                for number in range(1, events):
                    await asyncio.sleep(pause)
                    writer.write(chunk(event(number)))
                writer.write(chunk(END) + b"0\r\n\r\n")

    async def serve() -> None:
        server = await asyncio.start_server(answer, "127.0.0.1", port, backlog=1000)
        await server.serve_forever()

    with suppress(KeyboardInterrupt):
        asyncio.run(serve())


def _number(head: bytes, name: bytes) -> int:
    _, found, rest = head.partition(b"\r\n" + name + b": ")
    return int(rest[: rest.index(b"\r\n")]) if found else 0


def bare(port: int, to: int) -> None:
    """Pass requests on to the upstream at port `to`."""
    waits = {"timeout": {"connect": 10.0, "read": 600.0, "write": 600.0, "pool": 10.0}}
    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=1000, keepalive_expiry=4.0)
    transport = httpx2.AsyncHTTPTransport(limits=limits)

    class PassOn:
        async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
            body, more = b"", True
            while more:
                message = await receive()
                body, more = body + message.get("body", b""), message.get("more_body", False)
            headers = [(name, value) for name, value in scope["headers"] if name not in HOPS]
            url = httpx2.URL(scheme="http", host="127.0.0.1", port=to, raw_path=scope["raw_path"])
            request = httpx2.Request(scope["method"], url, headers=headers, content=body, extensions=waits)
            reply = await transport.handle_async_request(request)
            try:
                back = [(name.lower(), value) for name, value in reply.headers.raw if name.lower() not in HOPS]
                if (size := reply.headers.get("content-length")) is not None:
                    back.append((b"content-length", size.encode()))
                await send({"type": "http.response.start", "status": reply.status_code, "headers": back})
                async for piece in reply.stream:
                    await send({"type": "http.response.body", "body": piece, "more_body": True})
                await send({"type": "http.response.body", "body": b"", "more_body": False})
            finally:
                await reply.aclose()

    app = Starlette(routes=[Route("/{rest:path}", PassOn())])
    uvicorn.run(
        app, host="127.0.0.1", port=port, loop="asyncio", http="h11", log_level="critical", timeout_keep_alive=75
    )


@contextmanager
def served(work: Callable[..., None], *arguments: int) -> Iterator[int]:
    """Yield the port of a server in a process of its own."""
    port = free_port()
    process = multiprocessing.get_context("spawn").Process(target=work, args=(port, *arguments), daemon=True)
    process.start()
    try:
        wait_for(port, process.is_alive)
        yield port
    finally:
        process.terminate()
        process.join()


class Served(NamedTuple):
    """A `mage-es serve` of its own process."""

    port: int
    pid: int

    def rss(self) -> float:
        """Return its resident memory in MiB."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))

    def cpu(self) -> float:
        """Return the seconds of CPU that it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def mage_es(run_id: str, folder: Path, to: int, *more: str, last: signal.Signals = signal.SIGINT) -> Iterator[Served]:
    """Serve a run as a user does, but without holdback and floor, so that every request has memories put in, unless
    `more` options say otherwise."""
    port = free_port()
    command = [sys.executable, "-c", "from mage_es.cli import main; main()", "serve", run_id]
    command += ["--runs-dir", str(folder), "--upstream", f"http://127.0.0.1:{to}"]
    command += ["--port", str(port), "--holdback", "0", "--min-similarity", "0", *more]
    with (folder / "serve.log").open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
    try:
        wait_for(port, lambda: process.poll() is None, "/healthz")
        yield Served(port, process.pid)
    except BaseException:
        print((folder / "serve.log").read_text()[-2000:], file=sys.stderr)
        raise
    finally:
        process.send_signal(last)
        process.wait(60)


def free_port() -> int:
    """Return a port where nothing listens."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


def wait_for(port: int, is_alive: Callable[[], bool], path: str = "", seconds: float = 120) -> None:
    """Return when a server listens, or answers at a path."""
    until = time.monotonic() + seconds
    while is_alive() and time.monotonic() < until:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), seconds) as connection:
            if path:
                connection.sendall(f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n".encode())
            if not path or connection.recv(1):
                return
        time.sleep(0.05)
    raise SystemExit("a server did not start")
