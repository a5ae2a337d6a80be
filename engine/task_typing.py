"""Which task type a question is taken to have.

Rules
    - A type that was made from the gold answer may label evolution questions at most; a held-out question, an
      anchor and a user's own question are typed from their text alone.
    - Where a benchmark's own metadata carries the type, that may be used, and every report says so. A question whose
      metadata lacks it is typed from its text.
    - A type that a benchmark makes by a rule from the question's text alone may be used anywhere as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from mage_es.engine.benchmarks.protocol import Benchmark, Question
from mage_es.engine.benchmarks.typer import Typer
from mage_es.engine.embedders.protocol import Embedder
from mage_es.events.errors import PrerequisiteError


class TaskTyping:
    """Types questions by metadata, by the input-only typer, or (evolution only) by gold, as configured.

    `source` is what evolution questions are typed from: `metadata`, `input` or `gold`.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        evolution: Sequence[Question],
        embedder: Embedder,
        *,
        choice: Literal["benchmark", "input", "gold"],
    ) -> None:
        self._has_own = benchmark.task_type_source != "gold" and choice == "benchmark"
        self._gold: Mapping[str, str] = {q.id: q.task_type for q in evolution} if choice == "gold" else {}
        self._typed = [question for question in evolution if question.task_type]
        self._embedder = embedder
        self._typer: Typer | None = None
        has_metadata = self._has_own and benchmark.task_type_source == "metadata"
        self.source = "metadata" if has_metadata else "gold" if choice == "gold" else "input"

    def types_of(self, questions: Sequence[Question]) -> list[str]:
        """Return the task type of each question of the benchmark."""
        own = [q.task_type if self._has_own else self._gold.get(q.id, "") for q in questions]
        unknown = [question for question, known in zip(questions, own, strict=True) if not known]
        predicted = iter(self.predict([q.question for q in unknown], ids=[q.id for q in unknown]))
        return [known or next(predicted) for known in own]

    def predict(self, texts: Sequence[str], *, ids: Sequence[str]) -> list[str]:
        """Return the type of each text from the text alone; a known question of the same id does not count."""
        if not texts:
            return []
        if not self._typed:
            raise PrerequisiteError(
                "No evolution question has a task type that others could be typed by: give the benchmark's files that "
                "carry one."
            )
        if self._typer is None:
            self._typer = Typer(self._typed, self._embedder)
        return self._typer.predict(texts, exclude=ids)
