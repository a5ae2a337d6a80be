"""Reading the prompts that the engine writes for language models: headings, quoted blocks, labelled fields, actions.

Rules
    - Retrieved text is data: a line quoted with `> ` is never read as a heading.
    - Any part may be missing. A text without a heading is the question itself.
    - The system message says what is wanted and how the answer ends; the rest is in the user message.
"""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from mage_es.engine.seams.model import Request

_HEADING = re.compile(r"^## (.+?)\s*$")
_ASKED = "\n## Question\n\n"
_FENCED = re.compile(r"^```json\n(.*?)\n```\s*$", re.MULTILINE | re.DOTALL)
_ENDING = re.compile(r'"((?:(?:[^"\n]*\n)|(?:#+ )|(?:[^":\n]*: ))(\[)?)[^"]*?((?(2)\]|)(?:\n```)?)"')
"""The first line that is quoted as an example: up to its mark, and the text that closes it."""
_MARKS = ("#### ", "Answer: ")
_NO_REASONING = "no reasoning"
_LABELS = ("Question", "Reply")
_PARAMETER = re.compile(r"^- (\w+)(?: \(\w+\))?: ", re.MULTILINE)
_MOST_BLOCKS = 16


def lines_by_heading(prompt: str, *, last: str = "") -> dict[str, list[str]]:
    """Lines before the first heading are under ""; headings after `last` do not count."""
    lines: dict[str, list[str]] = {"": []}
    name = ""
    for line in prompt.splitlines():
        heading = _HEADING.match(line) if not last or name != last else None
        if heading:
            name = heading.group(1)
            lines.setdefault(name, [])
        else:
            lines[name].append(line)
    return lines


def sections_of(prompt: str) -> dict[str, str]:
    return {name: "\n".join(map(_unquoted, lines)) for name, lines in lines_by_heading(prompt).items()}


def in_sections(request: Request) -> str:
    """Return a prompt as one text: cases that were shown as turns are quoted under a heading, like others, followed by
    any notes that preceded them."""
    *shown, asked = request.messages
    if not shown:
        return asked
    before, mark, first = shown[0].partition(_ASKED)
    notes = f"{before}\n" if (is_noted := bool(mark) and "\n> " in before) else ""
    questions = [first if is_noted else shown[0], *shown[2::2]]
    cases = zip(questions, shown[1::2], strict=True)
    blocks = ["\n".join(f"> {line}" for line in f"Question: {q}\nReply: {a}".splitlines()) for q, a in cases]
    heading = "" if "Question" in lines_by_heading(asked) else _ASKED.lstrip()
    return "\n\n".join(["## Solved earlier", *blocks, f"{notes}{heading}{asked}"])


def json_block(prompt: str) -> str:
    blocks: list[str] = _FENCED.findall(prompt)
    return blocks[-1] if blocks else ""


# ------------------------------------------------------------ prompts for one step of an episode


class StepPrompt(NamedTuple):
    """`sections` are those about the world and earlier episodes."""

    task: str
    so_far: str
    observation: str
    actions: list[str]
    sections: Mapping[str, str]


def read_step_prompt(request: Request) -> StepPrompt:
    sections = sections_of(request.prompt)
    return StepPrompt(
        task=sections.pop("Task", ""),
        so_far=sections.pop("Episode so far", ""),
        observation=sections.pop("Observation", ""),
        actions=[line[2:] for line in sections.pop("Valid actions", "").splitlines() if line[:2] == "- "],
        sections=sections,
    )


# ------------------------------------------------------------ prompts for the answer to a question


class Example(msgspec.Struct, frozen=True, kw_only=True):
    question: str
    reasoning: str
    answer: str


class QuestionPrompt(msgspec.Struct, frozen=True, kw_only=True):
    """The reply to it ends with `before` + answer + `after`, unless only one step, or a tool's arguments, is wanted."""

    question: str
    is_direct: bool
    before: str
    after: str
    examples: tuple[Example, ...]
    wants_step: bool
    parameters: tuple[str, ...] | None
    """The parameter names of the tool whose arguments are wanted."""


def read_question_prompt(request: Request) -> QuestionPrompt:
    sections = lines_by_heading(in_sections(request), last="Question")  # a question may contain quoted headings
    ending = _ENDING.search(request.system)
    before, after = ending.group(1, 3) if ending else (_MARKS[0], "")
    return QuestionPrompt(
        question="\n".join(sections.get("Question", sections[""])).strip("\n"),
        is_direct=_NO_REASONING in request.system,
        before=before,
        after=after,
        examples=_examples(sections, (before, *_MARKS)),
        wants_step=bool(_blocks(sections, "This step")),
        parameters=tuple(_PARAMETER.findall("\n".join(tool[0]))) if (tool := _blocks(sections, "Tool")) else None,
    )


def _examples(sections: Mapping[str, Sequence[str]], marks: Sequence[str]) -> tuple[Example, ...]:
    """Return examples; an example's answer follows the first of these marks that it has, or else is its last line."""
    found = []
    blocks = (block for name in ("Solved earlier", "Corrected earlier") for block in _blocks(sections, name))
    for field in map(_fields, blocks):
        if "Question" not in field:
            continue
        # In a case without reasoning the answer follows the question directly.
        reply = field.get("Reply") or field["Question"]
        mark = next((mark for mark in marks if mark in reply), "\n")  # served cases have no mark
        before, _, answer = reply.rpartition(mark)
        question, reasoning = (field["Question"], before) if "Reply" in field else (before, "")
        found.append(Example(question=question.strip(), reasoning=reasoning.strip(), answer=answer.strip(" []\n")))
    return tuple(found)


def _blocks(sections: Mapping[str, Sequence[str]], name: str) -> list[list[str]]:
    blocks: list[list[str]] = [[]]
    for line in sections.get(name, ()):
        if line.startswith(">"):
            blocks[-1].append(_unquoted(line))
        elif blocks[-1]:
            blocks.append([])
    return [block for block in blocks if block][:_MOST_BLOCKS]


def _fields(block: Sequence[str]) -> dict[str, str]:
    """If several lines have the same label, the first counts."""
    fields: dict[str, list[str]] = {}
    label = ""
    for line in block:
        name, colon, rest = line.partition(":")
        if colon and name in _LABELS and name not in fields:
            label = name
            fields[label] = [rest.removeprefix(" ")]
        elif label:
            fields[label].append(line)
    return {name: "\n".join(text).strip() for name, text in fields.items()}


def _unquoted(line: str) -> str:
    return line[1:].removeprefix(" ") if line.startswith(">") else line
