"""The posteriors of both bandits, exactly as the updates give them, in integer millionths.

The rule that computes an update is in engine/rules/bandits.py; here the result is only assigned.
"""

from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

from mage_es.events.segments import Columns, Reads
from mage_es.events.vocabulary import MICRO, BanditUpdated, Event
from mage_es.projections.protocol import Order, Projection, unread


class Posterior(NamedTuple):
    """Beta(alpha, beta), both in millionths, and how often the arm was rewarded."""

    alpha: int
    beta: int
    pulls: int


PRIOR = Posterior(MICRO, MICRO, 0)  # Beta(1, 1): an arm that was never rewarded


class Bandits(Projection):
    """The posterior of each arm of each key: `search` keys are task types, `routing` keys are skills."""

    name: ClassVar[str] = "bandits"
    reads: ClassVar[Reads] = {BanditUpdated: ("bandit", "key", "arm", "alpha_after", "beta_after", "pulls_after")}
    columnar: ClassVar[frozenset[type[Event]]] = frozenset({BanditUpdated})
    order: ClassVar[Order] = "by_type"

    def __init__(self) -> None:
        # Bare tuples: every answer updates two arms, and a posterior is only read at the next choice.
        self._posteriors: dict[tuple[str, str, str], tuple[int, ...]] = {}

    def apply(self, event: Event) -> None:
        match event:
            case BanditUpdated():
                after = (event.alpha_after, event.beta_after, event.pulls_after)
                self._posteriors[event.bandit, event.key, event.arm] = after
            case _:
                raise unread(self, event)

    def apply_columns(self, cls: type[Event], columns: Columns) -> None:
        # An update carries the resulting posterior, so only the last update of an arm matters.
        arms = columns.grouped("bandit", "key", "arm")
        after = (columns.column(name).at(arms.last) for name in ("alpha_after", "beta_after", "pulls_after"))
        self._posteriors.update(zip(arms.keys, zip(*after, strict=True), strict=True))

    def posterior(self, bandit: str, key: str, arm: str) -> Posterior:
        # An arm that was never pulled occurs in no event, so the prior is not part of the state.
        found = self._posteriors.get((bandit, key, arm))
        return Posterior(*found) if found else PRIOR

    def arms(self) -> Iterable[tuple[str, str, str]]:
        """Return the bandit, key and name of each arm that was ever rewarded."""
        return self._posteriors.keys()

    def dump(self) -> Any:
        # Nested, because msgpack allows no tuples as keys; the digest is of this form too.
        dumped: dict[str, dict[str, dict[str, tuple[int, ...]]]] = {}
        for (bandit, key, arm), posterior in self._posteriors.items():
            dumped.setdefault(bandit, {}).setdefault(key, {})[arm] = posterior
        return dumped

    def load(self, dumped: Any) -> None:
        self._posteriors = {
            (bandit, key, arm): tuple(posterior)
            for bandit, keys in dumped.items()
            for key, arms in keys.items()
            for arm, posterior in arms.items()
        }
