"""The ledger: calls and tokens by tier, agent, purpose, iteration and model.

Rules
    - One recorded reply is one call. Latency is summed for display and enters no digest.
    - An attempt that failed is no call and cost no tokens that anybody told; it is counted beside them and enters no
      digest, because a provider's bad day changes nothing that was learned.
    - The guidance tier's line of an exam is zero; the ledger is where that is seen.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, ClassVar, Literal, NamedTuple

import msgspec

from mage_es.events.batches import Columns
from mage_es.events.digests import digest
from mage_es.events.vocabulary import CallFailed, Event, ModelCalled, Tier
from mage_es.projections.protocol import Reads


class Account(NamedTuple):
    """What is counted together."""

    tier: Tier
    agent: str
    purpose: str
    iteration: int
    model: str


class Use(NamedTuple):
    """Calls, tokens by kind, the sum of the latencies in microseconds; failed attempts, and those made again."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    thinking_tokens: int = 0
    latency_us: int = 0
    failures: int = 0
    retries: int = 0


_AMOUNTS = Use._fields[1:6]
_COUNTED = 5
"""How many fields of `Use`, the first ones, enter the digest."""
_account_of: attrgetter[tuple[Any, ...]] = attrgetter(*Account._fields)
_amounts_of: attrgetter[tuple[int, ...]] = attrgetter(*_AMOUNTS)


class Ledger:
    """All accounts."""

    name: ClassVar[str] = "ledger"
    reads: ClassVar[Reads] = {
        ModelCalled: (*Account._fields, *_AMOUNTS),
        CallFailed: (*Account._fields, "final", "latency_us"),
    }
    columnar: ClassVar[frozenset[type[Event]]] = frozenset({ModelCalled})
    order: ClassVar[Literal["global", "by_type"]] = "by_type"
    slot: ClassVar[Literal["mutable", "protected"]] = "protected"

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._accounts: dict[tuple[Any, ...], list[int]] = {}
        self._totals: dict[tuple[Tier, int | None], list[int]] = {}

    def apply(self, event: Event) -> None:
        """Book one call."""
        match event:
            case ModelCalled():
                self._book(_account_of(event), (1, *_amounts_of(event), 0, 0))
            case CallFailed():
                failed = Use(latency_us=event.latency_us, failures=1, retries=int(not event.final))
                self._book(_account_of(event), failed)
            case _:
                raise TypeError(f"the ledger does not read {type(event).__name__}; it reads {list(self.reads)}")

    def apply_columns(self, cls: type[Event], columns: Columns) -> None:
        """Book many calls."""
        accounts = columns.grouped(*Account._fields)
        sums = (accounts.sums(columns.column(name)) for name in _AMOUNTS)
        for account, *use in zip(accounts.keys, accounts.counts(), *sums, strict=True):
            self._book(account, (*use, 0, 0))

    def accounts(self) -> list[tuple[Account, Use]]:
        """Return every account in order."""
        return sorted((Account(*account), Use(*use)) for account, use in self._accounts.items())

    def total(self, tier: Tier, *, iteration: int | None = None) -> Use:
        """Return what a tier used, in one iteration or in all."""
        return Use(*self._totals.get((tier, iteration), ()))

    def digest(self) -> str:
        """Return the digest of every account's calls and tokens."""
        return digest([(account, use[:_COUNTED]) for account, use in self.accounts() if use.calls])

    def dump(self) -> Any:
        """Return every account."""
        return self.accounts()

    def load(self, dumped: Any) -> None:
        """Take over what `dump` returned."""
        self._clear()
        for account, use in msgspec.convert(dumped, list[tuple[Account, Use]]):
            self._book(account, use)

    def _book(self, account: tuple[Any, ...], use: Sequence[int]) -> None:
        tier, _, _, iteration, _ = account
        _add(self._accounts, account, use)
        _add(self._totals, (tier, iteration), use)
        _add(self._totals, (tier, None), use)


def _add(sums: dict[Any, list[int]], key: object, use: Sequence[int]) -> None:
    so_far = sums.get(key)
    if so_far is None:
        sums[key] = list(use)
    else:
        so_far[:] = map(int.__add__, so_far, use)
