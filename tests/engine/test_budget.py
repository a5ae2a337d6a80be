"""A budget: never exceeded, counted over every session, and no failure when it is reached."""

from __future__ import annotations

from pathlib import Path

import pytest

from mage_es.engine.budget import Budget, Limits
from mage_es.engine.evolution import evolve, resume
from mage_es.engine.models.registry import open_model
from mage_es.engine.models.seam import Completion, Model, Request
from mage_es.engine.pricing import Prices, read_prices
from mage_es.engine.runs import Run, find_run
from mage_es.engine.runtime import Runtime
from mage_es.engine.session import Models
from mage_es.engine.summary import summarise
from mage_es.events.errors import BudgetReached, UsageError
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


def go_on(run: Run, limits: Limits, models: Models, prices: Prices = PACKAGED) -> None:
    resume(run, config=None, data_dir=None, runtime=Runtime(workers=4, limits=limits, prices=prices), models=models)


def calls(run: Run) -> int:
    return sum(row.calls for row in summarise(run).ledger)


def test_a_run_makes_exactly_as_many_calls_as_it_may_over_all_its_sessions(tmp_path: Path) -> None:
    run = begin(tmp_path, Limits(max_calls=30), paid())
    assert calls(run) == 30
    with pytest.raises(BudgetReached, match="30 calls"):
        go_on(run, Limits(max_calls=30), paid())
    assert calls(run) == 30
    with pytest.raises(BudgetReached):
        go_on(run, Limits(max_calls=41), paid())
    assert calls(run) == 41
    go_on(run, Limits(), paid())
    assert summarise(run).state == "finished"


def test_a_run_never_costs_more_than_it_may(tmp_path: Path) -> None:
    prices = priced(tmp_path / "p")
    run = begin(tmp_path / "runs", Limits(max_usd=0.5), paid(), prices)
    rows = summarise(run, prices=prices).ledger
    spent = sum(row.usd or 0 for row in rows)
    assert 0 < spent <= 0.5
    with pytest.raises(BudgetReached, match=r"\$0\.50 is reached"):
        go_on(run, Limits(max_usd=0.5), paid(), prices)
    assert {row.usd for row in rows if row.tier == "guidance"} == {0.0}


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
