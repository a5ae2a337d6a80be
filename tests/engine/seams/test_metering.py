"""What a served embedder takes is in ledger and budget, to the call and the token, whatever goes wrong."""

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import msgspec
import pytest

from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.config import Config
from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.embedders.served import Embedded, ServedEmbedder
from mage_es.engine.embedders.vectors import PROBES
from mage_es.engine.models.registry import Models, open_models
from mage_es.engine.models.retrying import RetryPolicy
from mage_es.engine.providers.embeddings import EmbeddingsEndpoint
from mage_es.engine.providers.estimate import estimate
from mage_es.engine.run.budget import Limits
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.pricing import Prices, read_prices
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.spec import parse_spec
from mage_es.engine.study.baseline import baseline
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.resume import resume
from mage_es.engine.verbs.runs import summarise
from mage_es.engine.viewing.ask import ask
from mage_es.events.errors import BudgetReached, PrerequisiteError, UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import CallFailed, EmbeddingCalled, Event, IterationClosed, ModelCalled
from mage_es.projections.fold import State, fold
from tests.engine.providers.provider import Provider, provider

pytestmark = pytest.mark.slow

E = TypeVar("E", bound=Event)

QUESTION = "Ana has 3 boxes with 4 jars each. How many jars?"
NUMBER = 240
"""Tasks: few, but more than go in one call."""
QUICK = RetryPolicy(attempts=3, first_wait_s=0.001, longest_wait_s=0.002)
PLAIN = Runtime(workers=4)
PAID = "openai/paid-embedder"
PRICED = f"""[[price]]
models = ["{PAID}"]
input = 1000.0
output = 0.0
source = "a test"
date = 2026-11-21
"""


@pytest.fixture(scope="session")
def config(tmp_path_factory: pytest.TempPathFactory) -> Config:
    """Own tasks; typed by their nearest neighbours, which takes vectors."""
    tasks = tmp_path_factory.mktemp("tasks") / "mine.jsonl"
    questions = open_benchmark("wordmath", seed=7, data_dir=None).questions("evolution")[:NUMBER]
    rows = [{"question": q.question, "answer": q.gold, "type": q.task_type, "solution": q.solution} for q in questions]
    tasks.write_bytes(b"\n".join(map(msgspec.json.encode, rows)))
    name = f"tasks/{tasks}?scorer=number"
    sizes = {"iterations": 2, "pool": 40, "held_out": 10, "anchors": 8}
    return Config(benchmark=name, execution="builtin/analogist", seed=12, task_types="input", strategies=True, **sizes)


def at(server: Provider, config: Config) -> Config:
    return msgspec.structs.replace(config, embedder=f"openai/embed?base_url={server.openai_url}")


def quick(server: Provider, config: Config, name: str = "") -> Models:
    """The models of a configuration, with an embedder that is tried again at once."""
    spec = parse_spec(at(server, config).embedder)
    embedder = ServedEmbedder(name or spec.text, EmbeddingsEndpoint(spec), QUICK)
    return msgspec.structs.replace(open_models(config, has_guidance=True), embedder=embedder)


def begin(folder: Path, config: Config, models: Models, runtime: Runtime = PLAIN) -> Run:
    evolve(config, runs_dir=folder, data_dir=None, runtime=runtime, run_id="r", models=models)
    return find_run(folder, "r")


def go_on(run: Run, models: Models, runtime: Runtime = PLAIN) -> None:
    resume(run, config=None, data_dir=None, runtime=runtime, models=models)


def events(log: Path, cls: type[E]) -> list[E]:
    return list(LogReader(log).of(cls))


def state_of(log: Path) -> State:
    return fold(LogReader(log))


def booked(*logs: Path) -> tuple[int, int, int, int]:
    """Return replies, failed attempts, texts and tokens of the embedder in some logs, by event and by ledger."""
    replies = [event for log in logs for event in events(log, EmbeddingCalled)]
    failed = [event for log in logs for event in events(log, CallFailed) if event.tier == "embedder"]
    totals = [state_of(log).ledger.total("embedder") for log in logs]
    tokens = sum(event.input_tokens for event in replies)
    assert (sum(t.calls for t in totals), sum(t.failures for t in totals)) == (len(replies), len(failed))
    assert sum(t.input_tokens for t in totals) == tokens
    return len(replies), len(failed), sum(event.texts for event in replies), tokens


def digests(run: Run) -> list[object]:
    return [event.digests for event in events(run.log_path, IterationClosed)]


@pytest.mark.paper("beyond the paper, calls of embedders")
def test_a_ledger_equals_the_servers_own_count_with_every_failed_attempt(config: Config, tmp_path: Path) -> None:
    with provider(faults=lambda number: {3: "429", 10: "reset", 11: "500", 14: "truncated"}.get(number, "")) as server:
        run = begin(tmp_path, at(server, config), quick(server, config))
        asked = len(server.asked)
    counted = server.embedded, asked - server.embedded, server.embedded_texts, server.embedded_tokens
    assert booked(run.log_path) == counted and counted[1] == 4
    replies = events(run.log_path, EmbeddingCalled)
    assert [event.number for event in replies] == list(range(1, len(replies) + 1))
    assert [event.number for event in replies if event.tries] == [4, 10, 12]
    assert [event.purpose for event in replies[:9]] == ["fingerprint"] * len(PROBES) + ["vectors"]
    assert {event.iteration for event in replies} == {-1, 0, 1}
    rows = [row for row in summarise(run).ledger if row.tier == "embedder"]
    assert (sum(row.calls for row in rows), sum(row.failures for row in rows)) == counted[:2]
    assert {row.usd for row in rows} == {0.0}


def test_an_exam_and_a_baseline_have_their_embedding_calls_in_their_own_logs(config: Config, tmp_path: Path) -> None:
    runtime = Runtime(workers=4)
    with provider() as server:
        run = begin(tmp_path, at(server, config), quick(server, config))
        report = examine(run, at="latest", questions=10, control="none", data_dir=None, runtime=runtime)
        baseline("zero_shot_cot", at(server, config), runs_dir=tmp_path, data_dir=None, runtime=runtime, run_id="b")
        logs = [run.log_path, run.exam(report.exam_id).log_path, find_run(tmp_path, "b").log_path]
        assert booked(*logs) == (server.embedded, 0, server.embedded_texts, server.embedded_tokens)
    assert all(booked(log)[0] > len(PROBES) for log in logs)
    assert (report.embedder_calls, report.guidance_calls) == (booked(logs[1])[0], 0)
    assert {record.iteration for record in LogReader(logs[1]).records({EmbeddingCalled})} == {-1}


def test_an_embedder_that_goes_away_leaves_its_last_attempts_on_record_and_the_run_goes_on(
    config: Config, tmp_path: Path
) -> None:
    with provider() as server:
        whole = begin(tmp_path / "whole", at(server, config), quick(server, config))
    with provider(faults=lambda number: "500" if number > 11 else "") as server:
        with pytest.raises(PrerequisiteError, match="resume the run"):
            begin(tmp_path / "broken", at(server, config), quick(server, config))
        run = find_run(tmp_path / "broken", "r")
        failed = [event for event in events(run.log_path, CallFailed) if event.tier == "embedder"]
        assert [(event.final, event.tries, event.status) for event in failed] == [
            (tries == QUICK.attempts, tries, 500) for tries in range(1, QUICK.attempts + 1)
        ]
        assert len(server.asked) == server.embedded + len(failed)
        server.plan = lambda number: ""
        go_on(run, quick(server, config))
        assert booked(run.log_path) == (server.embedded, len(failed), server.embedded_texts, server.embedded_tokens)
    numbers = [event.number for event in events(run.log_path, EmbeddingCalled)]
    assert numbers == list(range(1, server.embedded + 1))
    assert digests(run) == digests(whole)


class Killed(BaseException):
    """What takes the place of a signal that nobody can catch."""


class Watched:
    """The embedder `hash` behind a server that looks into the log at every call, and is killed at one of them."""

    def __init__(self, log: Path, *, last: int = 10**9) -> None:
        self.embedder, self.log, self.last = HashEmbedder(), log, last
        self.calls, self.tokens = 0, 0
        self.late: list[tuple[int, int]] = []

    def embed(self, texts: Sequence[str]) -> Embedded:
        if self.calls == self.last:
            raise Killed
        on_record = len(events(self.log, EmbeddingCalled)) if (self.log / "FORMAT").exists() else 0
        if on_record and on_record != self.calls:
            self.late.append((self.calls, on_record))
        self.calls += 1
        tokens = sum(len(text.split()) for text in texts)
        self.tokens += tokens
        return Embedded(self.embedder.encode(texts).astype("float64"), tokens)


def watched(server: Watched, config: Config) -> Models:
    return msgspec.structs.replace(open_models(config, has_guidance=True), embedder=ServedEmbedder(PAID, server, QUICK))


@pytest.mark.paper("beyond the paper, calls of embedders")
def test_every_reply_is_on_record_before_the_next_call_so_that_a_kill_loses_none(
    config: Config, tmp_path: Path
) -> None:
    whole = Watched(tmp_path / "whole" / "r" / "log")
    undisturbed = begin(tmp_path / "whole", config, watched(whole, config))
    assert whole.late == [] and booked(undisturbed.log_path)[::3] == (whole.calls, whole.tokens)
    log = tmp_path / "killed" / "r" / "log"
    first = Watched(log, last=len(PROBES) + 1)
    with pytest.raises(Killed):
        begin(tmp_path / "killed", config, watched(first, config))
    run = find_run(tmp_path / "killed", "r")
    assert booked(run.log_path)[::3] == (first.calls, first.tokens)
    second = Watched(log)
    go_on(run, watched(second, config))
    assert booked(run.log_path)[::3] == (first.calls + second.calls, first.tokens + second.tokens)
    assert digests(run) == digests(undisturbed)
    assert state_of(run.log_path).differing(events(run.log_path, IterationClosed)[-1].digests) == []


def test_a_finished_run_that_is_resumed_gets_no_event(config: Config, tmp_path: Path) -> None:
    with provider() as server:
        run = begin(tmp_path, at(server, config), quick(server, config))
        before = LogReader(run.log_path).head
        go_on(run, quick(server, config))
    assert LogReader(run.log_path).head == before


def priced(folder: Path) -> Prices:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "prices.toml").write_text(PRICED)
    return read_prices(folder / "prices.toml")


@pytest.mark.paper("beyond the paper, calls of embedders")
def test_dollars_for_embeddings_end_a_session_before_they_are_exceeded_and_it_can_be_resumed(
    config: Config, tmp_path: Path
) -> None:
    prices = priced(tmp_path)
    with provider() as server:
        whole = begin(tmp_path / "whole", config, quick(server, config, PAID), Runtime(prices=prices))
        cost = sum(row.usd or 0.0 for row in summarise(whole, prices=prices).ledger)
        assert cost == pytest.approx(server.embedded_tokens * 1000 / 1e6)
        limited = Runtime(prices=prices, limits=Limits(max_usd=0.8 * cost))
        with pytest.raises(BudgetReached, match="--max-usd") as reached:
            begin(tmp_path / "cut", config, quick(server, config, PAID), limited)
        assert reached.value.exit_code == 3
        run = find_run(tmp_path / "cut", "r")
        spent = sum(row.usd or 0.0 for row in summarise(run, prices=prices).ledger)
        assert 0 < spent <= 0.8 * cost
        # The probes of each session are asked before its budget can be there; they count all the same.
        served = server.embedded
        with pytest.raises(BudgetReached):
            go_on(run, quick(server, config, PAID), limited)
        assert server.embedded == served + len(PROBES)
        go_on(run, quick(server, config, PAID), Runtime(prices=prices, limits=Limits(max_usd=10 * cost)))
    assert summarise(run).state == "finished" and digests(run) == digests(whole)


def test_calls_for_embeddings_are_calls_of_the_budget(config: Config, tmp_path: Path) -> None:
    with provider() as server:
        with pytest.raises(BudgetReached, match="40 calls"):
            begin(tmp_path, at(server, config), quick(server, config), Runtime(limits=Limits(max_calls=40)))
        ledger = state_of(find_run(tmp_path, "r").log_path).ledger
    assert ledger.total("embedder").calls == server.embedded > len(PROBES)
    assert sum(use.calls for _, use in ledger.accounts()) == 40


def test_dollars_cannot_be_limited_where_nobody_knows_what_the_embedder_costs(config: Config, tmp_path: Path) -> None:
    unpriced = msgspec.structs.replace(config, embedder="openai/unheard-of")
    limited = Runtime(limits=Limits(max_usd=1.0))
    with pytest.raises(UsageError, match="embedder model openai/unheard-of"):
        evolve(unpriced, runs_dir=tmp_path, data_dir=None, runtime=limited)
    assert list(tmp_path.iterdir()) == []
    with provider() as server, pytest.raises(UsageError, match="embedder model mine/own"):
        begin(tmp_path, config, quick(server, config, "mine/own"), limited)


def test_dollars_cannot_be_limited_where_the_embedder_tells_no_tokens(config: Config, tmp_path: Path) -> None:
    limited = Runtime(prices=priced(tmp_path), limits=Limits(max_usd=1.0))
    with provider() as server:
        server.tells_tokens = False
        with pytest.raises(UsageError, match="does not report how many tokens"):
            begin(tmp_path / "runs", config, quick(server, config, PAID), limited)
        assert not (tmp_path / "runs").exists()
        run = begin(tmp_path / "runs", config, quick(server, config, PAID))
        assert booked(run.log_path) == (server.embedded - len(PROBES), 0, server.embedded_texts - len(PROBES), 0)
        with pytest.raises(UsageError, match="--max-calls"):
            own = quick(server, config, PAID).embedder
            examine(run, at="latest", questions=5, control="none", data_dir=None, runtime=limited, embedder=own)


def test_a_question_of_ones_own_has_its_embedding_calls_in_its_budget_and_in_no_log(
    config: Config, tmp_path: Path
) -> None:
    with provider() as server:
        run = begin(tmp_path, at(server, config), quick(server, config))
        before, head = server.embedded, LogReader(run.log_path).head
        ask(run, QUESTION, at="latest", data_dir=None)
        takes = server.embedded - before
        assert takes > len(PROBES) and LogReader(run.log_path).head == head
        limits = Limits(max_calls=takes)
        with pytest.raises(BudgetReached, match=f"{takes} calls"):
            ask(run, QUESTION, at="latest", data_dir=None, limits=limits)
        assert server.embedded == before + 2 * takes


def test_a_key_that_a_server_repeats_is_in_no_event(
    config: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    canary = "sk-canary-0123456789abcdef"
    monkeypatch.setenv("EMBED_KEY", canary)
    with provider(faults=lambda number: "echo 500" if number in (2, 12) else "") as server:
        spec = parse_spec(f"{at(server, config).embedder}&key_env=EMBED_KEY")
        embedder = ServedEmbedder(spec.text, EmbeddingsEndpoint(spec), QUICK)
        run = begin(
            tmp_path, config, msgspec.structs.replace(open_models(config, has_guidance=True), embedder=embedder)
        )
        assert server.asked[0].headers["authorization"] == f"Bearer {canary}"
    failed = [event for event in events(run.log_path, CallFailed) if event.tier == "embedder"]
    assert [event.problem for event in failed] == ["the provider says Bearer [key]"] * 2
    held = [path for path in run.path.rglob("*") if path.is_file() and canary.encode() in path.read_bytes()]
    assert held == []


def test_a_dry_run_tells_the_embedders_calls_and_tokens_and_asks_nobody(config: Config, tmp_path: Path) -> None:
    with provider() as server:
        longer = at(server, msgspec.structs.replace(config, iterations=2))
        told = estimate(longer, data_dir=None, workers=4, prices=Prices())
        assert server.asked == []
        run = begin(tmp_path, longer, quick(server, config))
        ledger = state_of(run.log_path).ledger.total("embedder")
    tier = next(each for each in told.tiers if each.tier == "embedder")
    assert tier.model == longer.embedder and "costs nothing" in tier.price
    assert tier.calls.low <= ledger.calls <= tier.calls.high
    assert tier.calls.expected == ledger.calls
    assert tier.input_tokens.low <= ledger.input_tokens <= tier.input_tokens.high
    assert tier.output_tokens.high == 0 and tier.usd and tier.usd.high == 0.0


def test_a_dry_run_prices_the_embedder_and_has_no_row_for_one_that_costs_nobody_anything(config: Config) -> None:
    short = msgspec.structs.replace(config, iterations=1)
    paid = estimate(
        msgspec.structs.replace(short, embedder="openai/text-embedding-3-small"),
        data_dir=None,
        workers=4,
        prices=Prices(),
    )
    tier = next(each for each in paid.tiers if each.tier == "embedder")
    assert tier.usd and tier.usd.expected == pytest.approx(tier.input_tokens.expected * 0.02 / 1e6)
    free = estimate(short, data_dir=None, workers=4, prices=Prices())
    assert [each.tier for each in free.tiers] == ["execution", "guidance"]


def test_a_run_with_an_embedder_of_its_own_has_no_embedding_call(small_run: Run) -> None:
    assert events(small_run.log_path, EmbeddingCalled) == []
    assert events(small_run.log_path, ModelCalled)
