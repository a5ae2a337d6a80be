"""The parts of an execution prompt: the question, what was solved, corrected or advised earlier, tool, steps, ending.

Rules
    - Retrieved text is believed to be data only: lines quoted with `> ` are never read as headings.
    - Anything may be missing; a text without any heading is taken as the question itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import msgspec

_HEADING = re.compile(r"^## (.+?)\s*$")
_ENDING = re.compile(r'"([^"\n]{0,40})<[a-z ]+>([^"\n]{0,40})"')
_LABELS = {
    "Strategy": ("When", "How"),
    "Skill": ("Instruction", "Approach"),
    "This step": ("Skill", "Description", "Instruction", "Approach"),
    "Steps so far": ("Step", "Output"),
    "Tool": ("Name", "Description", "Parameters", "Examples"),
    "Tool result": ("Name", "Description", "Arguments", "Result", "Problem"),
}
_OF_EXAMPLES = ("Question", "Reasoning", "Answer", "Wrong answer", "Correction", "Right answer")
_LAST = ("Answer", "Right answer")
_PARAMETER = re.compile(r"^- (\w+): (.*)$")
_MOST_BLOCKS = 16


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """A worked example: a question, its reasoning and its answer, as text."""

    question: str
    reasoning: str
    answer: str


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """A strategy for a type of question: how to recognise it and how to solve it, as text."""

    when: str
    how: str


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """The one part that is asked for: the skill that it exercises, and what that skill is for."""

    skill: str
    description: str


class Tool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that can be called: its parameters with what each stands for."""

    name: str
    parameters: tuple[tuple[str, str], ...]


class ToolOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a call of a tool came to; `result` is "" where there was a problem."""

    name: str
    arguments: str
    result: str


class ReadPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """What a prompt says. The reply ends with `before` + answer + `after`.

    `step` or `tool` is there where not the answer is asked for but a part of it, or arguments for the tool.
    """

    question: str
    is_direct: bool
    before: str
    after: str
    examples: tuple[Example, ...]
    advice: tuple[Advice, ...]
    principles: tuple[str, ...] = ()
    step: Step | None = None
    outputs: tuple[str, ...] = ()
    tool: Tool | None = None
    outcome: ToolOutcome | None = None


def read_prompt(prompt: str) -> ReadPrompt:
    """Return the parts of a prompt."""
    sections = _sections(prompt)
    body = sections.get("Question", sections.get("", ""))
    question, _, instruction = body.strip("\n").rpartition("\n\n")
    if not question:
        question = instruction
    ending = _ENDING.search(instruction)
    step, tool, outcome = (_first(sections, name) for name in ("This step", "Tool", "Tool result"))
    lore = [field for name in ("Skill", "This step") for field in _read(sections, name)]
    return ReadPrompt(
        question=question,
        is_direct="without reasoning" in instruction.lower() or "only the answer" in instruction.lower(),
        before=ending.group(1) if ending else "#### ",
        after=ending.group(2) if ending else "",
        examples=_examples(sections),
        advice=(
            *(Advice(when=f.get("When", ""), how=f["How"]) for f in _read(sections, "Strategy") if "How" in f),
            *(Advice(when="", how=field["Approach"]) for field in lore if "Approach" in field),
        ),
        principles=(
            *("\n".join(block).removeprefix("- ") for block in _blocks(sections, "Principles")),
            *(line for field in lore for text in field.values() for line in text.splitlines()),
        ),
        step=Step(skill=step.get("Skill", ""), description=step.get("Description", "")) if step else None,
        outputs=tuple(field["Output"] for field in _read(sections, "Steps so far") if "Output" in field),
        tool=Tool(name=tool.get("Name", ""), parameters=_parameters(tool.get("Parameters", ""))) if tool else None,
        outcome=_outcome(outcome) if outcome else None,
    )


def _examples(sections: Mapping[str, str]) -> tuple[Example, ...]:
    fields = [field for name in ("Solved earlier", "Corrected earlier") for field in _read(sections, name)]
    return tuple(
        Example(
            question=field["Question"],
            reasoning=field.get("Correction", field.get("Reasoning", "")),
            answer=field.get("Right answer", field.get("Answer", "")),
        )
        for field in fields
        if "Question" in field
    )


def _outcome(field: Mapping[str, str]) -> ToolOutcome:
    return ToolOutcome(name=field.get("Name", ""), arguments=field.get("Arguments", ""), result=field.get("Result", ""))


def _parameters(text: str) -> tuple[tuple[str, str], ...]:
    matches = map(_PARAMETER.match, text.splitlines())
    return tuple((match.group(1), match.group(2)) for match in matches if match)


def _sections(prompt: str) -> dict[str, str]:
    """Return the text under each heading; what follows the question's heading belongs to the question."""
    lines: dict[str, list[str]] = {"": []}
    name = ""
    for line in prompt.splitlines():
        heading = _HEADING.match(line) if name != "Question" else None
        if heading:
            name = heading.group(1)
            lines.setdefault(name, [])
        else:
            lines[name].append(line)
    return {name: "\n".join(text) for name, text in lines.items()}


def _read(sections: Mapping[str, str], name: str) -> list[dict[str, str]]:
    """Return the labelled fields of every quoted block of a section."""
    labels = _LABELS.get(name, _OF_EXAMPLES)
    return [_fields(block, labels) for block in _blocks(sections, name)]


def _first(sections: Mapping[str, str], name: str) -> dict[str, str]:
    return next(iter(_read(sections, name)), {})


def _blocks(sections: Mapping[str, str], name: str) -> list[list[str]]:
    """Return the quoted blocks of a section, without their quote marks."""
    blocks: list[list[str]] = [[]]
    for line in sections.get(name, "").splitlines():
        if line.startswith(">"):
            blocks[-1].append(line[1:].removeprefix(" "))
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block][:_MOST_BLOCKS]


def _fields(block: Sequence[str], labels: Sequence[str]) -> dict[str, str]:
    """Return a block's labelled fields; lines without a label belong to the field before them.

    A label counts where it stands first, but what ends a block where it stands last: before that the question or the
    reasoning may say `Answer:` of their own.
    """
    fields: dict[str, list[str]] = {}
    label = ""
    for line in block:
        name, colon, rest = line.partition(":")
        if colon and name in labels and (name not in fields or name in _LAST):
            label = name
            fields[label] = [rest.removeprefix(" ")]
        elif label:
            fields[label].append(line)
    return {name: "\n".join(text).strip() for name, text in fields.items()}
