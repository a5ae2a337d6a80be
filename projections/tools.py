"""The dynamic tools that the guidance tier wrote, by skill: of each the newest that passed its own examples.

Rules
    - A tool stays stored for good. One that failed its examples was never active; one in quarantine is out of use.
    - A tool written again (same skill, name and source) is as its last writing says, and the newest of its skill.
"""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from mage_es.events.digests import digest
from mage_es.events.vocabulary import Event, MemoryQuarantined, MemoryReleased, ToolAuthored
from mage_es.projections.kept import Kept
from mage_es.projections.protocol import Reads


class Tools:
    """Every tool by its id, and the ids of each skill in the order of their last writing."""

    name: ClassVar[str] = "tools"
    reads: ClassVar[Reads] = {
        ToolAuthored: ToolAuthored.__struct_fields__,
        MemoryQuarantined: ("memory_id",),
        MemoryReleased: ("memory_id",),
    }
    order: ClassVar[Literal["global", "by_type"]] = "global"
    slot: ClassVar[Literal["mutable", "protected"]] = "protected"

    def __init__(self) -> None:
        self._tools: Kept[ToolAuthored] = Kept()
        self._by_skill: dict[str, dict[str, None]] = {}

    def apply(self, event: Event) -> None:
        """Keep a tool, or note that one was taken out of use or brought back."""
        match event:
            case ToolAuthored():
                self._tools.put(event.tool_id, event)
                written = self._by_skill.setdefault(event.skill, {})
                written.pop(event.tool_id, None)
                written[event.tool_id] = None
            case MemoryQuarantined():
                self._tools.quarantine(event.memory_id)
            case MemoryReleased():
                self._tools.release(event.memory_id)
            case _:
                raise TypeError(f"the tools do not read {type(event).__name__}; they read {list(self.reads)}")

    def active(self, skill: str) -> ToolAuthored | None:
        """Return the newest tool of a skill that is active and in use, None if there is none."""
        newest_first = reversed(self._by_skill.get(skill, {}))
        return next((tool for tool in self._tools.in_use(list(newest_first)) if tool.active), None)

    def tool(self, tool_id: str) -> ToolAuthored:
        """Return a tool by its id, in use or not. Raises `KeyError`."""
        return self._tools[tool_id]

    def tools(self) -> list[ToolAuthored]:
        """Return every tool in order of first appearance."""
        return [self._tools[tool_id] for tool_id in self._tools]

    def is_quarantined(self, tool_id: str) -> bool:
        """Return whether a tool is one of these and in quarantine."""
        return tool_id in self._tools and not self._tools.is_in_use(tool_id)

    def digest(self) -> str:
        """Return the digest of every tool and of which is the newest of its skill."""
        return digest([self._tools.digest(), self._written()])

    def dump(self) -> Any:
        """Return every tool, those in quarantine, and the order of their writing by skill."""
        return [self._tools.dump(), self._written()]

    def load(self, dumped: Any) -> None:
        """Take over what `dump` returned."""
        tools, by_skill = dumped
        self._tools = Kept.of(tools, ToolAuthored)
        self._by_skill = {skill: dict.fromkeys(written) for skill, written in by_skill.items()}

    def _written(self) -> dict[str, list[str]]:
        return {skill: list(written) for skill, written in self._by_skill.items()}
