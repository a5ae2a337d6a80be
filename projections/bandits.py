"""The posteriors of both bandits, exactly as the updates state them, in integer millionths."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple

import msgspec

from mage_es.events.batches import Columns
from mage_es.events.digests import digest
from mage_es.events.vocabulary import MICRO, BanditUpdated, Event
from mage_es.projections.protocol import Reads


class Posterior(NamedTuple):
    """Beta(alpha, beta), both in millionths, and how often the arm was rewarded."""

    alpha: int
    beta: int
    pulls: int


PRIOR = Posterior(MICRO, MICRO, 0)
"""Beta(1, 1): an arm that was never rewarded."""


class Bandits:
    """The posterior of each arm of each key: `search` keys are task types, `routing` keys are skills."""

    name: ClassVar[str] = "bandits"
    reads: ClassVar[Reads] = {
        BanditUpdated: ("bandit", "key", "arm", "alpha_after", "beta_after", "pulls_after"),
    }
    columnar: ClassVar[frozenset[type[Event]]] = frozenset({BanditUpdated})
    order: ClassVar[Literal["global", "by_type"]] = "by_type"
    slot: ClassVar[Literal["mutable", "protected"]] = "protected"

    def __init__(self) -> None:
        self._posteriors: dict[str, dict[str, dict[str, Posterior]]] = {}

    def apply(self, event: Event) -> None:
        """Assign the posterior after the update."""
        match event:
            case BanditUpdated():
                arms = self._posteriors.setdefault(event.bandit, {}).setdefault(event.key, {})
                arms[event.arm] = Posterior(event.alpha_after, event.beta_after, event.pulls_after)
            case _:
                raise TypeError(f"the bandits do not read {type(event).__name__}; they read {list(self.reads)}")

    def apply_columns(self, cls: type[Event], columns: Columns) -> None:
        """Assign the posteriors after many updates; of one arm's only the last counts."""
        arms = columns.grouped("bandit", "key", "arm")
        after = (columns.column(name).at(arms.last) for name in ("alpha_after", "beta_after", "pulls_after"))
        for (bandit, key, arm), *values in zip(arms.keys, *after, strict=True):
            self._posteriors.setdefault(bandit, {}).setdefault(key, {})[arm] = Posterior(*values)

    def posterior(self, bandit: str, key: str, arm: str) -> Posterior:
        """Return an arm's posterior, the prior if it was never rewarded."""
        return self._posteriors.get(bandit, {}).get(key, {}).get(arm, PRIOR)

    def digest(self) -> str:
        """Return the digest of every posterior."""
        return digest(self._posteriors)

    def dump(self) -> Any:
        """Return every posterior by bandit, key and arm."""
        return self._posteriors

    def load(self, dumped: Any) -> None:
        """Take over what `dump` returned."""
        self._posteriors = msgspec.convert(dumped, dict[str, dict[str, dict[str, Posterior]]])
