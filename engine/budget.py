"""What may be spent on a run: dollars, calls, iterations, over all processes that work on it.

Rules
    - No call is begun that could take the run over its budget: what every call in flight may cost at most is held
      back until its reply says what it did cost.
    - Attempts count as calls whether or not a reply comes; an attempt that fails costs what nobody tells, so nothing.
    - Calls of an embedder that somebody bills are calls like any other, but for the few of its fingerprint: those are
      made when it is opened, and counted.
    - Reaching the budget is no failure: calls in flight are waited for, and the run can be resumed with more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from mage_es.engine.models.seam import Completion, Request
from mage_es.engine.pricing import Prices, Rate, require_rates
from mage_es.events.errors import BudgetReached, UsageError
from mage_es.projections.ledger import Ledger


class Limits(NamedTuple):
    """The most that a run may use; 0 is no limit."""

    max_usd: float = 0.0
    max_calls: int = 0
    max_iterations: int = 0


UNLIMITED = Limits()


def require_prices(limits: Limits, prices: Prices, models: Mapping[str, str]) -> None:
    """Raise `UsageError` where dollars are limited, and one of the models (tier -> spec) has no price."""
    if limits.max_usd:
        require_rates(prices, models)


class Budget:
    """The budget of a run, and what is spent of it so far."""

    def __init__(self, limits: Limits, prices: Prices, ledger: Ledger) -> None:
        self._limits, self._prices = limits, prices
        self._rates: dict[str, Rate | None] = {}
        self._calls, self._usd, self._held = 0, 0.0, 0.0
        for account, use in ledger.accounts():
            self._calls += use.calls + use.failures
            if rate := self._rate(account.model):
                self._usd += rate.paid(use, batched=account.batched)

    @contextmanager
    def holding(self, model: str, request: Request) -> Iterator[Callable[[Completion], None]]:
        """Hold back what a call may cost while it is made; the block is given what books its reply.

        Raises:
            BudgetReached: The call could take the run over its budget.
        """
        rate = self._rate(model)
        most = rate.most(request) if rate else 0.0
        self._require(most)
        self._calls += 1
        self._held += most

        def pay(completion: Completion) -> None:
            if rate:
                self._usd += rate.paid(completion, batched=completion.batched)

        try:
            yield pay
        finally:
            self._held -= most

    def count(self, model: str, completion: Completion | None) -> None:
        """Count an attempt of an embedder that was made before this budget was there, None where it brought no reply.

        Raises:
            UsageError: Dollars are limited, and nobody said what it costs, or it does not tell how much it read.
        """
        self._calls += 1
        if self._limits.max_usd:
            require_rates(self._prices, {"embedder": model})
        rate = self._rate(model)
        if completion is None or rate is None:
            return
        self._usd += rate.paid(completion, batched=False)
        if self._limits.max_usd and rate.input and not completion.input_tokens:
            raise UsageError(
                f"The server of the embedder {model} does not tell how many tokens it reads, so a budget in dollars "
                "cannot hold it. Limit the calls instead (--max-calls)."
            )

    def require_iteration(self, iteration: int) -> None:
        """Raise `BudgetReached` where an iteration is one too many."""
        limit = self._limits.max_iterations
        if limit and iteration >= limit:
            raise BudgetReached(f"The budget of {limit} iterations is reached. Raise --max-iterations to go on.")

    def _require(self, most: float) -> None:
        max_usd, max_calls, _ = self._limits
        if max_calls and self._calls >= max_calls:
            raise BudgetReached(f"The budget of {max_calls} calls is reached. Raise --max-calls to go on.")
        if max_usd and self._usd + self._held + most > max_usd:
            raise BudgetReached(
                f"The budget of ${max_usd:.2f} is reached: ${self._usd:.4f} are spent, calls in flight may cost up to "
                f"${self._held:.4f}, and the next one up to ${most:.4f}. Raise --max-usd to go on."
            )

    def _rate(self, model: str) -> Rate | None:
        if model not in self._rates:
            self._rates[model] = self._prices.rate(model)
        return self._rates[model]
