"""The benchmark `crafter`: seeded worlds to survive in, measured by the share of the 22 achievements.

Rules
    - A task is a world. All have the same instruction, so it stands beside the question, as context; the question
      names the world, and no two are the same or nearly so.
    - The worlds of evolution and of the test have different seeds, and a run's seed shifts both. What is learned in one
      world may serve in another: that is the point, and no leak. A memory of a test world would be one.
    - There is one task type, known from the input alone: a world says nothing of what can be achieved in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from statistics import pstdev

from mage_es.engine.benchmarks.measuring import Measured, Prediction
from mage_es.engine.benchmarks.protocol import Question, Split, TaskTypeSource, Verdict
from mage_es.engine.environments.crafter.handbook import ACHIEVEMENTS, INSTRUCTION, RULES
from mage_es.engine.environments.playing import play_actions
from mage_es.engine.environments.protocol import Environment
from mage_es.events.digests import sha256_text
from mage_es.events.errors import PrerequisiteError

VERSION = "crafter 1"
"""Changes whenever the same seed would give other tasks."""
SIZES: dict[Split, int] = {"evolution": 300, "test": 100}
_BLOCK = 1_000
"""World numbers that belong to one seed of the benchmark; the test's worlds are the upper half."""
_FIRST: dict[Split, int] = {"evolution": 0, "test": 500}
_BLOCKS = 1_000_000
"""Seeds of the benchmark that have worlds of their own; the simulator's seeds end at 2^31."""


class Crafter:
    """Worlds of the survival game; `crafter` is the task type of all."""

    name = "crafter"
    licence = "MIT (the package crafter 1.8.3, which is installed and not part of this one)"
    task_type_source: TaskTypeSource = "input"
    answer_format = 'Finish with a line "ACTION: <action>", one of the valid actions in exactly these words.'

    def __init__(self, seed: int) -> None:
        """Number the worlds. Raises `PrerequisiteError` where the simulator is not installed."""
        try:
            import mage_es.engine.environments.crafter.game
        except ImportError as error:
            raise PrerequisiteError(
                f"The benchmark crafter needs the simulator of the package crafter, which cannot be loaded ({error})."
                " Run: python -m pip install 'mage-es[benchmarks]'"
            ) from error
        self._game = mage_es.engine.environments.crafter.game.Game
        first = seed % _BLOCKS * _BLOCK
        self._questions = {split: _questions(split, first + _FIRST[split]) for split in SIZES}
        self.data_sha256 = sha256_text(f"{VERSION} seed {seed}")

    def questions(self, split: Split) -> Sequence[Question]:
        """Return the worlds of a split."""
        return self._questions[split]

    def environment(self, question: Question) -> Environment:
        """Return a new episode in a question's world."""
        return self._game(int(question.meta["world"]))

    def score(self, question: Question, reply: str) -> Verdict:
        """Play a reply that lists actions, one on a line, and judge where that leads."""
        return play_actions(self.environment(question), reply)

    def measure(self, question: Question, prediction: Prediction, *, strict: bool) -> Measured:
        """Play a prediction, a list of actions (or text, one on a line): progress, and each achievement as 0 or 1.

        There is one way to count, so `strict` changes nothing.
        """
        value = prediction.value
        actions = "\n".join(map(str, value)) if isinstance(value, list) else prediction.text
        verdict = self.score(question, actions)
        reached = set(verdict.answer.split(", "))
        each = {name.lower().replace(" ", "_"): float(name in reached) for name in ACHIEVEMENTS}
        return Measured(verdict.answer, {"progress": 100 * verdict.score, **each})

    def total(self, measured: Sequence[tuple[Question, Measured]]) -> Mapping[str, float]:
        """Return the mean progress in percent with its standard error, and how often each achievement was reached."""
        if not measured:
            return {}
        names = list(measured[0][1].metrics)
        columns = {name: [one.metrics[name] or 0.0 for _, one in measured] for name in names}
        means = {name: sum(values) / len(values) for name, values in columns.items()}
        error = pstdev(columns["progress"]) / sqrt(len(measured))  # population deviation, as the protocol reports it
        return {"progress": means.pop("progress"), "standard_error": error, **means}


def _questions(split: Split, first: int) -> tuple[Question, ...]:
    return tuple(_question(split, first + number) for number in range(SIZES[split]))


def _question(split: Split, world: int) -> Question:
    return Question(
        id=f"crafter-{world:09d}",
        benchmark=Crafter.name,
        split=split,
        task_type=Crafter.name,
        question=f"World {world}: get as far as possible.",
        context=INSTRUCTION,
        gold="every achievement",
        solution=RULES if split == "evolution" else "",
        meta={"world": str(world)},
    )
