"""The task type that a question counts as: its own, or that of its nearest neighbours among known questions.

Rules
    - If a benchmark has no types of its own, the guidance tier induces them from texts, and the run records them. A
      question gets the type whose nearest example and description together are nearest to it.
    - A type that was derived from the gold answer may only label evolution questions. A held-out question, an anchor
      and a user's own question get their type from their text alone.
    - A type in a benchmark's own metadata may be used, and every report says so. If a question's metadata has no type,
      its text decides.
    - A type that a benchmark derives by a rule from the question's text alone may be used anywhere.
    - Only texts and the types of evolution questions enter the typer. A known question with the same id as the one to
      be typed never counts.
    - A prediction depends only on its own text, not on the other texts in the same call. Ties go to the nearer
      neighbour, then to the smaller id: similarities are exact integers, so a tie is a tie everywhere.

Nearness is the embedder's cosine, less a penalty for a different shape: the number of numbers, words and sentences in a
question says more about its steps than its subject does.
"""

import math
import re
from collections.abc import Mapping, Sequence
from heapq import nsmallest
from threading import Lock
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.embedders.vectors import GRID, UNIT, cosines, on_grid
from mage_es.engine.rules.task_types import Induced
from mage_es.engine.seams.benchmark import ONE_TYPE, Benchmark, Question
from mage_es.engine.seams.embedder import Embedder, Vectors
from mage_es.events.digests import sha256_text
from mage_es.events.errors import PrerequisiteError

NEIGHBOURS = 75
"""Most questions that vote; with few known questions, about their square root, or the commonest type would always
win."""
_FEWEST = 3
_KNOWN = 4_096
"""Most known questions to compare, drawn by the hashes of their ids: each question waits for them. With all 29,000 of
stbench, 1.7 more of 100 predictions are right, with all of gsm8k 0.5, of wordmath 0.1."""
SHAPE_WEIGHT = 4
"""The weight of a cosine of one. A difference of twice as many numbers, words or sentences weighs one, of four times as
many four."""
_NUMBER, _STOP = re.compile(r"\d[\d.,]*"), re.compile(r"[.?!](?=\s|$)")
_CLOSE = UNIT // 50
"""By how much the nearest type must beat the next one, in the sum of two cosines, to be clearly the nearest."""
_ROWS = 256
"""How many texts are compared at once, which bounds the memory of a comparison."""


class TaskTyping:
    """Types questions by metadata, by induced types, by the input-only typer, or (evolution only) by gold.

    `source` is what evolution questions are typed from: `metadata`, `induced`, `input` or `gold`.

    [section 4.1, task types] One input-only typer serves evolution, exam and `ask`. Gold types are for evolution only,
    on demand.
    """

    def __init__(
        self,
        benchmark: Benchmark,
        evolution: Sequence[Question],
        embedder: Embedder,
        *,
        choice: Literal["benchmark", "input", "gold"],
    ) -> None:
        own = benchmark.task_type_source
        self.source = choice if choice != "benchmark" else "induced" if own in ("gold", "none") else own
        self.is_induced = self.source == "induced"
        self._has_own = choice == "benchmark" and not self.is_induced
        self._questions = {question.id: question for question in evolution}
        self._nearest: tuple[Induced, NearestType] | None = None
        self._gold: Mapping[str, str] = {q.id: q.task_type for q in evolution} if choice == "gold" else {}
        self._typed = [question for question in evolution if question.task_type]
        self._embedder = embedder
        self._typer: Typer | None = None
        self._making = Lock()

    def types_of(self, questions: Sequence[Question], induced: Induced) -> list[str]:
        """Return the task type of each question of the benchmark; `induced` are a state's induced types in use.

        [section 4, MedQA, task types] A question whose metadata lacks the type gets it from its text, judged by
        questions that have one.
        """
        if self.is_induced:
            return self.predict([question.question for question in questions], induced, ids=())
        own = [q.task_type if self._has_own else self._gold.get(q.id, "") for q in questions]
        unknown = [question for question, known in zip(questions, own, strict=True) if not known]
        texts, ids = [q.question for q in unknown], [q.id for q in unknown]
        predicted = iter(self.predict(texts, induced, ids=ids))
        return [known or next(predicted) for known in own]

    def doubtful(self, questions: Sequence[Question], induced: Induced) -> dict[str, str]:
        """Return by question id the type that is about as near as the question's own; empty if types are given."""
        if len(induced) <= 1:
            return {}
        placed = self._placed(self._embedder.encode([question.question for question in questions]), induced)
        return {q.id: other for q, (_, other) in zip(questions, placed, strict=True) if other}

    def predict(
        self, texts: Sequence[str], induced: Induced, *, ids: Sequence[str], vectors: Vectors | None = None
    ) -> list[str]:
        """Return the type of each text from the text alone; a known question of the same id does not count.

        `vectors` are those of the texts, if known.
        """
        if not texts:
            return []
        if self.is_induced and not induced:  # if no type has examples there is only one
            return [ONE_TYPE] * len(texts)
        if vectors is None:
            vectors = self._embedder.encode(texts)
        if self.is_induced:
            return [one for one, _ in self._placed(vectors, induced)]
        if not self._typed:
            raise PrerequisiteError(
                "No evolution question has a task type to type others by: use files of the benchmark that have one."
            )
        with self._making:
            if self._typer is None:
                self._typer = Typer(self._typed, self._embedder)
        return self._typer.predict(texts, vectors, exclude=ids)

    def _placed(self, vectors: Vectors, induced: Induced) -> list[tuple[str, str]]:
        # Rebuilt only when a type goes out of use, which is rare.
        with self._making:
            if self._nearest is None or self._nearest[0] != induced:
                self._nearest = (induced, NearestType(induced, self._questions, self._embedder))
            nearest = self._nearest[1]
        return nearest.place(vectors)


class NearestType:
    """Induced types as vectors of their examples and of their descriptions."""

    def __init__(self, induced: Induced, questions: Mapping[str, Question], embedder: Embedder) -> None:
        self._names = sorted(induced)
        described = [f"{name.replace('-', ' ')}: {induced[name].description}" for name in self._names]
        self._descriptions = on_grid(embedder.encode(described))
        # An erased question is no longer an example.
        examples = [
            (place, each)
            for place, name in enumerate(self._names)
            for each in induced[name].examples
            if each in questions
        ]
        self._types = np.array([place for place, _ in examples], dtype=np.int64)
        self._examples = on_grid(embedder.encode([questions[each].question for _, each in examples]))

    def place(self, vectors: Vectors) -> list[tuple[str, str]]:
        """Return for each text's vector the nearest type, and the next one if it is about as near, else ""."""
        found = list[tuple[str, str]]()
        for start in range(0, len(vectors), _ROWS):
            rows = on_grid(vectors[start : start + _ROWS])
            scores = cosines(rows, self._descriptions)
            near = cosines(rows, self._examples) if len(self._types) else np.empty((len(rows), 0), scores.dtype)
            for place in range(len(self._names)):
                # A type without an example uses its description instead.
                own = near[:, self._types == place]
                scores[:, place] += own.max(axis=1) if own.size else scores[:, place]
            for row, order in zip(scores, np.argsort(-scores, axis=1, kind="stable"), strict=True):
                best, second = order[0], order[min(1, len(order) - 1)]
                is_close = best != second and row[best] - row[second] <= _CLOSE
                found.append((self._names[best], self._names[second] if is_close else ""))
        return found


class Typer:
    def __init__(self, questions: Sequence[Question], embedder: Embedder) -> None:
        """Embed the known questions. Raises `ValueError` if there are none."""
        if not questions:
            raise ValueError("the task typer needs at least one question whose type is known")
        drawn = nsmallest(_KNOWN, questions, key=lambda question: sha256_text(question.id))
        known = sorted(drawn, key=lambda question: question.id)
        self._known, self._places = len(known), {question.id: place for place, question in enumerate(known)}
        self._names = sorted({question.task_type for question in known})
        self._types = np.array([self._names.index(question.task_type) for question in known])
        texts = [question.question for question in known]
        # By columns: a product with one vector then reads it in memory order, which takes half the time.
        self._vectors = np.asfortranarray(on_grid(embedder.encode(texts)))
        shapes = _shapes(texts)
        self._shapes = 2 * self._known * shapes.T
        self._order = -self._known * (shapes**2).sum(axis=1) - np.arange(self._known)

    def predict(self, texts: Sequence[str], vectors: Vectors, *, exclude: Sequence[str] = ()) -> list[str]:
        """Return the task type of each text, given with its vector, as shown to the learner. `exclude` has, for each
        text, the id of the known question that must not vote (or ""), or it is empty."""
        if exclude and len(exclude) != len(texts):
            raise ValueError(f"{len(texts)} texts came with {len(exclude)} ids to exclude; give one for each or none")
        placed, shapes = on_grid(vectors), _shapes(texts)
        skipped = [self._places.get(name, -1) for name in exclude] or [-1] * len(texts)
        predicted: list[str] = []
        for start in range(0, len(texts), _ROWS):
            rows = slice(start, start + _ROWS)
            # 4 cosine - |x - s|^2 for the shapes x and s, without |x|^2, which is common to all. Multiplied by the
            # number of known questions, less the place, it orders them without ties, in whole numbers that float64
            # holds exactly.
            keys = SHAPE_WEIGHT * self._known * cosines(placed[rows], self._vectors) + shapes[rows] @ self._shapes
            predicted += map(self._voted, keys + self._order, skipped[rows])
        return predicted

    def _voted(self, keys: NDArray[np.float64], skipped: int) -> str:
        """Return the type of most of the nearest known questions; in a tie, of the nearer ones."""
        count = min(NEIGHBOURS, max(_FEWEST, math.isqrt(self._known)), self._known)
        if skipped >= 0 and self._known > 1:
            keys[skipped], count = -np.inf, min(count, self._known - 1)
        nearest = keys.argpartition(-count)[-count:]
        votes: list[int] = np.bincount(self._types[nearest]).tolist()
        most = max(votes)
        if votes.count(most) == 1:
            return self._names[votes.index(most)]
        nearer: list[int] = self._types[nearest[keys[nearest].argsort(kind="stable")[::-1]]].tolist()
        return next(self._names[each] for each in nearer if votes[each] == most)


def _shapes(texts: Sequence[str]) -> NDArray[np.float64]:
    """Return log2(1 + count) of numbers, words and sentences in units of 1/GRID, an array [len(texts), 3]."""
    counts = ((len(_NUMBER.findall(text)), len(text.split()), len(_STOP.findall(text))) for text in texts)
    shapes = [[round(GRID * math.log2(1 + count)) for count in each] for each in counts]
    return np.array(shapes, dtype=np.float64).reshape(-1, 3)
