"""A budget: never exceeded, counted over every session, and no failure when it is reached."""

import asyncio
import random
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.models.retrying import RetryingClient, RetryPolicy, Unanswered
from mage_es.engine.run.budget import Budget, Limits
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.pricing import Prices, read_prices
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.faults import Fault, ModelFault
from mage_es.engine.seams.model import Completion, Model, Request
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.resume import resume
from mage_es.engine.verbs.runs import summarise
from mage_es.events.errors import BudgetReached, UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import BudgetSet
from mage_es.projections.ledger import Ledger
from tests.engine.conftest import SMALL

PRICED = """[[price]]
models = ["openai/paid"]
input = 10.0
output = 100.0
source = "a test"
date = 2026-11-21
"""
PACKAGED = Prices()
IMPATIENT = RetryPolicy(first_wait_s=0.0001, longest_wait_s=0.0002, pause_s=0.001)


class Paid:
    """An embedded model under the name of one that costs something."""

    name = "openai/paid"

    def __init__(self) -> None:
        self._model: Model = open_model("builtin/analogist", "execution")
        self.calls = 0

    async def complete(self, request: Request) -> Completion:
        self.calls += 1
        return await self._model.complete(request)


def paid() -> Models:
    return Models(Paid(), open_model("builtin/reference", "guidance"))


def priced(folder: Path) -> Prices:
    folder.mkdir(exist_ok=True)
    (folder / "prices.toml").write_text(PRICED)
    return read_prices(folder / "prices.toml")


def begin(folder: Path, limits: Limits, models: Models, prices: Prices = PACKAGED) -> Run:
    with pytest.raises(BudgetReached):
        evolve(
            SMALL,
            runs_dir=folder,
            data_dir=None,
            runtime=Runtime(workers=4, limits=limits, prices=prices),
            run_id="r",
            models=models,
        )
    return find_run(folder, "r")


def go_on(run: Run, limits: Limits | None, models: Models, prices: Prices = PACKAGED) -> None:
    resume(run, config=None, data_dir=None, runtime=Runtime(workers=4, limits=limits, prices=prices), models=models)


def calls(run: Run) -> int:
    return sum(row.calls for row in summarise(run).ledger)


@pytest.mark.slow
def test_a_run_makes_exactly_as_many_calls_as_it_may_over_all_its_sessions(tmp_path: Path) -> None:
    run = begin(tmp_path, Limits(max_calls=30), paid())
    assert calls(run) == 30
    with pytest.raises(BudgetReached, match=r"30 calls is reached\. To"):
        go_on(run, Limits(max_calls=30), paid())
    with pytest.raises(BudgetReached, match="20 calls is reached: 30 were made"):
        go_on(run, Limits(max_calls=20), paid())
    assert calls(run) == 30
    with pytest.raises(BudgetReached):
        go_on(run, Limits(max_calls=41), paid())
    assert calls(run) == 41
    with pytest.raises(BudgetReached, match="41 calls"):
        go_on(run, None, paid())
    assert calls(run) == 41
    go_on(run, Limits(), paid())
    assert summarise(run).state == "finished"
    assert [event.max_calls for event in LogReader(run.log_path).of(BudgetSet)] == [30, 20, 41, 0]


def test_a_run_never_costs_more_than_it_may(tmp_path: Path) -> None:
    prices = priced(tmp_path / "p")
    run = begin(tmp_path / "runs", Limits(max_usd=0.5), paid(), prices)
    rows = summarise(run, prices=prices).ledger
    spent = sum(row.usd or 0 for row in rows)
    assert 0 < spent <= 0.5
    with pytest.raises(BudgetReached, match=r"\$0\.50 is reached"):
        go_on(run, Limits(max_usd=0.5), paid(), prices)
    assert {row.usd for row in rows if row.tier == "guidance"} == {0.0}


@pytest.mark.slow
def test_a_run_pauses_after_as_many_iterations_as_it_may_have(tmp_path: Path) -> None:
    run = begin(tmp_path, Limits(max_iterations=1), paid())
    summary = summarise(run)
    assert (summary.iterations_done, summary.state) == (1, "unfinished")
    go_on(run, Limits(max_iterations=2), paid())
    assert summarise(run).state == "finished"


def test_dollars_cannot_be_limited_where_a_model_has_no_price_and_no_run_is_begun(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="execution model openai/paid"):
        evolve(
            SMALL,
            runs_dir=tmp_path,
            data_dir=None,
            runtime=Runtime(workers=1, limits=Limits(max_usd=1.0)),
            models=paid(),
        )
    assert list(tmp_path.iterdir()) == []


def test_what_calls_in_flight_may_cost_is_held_back_until_they_are_paid(tmp_path: Path) -> None:
    prices = priced(tmp_path)
    rate = prices.rate("openai/paid")
    assert rate is not None
    request = Request(prompt="?", max_tokens=10)
    budget = Budget(Limits(max_usd=1.5 * rate.most(request)), prices, Ledger())
    with budget.holding("openai/paid", request) as pay:
        with pytest.raises(BudgetReached), budget.holding("openai/paid", request):
            pass
        pay(Completion(text="!", input_tokens=1, output_tokens=1))
    with budget.holding("openai/paid", request):
        pass


class Slow:
    """A model that costs something, and whose replies take their time and less than they may cost."""

    name = "openai/paid"

    def __init__(self, draw: random.Random, prices: Prices, *, latency_s: float = 0.0, broken: float = 0.0) -> None:
        rate = prices.rate(self.name)
        assert rate is not None
        self.rate, self._draw, self._latency, self._broken = rate, draw, latency_s, broken
        self.spent = self.held = self.most_held = 0.0
        self.calls = 0

    async def complete(self, request: Request) -> Completion:
        self.calls += 1
        most = self.rate.most(request)
        self.held += most
        self.most_held = max(self.most_held, self.spent + self.held)
        try:
            for _ in range(self._draw.randrange(4)):
                await asyncio.sleep(self._latency)
            if self._draw.random() < self._broken:
                raise ModelFault(Fault("server", "down"))
            reply = Completion(text="!", input_tokens=1, output_tokens=self._draw.randrange(1, request.max_tokens))
            self.spent += self.rate.paid(reply, batched=False)
            return reply
        finally:
            self.held -= most


def ask_until_stopped(model: Slow, budget: Budget, requests: Iterator[Request], tasks: int) -> list[float]:
    """Have some tasks make calls for as long as they can be afforded.

    Return for each call that was refused what was spent at that moment and what it may have cost on top of that.
    """
    client, refused = RetryingClient(model, connections=tasks, retry_policy=IMPATIENT, spending=budget), list[float]()

    async def work() -> None:
        for request in requests:
            try:
                # Which call fails as often as one may is chance; it has come to its end, and the next one is made.
                with suppress(Unanswered):
                    await client.complete(request, report=lambda failed: None)
            except BudgetReached:
                refused.append(model.spent + model.rate.most(request))
                return

    async def all_of_them() -> None:
        async with asyncio.TaskGroup() as group:
            for _ in range(tasks):
                group.create_task(work())

    asyncio.run(asyncio.wait_for(all_of_them(), 600))
    return refused


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), tasks=st.integers(1, 12), broken=st.sampled_from([0.0, 0.2]))
def test_whatever_calls_cost_and_however_long_they_take_the_budget_holds_and_only_a_call_that_may_not_fit_ends_it(
    tmp_path_factory: pytest.TempPathFactory, seed: int, tasks: int, broken: float
) -> None:
    draw, prices = random.Random(seed), priced(tmp_path_factory.getbasetemp() / "prices")
    limit = draw.uniform(0.03, 0.5)
    model = Slow(draw, prices, broken=broken)
    requests = (Request(prompt="?", max_tokens=draw.randrange(2, 200)) for _ in range(10_000))
    refused = ask_until_stopped(model, Budget(Limits(max_usd=limit), prices, Ledger()), requests, tasks)
    assert model.most_held <= limit * (1 + 1e-9)
    assert len(refused) == tasks and min(refused) > limit


def test_many_workers_wait_for_one_another_rather_than_end_a_run_that_has_spent_next_to_nothing(tmp_path: Path) -> None:
    prices = priced(tmp_path)
    model = Slow(random.Random(1), prices, latency_s=0.001)
    request = Request(prompt="?", max_tokens=200)
    most = model.rate.most(request)
    budget = Budget(Limits(max_usd=2.5 * most), prices, Ledger())
    refused = ask_until_stopped(model, budget, iter(lambda: request, None), 32)
    assert refused[0] > 2.5 * most >= model.most_held and model.calls > 3


def test_a_call_that_waits_for_money_is_woken_by_one_that_fails_and_by_one_that_is_cancelled(tmp_path: Path) -> None:
    prices = priced(tmp_path)
    request = Request(prompt="?", max_tokens=200)
    rate = prices.rate("openai/paid")
    assert rate is not None

    async def hold(budget: Budget, until: asyncio.Event) -> None:
        with budget.holding("openai/paid", request):
            await until.wait()
            raise ModelFault(Fault("server", "down"))

    async def waited(*, sent_away: int, is_cancelled: bool) -> list[bool | BaseException]:
        budget, until = Budget(Limits(max_usd=1.5 * rate.most(request)), prices, Ledger()), asyncio.Event()
        holder = asyncio.create_task(hold(budget, until))
        await asyncio.sleep(0)
        waiting = [asyncio.create_task(budget.room("openai/paid", request)) for _ in range(3)]
        await asyncio.sleep(0.01)
        assert not any(task.done() for task in waiting)
        waiting.pop(sent_away).cancel()
        if is_cancelled:
            holder.cancel()
        until.set()
        await asyncio.gather(holder, return_exceptions=True)
        return await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), 600)

    for sent_away in range(3):
        for is_cancelled in (False, True):
            assert asyncio.run(waited(sent_away=sent_away, is_cancelled=is_cancelled)) == [True, True]


def test_what_is_held_in_a_batch_is_not_waited_for(tmp_path: Path) -> None:
    prices = priced(tmp_path)
    request = Request(prompt="?", max_tokens=200)
    rate = prices.rate("openai/paid")
    assert rate is not None
    budget = Budget(Limits(max_usd=1.5 * rate.most(request)), prices, Ledger())
    with budget.holding("openai/paid", request, in_batch=True):
        assert asyncio.run(asyncio.wait_for(budget.room("openai/paid", request), 600)) is False
        with pytest.raises(BudgetReached), budget.holding("openai/paid", request):
            pass


def test_a_reply_without_tokens_is_taken_to_have_cost_the_most_that_it_can(tmp_path: Path) -> None:
    prices = priced(tmp_path)
    rate = prices.rate("openai/paid")
    assert rate is not None
    request = Request(prompt="?", max_tokens=10)
    budget = Budget(Limits(max_usd=2.5 * rate.most(request)), prices, Ledger())
    with budget.holding("openai/paid", request) as pay:
        pay(Completion(text="!", input_tokens=1, output_tokens=1))
    with budget.holding("openai/paid", request) as pay:
        pay(Completion(text="!", input_tokens=0, output_tokens=0))
    with budget.holding("openai/paid", request) as pay:
        pass
    with budget.holding("openai/paid", request) as pay:
        pay(Completion(text="!", input_tokens=0, output_tokens=0))
    with pytest.raises(BudgetReached, match=r"pass --max-usd N"), budget.holding("openai/paid", request):
        pass


class Silent(Paid):
    """The same behind a server that tells no tokens."""

    async def complete(self, request: Request) -> Completion:
        return msgspec.structs.replace(await super().complete(request), input_tokens=0, output_tokens=0)


def test_dollars_cannot_be_limited_where_a_model_tells_no_tokens_and_what_it_replied_is_kept(tmp_path: Path) -> None:
    prices, models = priced(tmp_path / "p"), Models(Silent(), open_model("builtin/reference", "guidance"))
    run = begin(tmp_path / "runs", Limits(max_usd=50.0), models, prices)
    made = calls(run)
    assert made == sum(row.calls for row in summarise(run).ledger if row.tier == "guidance") + models.execution.calls
    with pytest.raises(
        BudgetReached, match=r"openai/paid does not report how many tokens[\s\S]*--max-usd none --max-calls N"
    ):
        go_on(run, Limits(max_usd=50.0), models, prices)
    assert calls(run) == made
    with pytest.raises(BudgetReached, match=f"{made + 5} calls"):
        go_on(run, Limits(max_calls=made + 5), models, prices)


def test_one_call_and_one_iteration_are_told_in_the_singular() -> None:
    assert str(Limits(max_calls=1, max_iterations=1)) == "1 call, 1 iteration"
    assert str(Limits(max_calls=2, max_iterations=2)) == "2 calls, 2 iterations"
