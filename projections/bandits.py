"""The posteriors of both bandits, exactly as the updates state them, in integer millionths."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple

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
        self._posteriors: dict[tuple[str, str, str], tuple[int, ...]] = {}

    def apply(self, event: Event) -> None:
        """Assign the posterior after the update."""
        match event:
            case BanditUpdated():
                after = (event.alpha_after, event.beta_after, event.pulls_after)
                self._posteriors[event.bandit, event.key, event.arm] = after
            case _:
                raise TypeError(f"the bandits do not read {type(event).__name__}; they read {list(self.reads)}")

    def apply_columns(self, cls: type[Event], columns: Columns) -> None:
        """Assign the posteriors after many updates; of one arm's only the last counts."""
        arms = columns.grouped("bandit", "key", "arm")
        after = (columns.column(name).at(arms.last) for name in ("alpha_after", "beta_after", "pulls_after"))
        self._posteriors.update(zip(arms.keys, zip(*after, strict=True), strict=True))

    def posterior(self, bandit: str, key: str, arm: str) -> Posterior:
        """Return an arm's posterior, the prior if it was never rewarded."""
        found = self._posteriors.get((bandit, key, arm))
        return Posterior(*found) if found else PRIOR

    def digest(self) -> str:
        """Return the digest of every posterior."""
        return digest(self.dump())

    def dump(self) -> Any:
        """Return every posterior by bandit, key and arm."""
        dumped: dict[str, dict[str, dict[str, tuple[int, ...]]]] = {}
        for (bandit, key, arm), posterior in self._posteriors.items():
            dumped.setdefault(bandit, {}).setdefault(key, {})[arm] = posterior
        return dumped

    def load(self, dumped: Any) -> None:
        """Take over what `dump` returned."""
        self._posteriors = {
            (bandit, key, arm): tuple(posterior)
            for bandit, keys in dumped.items()
            for key, arms in keys.items()
            for arm, posterior in arms.items()
        }
