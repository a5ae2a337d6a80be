"""How a process works on a run: how much at once, how patiently, at what expense, and who is told.

Nothing of it is recorded or changes what a run comes to: one worker or sixty-four, the digests are the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from mage_es.engine.budget import UNLIMITED, Budget, Limits, require_prices
from mage_es.engine.models.line import PATIENCE, Patience
from mage_es.engine.notes import Observer
from mage_es.engine.pricing import Prices
from mage_es.projections.ledger import Ledger


class Runtime(msgspec.Struct, frozen=True, kw_only=True):
    """What the verbs that call models are given besides the run and what to do with it."""

    workers: int = 8
    """Questions that are worked on at the same time."""
    max_connections: int | None = None
    """Calls to one model in flight at the same time; None: as many as workers."""
    observer: Observer = lambda note: None
    """Whoever is told how far the run is."""
    stop: Callable[[], bool] = lambda: False
    """Whoever is asked whether to stop."""
    patience: Patience = PATIENCE
    """How often and how long a call is tried."""
    limits: Limits = UNLIMITED
    """What a run may use in all, over all processes that work on it."""
    prices: Prices = msgspec.field(default_factory=Prices)
    """What models cost; those of the package unless told otherwise."""
    batches: bool = False
    """Whether calls of guidance and judge that do not depend on one another go in batches, where a provider has any."""

    def budget(self, ledger: Ledger) -> Budget:
        """Return what may still be spent where a ledger says what is spent already."""
        return Budget(self.limits, self.prices, ledger)

    def require_prices(self, models: Mapping[str, str]) -> None:
        """Raise `UsageError` where dollars are limited, and one of the models (tier -> spec) has no price."""
        require_prices(self.limits, self.prices, models)
