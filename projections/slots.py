"""The mutable slots of every skill: mastery, prompt template, strategy. The only things that a rollback touches.

Rules
    - A rollback assigns the values remembered at a snapshot. It equals replaying the history with the updates
      between the snapshot and the rollback left out (the masks computed from the last rollback backwards).
    - A skill created after that snapshot gets its initial values: its creation is never masked.
    - What was remembered stays remembered, so that a later rollback may go to any snapshot, and enters no
      digest: after a rollback the digest is that of the snapshot (where no skill was created since).
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import msgspec

from mage_es.events.digests import digest
from mage_es.events.errors import LogError
from mage_es.events.vocabulary import (
    Event,
    MasteryUpdated,
    SkillCreated,
    SkillRefined,
    SlotsRolledBack,
    SnapshotTaken,
)
from mage_es.projections.protocol import Reads


class SkillSlots(msgspec.Struct, frozen=True, array_like=True):
    """The values of one skill's slots."""

    mastery: float
    prompt_template: str
    strategy: str


class Slots:
    """The slots as they stand, and as they stood at every snapshot."""

    name: ClassVar[str] = "slots"
    reads: ClassVar[Reads] = {
        SkillCreated: ("skill", "mastery", "prompt_template", "strategy"),
        MasteryUpdated: ("skill", "after"),
        SkillRefined: ("skill", "prompt_template", "strategy"),
        SnapshotTaken: ("iteration",),
        SlotsRolledBack: ("to_iteration",),
    }
    order: ClassVar[Literal["global", "by_type"]] = "global"
    slot: ClassVar[Literal["mutable", "protected"]] = "mutable"

    def __init__(self) -> None:
        self._values: dict[str, SkillSlots] = {}
        self._initial: dict[str, SkillSlots] = {}
        self._remembered: dict[int, dict[str, SkillSlots]] = {}

    def apply(self, event: Event) -> None:
        """Assign. Raises `LogError` for a rollback to an iteration without a snapshot."""
        match event:
            case MasteryUpdated():
                self._values[event.skill] = msgspec.structs.replace(self._values[event.skill], mastery=event.after)
            case SkillRefined():
                refined = {"prompt_template": event.prompt_template, "strategy": event.strategy}
                self._values[event.skill] = msgspec.structs.replace(self._values[event.skill], **refined)
            case SkillCreated():
                created = SkillSlots(event.mastery, event.prompt_template, event.strategy)
                self._initial[event.skill] = self._values[event.skill] = created
            case SnapshotTaken():
                self._remembered[event.iteration] = dict(self._values)
            case SlotsRolledBack():
                self._values = self._initial | self._snapshot(event.to_iteration)
            case _:
                raise TypeError(f"the slots do not read {type(event).__name__}; they read {list(self.reads)}")

    def mastery(self, skill: str) -> float:
        """Return a skill's mastery in [0, 1]. Raises `KeyError` for a skill that was never created."""
        return self._values[skill].mastery

    def prompt_template(self, skill: str) -> str:
        """Return a skill's prompt template, "" where it has none of its own. Raises `KeyError`."""
        return self._values[skill].prompt_template

    def strategy(self, skill: str) -> str:
        """Return the paragraph on how to attack a skill's questions, maybe "". Raises `KeyError`."""
        return self._values[skill].strategy

    def digest(self) -> str:
        """Return the digest of the values as they stand."""
        return digest(self._values)

    def dump(self) -> Any:
        """Return current, initial and remembered values."""
        return [self._values, self._initial, self._remembered]

    def load(self, dumped: Any) -> None:
        """Take over what `dump` returned."""
        values, initial, remembered = dumped
        self._values = msgspec.convert(values, dict[str, SkillSlots])
        self._initial = msgspec.convert(initial, dict[str, SkillSlots])
        self._remembered = msgspec.convert(remembered, dict[int, dict[str, SkillSlots]])

    def _snapshot(self, iteration: int) -> dict[str, SkillSlots]:
        if iteration not in self._remembered:
            taken = sorted(self._remembered)
            raise LogError(
                f"The log rolls the slots back to iteration {iteration}, of which it has no snapshot"
                f" (there are {taken}). Run `mage-es verify` to see whether the log is whole."
            )
        return self._remembered[iteration]
