"""A proxy in a thread of this process, in front of a server of the tests'."""

import asyncio
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from mage_es.engine.run.telemetry import Outbox
from mage_es.engine.serving.app import App
from mage_es.engine.serving.door import Door
from mage_es.engine.serving.live import LiveRun
from mage_es.engine.serving.proxy import Allowance
from mage_es.engine.serving.server import listening, serve_until

PATIENCE_S = 300.0
"""Longer than anything takes that goes well, on a machine ten times slower than ours."""


@contextmanager
def serving(
    lives: Mapping[str, LiveRun],
    upstream: str,
    *,
    door: Door | None = None,
    head_s: float = PATIENCE_S,
    outbox: Outbox | None = None,
    **allowance: Any,
) -> Iterator[str]:
    """Serve runs, the first of them to all where there are no keys; give the address. They are closed at the end."""
    stop, listener = threading.Event(), listening("127.0.0.1", 0)

    async def run() -> None:
        door_of = door or Door(None, next(iter(lives), ""))
        app = App(door_of, upstream, lives, allowance=Allowance(**allowance), outbox=outbox)
        async with app.running():
            await serve_until(stop.is_set, app.asgi, listener, grace_s=5, head_s=head_s)
        for live in lives.values():
            await live.aclose()

    thread = threading.Thread(target=lambda: asyncio.run(run()))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        stop.set()
        thread.join()


def exchanged(address: str, sent: bytes) -> bytes:
    """Send bytes to a server and return all that it sends before it closes the connection."""
    host, _, port = address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
        connection.sendall(sent)
        received = b""
        while piece := connection.recv(65536):
            received += piece
        return received
