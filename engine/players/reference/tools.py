"""Dynamic tools: a chain of operations that several solutions have, as Starlark of their numbers in order."""

from __future__ import annotations

import json
from string import ascii_lowercase

from mage_es.engine.briefs import AuthoredExample, AuthoredParameter, AuthoredTool, ToolsBrief, ToolsReply
from mage_es.engine.players.arithmetic.chains import Operand, execute
from mage_es.engine.players.arithmetic.equations import to_number, to_text
from mage_es.engine.players.reference.principles import steps_of
from mage_es.engine.players.reference.solutions import Worked, worked_cases
from mage_es.engine.players.reference.strategies import split_steps

_LEAST_EXAMPLES, _MOST_EXAMPLES = 2, 4
_FORMS = {"as said": "{}", "hundredths": "({} / 100)"}
"""Each form of a number as Starlark; a form that is missing here gives no tool."""


def author_tools(brief: ToolsBrief) -> ToolsReply:
    groups: dict[str, list[tuple[str, Worked]]] = {}
    for case, worked in worked_cases((*brief.cases, *brief.solved)):
        groups.setdefault(print_source(worked), []).append((case.question_id, worked))
    known = {"", *(tool.source for tool in brief.existing)}
    new = [source for source, group in groups.items() if source not in known and len(group) >= _LEAST_EXAMPLES]
    if not new or brief.limit < 1:
        return ToolsReply(tools=())
    source = max(new, key=lambda each: (len(groups[each]), each))
    names = steps_of(groups[source][0][1])
    letters = ascii_lowercase[: len(groups[source][0][1].chain.needed)]
    tool = AuthoredTool(
        name="_".join(["work_out", *names])[:80],
        description=f"For questions of the type {brief.task_type}: {', then '.join(names)}.",
        parameters=tuple(AuthoredParameter(name=name, meaning="a number, in the order said") for name in letters),
        source=source,
        examples=tuple(_example(*each) for each in groups[source][:_MOST_EXAMPLES]),
    )
    return ToolsReply(tools=(tool,))


def print_source(worked: Worked) -> str:
    """Return "" for a chain without operations, or if a number has a form without Starlark."""
    letters = dict(zip(worked.chain.needed, ascii_lowercase, strict=False))
    steps = split_steps(worked.chain)
    lines = [f"def run({', '.join(letters.values())}):"]
    for number, step in enumerate(steps, 1):
        parts = [_operand(item, letters) if isinstance(item, Operand) else item for item in step]
        if "" in parts:
            return ""
        lines.append(f"    step_{number} = {' '.join(parts)}")
    return "\n".join([*lines, f"    return round(step_{len(steps)}, 6)", ""]) if steps and letters else ""


def _operand(item: Operand, letters: dict[int, str]) -> str:
    if item.source == "result":
        return f"step_{item.at + 1}"
    return _FORMS.get(item.form, "").format(letters[item.at]) if item.source == "quantity" else to_text(item.value)


def _example(question_id: str, worked: Worked) -> AuthoredExample:
    given = dict(enumerate(worked.problem.quantities))
    arguments = {
        name: to_number(given[at].value) for at, name in zip(worked.chain.needed, ascii_lowercase, strict=False)
    }
    done = execute(worked.chain, given) or worked.equations
    return AuthoredExample(question_id=question_id, arguments=json.dumps(arguments), result=to_text(done[-1].value))
