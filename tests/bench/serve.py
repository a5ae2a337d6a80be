"""What `mage-es serve` adds to a request, against a bare pass-through of the same stack, both before one upstream.

    python -m tests.bench.serve                         10,000 memories, all of it: about ten minutes
    python -m tests.bench.serve --memories 100000 --only latency

A conversation of ten turns, with a system prompt, tools and answers in between, goes through both proxies turn by turn,
in an order drawn for each; each turn is a new question. Two hundred streams at once are held to their end. Then so many
requests that a leak would show; last a conversation with the proxy killed after each turn. Everything runs on one
machine: client, upstream and proxies.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import signal
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.bench.loopback import REPLY, SAID, Served, bare, mage_es, served, stream, upstream, word
from tests.bench.open_run import filled
from tests.bench.tables import Gate, Ratio, print_gates, print_machine, print_table

TURNS, SESSIONS, EVENTS = 10, 200, 20
STREAMS, STREAM_EVENTS, PAUSE_MS = 200, 100, 100
REQUESTS, CLIENTS = 100_000, 8
SAMPLES = 2000
SYSTEM = "You work for the shop. Answer in one sentence and show what you counted. " * 100
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": f"look_up_{number}",
            "description": "Looks up how many of a thing are in stock, and where. " * 4,
            "parameters": {"type": "object", "properties": {"thing": {"type": "string"}}, "required": ["thing"]},
        },
    }
    for number in range(10)
]


class Reply(NamedTuple):
    """A reply, and the milliseconds to its first byte and to its end."""

    status: int
    headers: dict[bytes, bytes]
    body: bytes
    first_ms: float
    whole_ms: float


class Client:
    """One connection that is kept."""

    def __init__(self, port: int) -> None:
        self.port = port

    async def __aenter__(self) -> Client:
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port, limit=2**20)
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.close()

    async def ask(self, body: bytes, *, events: int = 0, pause_ms: int = 0, echo: int = 0) -> Reply:
        """Send one request and read its reply to the end."""
        head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\n"
        head += b"x-events: %d\r\nx-pause-ms: %d\r\nx-echo: %d\r\n" % (events, pause_ms, echo)
        began = time.perf_counter()
        self.writer.write(head + b"content-length: %d\r\n\r\n" % len(body) + body)
        first, *lines = (await self.reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[:-2]
        headers = {name.lower(): value for name, _, value in (line.partition(b": ") for line in lines)}
        if b"content-length" in headers:
            reply = await self.reader.readexactly(int(headers[b"content-length"]))
            first_ms = 1000 * (time.perf_counter() - began)
        else:
            pieces, first_ms = list[bytes](), 0.0
            while size := int(await self.reader.readline(), 16):
                pieces.append((await self.reader.readexactly(size + 2))[:-2])
                first_ms = first_ms or 1000 * (time.perf_counter() - began)
            await self.reader.readline()
            reply = b"".join(pieces)
        return Reply(int(first.split()[1]), headers, reply, first_ms, 1000 * (time.perf_counter() - began))


def question(number: int) -> str:
    """Return a question that was never asked before."""
    rng = random.Random(number)
    boxes, jars, name = rng.randint(2, 99), rng.randint(2, 99), rng.choice(["Lea", "Tom", "Ana", "Ugo", "Mia"])
    thing = rng.choice(["jars", "pears", "marbles", "stamps", "candles", "bolts"])
    return f"Order {number}: {name} packs {boxes} boxes with {jars} {thing} each and drops {boxes}. How many are left?"


def conversation(first: int, turns: int, *, is_stream: bool, is_short: bool = False) -> list[bytes]:
    """Return the requests of a conversation, turn by turn."""
    messages: list[dict[str, Any]] = [] if is_short else [{"role": "system", "content": SYSTEM}]
    bodies, answer = [], "".join(map(word, range(EVENTS))) if is_stream else SAID
    for turn in range(turns):
        messages.append({"role": "user", "content": question(first + turn)})
        body = {"model": "m", "messages": messages, "stream": is_stream, "max_tokens": 200}
        bodies.append(json.dumps(body if is_short else {**body, "tools": TOOLS}).encode())
        messages.append({"role": "assistant", "content": answer})
    return bodies


class Timings(NamedTuple):
    """Milliseconds to a reply's first byte by session and turn, through the bare pass-through and served."""

    bare: np.ndarray
    served: np.ndarray
    told: np.ndarray
    """X-Mage-Overhead-Ms of the served."""
    bypassed: int
    """Requests that went on without memories, as they were not ready in time."""


async def latency(bare_port: int, served_port: int, sessions: int, *, is_stream: bool, first: int) -> Timings:
    """Time conversations through both, turn by turn; the first ten warm up and do not count."""
    rng, warm, events = random.Random(1), 10, EVENTS * is_stream
    times = np.zeros((3, sessions + warm, TURNS))
    expected, bypassed = stream(events) if is_stream else REPLY, 0
    async with Client(bare_port) as plain, Client(served_port) as ours:
        for session in range(sessions + warm):
            for turn, body in enumerate(conversation(first + session * TURNS, TURNS, is_stream=is_stream)):
                for way in rng.sample((0, 1), 2):
                    reply = await (plain, ours)[way].ask(body, events=events)
                    assert reply.status == 200 and reply.body == expected, reply
                    times[way, session, turn] = reply.first_ms
                    if way:
                        times[2, session, turn] = float(reply.headers[b"x-mage-overhead-ms"])
                        bypassed += reply.headers[b"x-mage-memories"] == b"bypassed"
    return Timings(*times[:, warm:], bypassed=bypassed)


def added(times: Timings, turn: int | None, rank: float) -> Ratio:
    """Return what a quantile is higher by when served, with its 95 % interval from sessions drawn again."""
    rng, sessions = np.random.default_rng(0), len(times.bare)
    turns = slice(None) if turn is None else slice(turn - 1, turn)

    def higher(rows: np.ndarray) -> float:
        served, plain = (np.percentile(each[rows, turns], rank) for each in (times.served, times.bare))
        return float(served - plain)

    drawn = [higher(rng.integers(sessions, size=sessions)) for _ in range(SAMPLES)]
    return Ratio(higher(np.arange(sessions)), *map(float, np.percentile(drawn, (2.5, 97.5))))


def print_latency(name: str, times: Timings) -> list[Gate]:
    """Print a row for the first and last turn and for all, and return the gates of all."""
    rows = []
    for turn, label in ((1, "turn 1"), (TURNS, f"turn {TURNS}"), (None, "all turns")):
        turns = slice(None) if turn is None else slice(turn - 1, turn)
        cells = [f"{np.median(each[:, turns]):.2f}" for each in (times.bare, times.served, times.told)]
        rows.append((label, *cells, *(str(added(times, turn, rank)) for rank in (50, 90, 99))))
    header = ("ms to the first byte", "bare p50", "served p50", "header p50", "added p50", "added p90", "added p99")
    print_table(f"{name}: {len(times.bare)} sessions, {times.bypassed} requests bypassed", header, rows)
    return [
        Gate(f"added at p{rank}, {name}", "at most", limit, added(times, None, rank), unit="ms")
        for rank, limit in ((50, 3), (99, 10))
    ]


async def hold(port: int, first: int) -> tuple[int, int, float, list[float]]:
    """Hold streams at once; return those that came whole, those broken, the seconds, and the waits for a first byte."""
    expected = stream(STREAM_EVENTS)

    async def one(number: int) -> Reply:
        async with Client(port) as client:
            body = conversation(first + number, 1, is_stream=True)[0]
            return await client.ask(body, events=STREAM_EVENTS, pause_ms=PAUSE_MS)

    began = time.perf_counter()
    replies = await asyncio.gather(*map(one, range(STREAMS)), return_exceptions=True)
    whole = [each for each in replies if isinstance(each, Reply) and each.body == expected]
    return len(whole), STREAMS - len(whole), time.perf_counter() - began, [each.first_ms for each in whole]


async def last(ours: Served, requests: int, first: int) -> list[float]:
    """Ask short questions, every fifth in a conversation; return the resident memory after each thousand."""
    sizes, done = [], 0
    numbers = iter(range(first, first + requests, 5))

    async def one() -> None:
        nonlocal done
        async with Client(ours.port) as client:
            for number in numbers:
                talk = conversation(number, 2, is_stream=False, is_short=True)
                single = [conversation(number + i, 1, is_stream=False, is_short=True)[0] for i in (2, 3, 4)]
                for body in [*talk, *single]:
                    reply = await client.ask(body)
                    assert reply.status == 200 and reply.body == REPLY, reply
                    done += 1
                    if done % 1000 == 0:
                        sizes.append(ours.rss())

    await asyncio.gather(*(one() for _ in range(CLIENTS)))
    return sizes


def changed_by_kills(run_id: str, folder: Path, up: int, first: int) -> tuple[int, int, int]:
    """Have a conversation, with the proxy killed after each turn. Return how many earlier turns reached the upstream
    otherwise than before, how many notes it has at last, and how many requests went on without memories for time: what
    those left out is not counted.
    """
    changed = bypassed = 0
    before = after = list[dict[str, Any]]()
    for body in conversation(first, TURNS, is_stream=False):

        async def ask(port: int, body: bytes = body) -> Reply:
            async with Client(port) as client:
                return await client.ask(body, echo=1)

        with mage_es(run_id, folder, up, last=signal.SIGKILL) as ours:
            reply = asyncio.run(ask(ours.port))
        after = json.loads(reply.body)["messages"]
        if reply.headers[b"x-mage-memories"] == b"bypassed":
            bypassed += 1
            continue
        changed += sum(old != new for old, new in zip(before, after, strict=False))
        before = after
    sent = json.loads(body)["messages"]
    return changed, sum(own != seen for own, seen in zip(sent, before, strict=False)), bypassed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--sessions", type=int, default=SESSIONS)
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--only", choices=["latency", "streams", "memory", "kills"])
    options = parser.parse_args()
    print_machine("python -m tests.bench.serve", ["starlette", "uvicorn", "httpx2"])
    with tempfile.TemporaryDirectory() as name, served(upstream) as up, served(bare, up) as plain:
        run = filled(Path(name), options.memories)
        with mage_es(run.id, Path(name), up) as ours:
            print(f"{options.memories:,} memories; {ours.rss():.0f} MiB resident at the start")
            gates = measure(options, plain, ours)
        if options.only in (None, "kills"):
            changed, notes, bypassed = changed_by_kills(run.id, Path(name), up, 4 * 10**6)
            goal = f"turns changed by kill -9 after each of {TURNS} ({notes} with notes, {bypassed} bypassed)"
            gates.append(Gate(goal, "at most", 0, Ratio(changed, changed, changed), unit=""))
    print_gates(gates)


def measure(options: argparse.Namespace, plain: int, ours: Served) -> list[Gate]:
    """Print what was asked for, and return its gates."""
    gates = list[Gate]()
    if options.only in (None, "latency"):
        for is_stream, title, first in ((False, "whole replies", 10**6), (True, "streamed replies", 2 * 10**6)):
            times = asyncio.run(latency(plain, ours.port, options.sessions, is_stream=is_stream, first=first))
            gates += print_latency(title, times)
    if options.only in (None, "streams"):
        rows = []
        for way, port, first in (("bare", plain, 3 * 10**6), ("served", ours.port, 3 * 10**6 + STREAMS)):
            whole, broken, seconds, waits = asyncio.run(hold(port, first))
            quantiles = (f"{np.percentile(waits, rank):.0f}" for rank in (50, 99))
            rows.append((way, str(whole), str(broken), f"{seconds:.1f}", *quantiles))
        header = ("streams at once", "whole", "broken", "seconds", "first byte p50, ms", "p99")
        print_table(f"{STREAMS} streams of {STREAM_EVENTS} events, {PAUSE_MS} ms apart", header, rows)
        gates.append(Gate("streams broken", "at most", 0, Ratio(broken, broken, broken), unit=""))
    if options.only in (None, "memory"):
        began, cpu = time.perf_counter(), ours.cpu()
        sizes = asyncio.run(last(ours, options.requests, 10**7))
        seconds, cpu = time.perf_counter() - began, ours.cpu() - cpu
        each = [f"{np.mean(part):.0f}" for part in np.array_split(sizes, 10)]
        print_table(
            f"Resident MiB over {options.requests:,} requests, {CLIENTS} at once, by tenth: "
            f"{options.requests / seconds:.0f} requests a second, {1000 * cpu / options.requests:.2f} ms CPU each",
            [str(number) for number in range(1, 11)],
            [each],
        )
        tenth = len(sizes) // 10
        grown = Ratio.of(np.array(sizes[-tenth:]) / np.mean(sizes[:tenth]))
        gates.append(Gate("memory, last tenth over first", "at most", 1.1, grown))
    return gates


if __name__ == "__main__":
    main()
