"""Leases on the cells of a matrix: one machine works on a cell at a time, and another takes over if it dies.

A lease is a sequence of objects, `<cell>/000001`, `<cell>/000002`, ..., each with a holder and an expiry, created once
and never changed. Taking, renewing and releasing it creates the next object.

Rules
    - The last object counts. The process that creates the next one holds the cell; of several that try, one succeeds.
    - The holder may renew until the expiry; others must wait `GRACE` longer, since clocks may differ by that much,
      unless the holder is known to be gone.

Why objects that are only created: that is the one operation which folders and object stores all perform atomically.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType

import msgspec

from mage_es.events.disk import Objects, create_once
from mage_es.events.errors import PrerequisiteError, SequenceConflict

TERM = 600.0
"""Duration of a lease in seconds; it is renewed after a third of it."""
GRACE = 60.0
"""Seconds that the clocks of two machines may differ by."""
_TRIES = 50
_PAUSE = 0.05
"""Attempts at a folder that another process has locked for a moment, and the seconds between them."""


class _Term(msgspec.Struct, frozen=True):
    """One object of a lease; `until` in seconds since 1970, 0 if it was released."""

    holder: str
    until: float
    number: int


class Leases:
    """The leases in an object store, as one holder sees them; `holder` is a globally unique name.

    `is_gone` returns whether another holder will never come back.
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
        """Return the lease of a cell, None if another process holds it. Raises `PrerequisiteError`."""
        last = self._last(cell)
        if last and last.holder != self._holder and self._is_held(last):
            return None
        lease = Lease(self, cell, last.number if last else 0)
        return lease if lease.renew(early=True) else None

    def holder_of(self, cell: str) -> str:
        """Return the holder of a cell, "" for none."""
        last = self._last(cell)
        return last.holder if last and self._is_held(last) else ""

    def until(self) -> float:
        return self._clock() + self._term

    def is_due(self, until: float) -> bool:
        return self._clock() >= until - self._term * 2 / 3

    def create(self, cell: str, number: int, until: float) -> bool:
        """Create an object of a lease; return False if another process has created it."""
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
    """A held cell, as a context manager; `number` is that of its last object."""

    def __init__(self, leases: Leases, cell: str, number: int) -> None:
        self.cell, self.number = cell, number
        self._leases, self._until = leases, 0.0

    def renew(self, *, early: bool = False) -> bool:
        """Renew the lease if it is due; return whether this holder still has it."""
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
        self._leases.create(self.cell, self.number + 1, 0.0)
