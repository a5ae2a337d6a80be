"""Which task type a question is taken to have.

Rules
    - A type that was made from the gold answer may label evolution questions at most; a held-out question, an
      anchor and a user's own question are typed from their text alone.
    - Where a benchmark's own metadata carries the type, that may be used, and every report says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from mage_es.engine.benchmarks.protocol import Benchmark, Question
from mage_es.engine.benchmarks.typer import Typer
from mage_es.engine.embedders.protocol import Embedder


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
        self._has_metadata = benchmark.task_type_source == "metadata" and choice == "benchmark"
        self._gold: Mapping[str, str] = {q.id: q.task_type for q in evolution} if choice == "gold" else {}
        self._evolution, self._embedder = evolution, embedder
        self._typer: Typer | None = None
        self.source = "metadata" if self._has_metadata else "gold" if choice == "gold" else "input"

    def types_of(self, questions: Sequence[Question]) -> list[str]:
        """Return the task type of each question of the benchmark."""
        if self._has_metadata:
            return [question.task_type for question in questions]
        unknown = [question for question in questions if question.id not in self._gold]
        predicted = self.predict([q.question for q in unknown], ids=[q.id for q in unknown])
        by_id = dict(zip([q.id for q in unknown], predicted, strict=True))
        return [self._gold.get(q.id) or by_id[q.id] for q in questions]

    def predict(self, texts: Sequence[str], *, ids: Sequence[str]) -> list[str]:
        """Return the type of each text from the text alone; a known question of the same id does not count."""
        if not texts:
            return []
        if self._typer is None:
            self._typer = Typer(self._evolution, self._embedder)
        return self._typer.predict(texts, exclude=ids)
