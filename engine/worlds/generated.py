"""What generated benchmarks share: questions drawn by index until there are enough different ones."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from mage_es.engine.seams.benchmark import Question


def distinct(generate: Callable[[int], Question], size: int) -> tuple[Question, ...]:
    """Generate questions 0, 1, ... and keep the first of each text, until there are `size` of them."""
    by_text: dict[str, Question] = {}
    for index in count():
        if len(by_text) == size:
            break
        question = generate(index)
        by_text.setdefault(question.question, question)
    return tuple(by_text.values())
