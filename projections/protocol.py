"""What a projection is: a view of the log that a fold builds, event by event, and nothing else can change.

Rules
    - `apply` assigns or appends what the event already computed. It never computes a rule, reads a clock, draws
      a random number, calls a model or touches a file.
    - `reads` names the event types, and of each the fields, that `apply` looks at. A fold over sealed segments
      reads only those columns; every other field of the event is then `None`.
    - The state is a function of the facts, not of their sequence numbers: answers of one iteration may come in
      any order, so whatever depends on order must depend on birth or on question ids.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from mage_es.events.batches import Columns
from mage_es.events.vocabulary import Event

Reads = Mapping[type[Event], tuple[str, ...]]


class Projection(Protocol):
    """A view of the log.

    `order` is `global` where events of different types must arrive in log order, `by_type` where any
    interleaving of types gives the same state. `slot` is `mutable` where a rollback takes the view back to a
    snapshot, `protected` where a rollback leaves it alone.
    """

    name: ClassVar[str]
    reads: ClassVar[Reads]
    order: ClassVar[Literal["global", "by_type"]]
    slot: ClassVar[Literal["mutable", "protected"]]

    def apply(self, event: Event) -> None:
        """Take one event in. Raises `TypeError` for a type that is not in `reads`."""
        ...

    def digest(self) -> str:
        """Return the digest of the state: equal states, equal digests, on any machine."""
        ...

    def dump(self) -> Any:
        """Return the whole state as msgspec-encodable builtins, for a snapshot."""
        ...

    def load(self, dumped: Any) -> None:
        """Replace the state by one that `dump` returned (after a msgpack round trip)."""
        ...


@runtime_checkable
class Columnar(Projection, Protocol):
    """A projection that also takes many events of one type at once, those types that `columnar` names.

    Also where its order is `global` these may come before the others of a stretch: whatever refers to them comes later.
    """

    columnar: ClassVar[frozenset[type[Event]]]

    def apply_columns(self, cls: type[Event], columns: Columns) -> None:
        """Take in events of one type in order, each field in `reads` as one column: the same as applying each."""
        ...


@runtime_checkable
class Passing(Projection, Protocol):
    """A projection that forgets: events of the types in `passing` matter only until their iteration is closed."""

    passing: ClassVar[frozenset[type[Event]]]


@runtime_checkable
class Typed(Projection, Protocol):
    """A projection that may be given its dump back as values of the type `dumped`, which saves making builtins."""

    dumped: ClassVar[Any]
