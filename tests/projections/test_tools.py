"""The tools by themselves."""

import msgspec
import pytest

from mage_es.events.vocabulary import Event, MemoryQuarantined, MemoryReleased, ToolAuthored
from mage_es.projections.tools import Tools
from tests.kit.stages import flat, round_trip
from tests.kit.strategies import history

SAMPLE = next(event for event in flat(history(seed=1, iterations=1, questions=1)) if isinstance(event, ToolAuthored))


def tool(tool_id: str, *, skill: str = "s", active: bool = True) -> ToolAuthored:
    return msgspec.structs.replace(SAMPLE, tool_id=tool_id, skill=skill, active=active)


def tools_of(*events: Event) -> Tools:
    tools = Tools()
    for event in events:
        tools.apply(event)
    return tools


def active(tools: Tools, skill: str = "s") -> str:
    found = tools.active(skill)
    return found.tool_id if found else ""


def test_the_newest_tool_that_passed_its_examples_is_the_active_one() -> None:
    tools = tools_of(tool("first"), tool("second"), tool("failed", active=False), tool("other", skill="t"))

    assert (active(tools), active(tools, "t"), active(tools, "u")) == ("second", "other", "")
    assert tools.tool("failed").active is False
    assert [each.tool_id for each in tools.tools()] == ["first", "second", "failed", "other"]
    with pytest.raises(KeyError):
        tools.tool("never")


def test_a_tool_written_again_is_the_newest_and_as_its_last_writing_says() -> None:
    tools = tools_of(tool("first", active=False), tool("second"), tool("first"))

    assert active(tools) == "first"
    assert len(tools.tools()) == 2


def test_a_tool_in_quarantine_gives_way_until_it_is_released() -> None:
    tools = tools_of(tool("first"), tool("second"), MemoryQuarantined(memory_id="second", reason="", by="user"))
    assert active(tools) == "first" and tools.is_quarantined("second")

    tools.apply(MemoryReleased(memory_id="second", reason="", by="user"))
    assert active(tools) == "second" and not tools.is_quarantined("second")


def test_which_tool_is_the_newest_is_in_the_digest_and_comes_back() -> None:
    one, other = tools_of(tool("a"), tool("b")), tools_of(tool("b"), tool("a"))
    assert one.digest() != other.digest()

    loaded = Tools()
    loaded.load(round_trip(other.dump()))
    assert loaded.digest() == other.digest() and active(loaded) == "a"
