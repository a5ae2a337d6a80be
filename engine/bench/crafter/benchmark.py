"""The benchmark `crafter`: seeded worlds to survive in, measured by the share of the 22 achievements.

Rules
    - A task is a world. All share one instruction, which is the context; the question names the world, so no two
      questions are the same or nearly so.
    - The worlds of evolution and of the test have different seeds, and a run's seed shifts both. A memory of a test
      world would be a leak; the point is to learn in one world what helps in another.
"""

from collections.abc import Mapping, Sequence
from math import sqrt
from pathlib import Path
from statistics import pstdev
from typing import Annotated

import msgspec

from mage_es.engine.bench.crafter.handbook import ACHIEVEMENTS, INSTRUCTION, RULES
from mage_es.engine.bench.crafter.replies import ACTIONS
from mage_es.engine.benchmarks.measuring import Measured, Prediction, PredictionForm, text_of
from mage_es.engine.benchmarks.records import read_records
from mage_es.engine.seams.benchmark import ContextRole, Question, Split, TaskTypeSource, Verdict
from mage_es.engine.seams.environment import Environment
from mage_es.engine.seams.playing import NOTHING_ACHIEVED, play_actions
from mage_es.events.digests import sha256_text
from mage_es.events.errors import PrerequisiteError

VERSION = "crafter 1"
"""A version: it changes whenever the same seed would give different tasks."""
SIZES: dict[Split, int] = {"evolution": 300, "test": 100}
_BLOCK = 1_000
"""How many world numbers belong to one seed of the benchmark; the upper half is for the test."""
_FIRST: dict[Split, int] = {"evolution": 0, "test": 500}
_BLOCKS = 1_000_000
"""How many seeds of the benchmark have separate worlds; the simulator's seeds end at 2^31."""


class Crafter:
    """Worlds of the survival game; `crafter` is the task type of all.

    [section 4, Crafter, tasks] The shared instruction does not count as context. An episode counts as correct with at
    least half of the 22 achievements, for guard and revisits; mean progress is reported.
    """

    name = "crafter"
    licence = "MIT (the package crafter 1.8.3, which is installed and not part of this one)"
    task_type_source: TaskTypeSource = "input"
    answer_format = 'Finish with a line such as "ACTION: <Noop>", with one of the valid actions in exactly these words.'
    context_role: ContextRole = "instruction"
    is_open_ended = True
    predictions: PredictionForm = "actions"

    def __init__(self, seed: int, *, worlds: Sequence[int] = ()) -> None:
        """`worlds`, if given, replace the seed's test split. Raises `PrerequisiteError` without the simulator."""
        try:
            import mage_es.engine.bench.crafter.game
        except ImportError as error:
            raise PrerequisiteError(
                f"The benchmark crafter needs the simulator of the package crafter, which cannot be loaded ({error})."
                " Run: python -m pip install 'mage-es[benchmarks]'"
            ) from error
        self._game = mage_es.engine.bench.crafter.game
        numbers = {split: range(_first(split, seed), _first(split, seed) + SIZES[split]) for split in SIZES}
        self._questions: dict[Split, Sequence[Question]] = {
            "evolution": [_question("evolution", world) for world in numbers["evolution"] if world not in worlds],
            "test": [_question("test", world) for world in worlds or numbers["test"]],
        }
        self.data_sha256 = sha256_text(f"{VERSION} seed {seed}{f' worlds {list(worlds)}' if worlds else ''}")

    def questions(self, split: Split) -> Sequence[Question]:
        return self._questions[split]

    def environment(self, question: Question) -> Environment:
        return self._game.CrafterGame(int(question.meta["world"]))

    def score(self, question: Question, reply: str) -> Verdict:
        return play_actions(self.environment(question), reply)

    def measure(self, question: Question, prediction: Prediction, *, strict: bool) -> Measured:
        """Play a prediction as an episode: a list of actions by name, or text with one action per line.

        A list of the simulator's numbers is a published rollout: it begins at the simulator's own reset, without the
        Noop of the protocol. There is only one way to count, so `strict` has no effect.
        """
        value = prediction.value
        if numbers := _numbers(value):
            reached = set(self._game.rolled_out(int(question.meta["world"]), numbers))
        else:
            actions = "\n".join(map(text_of, value)) if isinstance(value, list) else prediction.text
            reached = set(self.score(question, actions).answer.split(", ")) if actions.strip() else set()
        each = {name.lower().replace(" ", "_"): float(name in reached) for name in ACHIEVEMENTS}
        answer = ", ".join(name for name in ACHIEVEMENTS if name in reached) or NOTHING_ACHIEVED
        return Measured(answer, {"progress": 100 * sum(each.values()) / len(each), **each})

    def total(self, measured: Sequence[tuple[Question, Measured]]) -> Mapping[str, float]:
        """Return the mean progress in percent with its standard error, and the rate of each achievement."""
        if not measured:
            return {}
        names = list(measured[0][1].metrics)
        columns = {name: [one.metrics[name] or 0.0 for _, one in measured] for name in names}
        means = {name: sum(values) / len(values) for name, values in columns.items()}
        error = pstdev(columns["progress"]) / sqrt(len(measured))  # population deviation, as the protocol reports it
        return {"progress": means.pop("progress"), "standard_error": error, **means}


class _World(msgspec.Struct):
    """Published rollouts have the seed among other fields."""

    seed: Annotated[int, msgspec.Meta(ge=0, lt=2**31 - 1)]


def worlds_of(path: Path) -> Crafter:
    """Return a benchmark whose test split is the worlds of a file of records with a `seed` each."""
    records = read_records(path, _World, lambda _, record: record.seed)
    return Crafter(0, worlds=tuple(dict.fromkeys(records.items)))


def _first(split: Split, seed: int) -> int:
    return seed % _BLOCKS * _BLOCK + _FIRST[split]


def _numbers(value: object) -> list[int]:
    actions = value if isinstance(value, list) else []
    are_numbers = all(type(action) is int and 0 <= action < len(ACTIONS) for action in actions)
    return actions if are_numbers else []


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
