"""The client's side of a request: the body in pieces, the client hanging up, and the reply as it passes back."""

import asyncio
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, Literal

from mage_es.engine.served.tenants import Refused
from mage_es.engine.serving.replies import ReplyReader, ReplyUsage
from mage_es.events.vocabulary.serving import RequestShape

_LINGER_S, _PAUSE_S = 30.0, 1.0
"""How many seconds a refused client may go on sending, and how long it may pause, and still get to read why."""


class Incoming:
    """A request as it arrives; it knows when all of it has arrived."""

    def __init__(self, receive: Any) -> None:
        self._receive, self._is_over = receive, False

    async def receive(self) -> Any:
        message = await self._receive()
        self._is_over = not message.get("more_body")
        return message

    async def pass_over(self) -> None:
        """Read what is left, for a while: a connection that is closed with bytes unread is reset, and its client may
        never see the reply."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LINGER_S):
                while not self._is_over:
                    async with asyncio.timeout(_PAUSE_S):
                        await self.receive()


class Asker:
    """A client whose request is read and answered; created in the answering task, which is cancelled if the client
    hangs up."""

    def __init__(self, scope: Any, receive: Any, patience_s: float, remedy: str = "Send less.") -> None:
        """`remedy` says what to do about a request that is too large."""
        self._receive, self._patience_s, self._remedy = receive, patience_s, remedy
        self._length = int(dict(scope["headers"]).get(b"content-length", 0))
        self._task = asyncio.current_task()
        self._watch: asyncio.Task[None] | None = None
        self.is_gone = False

    async def whole(self, most: int) -> bytes:
        """Return the body. Raises `Refused` if it is longer than `most` bytes, or stalls."""
        self.require_length(most)
        return b"".join([piece async for piece in self.pieces(most)])

    def require_length(self, most: int) -> None:
        """Raise `Refused` if the request declares a body of more than `most` bytes."""
        if self._length > most:
            raise self._too_large(most)

    async def pieces(self, most: int) -> AsyncIterator[bytes]:
        """Yield the body as it arrives, then watch whether the client hangs up. Raises `Refused` beyond `most`
        bytes."""
        message, size = {"more_body": True}, 0
        while message.get("more_body"):
            try:
                async with asyncio.timeout(self._patience_s):
                    message = await self._receive()
            except TimeoutError:
                raise Refused(408, f"The request stopped for {self._patience_s:g} seconds.") from None
            if message["type"] == "http.disconnect":
                self.is_gone = True
                raise asyncio.CancelledError
            if body := message.get("body"):
                size += len(body)
                if size > most:
                    raise self._too_large(most)
                yield body
        self._watch = asyncio.create_task(self._watched())

    def _too_large(self, most: int) -> Refused:
        return Refused(413, f"The request is larger than {most} bytes. {self._remedy}")

    async def _watched(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.is_gone = True
        if self._task:
            self._task.cancel()

    def rest(self) -> None:
        """Stop watching: the end of a reply looks like hanging up."""
        if self._watch:
            self._watch.cancel()
            # The task keeps its cancellation, and with it a frame that refers to this object: a cycle for the garbage
            # collector.
            self._watch = None

    def close(self) -> None:
        """Forget that the task was cancelled, if it was because the client hung up."""
        self.rest()
        if self.is_gone and self._task:
            while self._task.cancelling():
                self._task.uncancel()


class Exchange:
    """A reply as it passes back, and its outcome. If the request has a `shape`, the reply is read as it passes."""

    def __init__(self, send: Any, shape: RequestShape | None) -> None:
        self._send, self._shape = send, shape
        self.outcome: Literal["answered", "left", "failed"] = "failed"
        self.status, self.problem, self.treatment, self.overhead_s = 0, "the server was stopped", "none", 0.0
        self.sent_s = self.replied_s = 0.0
        """When the request went to the upstream, and when its reply began; 0 if it has not yet."""
        self.reader: ReplyReader | None = None
        self._headers: Sequence[tuple[bytes, bytes]] = ()

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        await self._send(message)

    async def start(self, status: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        self._headers = headers
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    async def pass_back(self, piece: bytes) -> None:
        # Read only after it was sent on, so that no client waits for that.
        await self._send({"type": "http.response.body", "body": piece, "more_body": True})
        if self._shape:
            self.reader = self.reader or ReplyReader(self._shape, *self._kind())
            self.reader.feed(piece)

    @property
    def is_event_stream(self) -> bool:
        kind, encoding = self._kind()
        return not encoding and kind.startswith("text/event-stream")

    def _kind(self) -> tuple[str, str]:
        """Return the content's type and encoding."""
        said = texts_of(self._headers)
        return said.get("content-type", ""), said.get("content-encoding", "")

    async def finish(self) -> None:
        self.outcome, self.problem = "answered", ""
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    def leave(self) -> None:
        """The client hung up. Clients also do that once a stream has announced its end."""
        self.outcome, self.problem = "answered" if self.reader and self.reader.is_done else "left", ""

    def usage(self) -> ReplyUsage:
        return self.reader.usage() if self.reader else ReplyUsage()


def unpacked(body: bytes, encoding: str, most: int) -> bytes | None:
    """Return a body without its encoding, gzip or deflate; None for any other, or if it is damaged or would have more
    than `most` bytes."""
    if encoding.strip().lower() not in ("gzip", "x-gzip", "deflate"):
        return None
    unpacking = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)  # which finds out whether it is gzip or zlib
    try:
        plain = unpacking.decompress(body, most)
    except zlib.error:
        return None
    return plain if unpacking.eof and not unpacking.unused_data else None


def texts_of(headers: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}


async def answer(
    send: Any,
    status: int,
    body: bytes,
    headers: Sequence[tuple[bytes, bytes]] = (),
    *,
    kind: bytes = b"application/json",
    before_end: Callable[[], Awaitable[None]] | None = None,
) -> None:
    """Send a whole reply of our own; `before_end` is awaited once it is sent, before the connection may close."""
    own = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": own})
    if before_end:
        await send({"type": "http.response.body", "body": body, "more_body": True})
        body = b""
        await before_end()
    await send({"type": "http.response.body", "body": body, "more_body": False})
