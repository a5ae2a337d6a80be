"""Rendering a prompt, with the provenance of every retrieved span.

Rules
    - The same template, memories and question give the same bytes: what the log keeps is the template's id, the
      memory ids and the prompt's hash, and whoever asks renders it again.
    - Retrieved text is data: every line of it is quoted with "> ", so nothing inside can end its own quotation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from mage_es.events.vocabulary import Span
from mage_es.projections.memory import MemoryRow

TEMPLATE_OF_ROUTE = {"direct": "answer_direct", "cot": "answer_cot", "cot_principles": "answer_cot"}
"""Which template a routing arm asks with."""


class Prompt(NamedTuple):
    """A rendered prompt and where each retrieved text stands in it."""

    text: str
    spans: tuple[Span, ...]


class Ingredients(NamedTuple):
    """What goes into an answer prompt, in the order in which it stands there."""

    success: Sequence[MemoryRow]
    failure: Sequence[MemoryRow]
    principles: Sequence[MemoryRow]
    skill_strategy: str


@lru_cache(maxsize=64)
def template(name: str) -> str:
    """Return the text of a packaged template, such as `answer_cot`."""
    from importlib.resources import files

    return files("mage_es.engine.prompts").joinpath(f"{name}.md").read_text(encoding="utf-8").rstrip("\n")


def render_answer(name: str, ingredients: Ingredients, *, question: str, context: str, answer_format: str) -> Prompt:
    """Return the prompt of an answer: successes, corrections, strategies, principles, skill, question."""
    corrections = [row for row in ingredients.failure if row.kind != "type_strategy"]
    strategies = [row for row in ingredients.failure if row.kind == "type_strategy"]
    head, tail = template(name).split("{{sections}}")
    text = head
    spans: list[Span] = []
    for title, rows, block in (
        ("Solved earlier", ingredients.success, _solved),
        ("Corrected earlier", corrections, _corrected),
        ("Strategy", strategies, _strategy),
        ("Principles", ingredients.principles, _principle),
    ):
        if rows:
            text += f"## {title}\n\n"
            text, spans = _blocks(text, spans, rows, block)
    if ingredients.skill_strategy:
        text += f"## Skill\n\n{quoted(ingredients.skill_strategy)}\n\n"
    asked = f"{context}\n\n{question}" if context else question
    text += tail.replace("{{answer_format}}", answer_format).replace("{{question}}", asked)
    return Prompt(text, tuple(spans))


def render_guidance(name: str, values: dict[str, str], brief_json: str) -> str:
    """Return a guidance prompt: the template with its values filled in, then the brief as one fenced JSON block."""
    text = template(name)
    for key, value in values.items():
        text = text.replace("{{" + key + "}}", value)
    return f"{text}\n\n```json\n{brief_json}\n```"


def quoted(text: str) -> str:
    """Return the text with every line, however it is broken, behind a quotation mark of its own."""
    return "\n".join("> " + line for line in text.splitlines() or [""])


def _blocks(
    text: str, spans: list[Span], rows: Sequence[MemoryRow], block: Callable[[MemoryRow], str]
) -> tuple[str, list[Span]]:
    for row in rows:
        rendered = quoted(block(row))
        spans = [*spans, Span(offset=len(text), length=len(rendered), source=f"memory/{row.memory_id}")]
        text += rendered + "\n\n"
    return text, spans


def _solved(row: MemoryRow) -> str:
    return f"Question: {row.question}\nReasoning: {row.reasoning}\nAnswer: {row.answer}"


def _corrected(row: MemoryRow) -> str:
    return (
        f"Question: {row.question}\nWrong answer: {row.wrong_answer}\n"
        f"Correction: {row.reasoning}\nRight answer: {row.answer}"
    )


def _strategy(row: MemoryRow) -> str:
    return f"When: {row.recognise}\nHow: {row.reasoning}"


def _principle(row: MemoryRow) -> str:
    return f"- {row.reasoning}"
