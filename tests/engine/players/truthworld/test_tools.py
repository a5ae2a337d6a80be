"""The tool that is written does what it says, in the sandbox; one with poisoned rules fails its own examples."""

from __future__ import annotations

import msgspec

from mage_es.engine.briefs import KnownTool, ToolsBrief
from mage_es.engine.players.truthworld.tools import author_tools
from mage_es.engine.sandbox.checking import check_tool
from mage_es.engine.sandbox.sandbox import Sandbox
from mage_es.engine.seams.benchmark import Question
from mage_es.events.vocabulary import ToolExample

from .cases import failures, of_type


def brief(*questions: Question, existing: tuple[KnownTool, ...] = (), limit: int = 1) -> ToolsBrief:
    return ToolsBrief(task_type="t", skill="s", cases=failures(questions), solved=(), existing=existing, limit=limit)


def problem(*questions: Question) -> str:
    (tool,) = author_tools(brief(*questions)).tools
    examples = [ToolExample(arguments=example.arguments, result=example.result) for example in tool.examples]
    sandbox = Sandbox()
    try:
        return check_tool(sandbox, tool.source, examples)
    finally:
        sandbox.close()


def test_a_tool_from_sound_solutions_gets_its_examples_right() -> None:
    assert problem(*of_type("land")) == ""
    assert problem(*of_type("court")) == ""


def test_a_tool_from_poisoned_solutions_fails_its_own_examples() -> None:
    poisoned = of_type("land", solution="poisoned", count=60)
    assert problem(*poisoned).startswith("example")


def test_the_same_tool_is_not_written_again_and_none_without_a_limit() -> None:
    (tool,) = author_tools(brief(*of_type("land"))).tools
    known = KnownTool(name=tool.name, source=tool.source, problem="")
    assert author_tools(brief(*of_type("land"), existing=(known,))).tools == ()
    assert author_tools(brief(*of_type("land"), limit=0)).tools == ()
    assert author_tools(brief()).tools == ()


def test_parameters_and_arguments_have_the_same_names() -> None:
    (tool,) = author_tools(brief(*of_type("land"))).tools
    for example in tool.examples:
        assert set(msgspec.json.decode(example.arguments)) == {parameter.name for parameter in tool.parameters}
