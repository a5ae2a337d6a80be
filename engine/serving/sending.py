"""An HTTP client wrapped in a class whose `send` goes through a desk (engine/serving/clients.py), for any httpx."""

import inspect
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any


class SeenThrough:
    """An HTTP client wrapped in a class of ours."""

    __slots__ = ()
    desk: Any

    def __del__(self) -> None:
        """Close nothing: the connections belong to the client that this one is a view of."""


class _SyncPassing(SeenThrough):
    __slots__ = ()

    def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
        parent: Any = super()
        passage = self.desk.passage(request)
        if passage is None:
            return parent.send(request, stream=stream, **options)
        passage.wait()
        if refused := passage.refused():
            return refused
        try:
            response = parent.send(passage.onward(), stream=True, **options)
            passage.answered(response, _sync_tee)
            if not stream:
                response.read()
        except BaseException as error:  # recorded, and raised again
            passage.fail(error)
            raise
        return response


class _AsyncPassing(SeenThrough):
    __slots__ = ()

    async def send(self, request: Any, *, stream: bool = False, **options: Any) -> Any:
        parent: Any = super()
        passage = self.desk.passage(request)
        if passage is None:
            return await parent.send(request, stream=stream, **options)
        import anyio.to_thread  # which both SDKs work with, so this is not tied to asyncio either

        await anyio.to_thread.run_sync(passage.wait)
        if refused := passage.refused():
            return refused
        try:
            response = await parent.send(passage.onward(), stream=True, **options)
            passage.answered(response, _async_tee)
            if not stream:
                await response.aread()
        except BaseException as error:  # recorded, and raised again
            passage.fail(error)
            raise
        return response


def seen_through(inner: Any, desk: Any) -> Any:
    """Return the same HTTP client with a `send` that goes through the desk, whatever its class and generation of
    httpx."""
    base = type(inner)
    way = _AsyncPassing if inspect.iscoroutinefunction(base.send) else _SyncPassing
    # A subclass of the same class that shares its state: what changes one changes the other.
    view: Any = object.__new__(type(base.__name__, (way, base), {"__slots__": ("desk", "inner")}))
    view.__dict__ = inner.__dict__
    view.desk, view.inner = desk, inner  # the SDK's client closes its connections when it is no longer referred to
    return view


def httpx_of(request: Any) -> Any:
    """Return httpx or httpx2, whichever the request belongs to."""
    return sys.modules[type(request).__module__.partition(".")[0]]


def _sync_tee(module: Any, inner: Any, passage: Any) -> Any:
    class Tee(module.SyncByteStream):  # type: ignore[misc]
        def __iter__(self) -> Iterator[bytes]:
            try:
                for piece in inner:
                    passage.reader.feed(piece)
                    yield piece
            except Exception as error:  # recorded, and raised again
                passage.fail(error)
                raise
            passage.close("answered")

        def close(self) -> None:
            inner.close()
            passage.close("left")

    return Tee()


def _async_tee(module: Any, inner: Any, passage: Any) -> Any:
    class Tee(module.AsyncByteStream):  # type: ignore[misc]
        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for piece in inner:
                    passage.reader.feed(piece)
                    yield piece
            except Exception as error:  # recorded, and raised again
                passage.fail(error)
                raise
            passage.close("answered")

        async def aclose(self) -> None:
            await inner.aclose()
            passage.close("left")

    return Tee()
