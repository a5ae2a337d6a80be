"""A tool becomes a fact with its outcome; only one that gets its own examples right is ever in use."""

import msgspec
import pytest

from mage_es.engine.briefs import AuthoredExample, AuthoredParameter, AuthoredTool
from mage_es.engine.commands import CheckedTool
from mage_es.engine.rules.rotation import ActionTurn, Written
from mage_es.engine.rules.tools import arguments_in, author_tools, malformed
from mage_es.events.vocabulary import Origin, Parameter, ToolAuthored
from mage_es.projections.fold import State

TOOL = AuthoredTool(
    name="double",
    description="Doubles a number.",
    parameters=(AuthoredParameter(name="a", meaning="the number"),),
    source="def run(a):\n    return a * 2\n",
    examples=(AuthoredExample(question_id="q1", arguments='{"a": 2}', result="4"),),
)


def written(state: State, tool: AuthoredTool = TOOL, problem: str = "", iteration: int = 1) -> Written:
    checked = [CheckedTool(tool, problem)]
    return author_tools(
        ActionTurn(state, iteration, task_type="t", skill="general", origin=Origin(facts=("c",))), checked
    )


def apply(state: State, writing: Written) -> None:
    for event in writing.events:
        state.apply(event)


def test_a_tool_that_gets_its_examples_right_is_the_skills_tool_from_then_on() -> None:
    state = State()
    writing = written(state)
    apply(state, writing)
    tool = state.tools.active("general")
    assert tool is not None and tool.source == TOOL.source
    assert (writing.authored, writing.refused) == (1, "")


@pytest.mark.paper("section 3.3, dynamic tools")
def test_a_tool_that_fails_is_recorded_with_its_problem_and_never_in_use() -> None:
    state = State()
    writing = written(state, problem="example 1: '5' instead of '4'")
    apply(state, writing)
    event = writing.events[0]
    assert isinstance(event, ToolAuthored)
    assert (event.active, event.problem) == (False, "example 1: '5' instead of '4'")
    assert state.tools.active("general") is None
    assert (writing.authored, writing.refused) == (0, "not activated: example 1: '5' instead of '4'")


def test_the_same_tool_with_the_same_outcome_is_written_once_and_a_mended_one_again() -> None:
    state = State()
    apply(state, written(state, problem="it took more than 1000000 steps"))
    assert written(state, problem="it took more than 1000000 steps") == Written()
    apply(state, written(state))
    assert state.tools.active("general") is not None


def test_a_newer_tool_takes_the_place_of_the_one_before() -> None:
    state = State()
    apply(state, written(state))
    newer = msgspec.structs.replace(TOOL, source="def run(a):\n    return a + a\n")
    apply(state, written(state, newer, iteration=5))
    tool = state.tools.active("general")
    assert tool is not None and tool.source == newer.source


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, ""),
        ({"name": "two words"}, "no identifier"),
        ({"parameters": ()}, "1 to 5 parameters"),
        ({"parameters": (TOOL.parameters[0], TOOL.parameters[0])}, "1 to 5 parameters"),
        ({"source": "#" * 5000}, "longer than 4000"),
        ({"examples": ()}, "no example"),
        ({"examples": (AuthoredExample(question_id="q9", arguments='{"a": 2}', result="4"),)}, "about no question"),
        ({"examples": (AuthoredExample(question_id="q1", arguments='{"b": 2}', result="4"),)}, "exactly the param"),
        ({"examples": (AuthoredExample(question_id="q1", arguments="[2]", result="4"),)}, "exactly the param"),
        ({"examples": (AuthoredExample(question_id="q1", arguments="{", result="4"),)}, "exactly the param"),
        ({"examples": (AuthoredExample(question_id="q1", arguments="[" * 5000, result=""),)}, "exactly the param"),
    ],
)
def test_a_tool_that_cannot_be_called_as_it_says_is_not_even_tried(changes: dict[str, object], problem: str) -> None:
    found = malformed(msgspec.structs.replace(TOOL, **changes), {"q1"})
    assert problem in found
    assert bool(found) == bool(problem)


PARAMETERS = (Parameter(name="price", meaning=""), Parameter(name="name", meaning="", type="text"))


@pytest.mark.parametrize(
    ("reply", "arguments"),
    [
        ('The price {in dollars}: {"name": "é", "price": 1.50}', '{"name":"é","price":1.5}'),
        ('{"price": "$1,200", "name": 7}', '{"name":"7","price":1200}'),
        ('{"price": "15%", "name": "x", "why": "said so"}', '{"name":"x","price":15}'),
        ('{"price": 2.0, "name": "x"}', '{"name":"x","price":2}'),
        ("{'price': -3, 'name': 'it's'}", '{"name":"it\'s","price":-3}'),
        ('<tool_call>{"name": "total", "arguments": {"price": 4, "name": "x"}}</tool_call>', '{"name":"x","price":4}'),
        ('{"type": "tool_use", "name": "total", "input": {"price": 4, "name": "x"}}', '{"name":"x","price":4}'),
        ('{"price": 1, "name": "draft"} or {"price": 4, "name": "x"}', '{"name":"x","price":4}'),
        ('{"price": "four", "name": "x"}', ""),
        ('{"price": true, "name": "x"}', ""),
        ('{"price": 1e999, "name": "x"}', ""),
        ('{"price": 1e300, "name": "x"}', ""),
        ('{"price": 4}', ""),
        ('{"price": 4, "name": "x', ""),
        ("none", ""),
    ],
)
def test_arguments_have_one_form_and_the_types_of_the_parameters_whatever_a_model_writes(
    reply: str, arguments: str
) -> None:
    assert arguments_in(reply, PARAMETERS) == arguments
