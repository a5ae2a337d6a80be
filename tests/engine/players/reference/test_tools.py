import msgspec

from mage_es.engine.briefs import ToolsBrief
from mage_es.engine.players.reference.authors import author_tools
from mage_es.engine.session.evolving import check_tools

from .cases import CASES

BRIEF = ToolsBrief(task_type="t", skill="s", cases=CASES, solved=(), existing=(), limit=1)


def test_a_chain_that_solutions_share_becomes_a_function_that_gets_its_examples_right() -> None:
    reply = author_tools(BRIEF)
    (tool,) = reply.tools
    assert tool.source.startswith("def run(a, b, c):\n    step_1 = ") and len(tool.examples) >= 2
    assert [parameter.name for parameter in tool.parameters] == ["a", "b", "c"]
    assert check_tools(reply, BRIEF).tools[0].problem == ""


def test_one_solution_alone_or_a_limit_of_none_gives_no_tool() -> None:
    assert author_tools(msgspec.structs.replace(BRIEF, cases=CASES[:1])).tools == ()
    assert author_tools(msgspec.structs.replace(BRIEF, limit=0)).tools == ()
