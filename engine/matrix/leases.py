"""Leases on the cells of a matrix: of any number of machines one works on a cell, and another takes over if it dies.

A lease is a row of objects, `<cell>/000001`, `<cell>/000002`, ..., each created only where there is none, and none ever
changed: who holds it, and until when. Taking, renewing and giving back is the creation of the next one.

Rules
    - The last object counts. Whoever creates the next one holds the cell; of several who try, one succeeds.
    - The holder may go on before its time is over; anybody else only `GRACE` later, so clocks may differ by that much,
      or at once where the holder is known to be gone.

Why objects that are only ever created: that is the one thing which folders and object stores all do atomically.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType

import msgspec

from mage_es.events.errors import PrerequisiteError, SequenceConflict
from mage_es.events.objects import Objects, create_once

TERM = 600.0
"""Seconds for which a lease is taken; it is renewed after a third of them."""
GRACE = 60.0
"""Seconds that the clocks of two machines may differ by."""
_TRIES = 50
_PAUSE = 0.05
"""Attempts at a folder whose lock somebody else holds for a moment, and seconds between them."""


class _Term(msgspec.Struct, frozen=True):
    """One object of a lease; `until` in seconds since 1970, 0 where it was given back."""

    holder: str
    until: float
    number: int


class Leases:
    """The leases in a place, as one holder sees them; `holder` names no other process in the world.

    `is_gone` tells of another holder that it will never come back.
    """

    def __init__(
        self,
        objects: Objects,
        holder: str,
        *,
        clock: Callable[[], float] = time.time,
        term: float = TERM,
        is_gone: Callable[[str], bool] = lambda holder: False,
    ):
        self._objects, self._holder, self._clock, self._term, self._is_gone = objects, holder, clock, term, is_gone

    def take(self, cell: str) -> Lease | None:
        """Return the lease of a cell, None where somebody else holds it. Raises `PrerequisiteError`."""
        last = self._last(cell)
        if last and last.holder != self._holder and self._is_held(last):
            return None
        lease = Lease(self, cell, last.number if last else 0)
        return lease if lease.renew(early=True) else None

    def holder_of(self, cell: str) -> str:
        """Return who holds a cell, "" where nobody does."""
        last = self._last(cell)
        return last.holder if last and self._is_held(last) else ""

    def until(self) -> float:
        """Return when a term that begins now is over."""
        return self._clock() + self._term

    def is_due(self, until: float) -> bool:
        """Return whether a third of a term that ends then is over."""
        return self._clock() >= until - self._term * 2 / 3

    def create(self, cell: str, number: int, until: float) -> bool:
        """Create an object of a lease and return whether it was this holder's to create."""
        content = msgspec.json.encode(_Term(self._holder, until, number))
        for left in reversed(range(_TRIES)):
            try:
                create_once(self._objects, f"{cell}/{number:06d}", content)
            except SequenceConflict:
                return False
            except PrerequisiteError:
                if not left:
                    raise
                time.sleep(_PAUSE)
            else:
                return True
        return False

    def _is_held(self, last: _Term) -> bool:
        return bool(last.until) and self._clock() < last.until + GRACE and not self._is_gone(last.holder)

    def _last(self, cell: str) -> _Term | None:
        names = [name for name in self._objects.names() if name.startswith(f"{cell}/")]
        return msgspec.json.decode(self._objects.read(names[-1]), type=_Term) if names else None


class Lease:
    """A cell that is held, in a `with` block; `number` is that of its last object."""

    def __init__(self, leases: Leases, cell: str, number: int) -> None:
        self.cell, self.number = cell, number
        self._leases, self._until = leases, 0.0

    def renew(self, *, early: bool = False) -> bool:
        """Renew the lease after a third of its time; return whether it is still this holder's."""
        if not early and not self._leases.is_due(self._until):
            return True
        until = self._leases.until()
        if not self._leases.create(self.cell, self.number + 1, until):
            return False
        self.number, self._until = self.number + 1, until
        return True

    def __enter__(self) -> Lease:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.give_back()

    def give_back(self) -> None:
        """Let anybody take the cell at once."""
        self._leases.create(self.cell, self.number + 1, 0.0)
