"""What may be spent on a run, by all processes together: dollars, calls, iterations.

Rules
    - No call starts that could take the run over its budget: the maximum cost of each call in flight is reserved until
      its reply shows the actual cost. If a call does not fit because of reservations, it waits until other calls
      return, first come, first served. It never waits for a batch, because the batch may be waiting for that very call.
    - A reply without token counts is booked at its maximum cost. If a model never gives token counts, the session ends
      as it does when the budget is reached, because no total could be trusted.
    - Every attempt counts as a call. A failed attempt costs nothing, because providers do not say what it used.
    - Calls of a billed embedder count like any others. Those for its fingerprint are booked once they are made.
    - Reaching the budget is not a failure: calls in flight are finished, and the run can be resumed with a higher
      limit.
    - Limits are recorded with the run (`budget.set`) and outlive a session. Only new limits replace them.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from itertools import compress

import msgspec

from mage_es.engine.config import NamedSettings
from mage_es.engine.run.pricing import Prices, Rate, Used, require_rates
from mage_es.engine.seams.model import Completion, Request
from mage_es.events.errors import BudgetReached, UsageError, counted
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import MICRO, BudgetSet
from mage_es.projections.ledger import Ledger


class Limits(msgspec.Struct, metaclass=NamedSettings, frozen=True):
    """The most that a run may use; 0 means no limit."""

    max_usd: float = 0.0
    max_calls: int = 0
    max_iterations: int = 0

    def recorded(self) -> BudgetSet:
        micro = round(self.max_usd * MICRO)
        return BudgetSet(max_usd_micro=micro, max_calls=self.max_calls, max_iterations=self.max_iterations)

    def __str__(self) -> str:
        shown = (f"${self.max_usd:.2f}", counted(self.max_calls, "call"), counted(self.max_iterations, "iteration"))
        return ", ".join(compress(shown, msgspec.structs.astuple(self))) or "no limit"


UNLIMITED = Limits()


def limits_of(reader: LogReader) -> Limits:
    """Return the limits that a run recorded last."""
    found = UNLIMITED
    for event in reader.of(BudgetSet):
        found = Limits(event.max_usd_micro / MICRO, event.max_calls, event.max_iterations)
    return found


def require_prices(limits: Limits, prices: Prices, models: Mapping[str, str]) -> None:
    """Raise `UsageError` if dollars are limited and a model (tier -> spec) has no price."""
    if limits.max_usd:
        require_rates(prices, models)


class Budget:
    """A budget, and how much of it is spent."""

    def __init__(self, limits: Limits, prices: Prices, ledger: Ledger) -> None:
        self._limits, self._prices = limits, prices
        self._rates: dict[str, Rate | None] = {}
        self._tells: dict[str, bool] = {}
        self._calls, self._usd, self._held = 0, 0.0, 0.0
        self._holding, self._in_flight = 0, 0
        self._turn, self._came_back = asyncio.Lock(), asyncio.Event()
        for account, use in ledger.accounts():
            self._calls += use.calls + use.failures
            if rate := self._rate(account.model):
                self._usd += rate.paid(use, batched=account.batched)
                if use.calls:
                    self._is_told(account.model, rate, use)

    async def room(self, model: str, request: Request) -> bool:
        """Wait while a call does not fit because of reservations for calls in flight; return whether that took any
        time.

        The caller must enter `holding` before it awaits anything else; `holding` raises if the budget is reached.
        """
        most, has_waited = self._most(model, request), self._turn.locked()
        if not has_waited and not self._is_short(most):
            return False
        async with self._turn:
            while self._in_flight and self._is_short(most):
                has_waited = True
                self._came_back.clear()
                await self._came_back.wait()
        return has_waited

    @contextmanager
    def holding(
        self, model: str, request: Request, *, in_batch: bool = False
    ) -> Iterator[Callable[[Completion], None]]:
        """Reserve what a call may cost while it is made. The block is given a function that books the reply.

        Raises:
            BudgetReached: The call could take the run over its budget.
        """
        rate, most = self._rate(model), self._most(model, request)
        self._require(most)
        self._calls += 1
        self._held += most
        self._holding += 1
        self._in_flight += not in_batch

        def pay(completion: Completion) -> None:
            if rate is None:
                return
            is_told = self._is_told(model, rate, completion)
            self._usd += rate.paid(completion, batched=completion.batched) if is_told else most

        try:
            yield pay
        finally:
            self._holding -= 1
            self._in_flight -= not in_batch
            self._held = self._held - most if self._holding else 0.0  # no remainder of a sum of fractions stays behind
            self._came_back.set()

    def count(self, model: str, completion: Completion | None) -> None:
        """Count an embedder's attempt made before this budget existed; None if it brought no reply.

        Raises:
            UsageError: Dollars are limited, but its price is unknown or its server gives no token counts.
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
                f"The server of the embedder {model} does not report how many tokens it reads, so a limit in dollars "
                "cannot be kept. Limit the calls instead (--max-calls)."
            )

    def require_iteration(self, iteration: int) -> None:
        """Raise `BudgetReached` if another iteration would exceed the limit."""
        limit = self._limits.max_iterations
        if limit and iteration >= limit:
            raise BudgetReached(f"The budget of {counted(limit, 'iteration')} is reached.", "--max-iterations N")

    def _require(self, most: float) -> None:
        max_usd, max_calls = self._limits.max_usd, self._limits.max_calls
        if max_calls and self._calls >= max_calls:
            more = f": {self._calls} were made" if self._calls > max_calls else ""
            raise BudgetReached(f"The budget of {counted(max_calls, 'call')} is reached{more}.", "--max-calls N")
        if max_usd and (silent := [model for model, tells in self._tells.items() if not tells]):
            raise BudgetReached(
                f"The server of {silent[0]} does not report how many tokens it reads and writes, so a limit in "
                "dollars cannot be kept. Limit the calls instead.",
                "--max-usd none --max-calls N",
            )
        if self._is_short(most):
            raise BudgetReached(
                f"The budget of ${max_usd:.2f} is reached: ${self._usd:.4f} is spent, calls in flight may cost "
                f"up to ${self._held:.4f}, and the next one up to ${most:.4f}.",
                "--max-usd N",
            )

    def _is_short(self, most: float) -> bool:
        """Return whether the limit, less what is spent and held, is too little for a call that may cost this much."""
        max_usd = self._limits.max_usd
        return max_usd > 0 and self._usd + self._held + most > max_usd

    def _is_told(self, model: str, rate: Rate, used: Used) -> bool:
        """Return whether calls came with token counts (or cost nothing); remember whether the model ever gives them."""
        is_told = rate.is_told(used)
        self._tells[model] = self._tells.get(model, False) or is_told
        return is_told

    def _most(self, model: str, request: Request) -> float:
        rate = self._rate(model)
        return rate.most(request) if rate else 0.0

    def _rate(self, model: str) -> Rate | None:
        if model not in self._rates:
            self._rates[model] = self._prices.rate(model)
        return self._rates[model]
