"""Decorators of verbs: `evolve` returns what `await aevolve` gives.

Rules
    - The async form of a verb that calls models works in the caller's loop. So do the models: a client that was made in
      a loop stays there. Computation between calls blocks that loop.
    - The sync form works anywhere. If a loop is already running, as in a notebook cell, the verb runs in a thread of
      its own.
"""

import asyncio
import functools
import inspect
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from pathlib import Path
from types import UnionType
from typing import Any, Literal, ParamSpec, TypeVar, cast, get_args, get_origin, get_type_hints

import msgspec

from mage_es.engine.config import PLACES
from mage_es.engine.run.directory import Run
from mage_es.events.errors import UsageError, nearest

P = ParamSpec("P")
T = TypeVar("T")
_TURN = 0.2
"""Seconds after which a waiting thread looks for a signal."""


def blocking(verb: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Return the sync form of an async verb whose name begins with `a`."""

    @functools.wraps(verb)
    def blocked(*args: P.args, **kwargs: P.kwargs) -> T:
        return _finished(verb(*args, **kwargs))

    return _called(blocked, verb.__name__.removeprefix("a"))


def in_thread(verb: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Return the async form of a verb that does not call models: it works in a thread."""

    @functools.wraps(verb)
    async def awaited(*args: P.args, **kwargs: P.kwargs) -> T:
        return await asyncio.to_thread(verb, *args, **kwargs)

    return _called(awaited, f"a{verb.__name__}")


F = TypeVar("F", bound=Callable[..., Any])


def typed(verb: F) -> F:
    """Return a verb that raises `UsageError` for an argument that its signature lacks, or that has another type. Only
    plain types, fixed words and pairs are checked; a protocol, a function or a list is checked where it is used."""
    signature = inspect.signature(verb)
    hints = functools.cache(lambda: get_type_hints(verb))  # once, and only when the module is complete

    @functools.wraps(verb)
    def called(*args: Any, **kwargs: Any) -> Any:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:
            where = f" {PLACES}" if {"config", "runtime"} & signature.parameters.keys() else ""
            raise UsageError(f"mage_es.{verb.__name__}: {error}.{where}") from None
        for name, value in given.items():
            hint = hints().get(name)
            origin, parts = get_origin(hint), get_args(hint)
            if origin is Literal and value not in parts:
                raise UsageError(f"{name} is {value!r:.80}.{nearest(str(value), list(parts))}")
            is_whole = isinstance(value, tuple | list) and len(value) == len(parts)
            if origin is tuple and ... not in parts and not is_whole:
                raise UsageError(f"{name} is {value!r:.80}: give a tuple of {len(parts)}.")
            kinds = parts if isinstance(hint, UnionType) else (hint,)
            is_plain = all(isinstance(kind, type) and issubclass(kind, _PLAIN) for kind in kinds)
            if is_plain and not isinstance(value, kinds):
                wanted = " or ".join(map(_named, kinds))
                raise UsageError(f"{name} is {value!r:.80}, of the type {type(value).__name__}: give {wanted}.")
        return verb(*args, **kwargs)

    return cast(F, called)


def _named(kind: type) -> str:
    if issubclass(kind, msgspec.Struct):
        return f"mage_es.{kind.__name__}(...)"
    return "None" if kind is type(None) else kind.__name__


_PLAIN = (str, int, Path, type(None), msgspec.Struct, Run)


def _called(function: F, name: str) -> F:
    function.__name__ = function.__qualname__ = name
    return function


def _finished(work: Coroutine[Any, Any, T]) -> T:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    begun = Future[tuple[asyncio.AbstractEventLoop, "asyncio.Task[Any] | None"]]()

    async def followed() -> T:
        begun.set_result((asyncio.get_running_loop(), asyncio.current_task()))
        return await work

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(asyncio.run, followed())
        try:
            # In short turns: if a library has set a signal's action, as data libraries do, the signal may not end a
            # wait.
            while not done.done():
                wait([done], timeout=_TURN)
            return done.result()
        except KeyboardInterrupt:  # a notebook's stop button reaches only the main thread
            loop, task = begun.result()
            with suppress(RuntimeError):  # it has ended by itself
                loop.call_soon_threadsafe(task.cancel if task else loop.stop)
            raise
