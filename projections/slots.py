"""The mutable slots of every skill: mastery, prompt template, strategy. A rollback changes nothing else.

Rules
    - A rollback assigns the values remembered at a snapshot. It equals replaying the history with the updates
      between the snapshot and the rollback left out (the masks computed from the last rollback backwards).
    - A skill created after that snapshot gets its initial values: its creation is never masked.
    - The remembered values are kept, so that a later rollback may go to any snapshot, but enter no digest: after a
      rollback the digest is that of the snapshot (where no skill was created since).
"""

from typing import Any, ClassVar

import msgspec

from mage_es.events.digests import digest
from mage_es.events.errors import LogError
from mage_es.events.segments import Reads
from mage_es.events.vocabulary import Event, MasteryUpdated, SkillCreated, SkillRefined, SlotsRolledBack, SnapshotTaken
from mage_es.projections.protocol import Order, unread


class SkillSlots(msgspec.Struct, frozen=True, array_like=True):
    mastery: float
    prompt_template: str
    strategy: str


class Slots:
    """The slots now and at every snapshot.

    [section 3.3, rollback] A rollback is an event that masks what came between; the result equals the copy taken at
    that snapshot.
    """

    name: ClassVar[str] = "slots"
    reads: ClassVar[Reads] = {
        SkillCreated: ("skill", "mastery", "prompt_template", "strategy"),
        MasteryUpdated: ("skill", "after"),
        SkillRefined: ("skill", "prompt_template", "strategy"),
        SnapshotTaken: ("iteration",),
        SlotsRolledBack: ("to_iteration",),
    }
    order: ClassVar[Order] = "global"

    def __init__(self) -> None:
        self._values: dict[str, SkillSlots] = {}
        self._initial: dict[str, SkillSlots] = {}
        self._remembered: dict[int, dict[str, SkillSlots]] = {}

    def apply(self, event: Event) -> None:
        match event:
            case MasteryUpdated():
                self._values[event.skill] = msgspec.structs.replace(self._values[event.skill], mastery=event.after)
            case SkillRefined():
                refined = {"prompt_template": event.prompt_template, "strategy": event.strategy}
                self._values[event.skill] = msgspec.structs.replace(self._values[event.skill], **refined)
            case SkillCreated():
                # A split hands its parent's mastery on: the initial values, which a rollback gives back, are not zero.
                created = SkillSlots(event.mastery, event.prompt_template, event.strategy)
                self._initial[event.skill] = self._values[event.skill] = created
            case SnapshotTaken():
                # A shallow copy will do: the values are frozen, and an update assigns a new one.
                self._remembered[event.iteration] = dict(self._values)
            case SlotsRolledBack():
                # Skills created since then are in `_initial` only, and start over.
                self._values = self._initial | self._snapshot(event.to_iteration)
            case _:
                raise unread(self, event)

    def mastery(self, skill: str) -> float:
        return self._values[skill].mastery

    def prompt_template(self, skill: str) -> str:
        """Return a skill's own prompt template, or "". Raises `KeyError`."""
        return self._values[skill].prompt_template

    def strategy(self, skill: str) -> str:
        return self._values[skill].strategy

    def digest(self) -> str:
        # Remembered values are left out, so after a rollback the digest is that of the snapshot again.
        return digest(self._values)

    def dump(self) -> Any:
        return [self._values, self._initial, self._remembered]

    def load(self, dumped: Any) -> None:
        values, initial, remembered = dumped
        self._values = msgspec.convert(values, dict[str, SkillSlots])
        self._initial = msgspec.convert(initial, dict[str, SkillSlots])
        self._remembered = msgspec.convert(remembered, dict[int, dict[str, SkillSlots]])

    def _snapshot(self, iteration: int) -> dict[str, SkillSlots]:
        # Only a damaged or forged log can ask for this; continuing would restore values that never existed.
        if iteration not in self._remembered:
            taken = sorted(self._remembered)
            raise LogError(
                f"The log rolls the slots back to iteration {iteration}, but has no snapshot of it (only of "
                f"{taken}). Run `mage-es verify` to see whether the log is intact."
            )
        return self._remembered[iteration]
