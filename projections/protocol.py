"""What a projection is: a view of the log that a fold builds, event by event, and that nothing else can change.

Rules
    - `apply` assigns or appends what the event already computed. It never computes a rule, reads a clock, draws
      a random number, calls a model or touches a file.
    - `reads` names the event types, and the fields of each, that `apply` looks at. A fold over sealed segments reads
      only those columns; every other field of the event is then `None`.
    - The state is a function of the facts, not of their sequence numbers: answers of one iteration may come in any
      order, so anything with an order must take it from births or question ids.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Protocol, TypeGuard, runtime_checkable

from mage_es.events.digests import digest
from mage_es.events.segments import Columns, Reads
from mage_es.events.vocabulary import Event

Order = Literal["global", "by_type"]
"""`global` if events of different types must arrive in log order, `by_type` if every interleaving gives the same
state."""


class Projection(Protocol):
    name: ClassVar[str]  # recorded with every digest: it never changes
    reads: ClassVar[Reads]
    order: ClassVar[Order]

    def apply(self, event: Event) -> None: ...

    def digest(self) -> str:
        """Return the digest of the state: equal states have equal digests on any machine. By default it is the digest
        of the dump."""
        return digest(self.dump())

    # A dump may share objects with the state: it is encoded at once.
    def dump(self) -> Any: ...

    def load(self, dumped: Any) -> None:
        """Replace the state by one that `dump` returned (after a msgpack round trip)."""


@runtime_checkable
class Columnar(Projection, Protocol):
    """A projection that also takes many events of one type at once, for the types that `columnar` names. Even if its
    order is `global`, these events may come before the others of a stretch, because events that refer to them come
    later.
    """

    columnar: ClassVar[frozenset[type[Event]]]  # for the few types that make up most of a log

    def apply_columns(self, cls: type[Event], columns: Columns) -> None:
        """Apply events of one type in order, each field in `reads` as one column, with the same result as applying each
        event."""


# A fold up to the last closed iteration does not read these types at all, which saves most of its time.
class Passing(Projection, Protocol):
    """A projection for which events of the types in `passing` matter only until their iteration is closed."""

    passing: ClassVar[frozenset[type[Event]]]


class Typed(Projection, Protocol):
    """A projection that can load its dump as values of the type `dumped`, which saves converting to builtins."""

    dumped: ClassVar[Any]


class Parted(Typed, Protocol):
    """A projection whose dump is in numbered parts, each of the type `dumped`. It can also load a part that is still
    encoded, unless a key is needed to open it. Its digest is made of the parts' hashes, SHA-256 as encoded."""

    def believe(self, hashes: Mapping[int, bytes]) -> None:
        """Use these as the hashes of the parts just loaded, instead of computing them again."""


def is_parted(view: Projection | type[Projection]) -> TypeGuard[Parted]:
    # A protocol is slow to check: `isinstance` would take longer than to load a small view.
    return hasattr(view, "believe")


def unread(view: Projection, event: Event) -> TypeError:
    """Return the error for an event that a view does not read: a fold must never drop one silently."""
    return TypeError(f"the projection {view.name} does not read {type(event).__name__}; it reads {list(view.reads)}")
