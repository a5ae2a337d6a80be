"""Rendering a prompt, with the provenance of every retrieved span.

Rules
    - The same template, sections and question give the same bytes: what the log keeps is the template's id, what
      went into the sections and the prompt's hash; to see the prompt, it is rendered again.
    - Retrieved text is data: every line of it is quoted with "> ", so nothing inside can end its own quotation. That
      holds for a skill's own instruction, too: the prompt says that it is to be followed, and shows it as a quote.
    - A control token of a chat template does nothing in data, the question included (engine/rules/inert.py).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import msgspec

from mage_es.engine.rules.inert import inert, inert_json
from mage_es.events.vocabulary import Span

INSTRUCTION_OF_SKILL = "Work as the instruction of the skill says."
"""What takes the place of a template's own instruction where the skill has one."""

_INSTRUCTION = re.compile(r"\{\{instruction\|([^{}]*)\}\}")
_PLACE = re.compile(r"\{\{(\w+)\}\}")


class Prompt(NamedTuple):
    """The two messages of a call, and where in `text`, the user's, there are quotations."""

    system: str
    text: str
    spans: tuple[Span, ...] = ()


class Quote(NamedTuple):
    """A text that was retrieved or written by a model, and what it is from: `memory/<id>`, `skill/<name>`,
    `recipe/<id>`, `tool/<id>`, or `call/<about>` for an earlier reply of the same course."""

    source: str
    text: str


class Section(NamedTuple):
    """A heading and what is quoted under it; without a quote the section is left out."""

    title: str
    quotes: Sequence[Quote]


class PromptQuestion(NamedTuple):
    """What a prompt asks: the question with its context, how the answer must end, and whether the skill has an
    instruction of its own (quoted in a section)."""

    question: str
    context: str
    answer_format: str
    is_instructed: bool = False


@lru_cache(maxsize=64)
def template(name: str) -> str:
    from importlib.resources import files

    return files("mage_es.engine.prompts").joinpath(f"{name}.md").read_text(encoding="utf-8").rstrip("\n")


def render_answer(name: str, sections: Sequence[Section], asked: PromptQuestion) -> Prompt:
    """[Eq. 4] Successes, corrections, principles, skill, question. Retrieved text is quoted as data, and every
    quotation has its source, offset and length.
    """
    # Offsets are of the final text: the head is rendered first and nothing before a span changes afterwards.
    head, tail = _parts(name, asked.is_instructed)
    text, spans = head, []
    for title, quotes in sections:
        if quotes:  # a heading without a quote would be a claim that there is nothing to know
            text += f"## {title}\n\n"
        for source, quote in quotes:
            rendered = quoted(quote)
            spans.append(Span(offset=len(text), length=len(rendered), source=source))
            text += f"{rendered}\n\n"
    question = f"{asked.context}\n\n{asked.question}" if asked.context else asked.question
    # The question goes in last: a `{{...}}` in it is text and must not be filled in.
    end = tail.replace("{{answer_format}}", asked.answer_format).replace("{{question}}", inert(question))
    return Prompt("", text + end, tuple(spans))


def render_guidance(name: str, values: dict[str, str], brief_json: str) -> Prompt:
    """Return a guidance prompt: the template with its values filled in, and the brief as one fenced JSON block.

    A value may be a name that a model or a data set gave, so it is written as inside a JSON string, and once only.
    """

    def filled(place: re.Match[str]) -> str:
        value = values.get(place[1])
        # Without its quotation marks, as the template has its own.
        return place[0] if value is None else inert_json(msgspec.json.encode(value).decode())[1:-1]

    return Prompt(_PLACE.sub(filled, template(name)), f"```json\n{inert_json(brief_json)}\n```")


def quoted(text: str) -> str:
    # `splitlines` knows every line break there is (also \x0b, \u2028): none may begin a line without the mark.
    return "\n".join("> " + line for line in inert(text).splitlines() or [""])


@lru_cache(maxsize=64)
def _parts(name: str, is_instructed: bool) -> tuple[str, str]:
    text = _INSTRUCTION.sub(INSTRUCTION_OF_SKILL if is_instructed else r"\1", template(name))
    head, tail = text.split("{{sections}}")
    return head, tail
