"""Questions per second through the whole engine against a server that takes a second, beside the bare client.

    python -m tests.bench.throughput                        3,840 questions, 64 in flight, 1 s of latency
    python -m tests.bench.throughput --questions 640 --latency 0.2
    python -m tests.bench.throughput --questions 240 --in-flight 8 --jitter 0.5     latencies that differ, lognormal

The server is a process of its own on loopback: it speaks /v1/chat/completions and answers every request after the
latency, however many there are. First the bare client asks all prompts with so many in flight and throws the replies
away; then a session does: planned, answered, judged and logged durably. What lies between a reply and the next call of
the same worker is what the engine adds to a call. CPU is user and system time of all threads; where the machine has
other work to do, trust it rather than the clock.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import multiprocessing
import os
import resource
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from typing import NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from mage_es.engine.briefs import OntologyReply
from mage_es.engine.commands import InduceOntology, OpenRun, PlanIteration
from mage_es.engine.config import Config
from mage_es.engine.loop import evaluate
from mage_es.engine.models.registry import Models
from mage_es.engine.providers.openai_compatible import OpenAICompatible
from mage_es.engine.run.directory import clock, create_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import open_world
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.seams.spec import parse_spec
from mage_es.engine.session.session import Session
from mage_es.events.log import Log
from mage_es.projections.fold import State

GOAL_RATE = 60.0
GOAL_ADDED_MS = 5.0
_REPLY = json.dumps(
    {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": "exec",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": "6 * 7 = 42, and there are no others.\n#### 42"},
                "finish_reason": "stop",
            }
        ],
        "usage": {"prompt_tokens": 400, "completion_tokens": 20, "total_tokens": 420},
    }
).encode()
_RESPONSE = (b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(_REPLY)) + _REPLY


class Slow(asyncio.Protocol):
    """One connection of the server: every request that has come whole is answered after the latency."""

    latency_s, sigma, dice = 1.0, 0.0, Random(1)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport, self.received = transport, b""

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, separator, body = self.received.partition(b"\r\n\r\n")
        if not separator:
            return
        length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0])
        if len(body) >= length:
            self.received = body[length:]
            # Of the same mean, whatever the sigma.
            latency_s = self.latency_s * self.dice.lognormvariate(-(self.sigma**2) / 2, self.sigma)
            asyncio.get_running_loop().call_later(latency_s, self.transport.write, _RESPONSE)


def serve(pipe: Connection, latency_s: float, sigma: float) -> None:
    """Serve on a loopback port until told to stop; send the port first, and the CPU seconds last."""

    async def run() -> None:
        Slow.latency_s, Slow.sigma = latency_s, sigma
        loop = asyncio.get_running_loop()
        server = await loop.create_server(Slow, "127.0.0.1", 0, backlog=1024)
        pipe.send(server.sockets[0].getsockname()[1])
        await loop.run_in_executor(None, pipe.recv)

    asyncio.run(run())
    pipe.send(time.process_time())


class Timed:
    """A model; remembers of each task's calls when they began and ended, and every request."""

    def __init__(self, url: str) -> None:
        self._model = OpenAICompatible(parse_spec(f"openai/exec?base_url={url}"))
        self.name = self._model.name
        self.calls: dict[object, list[tuple[float, float]]] = defaultdict(list)
        self.requests: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        """Pass the call on."""
        self.requests.append(request)
        began = time.perf_counter()
        completion = await self._model.complete(request)
        self.calls[asyncio.current_task()].append((began, time.perf_counter()))
        return completion

    async def close(self) -> None:
        """Close the connections."""
        await self._model.close()


class Measured(NamedTuple):
    """A pass over all questions: seconds in all (by the clock, of CPU), of each call, from each reply to the next."""

    questions: int
    wall_s: float
    cpu_s: float
    call_s: Sequence[float]
    between_s: Sequence[float]

    @staticmethod
    def of(model: Timed, *, wall_s: float, cpu_s: float) -> Measured:
        """Return what a model remembers."""
        calls = [end - begin for each in model.calls.values() for begin, end in each]
        between = [after[0] - before[1] for each in model.calls.values() for before, after in itertools.pairwise(each)]
        return Measured(len(calls), wall_s, cpu_s, calls, between)


def bare(url: str, requests: Sequence[Request], in_flight: int) -> Measured:
    """Ask all with the bare client."""
    model, waiting = Timed(url), iter(requests)

    async def work() -> None:
        for request in waiting:
            await model.complete(request)

    async def run() -> None:
        async with asyncio.TaskGroup() as tasks:
            for _ in range(in_flight):
                tasks.create_task(work())
        await model.close()

    began, cpu = time.perf_counter(), time.process_time()
    asyncio.run(run())
    return Measured.of(model, wall_s=time.perf_counter() - began, cpu_s=time.process_time() - cpu)


def engine(url: str, questions: int, in_flight: int, folder: Path) -> tuple[Measured, Sequence[Request]]:
    """Ask as many in one phase of a session; return the measure and the requests."""
    config = Config(benchmark="wordmath", pool=questions, held_out=20, anchors=0, guard="off", bandits=False)
    run, model = create_run(folder, benchmark="wordmath", seed=config.seed), Timed(url)
    with Log.create(run.log_path, run=run.id, clock=clock) as log:
        session = Session(
            run=run,
            world=open_world(config, data_dir=None),
            log=log,
            state=State(),
            models=Models(model, None),
            runtime=Runtime(workers=in_flight),
        )
        session.do(OpenRun(session.world.started(run.id), session.world.splits.events))
        session.do(InduceOntology(session.world.setting.task_types, OntologyReply(skills=())))
        session.do(PlanIteration(0))

        async def phase() -> None:
            await evaluate(session, 0)
            await session.aclose()

        began, cpu = time.perf_counter(), time.process_time()
        asyncio.run(phase())
        wall_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
        assert len(session.state.progress.verdicts("evaluate")) == questions
        busy = session.clients.slots.busy_s / session.clients.slots.answering_s
        print(f"{in_flight} calls were in flight in {busy:.1%} of the time of EVALUATE")
    return Measured.of(model, wall_s=wall_s, cpu_s=cpu_s), model.requests


def report(bare: Measured, engine: Measured, latency_s: float, in_flight: int) -> bool:
    """Print both side by side; return whether the goals are met."""
    print(f"{engine.questions} questions, {in_flight} in flight, a server that takes {latency_s:g} s")
    print(f"{'':42s}{'bare client':>14s}{'engine':>14s}{'added':>14s}")
    ideal = in_flight / latency_s
    for name, unit, values in (
        ("questions a second", f"(at most {ideal:g})", [m.questions / m.wall_s for m in (bare, engine)]),
        ("one call, median", "ms", [1000 * statistics.median(m.call_s) for m in (bare, engine)]),
        ("one call, 95th percentile", "ms", [1000 * _high(m.call_s) for m in (bare, engine)]),
        (
            "from a reply to the next call, median",
            "ms",
            [1000 * statistics.median(m.between_s) for m in (bare, engine)],
        ),
        ("from a reply to the next call, 95th p.", "ms", [1000 * _high(m.between_s) for m in (bare, engine)]),
        ("CPU a question", "ms", [1000 * m.cpu_s / m.questions for m in (bare, engine)]),
    ):
        print(f"{name:42s}{values[0]:14.2f}{values[1]:14.2f}{values[1] - values[0]:+14.2f} {unit}")
    rate = engine.questions / engine.wall_s
    # A worker's round: from one call's beginning to the next one's.
    rounds = [statistics.median(m.call_s) + statistics.median(m.between_s) for m in (bare, engine)]
    added = 1000 * (rounds[1] - rounds[0])
    print(f"goal: {GOAL_RATE:g} questions a second: {rate:.1f}; {GOAL_ADDED_MS:g} ms added to a call: {added:.2f}")
    return rate >= GOAL_RATE and added <= GOAL_ADDED_MS


def _high(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def main() -> None:
    """Start the server, measure the engine, then the bare client on the same prompts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=3840)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--latency", type=float, default=1.0, help="seconds, the mean")
    parser.add_argument("--jitter", type=float, default=0.0, help="sigma of a lognormal latency")
    options = parser.parse_args()
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(theirs, options.latency, options.jitter))
    server.start()
    url = f"http://127.0.0.1:{ours.recv()}/v1"
    bare(url, [Request(prompt="?")], 1)  # loads the client, which takes a second once in the life of a process
    with tempfile.TemporaryDirectory() as folder:
        through, requests = engine(url, options.questions, options.in_flight, Path(folder))
        alone = bare(url, requests, options.in_flight)
    ours.send("stop")
    server_cpu = ours.recv()
    server.join()
    met = report(alone, through, options.latency, options.in_flight)
    load, cores = os.getloadavg()[0], os.cpu_count()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"CPU of the server: {server_cpu:.1f} s for both passes; peak memory {peak:.0f} MiB")
    print(f"load of the machine: {load:.1f} on {cores} cores; both goals {'met' if met else 'NOT met'}")


if __name__ == "__main__":
    main()
