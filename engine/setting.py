"""What stays fixed through a run and every rule may read: the configuration and what the opening measured."""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

from mage_es.engine.benchmarks.protocol import Question
from mage_es.engine.config import Config
from mage_es.engine.rules.bandits import warmup_pulls
from mage_es.engine.rules.leaks import Guarded
from mage_es.engine.rules.retrieval import Terms

QUESTION_IS_PROMPT = frozenset({"stbench", "stbench-extended", "stbench-merged"})
"""Benchmarks whose questions carry in their own text what others have as a context beside it."""

INSTRUCTED = frozenset({"crafter"})
"""Benchmarks whose context is one instruction for all questions: it tells nothing of any, and counts as none."""
OPEN_ENDED = frozenset({"crafter"})
"""Benchmarks whose episodes have no goal but to get as far as possible: every achievement is a success of its own."""


class Setting(NamedTuple):
    """A run's constants.

    `evolution` and `anchors` are question ids, evolution in its seeded order; `task_types` are all types that a
    question of the run can have, sorted; `guarded` are the questions that must not be learned.
    """

    config: Config
    strategy_floor: float
    evolution: tuple[str, ...]
    anchors: tuple[str, ...]
    held_out: tuple[str, ...]
    task_types: tuple[str, ...]
    answer_format: str
    guarded: Guarded = Guarded()

    @property
    def terms(self) -> Terms:
        """Return the constants of retrieval."""
        config = self.config
        return Terms(config.bundle, config.long_context, self.strategy_floor, config.revisit_self == "exclude")

    def context_length(self, question: Question) -> int:
        """Return the characters that count as context: those of the question itself where it is the whole prompt."""
        if self.config.benchmark in INSTRUCTED:
            return 0
        is_whole = self.config.benchmark in QUESTION_IS_PROMPT
        return len(question.question if is_whole else question.context)

    @property
    def is_open_ended(self) -> bool:
        """Return whether what is learned from an episode are its achievements, one by one."""
        return self.config.benchmark in OPEN_ENDED

    @property
    def recency_weight(self) -> Fraction:
        """Return lambda of Eq. 1 as an exact fraction."""
        return Fraction(self.config.recency_weight)

    def warmup(self, *, keys: int, arms: int) -> int:
        """Return the warm-up pulls of each arm of a bandit with so many keys, of a key that has so many arms now."""
        expected = self.config.iterations * self.config.pool / max(1, keys)
        return warmup_pulls(self.config.warmup, expected_pulls=expected, arms=arms)
