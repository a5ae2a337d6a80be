"""What a private task set consists of: a rule, the questions that follow from it, and how hard they may be."""

from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from mage_es.engine.benchmarks.tasks.scorers import Scorer
from mage_es.engine.players.worlds.wordmath.dice import Dice
from mage_es.engine.seams.benchmark import Split

Options = Mapping[str, int]


class Posed(NamedTuple):
    """One question and its answer. `phase` is the part of a stream that it belongs to, `time` its place in it."""

    text: str
    gold: str
    solution: str = ""
    part: str = ""
    """What the question asks for, if its set asks for several things; this is the end of its task type."""
    phase: int = 0
    time: int = 0


class PrivateRule(Protocol):
    """One rule, drawn for a seed, and all questions of it."""

    task: str
    """What to do with each question."""
    labels: tuple[str, ...]
    """The answers that every question offers, or none."""
    scorer: Scorer

    def ask(self, dice: Dice, split: Split) -> Posed: ...


WORDINGS = 6
"""The number of wordings in each set."""


class SetOption(NamedTuple):
    """The values that an option may have, and its value at difficulty 1, 2 and 3."""

    allowed: range
    levels: tuple[int, int, int]


class SetKind(NamedTuple):
    """A kind of task set: its rule and its own options. All have `wordings`, and `asides` (irrelevant sentences)."""

    rule: Callable[[Dice, Options], PrivateRule]
    own: Mapping[str, SetOption]
    most_asides: int = 1
    """At difficulty 3."""
    is_type_asked: bool = False
    """Whether a question's text says what it asks for (`Traits`)."""

    @property
    def options(self) -> Mapping[str, SetOption]:
        wordings = SetOption(range(1, WORDINGS + 1), (1, WORDINGS, WORDINGS))
        return {**self.own, "wordings": wordings, "asides": SetOption(range(5), (0, 0, self.most_asides))}

    def level(self, difficulty: int) -> Options:
        return {name: option.levels[difficulty - 1] for name, option in self.options.items()}
