"""Dynamic tools as events: a tool is active only if it got all of its own examples right in the sandbox.

Rules
    - A tool that failed, or that cannot be called as described, is recorded with its problem and never used.
    - Every example is about a question that the iteration asked. The same tool with the same outcome is written only
      once.
"""

import hashlib
import json
import re
from collections.abc import Collection, Sequence

import msgspec

from mage_es.engine.briefs import AuthoredExample, AuthoredTool
from mage_es.engine.commands import CheckedTool
from mage_es.engine.rules.rotation import ActionTurn, Written
from mage_es.engine.seams.replies import encodable, objects_in
from mage_es.events.vocabulary import Event, Parameter, ToolAuthored, ToolExample
from mage_es.projections.fold import State

TOOLS_PER_TARGET = 1  # tools asked for at a time, since a skill has at most one in use
MOST_PARAMETERS = 5  # a model that must fill in more gets one of them wrong
LONGEST_SOURCE = 4000
_LARGEST = 2**53
_NUMBER = re.compile(r"[$\u20ac\u00a3]?\s*([-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?|[-+]?\.\d+)\s*%?")


def tool_id(*, skill: str, name: str, source: str) -> str:
    return hashlib.sha256("\x00".join((skill, name, source)).encode()).hexdigest()[:32]


def example_of(authored: AuthoredExample) -> ToolExample:
    return ToolExample(arguments=authored.arguments, result=authored.result, question_id=authored.question_id)


def malformed(tool: AuthoredTool, questions: Collection[str]) -> str:
    """Return why a tool must not even be tried, or ""; `questions` are those that its examples may be about."""
    names = [parameter.name for parameter in tool.parameters]
    if not all(name.isidentifier() for name in (tool.name, *names)):
        return "a name of the tool or of a parameter is no identifier"
    if not 1 <= len(set(names)) == len(names) <= MOST_PARAMETERS:
        return f"a tool has 1 to {MOST_PARAMETERS} parameters, each once"
    # The sandbox bounds steps and time; this bounds what later briefs have to show of the tool.
    if len(tool.source) > LONGEST_SOURCE:
        return f"the source is longer than {LONGEST_SOURCE} characters"
    # Only its examples check a tool: without one it would be trusted blindly.
    if not tool.examples:
        return "there is no example to check it by"
    for example in tool.examples:
        if example.question_id not in questions:
            return f"the example of {example.question_id!r} is about no question of the brief"
        # The model fills in the parameters, so an example with other arguments proves nothing about its calls.
        if _keys(example.arguments) != set(names):
            return f"the example of {example.question_id} does not give exactly the parameters"
    return ""


def arguments_in(reply: str, parameters: Sequence[Parameter]) -> str:
    """Return the arguments that a reply gives for exactly these parameters, each of its type, as a JSON object in
    canonical form; "" if it gives none. A number may be written as people write it: "$1,200", "15%"."""
    try:
        for found in objects_in(reply):
            if isinstance(found, dict) and all(each.name in found for each in parameters):
                typed = {each.name: _typed(found[each.name], each.type) for each in parameters}
                if None not in typed.values():
                    return msgspec.json.encode(typed, order="sorted").decode()
    except RecursionError:
        pass
    return ""


def _typed(value: object, kind: str) -> float | str | None:
    if kind == "text":
        return encodable(value) if isinstance(value, str) else None if value is None else json.dumps(value)
    if isinstance(value, str):
        said = _NUMBER.fullmatch(value.strip())
        value = float(said[1].replace(",", "")) if said else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) < _LARGEST:
        return None
    return int(value) if value == int(value) else value


def author_tools(turn: ActionTurn, tools: Sequence[CheckedTool]) -> Written:
    """Return the tools as events; those written before with the same outcome are skipped.

    [section 3.3, dynamic tools] A tool is Starlark in a process without files, network or imports, under limits of
    steps, memory and time; it is used only once its own examples pass.
    """
    # The same source with another outcome is written again: the sandbox, or its limits, may have changed.
    known = {tool.tool_id: tool.problem for tool in turn.state.tools.tools()}
    events: list[Event] = []
    problems: list[str] = []
    for tool, problem in tools[:TOOLS_PER_TARGET]:
        name = tool_id(skill=turn.skill, name=tool.name, source=tool.source)
        if known.get(name) == problem:
            continue
        authored = ToolAuthored(
            iteration=turn.iteration,
            tool_id=name,
            skill=turn.skill,
            task_type=turn.task_type,
            name=tool.name,
            description=tool.description,
            parameters=tuple(Parameter(**msgspec.structs.asdict(each)) for each in tool.parameters),
            source=tool.source,
            examples=tuple(map(example_of, tool.examples)),
            active=not problem,
            problem=problem,
            origin=turn.origin,
        )
        events.append(authored)
        problems += [problem] if problem else []
    return Written(tuple(events), len(events) - len(problems), f"not activated: {problems[0]}" if problems else "")


def active_tool(state: State, skill: str) -> ToolAuthored | None:
    """Return the tool that a skill uses; a skill split from another uses the other's until it has its own."""
    tool = state.tools.active(skill)
    parent = state.graph.parent(skill)
    return active_tool(state, parent) if tool is None and parent else tool


def _keys(arguments: str) -> set[str] | None:
    try:
        decoded = json.loads(arguments)
    except (ValueError, RecursionError):
        return None
    return set(decoded) if isinstance(decoded, dict) else None
