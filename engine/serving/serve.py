"""The verb `serve`: what runs learned, added to the requests of applications on their way to a model."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from functools import partial
from pathlib import Path
from socket import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from mage_es.engine.run.directory import RUNS_DIR, find_run
from mage_es.engine.run.runtime import Runtime, Telemetry
from mage_es.engine.run.served import Serving
from mage_es.engine.run.telemetry import sending_to
from mage_es.engine.served.notes import NoteBounds
from mage_es.engine.serving.bounds import bounds_of
from mage_es.engine.serving.journal import Health
from mage_es.engine.serving.live import LiveRun
from mage_es.engine.serving.opening import ReadyToServe, ready_to_serve
from mage_es.engine.serving.publish import models_of, require_publishing
from mage_es.engine.verbs.decorators import blocking, typed
from mage_es.events.disk.opening import read_small
from mage_es.events.errors import Interrupted, MageError, PrerequisiteError, UsageError, redacted
from mage_es.events.log.allocators import give_back_freed, give_back_large
from mage_es.events.signing.notes import Signer
from mage_es.events.vocabulary import Paired

if TYPE_CHECKING:
    from mage_es.engine.served.tenants import Key, KeyRing
    from mage_es.engine.serving.door import Door
    from mage_es.engine.serving.proxy import Allowance

_logger = logging.getLogger(__name__)
HASH_WORDS = (
    "Its embedder `hash` knows words but no meaning, so a reworded question is far: for what people write, "
    "evolve with --embedder sentence-transformers/all-MiniLM-L6-v2, or openai/<model>?base_url=URL."
)


class ServedAt(msgspec.Struct, frozen=True, kw_only=True):
    """A served run, the run whose memories it has, the marker whose state new sessions see, the smallest and the
    largest of the cosines that task types require of a memory, and the embedder. `benefit` says what the anchors showed
    and what is served: a record for each task type, then one for all types; it is empty if nothing was tested. `stale`
    counts its pairs with an answer of an older state."""

    run_id: str
    parent: str
    marker: str
    floors: tuple[float, float]
    embedder: str
    benefit: tuple[Paired, ...] = ()
    stale: int = 0


class ServeReport(msgspec.Struct, frozen=True, kw_only=True):
    """The address of served runs, and the upstream."""

    address: str
    upstream: str
    runs: tuple[ServedAt, ...]
    unrecorded: int = 0
    """Requests that went on without memories and are not on record, because too many came at once, or the disk or the
    embedder failed; known at the end."""


@typed
async def aserve(
    run: str,
    settings: Serving,
    *,
    signer: Signer | None = None,
    telemetry: Telemetry | None = None,
    runs_dir: Path | str = RUNS_DIR,
    data_dir: Path | str | None = None,
    begun: Callable[[ServeReport], None] = lambda report: None,
    stop: Callable[[], bool] = lambda: False,
    say: Callable[[str], None] = lambda words: None,
) -> ServeReport:
    """Serve until `stop` returns true, then finish open requests and record what is still waiting; `begun` is called at
    the start.

    `say` reports what a publish did and, with `access_log`, each request. The file of keys is read again when it
    changes. With a `signer` the head of each served run is signed at the start and at the end. A collector of
    `telemetry` gets a trace of each request, as part of its client's trace.

    Raises:
        UsageError: An address, a marker or the file of keys is not valid; other machines could get in without a key;
            the collector is to get texts that are not recorded; or a run that is to be published cannot be.
        PrerequisiteError: The port is in use; a package or the upstream's key is missing.
        RunLocked: Another process serves the run.
    """
    _require_packages()
    from mage_es.engine.served.tenants import read_keys, require_local
    from mage_es.engine.serving.app import App
    from mage_es.engine.serving.door import Door
    from mage_es.engine.serving.server import listening, serve_until

    address, keys, host = _address(settings.upstream), Path(settings.keys) if settings.keys else None, settings.host
    ring, own = read_keys(keys) if keys else None, (run, settings.at, settings.run_id or None)
    known = read_small(keys) if keys else b""  # before the runs are opened, which may take long
    require_local(host, ring)
    _require_trust(settings, keys)
    opening: dict[str, Any] = {
        "data_dir": data_dir,
        "learn": settings.learn,
        "holdback": settings.holdback,
        "record_texts": settings.record_texts,
        "upstream": address,
        "bounds": _bounds(settings),
        "signer": signer,
        "say": say,
        "publishes": settings.publish_every > 0,
    }
    if telemetry and telemetry.texts and not settings.record_texts:
        raise UsageError("--otel-texts sends the texts that are recorded, and none are: add --record-texts.")
    tasks = list[asyncio.Task[None]]()
    async with AsyncExitStack() as stack:
        outbox = stack.enter_context(sending_to(telemetry, say)) if telemetry else None
        listener = stack.enter_context(listening(host, settings.port))
        ring, lives = await stack.enter_async_context(_opened(own, ring, Path(runs_dir), **opening))
        runs = {live.run.id: live for live in lives.values()}
        door = Door(ring, next(iter(runs)), hosts=(host,), trust=settings.trust)
        allowance = _allowance(settings)
        hosts = (host, *(ring.hosts if ring else ()))
        said = say if settings.access_log else None
        app = App(door, address, runs, allowance=allowance, hosts=hosts, say=said, outbox=outbox)
        await stack.enter_async_context(app.running())
        report = _report(listener, address, lives)
        stack.enter_context(_settled())
        begun(report)

        def is_over() -> bool:
            """Whether to stop; an error of what runs beside the server ends it, too, so that it is seen."""
            return stop() or any(task.done() and task.exception() for task in tasks)

        beside = [
            _publishing(60 * settings.publish_every, lives.values(), is_over, say),
            _watching(lives.values(), is_over, say),
        ]
        if keys:
            beside.append(_rereading(keys, known, door, own, lives, is_over, say))
        tasks += map(asyncio.create_task, beside)
        await serve_until(is_over, app.asgi, listener)
        await asyncio.wait(tasks)
    for task in tasks:
        task.result()
    return replace(report, unrecorded=app.proxy.unrecorded)


serve = blocking(aserve)


def _require_packages() -> None:
    try:
        import mage_es.engine.serving.app  # noqa: F401
    except ImportError as error:
        raise PrerequisiteError(
            f"Serving needs the package {error.name}: python -m pip install 'mage-es[serve]'"
        ) from error


@contextmanager
def _settled() -> Iterator[None]:
    """Exempt the current states from garbage collection, which would hold up every stream, and return the memory used
    to open them. Objects that the user's own program had already exempted stay exempt."""
    is_ours = not gc.get_freeze_count()  # Python unfreezes all or nothing
    gc.collect()
    gc.freeze()
    give_back_freed()
    give_back_large()
    try:
        yield
    finally:
        if is_ours:
            gc.unfreeze()


_Wanted = tuple[str, str, str | None]


def _reached_by(key: Key, own: _Wanted) -> _Wanted:
    """Return the run that a key reaches, the marker, and the name of the run that serves it; None for the default."""
    run, at, name = own
    return (key.run or run, key.at if key.run else at, key.served_run or (None if key.run else name))


@asynccontextmanager
async def _opened(
    own: _Wanted,
    ring: KeyRing | None,
    runs_dir: Path,
    *,
    publishes: bool,
    data_dir: Path | str | None,
    bounds: NoteBounds,
    **options: Any,
) -> AsyncIterator[tuple[KeyRing | None, Mapping[_Wanted, LiveRun]]]:
    """Open every run that a key reaches or, without keys, the one that the command line names; none is created before
    all are found ready."""
    lives, ready = dict[_Wanted, LiveRun](), dict[_Wanted, ReadyToServe]()
    for wanted in dict.fromkeys(_reached_by(key, own) for key in ring.keys) if ring else [own]:
        parent, at, name = wanted
        run = find_run(runs_dir, parent)
        more: dict[str, Any] = {"require": partial(require_publishing, run)} if publishes else {}
        found = ready_to_serve(run, at, name=name, layout=bounds.layout, runs_dir=runs_dir, data_dir=data_dir, **more)
        if found.run in [other.run for other in ready.values()]:
            raise UsageError(
                f"{found.run.id} would serve {parent} at {at} to one key and something else to another: give one of "
                "them another `served_run`."
            )
        ready[wanted] = found
    async with AsyncExitStack() as stack:
        for wanted, found in ready.items():
            live = LiveRun.begin(found, bounds=bounds, **options)
            stack.push_async_callback(live.aclose)
            live.frozen(live.marker).warm()
            lives[wanted] = live
        if ring:
            reached = (replace(key, served_run=lives[_reached_by(key, own)].run.id) for key in ring.keys)
            ring = replace(ring, keys=tuple(reached))
        yield ring, lives


async def _publishing(
    every_s: float, lives: Iterable[LiveRun], stop: Callable[[], bool], say: Callable[[str], None]
) -> None:
    """Publish new feedback every so many seconds (0: never). Failures are reported, in the run's health until a publish
    succeeds, and retried the next time."""
    waited = 0
    while every_s and not stop():
        await asyncio.sleep(1)
        waited += 1
        if waited < every_s:
            continue
        waited = 0
        for live in lives:
            try:
                models = models_of(live.world.setting.config)
                for each in await asyncio.to_thread(live.publish, models, Runtime(stop=stop)):
                    verdict = each.verdict.replace("_", " ")
                    counts = f"memories {each.published} published, {each.refused} refused; rewards {each.rewards}"
                    say(f"{live.run.id}: iter-{each.iteration} {verdict}: {counts}.")
                    if each.waiting:
                        say(f"Proposals that wait for a person: {each.waiting}; mage-es memory review {live.run.id}")
            except Interrupted:
                return  # the server stops, and the next one continues
            except Exception as error:  # whatever it is, requests go on, and the next time may succeed
                if not isinstance(error, MageError):
                    _logger.exception("Publishing %s failed", live.run.id)
                live.unpublished = str(error) if isinstance(error, MageError) else f"{type(error).__name__}: {error}"
                say(f"{live.run.id}: publishing failed and will be tried again: {live.unpublished}")
            else:
                live.unpublished = ""


async def _rereading(
    path: Path,
    known: bytes,
    door: Door,
    own: _Wanted,
    lives: Mapping[_Wanted, LiveRun],
    stop: Callable[[], bool],
    say: Callable[[str], None],
) -> None:
    """Read the file of keys again when it is not what is `known`. An invalid file is reported and changes nothing."""
    from mage_es.engine.served.tenants import read_keys

    while not stop():
        await asyncio.sleep(1)
        try:
            # The bytes, not the modification time: a file may be mounted over, or swapped behind a link.
            if (found := await asyncio.to_thread(read_small, path)) == known:
                continue
            known, ring = found, read_keys(path)
        except (MageError, OSError) as error:
            if known:
                say(f"{path} changed but could not be loaded, so the previous keys still apply: {error}")
            known = b"" if isinstance(error, OSError) else known
            continue
        reached = {key.name: lives.get(_reached_by(key, own)) for key in ring.keys}
        kept = (replace(key, served_run=live.run.id) for key in ring.keys if (live := reached[key.name]))
        lacking = door.change(replace(ring, keys=tuple(kept)))
        left_out = [name for name, live in reached.items() if not live or name in lacking]
        more = f" {', '.join(left_out)}: only after a restart, as a run or a variable is new." if left_out else ""
        say(f"{path} changed: {len(reached) - len(left_out)} keys are accepted.{more}")


def _bounds(settings: Serving) -> NoteBounds:
    types = [name.strip() for name in settings.only_types.split(",") if name.strip()]
    layout = "" if settings.layout == "auto" else settings.layout
    return bounds_of(settings.min_similarity, types, settings.max_note_tokens, layout)


def _allowance(settings: Serving) -> Allowance:
    from mage_es.engine.serving.proxy import Allowance

    if not settings.max_body > 0:
        raise UsageError(f"--max-body is {settings.max_body:g}: give how many MiB a request may have, such as 64.")
    return Allowance(settings.retrieval_timeout / 1000, most_body=round(settings.max_body * 2**20))


async def _watching(lives: Iterable[LiveRun], stop: Callable[[], bool], say: Callable[[str], None]) -> None:
    """Warn once per run if most of its traffic is about something else."""
    waiting = list(lives)
    while waiting and not stop():
        await asyncio.sleep(1)
        for live in [live for live in waiting if live.health.is_mostly_far]:
            waiting.remove(live)
            say(far_words(live.health, live.world.embedder.name))


def far_words(health: Health, embedder: str) -> str:
    """Return the warning if most questions got no memories."""
    words = (
        f"{health.run}: for {health.far} of {health.looked_up} questions no memory was near enough, so they got none "
        "(`far`). If the run learned from questions like them, serve it with a lower --min-similarity; /metrics "
        "has mage_far_share."
    )
    return f"{words} {HASH_WORDS}" if embedder == "hash" else words


def _report(listener: socket, upstream: str, lives: Mapping[_Wanted, LiveRun]) -> ServeReport:
    ip, port = listener.getsockname()[:2]
    served = list[ServedAt]()
    for (parent, _, _), live in lives.items():
        frozen = live.frozen(live.marker)
        floors = [frozen.floor(name) for name in frozen.task_types] or [0.0]
        served.append(
            ServedAt(
                run_id=live.run.id,
                parent=Path(parent).name,
                marker=frozen.marker,
                floors=(min(floors), max(floors)),
                embedder=live.world.embedder.name,
                benefit=frozen.state.benefit.records(),
                stale=frozen.state.benefit.stale,
            )
        )
    host = f"[{ip}]" if ":" in ip else ip
    return ServeReport(address=f"http://{host}:{port}", upstream=upstream, runs=tuple(served))


def _require_trust(settings: Serving, keys: Path | None) -> None:
    """Raise `UsageError` for a trust that would not be read."""
    if settings.trust != "full" and keys:
        raise UsageError(
            f"--trust {settings.trust} is for a server without a file of keys: write `trust` beside each key of {keys}."
        )
    if settings.trust == "gold" and settings.learn != "propose":
        raise UsageError(f"With --learn {settings.learn} no answer is learned: add --learn propose to --trust gold.")


def _address(upstream: str) -> str:
    """Return the address that `/v1/...` is appended to. Raises `UsageError` for an invalid one, or one with a secret in
    it."""
    try:
        parts = urlsplit(upstream)
        is_reachable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_reachable = False
    if not is_reachable or parts.username or parts.password or parts.query or parts.fragment:
        shown = redacted(upstream.partition("?")[0])
        raise UsageError(
            f"--upstream {shown!r} is not the plain address of a server. Give one such as "
            "http://localhost:8000 or https://api.openai.com; keys are sent by clients, or named in --keys FILE."
        )
    return upstream.rstrip("/").removesuffix("/v1")
