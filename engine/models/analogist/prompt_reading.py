"""The parts of an execution prompt: the question, what was solved or corrected earlier, strategies, the ending.

Rules
    - Retrieved text is believed to be data only: lines quoted with `> ` are never read as headings.
    - Anything may be missing; a text without any heading is taken as the question itself.
"""

from __future__ import annotations

import re

import msgspec

_HEADING = re.compile(r"^## (.+?)\s*$")
_LABEL = re.compile(r"^(Question|Reasoning|Answer|Wrong answer|Correction|Right answer|When|How): ?(.*)$")
_ENDING = re.compile(r'"([^"\n]{0,40})<[a-z ]+>([^"\n]{0,40})"')
_MOST_BLOCKS = 12


class Example(msgspec.Struct, frozen=True, kw_only=True):
    """A worked example: a question, its reasoning and its answer, as text."""

    question: str
    reasoning: str
    answer: str


class Advice(msgspec.Struct, frozen=True, kw_only=True):
    """A strategy for a type of question: how to recognise it and how to solve it, as text."""

    when: str
    how: str


class ReadPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """What a prompt says. The reply ends with `before` + answer + `after`."""

    question: str
    is_direct: bool
    before: str
    after: str
    examples: tuple[Example, ...]
    advice: tuple[Advice, ...]


def read_prompt(prompt: str) -> ReadPrompt:
    """Return the parts of a prompt."""
    sections = _sections(prompt)
    body = sections.get("Question", sections.get("", ""))
    question, _, instruction = body.strip("\n").rpartition("\n\n")
    if not question:
        question = instruction
    ending = _ENDING.search(instruction)
    fields = [_fields(block) for name in ("Solved earlier", "Corrected earlier") for block in _blocks(sections, name)]
    return ReadPrompt(
        question=question,
        is_direct="without reasoning" in instruction.lower() or "only the answer" in instruction.lower(),
        before=ending.group(1) if ending else "#### ",
        after=ending.group(2) if ending else "",
        examples=tuple(
            Example(
                question=field["Question"],
                reasoning=field.get("Correction", field.get("Reasoning", "")),
                answer=field.get("Right answer", field.get("Answer", "")),
            )
            for field in fields
            if "Question" in field
        ),
        advice=tuple(
            Advice(when=field.get("When", ""), how=field["How"])
            for field in map(_fields, _blocks(sections, "Strategy"))
            if "How" in field
        ),
    )


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


def _blocks(sections: dict[str, str], name: str) -> list[list[str]]:
    """Return the quoted blocks of a section, without their quote marks."""
    blocks: list[list[str]] = [[]]
    for line in sections.get(name, "").splitlines():
        if line.startswith(">"):
            blocks[-1].append(line[1:].removeprefix(" "))
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block][:_MOST_BLOCKS]


def _fields(block: list[str]) -> dict[str, str]:
    """Return a block's labelled fields; lines without a label belong to the field before them."""
    fields: dict[str, list[str]] = {}
    label = ""
    for line in block:
        match = _LABEL.match(line)
        if match and match.group(1) not in fields:
            label = match.group(1)
            fields[label] = [match.group(2)]
        elif label:
            fields[label].append(line)
    return {name: "\n".join(text).strip() for name, text in fields.items()}
