"""Dynamic tools: the chain of operations that a type's solutions share, as one Starlark function."""

from __future__ import annotations

import json
from collections.abc import Sequence
from string import ascii_lowercase

from mage_es.engine.briefs import AuthoredExample, AuthoredParameter, AuthoredTool, ToolsBrief, ToolsReply
from mage_es.engine.players.arithmetic.chains import Operand, execute, operations_of
from mage_es.engine.players.arithmetic.equations import to_number, to_text
from mage_es.engine.players.arithmetic.strategies import Strategy, print_role
from mage_es.engine.players.reference.generalising import Shared, share
from mage_es.engine.players.reference.solutions import Worked, worked_cases

_LEAST_EXAMPLES, _MOST_EXAMPLES, _MOST_PARAMETERS = 2, 4, 5
_FORMS = {
    "as said": "{0}",
    "hundredths": "{0} / 100",
    "rest of hundred": "100 - {0}",
    "added to hundred": "100 + {0}",
    "rest of hundredths": "1 - {0} / 100",
    "hundredths added to one": "1 + {0} / 100",
    "inverse": "1 / {0}",
    "rest of one": "1 - {0}",
    "added to one": "1 + {0}",
    "in thousands": "{0} / 1000",
    "in millions": "{0} / 1000000",
}
"""Each form of a number as Starlark; a form that is missing here gives no tool."""


def author_tools(brief: ToolsBrief) -> ToolsReply:
    pairs = [(case.question_id, worked) for case, worked in worked_cases((*brief.cases, *brief.solved))]
    known = {tool.source for tool in brief.existing}
    left = pairs if brief.limit > 0 else []
    while (shared := share([worked for _, worked in left])) is not None:
        source = print_source(shared.strategy)
        examples = _examples(shared, left)
        if (
            source is not None
            and source not in known
            and len(shared.strategy.roles) <= _MOST_PARAMETERS
            and len(examples) >= _LEAST_EXAMPLES
        ):
            return ToolsReply(tools=(_tool(brief.task_type, source, shared.strategy, examples),))
        left = [pair for at, pair in enumerate(left) if at not in shared.members]
    return ToolsReply(tools=())


def print_source(strategy: Strategy) -> str | None:
    """Return None if a number has a form without Starlark."""
    lines = [f"def run({', '.join(_parameter(at) for at in range(len(strategy.roles)))}):"]
    for number, step in enumerate(strategy.steps, 1):
        parts = [_operand(item) if isinstance(item, Operand) else item for item in step]
        if None in parts:
            return None
        lines.append(f"    step_{number} = {' '.join(filter(None, parts))}")
    lines.append(f"    return round(step_{len(strategy.steps)}, 6)")
    return "\n".join(lines) + "\n"


def _tool(task_type: str, source: str, strategy: Strategy, examples: Sequence[AuthoredExample]) -> AuthoredTool:
    names = [name for step in strategy.steps for name in operations_of(step)]
    return AuthoredTool(
        name="_".join(["work_out", *names])[:80],
        description=f"For questions of the type {task_type}: {', then '.join(names)}.",
        parameters=tuple(
            AuthoredParameter(name=_parameter(at), meaning=print_role(role) or "a number")
            for at, role in enumerate(strategy.roles)
        ),
        source=source,
        examples=tuple(examples[:_MOST_EXAMPLES]),
    )


def _examples(shared: Shared, pairs: Sequence[tuple[str, Worked]]) -> list[AuthoredExample]:
    """Only questions that the steps answer rightly without changing units or signs."""
    plain = [
        tuple(
            item._replace(source="constant") if isinstance(item, Operand) and item.source == "ratio" else item
            for item in step
        )
        for step in shared.strategy.steps
    ]
    chain = shared.strategy.to_chain()._replace(steps=tuple(plain))
    found = []
    for at, players in zip(shared.members, shared.players, strict=True):
        question_id, worked = pairs[at]
        equations = execute(chain, dict(enumerate(players)))
        if equations and equations[-1].value == worked.equations[-1].value:
            arguments = {_parameter(role): to_number(player.value) for role, player in enumerate(players)}
            result = to_text(equations[-1].value)
            found.append(AuthoredExample(question_id=question_id, arguments=json.dumps(arguments), result=result))
    return found


def _parameter(at: int) -> str:
    return ascii_lowercase[at]


def _operand(item: Operand) -> str | None:
    if item.source == "result":
        return f"step_{item.at + 1}"
    if item.source in ("constant", "ratio"):
        return to_text(item.value)
    form = _FORMS.get(item.form)
    if form is None:
        return None
    text = form.format(_parameter(item.at))
    return text if item.form == "as said" else f"({text})"
