"""The dynamic tools that the guidance tier wrote, by skill; for each, the newest that passed its own examples.

Rules
    - A tool stays stored permanently. One that failed its examples was never active; one in quarantine is out of use.
    - A tool that is written again (same skill, name and source) counts as last written, and becomes the newest of its
      skill.
"""

from typing import Any, ClassVar

from mage_es.events.digests import digest
from mage_es.events.segments import Reads
from mage_es.events.vocabulary import Event, MemoryQuarantined, MemoryReleased, ToolAuthored
from mage_es.projections.kept import Kept
from mage_es.projections.protocol import Order, unread


class Tools:
    name: ClassVar[str] = "tools"
    reads: ClassVar[Reads] = {
        ToolAuthored: ToolAuthored.__struct_fields__,
        MemoryQuarantined: ("memory_id",),
        MemoryReleased: ("memory_id",),
    }
    order: ClassVar[Order] = "global"

    def __init__(self) -> None:
        self._tools: Kept[ToolAuthored] = Kept()
        self._by_skill: dict[str, dict[str, None]] = {}

    def apply(self, event: Event) -> None:
        match event:
            case ToolAuthored():
                self._tools.put(event.tool_id, event)
                # Removed and inserted again: a dict keeps its order, and the last writing makes a tool the newest.
                written = self._by_skill.setdefault(event.skill, {})
                written.pop(event.tool_id, None)
                written[event.tool_id] = None
            case MemoryQuarantined() | MemoryReleased():
                self._tools.curate(event)
            case _:
                raise unread(self, event)

    def active(self, skill: str) -> ToolAuthored | None:
        # `active` says that it passed its own examples when it was written; quarantine may have come later.
        newest_first = reversed(self._by_skill.get(skill, {}))
        return next((tool for tool in self._tools.in_use(list(newest_first)) if tool.active), None)

    def tool(self, tool_id: str) -> ToolAuthored:
        return self._tools[tool_id]

    def tools(self) -> list[ToolAuthored]:
        return [self._tools[tool_id] for tool_id in self._tools]  # failed ones too, as authors are shown their problems

    def is_quarantined(self, tool_id: str) -> bool:
        return self._tools.is_quarantined(tool_id)

    def digest(self) -> str:
        # The order of writing decides which tool is used, so it is part of the state; a set of rows would lose it.
        return digest([self._tools.digest(), self._written()])

    def dump(self) -> Any:
        return [self._tools.dump(), self._written()]

    def load(self, dumped: Any) -> None:
        tools, by_skill = dumped
        self._tools = Kept.of(tools, ToolAuthored)
        self._by_skill = {skill: dict.fromkeys(written) for skill, written in by_skill.items()}

    def _written(self) -> dict[str, list[str]]:
        return {skill: list(written) for skill, written in self._by_skill.items()}
