"""A server that misbehaves, and one that is away for an hour: every question accounted for, nothing lost or paid twice.

    python -m tests.bench.faults                 10,000 calls of which a tenth fail, then the outage
    python -m tests.bench.faults --pool 60       the same, smaller

Faults: every kind that engine/seams/faults.py knows, but those that end a run at once. Held against each other are the
plans and verdicts of the log, and the ledger and the server's own count, to the call and token. The outage is lived
through on a clock of its own, whose seconds pass as soon as everybody waits: the run pauses, gives up with exit code 4,
is resumed every ten minutes, in vain while the server is away, and ends in the state of a run that nothing disturbed.
"""

import argparse
import asyncio
import os
import tempfile
import time
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.models.retrying import ProviderDown, RetryPolicy
from mage_es.engine.players.analogist.model import reply
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.resume import resume
from mage_es.events import vocabulary as v
from mage_es.events.log import LogReader
from mage_es.projections.fold import fold
from tests.engine.providers.provider import Plan, Provider, provider, request_of

PASSING = ("reset", "cut", "408", "409", "429", "529", "500", "503", "truncated", "shape", "too long")
LASTING = ("400",)
SLOW = ("silence",)
HOUR_S = 3600.0
TEN_MINUTES_S = 600.0


class VirtualClock:
    """A clock whose seconds pass as soon as everybody else has had a turn."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        """Return the seconds that have passed."""
        return self.time

    async def sleep(self, seconds: float) -> None:
        """Let seconds pass."""
        until = self.time + seconds
        await asyncio.sleep(0)
        self.time = max(self.time, until)


class Account(NamedTuple):
    """What a run against a misbehaving server came to."""

    questions: int
    calls: int
    failures: int
    unanswered: int
    trimmed: int
    faults: dict[str, int]


class Outage(NamedTuple):
    """What an outage came to: how often the run gave up, seconds on its clock, calls made twice, digests."""

    gave_up: int
    seconds: float
    said: list[str]
    made_twice: int
    calls: int
    digests: dict[str, str]
    undisturbed: dict[str, str]


def solved(body: dict[str, Any]) -> str:
    """Answer as the embedded learner would."""
    return reply(request_of(body))


def one_in_ten(number: int) -> str:
    """Treat a tenth of the requests badly, always the same ones; silence, which takes a timeout, comes less often."""
    random = Random(number)
    if random.random() >= 0.1:
        return ""
    return random.choice((*(PASSING + LASTING) * 4, *SLOW))


def misbehaved(folder: Path, config: Config, *, workers: int, timeout_s: float, treat: Plan) -> Account:
    """Run against a server that treats some requests badly. Raises `AssertionError` if the counts differ."""
    with provider(answer=solved, faults=treat) as server:
        server.context = 8192  # enough for every prompt: the client refuses by itself what it knows not to fit
        spec = f"openai/exec?base_url={server.openai_url}&timeout={timeout_s:g}"
        run = begin(folder, config, spec, workers=workers)
        treated = [treat(number) for number in range(len(server.asked))]
        return accounted(run, server, treated)


def accounted(run: Run, server: Provider, treated: list[str]) -> Account:
    """Hold a run's log and ledger against the server's own count. Raises `AssertionError`."""
    planned = [(e.iteration, e.purpose, e.question_id) for e in events(run, v.QuestionPlanned)]
    settled = [(e.iteration, e.purpose, e.question_id) for e in events(run, v.AnswerJudged, v.AnswerUnanswered)]
    # Of the anchors some are planned and then carried, as enough others were asked.
    carried = {(e.iteration, "anchor", e.question_id) for e in events(run, v.AnswerCarried)}
    settled += carried & set(planned)
    assert sorted(planned) == sorted(settled) and len(set(planned)) == len(planned), "a question was lost or repeated"
    called = [e for e in events(run, v.ModelCalled) if e.tier == "execution"]
    assert set(keys_of(called).values()) == {1}, "a call was made twice"
    failed = events(run, v.CallFailed)
    tries = Counter((e.iteration, e.purpose, e.about, e.attempt, e.tries) for e in failed)
    assert set(tries.values()) <= {1}, "a failure is on record twice"
    faults = Counter(fault for fault in treated if fault)
    kinds = Counter(e.fault for e in failed)
    assert len(failed) == faults.total(), f"{kinds} are on record, {faults} happened"
    used = fold(LogReader(run.log_path)).ledger.total("execution")
    assert (used.calls, used.failures) == (server.served, faults.total())
    assert (used.input_tokens, used.output_tokens) == (server.input_tokens, server.output_tokens)
    lost, trimmed = events(run, v.AnswerUnanswered), events(run, v.BundleTrimmed)
    # The execution model's failures that were not tried again are exactly the questions without an answer.
    assert sum(e.final for e in failed) == len(lost)
    return Account(len(planned), len(called), len(failed), len(lost), len(trimmed), dict(sorted(faults.items())))


def outage(
    folder: Path, config: Config, *, workers: int, after: int, again_s: float = TEN_MINUTES_S, lasts_s: float = HOUR_S
) -> Outage:
    """Run undisturbed, then with a server that is away for a while after so many requests.

    A run that gave up is resumed `again_s` seconds later, until it is done.
    """
    clock, away_from = VirtualClock(), list[float]()

    def treatment(number: int) -> str:
        if number >= first + after and not away_from:
            away_from.append(clock.now())
        return "reset" if away_from and clock.now() < away_from[0] + lasts_s else ""

    with provider(answer=solved) as server:
        spec = f"openai/exec?base_url={server.openai_url}"
        undisturbed = digests(begin(folder / "undisturbed", config, spec, workers=workers))
        first = len(server.asked)
        served = server.served
        server.plan = treatment
        said: list[str] = []
        gave_up = 0
        retry_policy = RetryPolicy(clock=clock)
        try:
            run = begin(folder / "disturbed", config, spec, workers=workers, retry_policy=retry_policy, said=said)
        except ProviderDown as down:
            gave_up, run = 1, find_run(folder / "disturbed", "r")
            assert down.exit_code == 4
        while not fold(LogReader(run.log_path)).progress.finished:
            clock.time += again_s
            try:
                go_on(run, spec, workers=workers, retry_policy=retry_policy, said=said)
            except ProviderDown:
                gave_up += 1
        served = server.served - served
    called = [e for e in events(run, v.ModelCalled) if e.tier == "execution"]
    assert set(keys_of(called).values()) == {1} and not events(run, v.AnswerUnanswered)
    return Outage(gave_up, clock.now(), said, served - len(called), len(called), digests(run), undisturbed)


def begin(
    folder: Path,
    config: Config,
    spec: str,
    *,
    workers: int,
    retry_policy: RetryPolicy | None = None,
    said: list[str] | None = None,
) -> Run:
    """Evolve a run named `r` with the learner behind a server."""
    evolve(
        config,
        runs_dir=folder,
        data_dir=None,
        runtime=Runtime(
            workers=workers,
            observer=lambda note: said.append(note.message) if said is not None and note.is_announcement else None,
            retry_policy=retry_policy or RetryPolicy(),
        ),
        run_id="r",
        models=models(spec),
    )
    return find_run(folder, "r")


def go_on(run: Run, spec: str, *, workers: int, retry_policy: RetryPolicy, said: list[str]) -> None:
    """Resume a run."""
    resume(
        run,
        config=None,
        data_dir=None,
        runtime=Runtime(
            workers=workers,
            observer=lambda note: said.append(note.message) if note.is_announcement else None,
            retry_policy=retry_policy,
        ),
        models=models(spec),
    )


def models(spec: str) -> Models:
    """Return the learner behind the server, and an embedded guidance model."""
    return Models(open_model(spec, "execution"), open_model("builtin/reference", "guidance"))


def events(run: Run, *types: type[v.Event]) -> list[Any]:
    """Return a run's events of some types."""
    return list(LogReader(run.log_path).of(*types))


def keys_of(called: list[v.ModelCalled]) -> Counter[tuple[object, ...]]:
    """Count calls by what makes each of them the same call."""
    return Counter((e.iteration, e.purpose, e.about, e.attempt, e.request_sha256) for e in called)


def digests(run: Run) -> dict[str, str]:
    """Return the digests of a run's last closed iteration."""
    return {digest.projection: digest.value for digest in events(run, v.IterationClosed)[-1].digests}


def main() -> None:
    """Run both and print what they came to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pool", type=int, default=1550, help="questions of each of four iterations")
    parser.add_argument("--workers", type=int, default=64)
    options = parser.parse_args()
    config = Config(benchmark="wordmath", seed=7, iterations=4, pool=options.pool, held_out=20, anchors=50)
    with tempfile.TemporaryDirectory() as folder:
        began, cpu = time.perf_counter(), time.process_time()
        found = misbehaved(Path(folder), config, workers=options.workers, timeout_s=25.0, treat=one_in_ten)
        wall, spent = time.perf_counter() - began, time.process_time() - cpu
        print(f"{found.calls} calls for {found.questions} questions, {found.failures} attempts failed:")
        print("  " + ", ".join(f"{name} {count}" for name, count in found.faults.items()))
        print(f"  {found.unanswered} questions without an answer, {found.trimmed} memories left out of prompts")
        print("  every question accounted for, no call twice, ledger and server agree to the call and token")
        print(f"  {wall:.0f} s, {spent:.0f} s of CPU, the server's included")
    small = Config(benchmark="wordmath", seed=7, iterations=2, pool=200, held_out=20, anchors=50)
    with tempfile.TemporaryDirectory() as folder:
        away = outage(Path(folder), small, workers=options.workers, after=300)
    equal = "equal" if away.digests == away.undisturbed else "NOT EQUAL"
    print(
        f"an hour away after 300 of {away.calls} calls: gave up {away.gave_up} times within {away.seconds:.0f} s of its"
    )
    print(f"  clock, {away.made_twice} calls made twice, digests {equal} to those of a run that nothing disturbed")


if __name__ == "__main__":
    main()
