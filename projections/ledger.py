"""The ledger: calls and tokens by tier, agent, purpose, iteration and model.

Rules
    - One recorded reply is one call. Latency is summed for display and enters no digest.
    - A failed attempt is not a call, and no provider reports its tokens. It is counted separately and enters no digest,
      because a provider's bad day does not change what was learned.
    - Batched calls have separate accounts, because they cost less, and so do calls served by a model other than the
      requested one. These distinctions, and cache writes, matter only for prices and audits, so the digest ignores them
      and adds all calls up.
    - Calls to an embedding server are a separate tier, which no agent uses. They enter no digest: how often vectors are
      requested depends on how often a run was stopped, and a replay requests none.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, ClassVar, NamedTuple

import msgspec

from mage_es.events.digests import digest
from mage_es.events.segments import Columns, Reads
from mage_es.events.vocabulary import CallFailed, EmbeddingCalled, Event, ModelCalled, Tier
from mage_es.projections.protocol import Order, unread


class Account(NamedTuple):
    tier: Tier
    agent: str
    purpose: str
    iteration: int
    model: str
    batched: bool = False
    served_by: str = ""


class Usage(NamedTuple):
    """Calls, tokens by kind, the sum of the latencies in microseconds; failed attempts, and those that were made again;
    tokens that were written into a cache (included in the input, like those read from one); and replies that a limit
    cut."""

    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    thinking_tokens: int = 0
    latency_us: int = 0
    failures: int = 0
    retries: int = 0
    cache_write_tokens: int = 0
    cut: int = 0


_AMOUNTS = (*Usage._fields[1:6], "cache_write_tokens")
CUT = "length"  # the stop reason of a reply that a limit cut; one that repeated itself says nothing about the limit
_COUNTED = 5  # how many fields of `Usage`, the first ones, enter the digest
_WHO = Account._fields[:5]  # the fields of `Account` that enter the digest
_account_of: attrgetter[tuple[Any, ...]] = attrgetter(*Account._fields)
_who: attrgetter[tuple[Any, ...]] = attrgetter(*_WHO)
_amounts_of: attrgetter[tuple[int, ...]] = attrgetter(*_AMOUNTS)


class Ledger:
    name: ClassVar[str] = "ledger"
    reads: ClassVar[Reads] = {
        ModelCalled: (*Account._fields, *_AMOUNTS, "stop_reason"),
        CallFailed: (*_WHO, "final", "latency_us"),
        EmbeddingCalled: ("purpose", "iteration", "model", "input_tokens", "latency_us"),
    }
    columnar: ClassVar[frozenset[type[Event]]] = frozenset({ModelCalled})
    order: ClassVar[Order] = "by_type"

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        # Lists of numbers, added up in place, as a fold books every call of a run; a `Usage` is made only for readers.
        self._accounts: dict[tuple[Any, ...], list[int]] = {}
        self._totals: dict[tuple[Tier, int | None], list[int]] = {}

    def apply(self, event: Event) -> None:
        match event:
            case ModelCalled():
                *amounts, written = _amounts_of(event)
                self._book(_account_of(event), (1, *amounts, 0, 0, written, int(event.stop_reason == CUT)))
            case CallFailed():
                # A failure has no reply: no provider name, no batch, no tokens. So it has its own account.
                failed = Usage(latency_us=event.latency_us, failures=1, retries=int(not event.final))
                self._book((*_who(event), False, ""), failed)
            case EmbeddingCalled():
                asked = Account("embedder", "", event.purpose, event.iteration, event.model)
                self._book(asked, Usage(calls=1, input_tokens=event.input_tokens, latency_us=event.latency_us))
            case _:
                raise unread(self, event)

    def apply_columns(self, cls: type[Event], columns: Columns) -> None:
        # Sums over whole columns: the accounts of a run are a few dozen, its calls tens of thousands.
        accounts = columns.grouped(*Account._fields, "stop_reason")
        sums = (accounts.sums(columns.column(name)) for name in _AMOUNTS)
        for (*account, stop), count, *use, written in zip(accounts.keys, accounts.counts(), *sums, strict=True):
            self._book(tuple(account), (count, *use, 0, 0, written, count if stop == CUT else 0))

    def accounts(self) -> list[tuple[Account, Usage]]:
        return sorted((Account(*account), Usage(*use)) for account, use in self._accounts.items())

    def usage(self, account: Account) -> Usage:
        return Usage(*self._accounts.get(account, ()))

    def total(self, tier: Tier, *, iteration: int | None = None) -> Usage:
        return Usage(*self._totals.get((tier, iteration), ()))

    def share(self, tier: Tier, purpose: str) -> float:
        """Return the share of a purpose in the calls of a tier."""
        calls = sum(use[0] for account, use in self._accounts.items() if (account[0], account[2]) == (tier, purpose))
        return calls / max(1, self.total(tier).calls)

    def digest(self) -> str:
        # Batched calls and those served by another model cost differently but teach the same: here they are added up.
        by_whom: dict[Any, list[int]] = {}
        for account, use in self.accounts():
            if account.tier != "embedder":
                _add(by_whom, account[: len(_WHO)], use[:_COUNTED])
        # Without calls an account has only failures, which depend on the provider's day and not on the run.
        return digest([(who, tuple(use)) for who, use in by_whom.items() if use[0]])

    def dump(self) -> Any:
        return self.accounts()

    def load(self, dumped: Any) -> None:
        self._clear()
        for account, use in msgspec.convert(dumped, list[tuple[Account, Usage]]):
            self._book(account, use)

    def _book(self, account: tuple[Any, ...], use: Sequence[int]) -> None:
        # Totals are kept beside the accounts, because progress is shown after every answer and a budget is checked
        # before every call.
        tier, _, _, iteration, *_ = account
        _add(self._accounts, account, use)
        _add(self._totals, (tier, iteration), use)
        _add(self._totals, (tier, None), use)


def _add(sums: dict[Any, list[int]], key: object, use: Sequence[int]) -> None:
    so_far = sums.get(key)
    if so_far is None:
        sums[key] = list(use)
    else:
        so_far[:] = map(int.__add__, so_far, use)
