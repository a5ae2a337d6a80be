"""Tools of truthworld: one Starlark function that applies the rules that the solutions agree on."""

from collections.abc import Sequence

import msgspec

from mage_es.engine.briefs import AuthoredExample, AuthoredParameter, AuthoredTool, Case, ToolsBrief, ToolsReply
from tests.kit.truthworld.solutions import Reckoning, agreed, read_solution
from tests.kit.truthworld.world import SIGNS

START = "the number that the question starts from"
MARKS = "the marks in the order of the question, with one blank between them"
LINE = "the number that the line is drawn at, 0 where there is none"
_MOST_EXAMPLES = 3

_SOURCE = """\
RULES = {{
{rules}
}}

def run(start, marks, line):
    value = start
    for mark in marks.split(" "):
        sign, number = RULES[mark]
        if sign == "+":
            value += number
        elif sign == "-":
            value -= number
        else:
            value *= number
    if line == 0:
        return str(value)
    return "surplus" if value > line else "debt" if value < line else "level"
"""


def author_tools(brief: ToolsBrief) -> ToolsReply:
    told: list[Case] = [*brief.cases, *brief.solved]
    read = [(case.question_id, found) for case in told if (found := read_solution(case))]
    rules = agreed(case.solution for case in told)
    source = _SOURCE.format(
        rules="\n".join(f'    "{mark}": ("{SIGNS[rule.operation]}", {rule.number}),' for mark, rule in rules.items())
    )
    if not rules or brief.limit < 1 or any(source == known.source for known in brief.existing):
        return ToolsReply(tools=())
    tool = AuthoredTool(
        name="reckon",
        description=f"Applies marks to a number; it knows {', '.join(rules)}.",
        parameters=(
            AuthoredParameter(name="start", meaning=START),
            AuthoredParameter(name="marks", type="text", meaning=MARKS),
            AuthoredParameter(name="line", meaning=LINE),
        ),
        source=source,
        examples=_examples(read),
    )
    return ToolsReply(tools=(tool,))


def arguments_of(start: int, marks: Sequence[str], line: int) -> str:
    return msgspec.json.encode({"start": start, "marks": " ".join(marks), "line": line}).decode()


def _examples(read: Sequence[tuple[str, Reckoning]]) -> tuple[AuthoredExample, ...]:
    return tuple(
        AuthoredExample(
            question_id=name,
            arguments=arguments_of(reckoning.start, reckoning.marks, reckoning.line),
            result=reckoning.answer,
        )
        for name, reckoning in read[:_MOST_EXAMPLES]
    )
