"""A proxy whose upstream, clients and own process fail: its log, its metrics and the upstream's own count agree.

    python -m tests.bench.serve_faults                   10,000 requests, a tenth of which go wrong, and 3 kills
    python -m tests.bench.serve_faults --requests 300    the same, smaller

Faults: the upstream resets, breaks off (a reply, a stream), answers 429 and 503, redirects, says nothing until its
client leaves; clients hang up in mid-stream. `kill -9` takes the proxy with streams under way; it is started again, and
what was cut off is asked again. Each attempt is a question of its own, so that its name in the log (`turn_sha256`) is
known to the client. Held against each other: what clients saw, what the upstream got, what the log has of each attempt
and, for each process that was not killed, its metrics.
"""

import argparse
import asyncio
import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import NamedTuple

import httpx2

from mage_es.engine.config import Config
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.serving.shapes import read
from mage_es.engine.verbs.evolve import evolve
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import InferenceClosed, InferenceOpened
from tests.engine.serving.upstream import Upstream, upstream

FAULTS = ("reset", "cut", "cut stream", "429", "503", "redirect", "silence", "leave")
PATH = "/v1/chat/completions"


class Attempt(NamedTuple):
    """One request as its client saw it: its name, its turn in the log, the inference that the reply named, its end."""

    name: str
    do: str
    turn: str
    inference: str
    ended: str
    status: int


class Account(NamedTuple):
    """What came of it."""

    attempts: int
    kills: int
    cut_off: int
    """Inferences whose end a kill kept from the log."""
    unsent: int
    """Inferences on record that never reached the upstream."""
    outcomes: dict[str, int]


def fault_of(number: int) -> str:
    """Treat a tenth of the requests badly, always the same ones; of the others every second is a stream."""
    random = Random(number)
    return random.choice(FAULTS) if random.random() < 0.1 else random.choice(("", "stream"))


class Proxy:
    """A proxy process that can be killed."""

    def __init__(self, run: Run, url: str) -> None:
        words = ["serve", run.id, "--runs-dir", str(run.path.parent), "--upstream", url, "--port", "0", "--json"]
        self._command = [
            sys.executable,
            "-m",
            "mage_es",
            *words,
            "--retrieval-timeout",
            "5000",
            "--min-similarity",
            "0",
        ]
        self.address = ""

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self._process = subprocess.Popen(self._command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        assert self._process.stderr
        for line in self._process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                self.address = found[0]
                return
        raise AssertionError("it did not start")

    def end(self, number: signal.Signals) -> None:
        """Send it a signal and wait until it is gone."""
        self._process.send_signal(number)
        self._process.wait()
        assert self._process.stderr
        self._process.stderr.close()


async def attempted(client: httpx2.AsyncClient, proxy: Proxy, name: str, do: str) -> Attempt:
    """Make one request and return how it ended for its client."""
    body = json.dumps(
        {"model": "m", "messages": [{"role": "user", "content": f"What is {name} of 3 crates?"}]}
    ).encode()
    [turn] = read("chat", body).turns
    inference, status, ended = "", 0, "answered"
    headers = {"x-do": {"leave": "endless"}.get(do, do), "x-name": name, "content-type": "application/json"}
    patience = 1.0 if do == "silence" else 60.0
    try:
        async with client.stream(
            "POST", proxy.address + PATH, content=body, headers=headers, timeout=patience
        ) as reply:
            inference, status = reply.headers.get("x-mage-inference", ""), reply.status_code
            async for _ in reply.aiter_raw():
                if do == "leave":
                    ended = "left"
                    break
    except httpx2.ReadTimeout:
        ended = "left"
    except httpx2.TransportError as error:
        ended = "failed" if status else f"no reply: {type(error).__name__}"
    if status == 502:
        ended = "failed"
    return Attempt(name, do, turn.sha256, inference, ended, status)


async def asked(proxy: Proxy, requests: int, kills: int, streams: int) -> tuple[list[list[Attempt]], int]:
    """Ask everything, again what a kill cut off; return the attempts by life of the proxy, and the kills."""
    waiting, lives, done = list(range(requests))[::-1], [list[Attempt]()], 0
    at = [requests * (kill + 1) // (kills + 1) for kill in range(kills)]
    names = iter(range(sys.maxsize))
    alive = asyncio.Event()
    alive.set()

    async def client_of(client: httpx2.AsyncClient) -> None:
        nonlocal done
        while waiting:
            await alive.wait()
            if not waiting:
                return
            number, life = waiting.pop(), lives[-1]
            attempt = await attempted(client, proxy, f"case-{next(names)}", fault_of(number))
            life.append(attempt)
            was_killed = life is not lives[-1] or not alive.is_set()
            if was_killed and attempt.ended not in ("answered", "left"):
                waiting.append(number)  # the kill may have taken it: ask again
            else:
                done += 1

    async def killer() -> None:
        for moment in at:
            while done < moment:
                await asyncio.sleep(0.01)
            alive.clear()
            await asyncio.to_thread(proxy.end, signal.SIGKILL)
            await asyncio.sleep(0.5)  # until every client has noticed
            lives.append([])
            await asyncio.to_thread(proxy.start)
            alive.set()

    async with httpx2.AsyncClient(limits=httpx2.Limits(max_connections=None)) as client:
        killing = asyncio.create_task(killer())
        await asyncio.gather(*(client_of(client) for _ in range(streams)))
        await killing
    return lives, len(at)


def metrics_of(address: str) -> Counter[tuple[str, int]]:
    """Return the requests of chat completions that a proxy counted, by outcome and status."""
    rows = httpx2.get(f"{address}/metrics").text
    found = re.findall(r'mage_requests_total\{outcome="(\w+)",route="chat",.*?status="(\d+)".*?\} ([\d.e+]+)', rows)
    counted = Counter[tuple[str, int]]()
    for outcome, status, number in found:
        counted[outcome, int(status)] += int(float(number))
    return counted


def accounted(run: Run, *, requests: int, kills: int, streams: int) -> Account:
    """Ask, kill, and hold the counts against each other. Raises `AssertionError` where they differ."""
    with upstream() as server:
        proxy = Proxy(run, server.url)
        proxy.start()
        lives, killed = asyncio.run(asked(proxy, requests, kills, streams))
        time.sleep(0.5)  # what left is closed
        counted = metrics_of(proxy.address)
        proxy.end(signal.SIGTERM)
        return compared(run.path.with_name(f"{run.id}-served") / "log", server, lives, counted, killed)


def compared(
    log: Path, server: Upstream, lives: list[list[Attempt]], counted: Counter[tuple[str, int]], kills: int
) -> Account:
    """Hold clients, upstream, log and metrics against each other. Raises `AssertionError`."""
    reader = LogReader(log)
    opened = {event.turn_sha256: event for event in reader.of(InferenceOpened)}
    closed = {event.inference: event for event in reader.of(InferenceClosed)}
    attempts = [attempt for life in lives for attempt in life]
    turns = {attempt.name: attempt.turn for attempt in attempts}
    assert len(opened) == len({event.inference for event in opened.values()}), "an inference is on record twice"
    assert set(opened) <= set(turns.values()), "the log has what no client asked"
    reached = Counter(asked.header("x-name") for asked in server.asked)
    assert set(reached.values()) == {1}, "the upstream got a request twice"
    assert {turns[name] for name in reached} <= set(opened), "the upstream got what the log does not have"
    for attempt in attempts:
        assert not attempt.inference or opened[attempt.turn].inference == attempt.inference, attempt
    # That a request ended is recorded soon, not at once: a kill takes what waits, and with it nobody's answer.
    ends = {turn: closed[event.inference].outcome for turn, event in opened.items()}
    cut = [attempt for attempt in attempts if ends.get(attempt.turn) == "cut"]
    assert not [attempt for attempt in cut if attempt in lives[-1]], cut
    for attempt in lives[-1]:
        found = closed[opened[attempt.turn].inference]
        assert (found.outcome, found.status) == (attempt.ended, attempt.status), (attempt, found)
    assert counted == Counter((attempt.ended, attempt.status) for attempt in lives[-1])
    unsent = len(opened) - len(reached)
    outcomes = Counter(event.outcome for event in closed.values())
    return Account(len(attempts), kills, len(cut), unsent, dict(sorted(outcomes.items())))


def main() -> None:
    """Run it and print what came of it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--streams", type=int, default=32)
    options = parser.parse_args()
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        config = Config(benchmark="wordmath", seed=7, iterations=2, pool=24, held_out=20, anchors=12)
        run = find_run(Path(folder), evolve(config, runs_dir=folder).run_id)
        found = accounted(run, requests=options.requests, kills=options.kills, streams=options.streams)
    took = time.perf_counter() - began
    print(f"{options.requests} requests in {found.attempts} attempts, {found.kills} kills, {took:.0f} s")
    print("  " + ", ".join(f"{name} {count}" for name, count in found.outcomes.items()))
    print(f"  {found.cut_off} whose end a kill kept from the log, {found.unsent} that never reached the upstream")
    print("  clients, upstream, log and metrics agree; nothing that was acknowledged is lost")


if __name__ == "__main__":
    main()
