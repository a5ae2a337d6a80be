"""What stays fixed throughout a run and every rule may read: the configuration and what the opening measured.

A `Config` is what a user chose and a run records. A `Setting` adds what the run's questions and models are like. The
`Settings` of a command (cli/settings.py) are all values that a user can give, each with its origin.
"""

from collections.abc import Mapping
from fractions import Fraction
from types import MappingProxyType
from typing import Literal, NamedTuple

import msgspec

from mage_es.engine.config import Config
from mage_es.engine.rules.bandits import warmup_pulls
from mage_es.engine.rules.floors import NO_FLOORS, Floors
from mage_es.engine.rules.leaks import Guarded
from mage_es.engine.rules.prompt import BARE, Templates
from mage_es.engine.rules.retrieval import Terms
from mage_es.engine.seams.benchmark import Question, Traits


class Setting(NamedTuple):
    """A run's constants.

    `evolution` and `anchors` are question ids, evolution in its seeded order; `task_types` are all types that a
    question of the run can have, sorted; `guarded` are the questions that must not be learned.
    """

    config: Config
    evolution: tuple[str, ...]
    anchors: tuple[str, ...]
    held_out: tuple[str, ...]
    task_types: tuple[str, ...]
    answer_format: str
    guarded: Guarded = Guarded()
    traits: Traits = Traits()
    guidance_room: int = 0
    """Tokens that the guidance model's server has room for besides a reply; 0 if it does not say."""
    subjects: Mapping[str, str] = {}
    """The subject of each question that has one."""
    own_words: Mapping[str, str] = {}
    """Words that occur in the questions of only one subject, with that subject."""
    salt: str = ""
    """The run's secret key for ids of memories, in hexadecimal digits; "" if no question has a subject."""
    first: int = 0
    """The run's first iteration: not 0 in a run that continues another."""
    reproof: int = 0
    """How many questions that another learner answered are asked again in the first iteration."""
    floors: Floors = NO_FLOORS
    """The least cosine for a memory of a case to be served; none in learning, where everything must be tried."""
    is_labelled: bool = False
    """Whether the questions to learn from share a few right answers, as labels do, and none has its own options."""
    is_short: bool = False
    """Whether the run learns a rule of the user's or of the seed, from short answers without worked solutions."""
    is_calculated: bool = False
    """Whether these answers may be results of calculations."""
    templates: Templates = MappingProxyType({})
    """The templates that the run began with."""
    has_episodes: bool = False
    """Whether questions are tasks in a sequential environment."""
    is_served: bool = False
    """Whether anchors and exams are asked like clients' questions: with memories and nothing else."""

    @property
    def end(self) -> int:
        """The iteration after the run's last."""
        return self.first + self.config.iterations

    def is_last(self, iteration: int) -> bool:
        return iteration == self.end - 1

    def reproves(self, iteration: int) -> bool:
        """Return whether an iteration only asks another learner's questions again (rules/reproof.py)."""
        return self.reproof > 0 and iteration == self.first

    @property
    def judging(self) -> Config:
        """The configuration as the guard uses it. In learning, guidance writes about judged answers only; in a
        served run, any client can propose a text. So there any net loss on the anchors is a drop, unless its p value is
        above one in four."""
        if not self.is_served:
            return self.config
        return msgspec.structs.replace(self.config, guard_drop=0.0, guard_p=0.25)

    @property
    def route(self) -> Literal["direct", "cot"]:
        """How a question is asked if no bandit chooses."""
        if self.config.route != "auto":
            return self.config.route
        return "direct" if (self.is_labelled or self.is_short) and not self.is_calculated else "cot"

    @property
    def example_format(self) -> str:
        """How cases end in a prompt: as the answer must end; in a served run, whose clients get free text, with just
        the answer."""
        return BARE if self.is_served else self.answer_format

    @property
    def guidance_context(self) -> int:
        """Most tokens of a guidance prompt."""
        wanted = self.config.guidance_context
        return min(wanted, self.guidance_room) if self.guidance_room else wanted

    @property
    def terms(self) -> Terms:
        config = self.config
        return Terms(
            config.bundle,
            config.long_context,
            config.strategy_floor,
            config.revisit_self == "exclude",
            is_measured=self.config.retrieval == "nearest" and (self.is_labelled or self.is_short),
            is_labelled=self.is_labelled,
        )

    def context_length(self, question: Question) -> int:
        """Return the characters that count as context: `long_context` is compared with them (section 3.5)."""
        # Above `long_context` characters the bundle is failure-heavy. An instruction that never changes makes no
        # question longer than another, and must not decide this for all of them.
        match self.traits.context_role:
            case "material":
                return len(question.context)
            case "question":
                return len(question.question)
            case "instruction":
                return 0

    @property
    def recency_weight(self) -> Fraction:
        return Fraction(self.config.recency_weight)

    def warmup(self, *, keys: int, arms: int) -> int:
        """Return the warm-up pulls of each arm of a bandit with this many keys, for a key with this many arms now."""
        # Every question pulls one arm of one key, so keys share the questions of the whole run.
        expected = self.config.iterations * self.config.pool / max(1, keys)
        return warmup_pulls(self.config.warmup, expected_pulls=expected, arms=arms)
