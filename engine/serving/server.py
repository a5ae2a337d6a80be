"""The server that carries the routes: it binds to an address of this machine, and closes idle connections."""

import asyncio
import errno
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from mage_es.events.errors import PrerequisiteError, UsageError

HEAD_S = 30.0
"""Longest time that a request's head may take."""
GRACE_S = 30
"""How many seconds streams have to end once the server is asked to stop."""
_IDLE_S = 75
_MOST_CONNECTIONS = 4000
_TURN_S = 0.1


class _Punctual(H11Protocol):
    """uvicorn's protocol, except that the whole head of a request must arrive in time, not only its first byte."""

    def __init__(self, patience_s: float, **rest: Any) -> None:
        super().__init__(**rest)
        self._patience_s = patience_s

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.timeout_keep_alive_task = self.loop.call_later(self._patience_s, self.timeout_keep_alive_handler)

    def data_received(self, data: bytes) -> None:
        # As in the base class, but keeping the timer: `handle_events` clears it for a whole head.
        self.conn.receive_data(data)
        self.handle_events()


class _Server(uvicorn.Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to the command."""
        yield


def listening(host: str, port: int) -> socket.socket:
    """Return a socket that listens.

    Raises `PrerequisiteError` for a port that is in use, and `UsageError` for an address that is not this machine's.
    """
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.create_server((host, port), family=family, backlog=2048)
        # Its connections inherit this. Otherwise the last piece of a reply may wait 40 ms for the client to confirm the
        # one before: asyncio sets this only for sockets that it opens itself.
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listener
    except OSError as error:
        if error.errno in (errno.EADDRINUSE, errno.EACCES):
            why = "in use" if error.errno == errno.EADDRINUSE else "not open to this user"
            raise PrerequisiteError(f"Port {port} of {host} is {why}. Pass another with --port.") from None
        raise UsageError(f"{host}:{port} is not an address of this machine ({error}). Pass --host 127.0.0.1.") from None


async def serve_until(
    stop: Callable[[], bool], asgi: Any, listener: socket.socket, *, grace_s: int = GRACE_S, head_s: float = HEAD_S
) -> None:
    """Serve until `stop` returns true; then finish open requests within `grace_s` seconds.

    The head of a request may take `head_s` seconds.
    """
    config = uvicorn.Config(
        asgi,
        http=partial(_Punctual, head_s),  # type: ignore[arg-type]
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_keep_alive=_IDLE_S,
        timeout_graceful_shutdown=grace_s,
    )
    server = _Server(config)
    serving = asyncio.create_task(server.serve(sockets=[listener]))
    while not serving.done():
        await asyncio.wait({serving}, timeout=_TURN_S)
        server.should_exit = server.should_exit or stop()
    await serving
