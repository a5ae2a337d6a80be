"""Private task sets as benchmarks: 600 evolution and 200 test questions for each seed, made on demand.

A name takes options, as in `private-labels?labels=4&wordings=6`; `difficulty` (1, 2, 3) sets the options of a level,
and options given by name take precedence. A run records them all.

Rules
    - The rule is drawn from the seed and all options. Both splits follow the same rule.
    - A question's text decides which split it belongs to (a hash of its normal form), so no text is in both.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple
from urllib.parse import parse_qsl

from mage_es.engine.players.worlds.generated import Generated, distinct
from mage_es.engine.players.worlds.private import codes, composition, limits, tickets, units
from mage_es.engine.players.worlds.private.kind import PrivateRule, SetKind
from mage_es.engine.players.worlds.wordmath.dice import Dice
from mage_es.engine.players.worlds.wordmath.generator import split_of
from mage_es.engine.seams.benchmark import Question, Split, Verdict
from mage_es.events.digests import sha256_text
from mage_es.events.errors import UsageError, nearest

VERSION = "private/1"
SIZES: dict[Split, int] = {"evolution": 600, "test": 200}
KINDS: Mapping[str, SetKind] = {
    "private-codes": codes.KIND,
    "private-composition": composition.KIND,
    "private-drift": tickets.DRIFT,
    "private-labels": tickets.LABELS,
    "private-limits": limits.KIND,
    "private-pairs": tickets.PAIRS,
    "private-units": units.KIND,
}


class SeededName(NamedTuple):
    """The origin of all questions of a set: its name with every option, and the seed."""

    name: str
    seed: int


class PrivateSet(Generated):
    is_seed_bound = True
    """The right answers depend on the seed, so a run cannot continue with another seed."""

    def __init__(self, name: str, seed: int) -> None:
        """Raises `UsageError` like `recorded`."""
        self._called = SeededName(recorded(name), seed)
        self.name = self._called.name
        rule = rule_of(self._called)
        self.task, self.labels, self._scorer = rule.task, len(rule.labels), rule.scorer
        self.answer_format, self.instruction = rule.scorer.answer_format, rule.scorer.instruction
        self.is_type_asked = KINDS[self.name.partition("?")[0]].is_type_asked
        self.extract = rule.scorer.extract
        self.data_sha256 = sha256_text(f"{VERSION} {self.name} seed {seed}")

    def questions(self, split: Split) -> Sequence[Question]:
        return distinct(generate, self._called, split, SIZES[split])

    def score(self, question: Question, reply: str) -> Verdict:
        return self._scorer.verdict(question, reply)


def recorded(name: str) -> str:
    """Return the name of a set with all its options. Raises `UsageError` for options that it cannot have."""
    base, _, query = name.partition("?")
    if (kind := KINDS.get(base)) is None:
        raise UsageError(f"There is no task set {base!r}.{nearest(base, list(KINDS))}")
    try:
        given = dict(parse_qsl(query, strict_parsing=bool(query)))
    except ValueError:
        raise UsageError(f"{name!r} is not of the form {base}?option=value&option=value.") from None
    ranges = {"difficulty": range(1, 4), **{option: each.allowed for option, each in kind.options.items()}}
    for option, value in given.items():
        if option not in ranges:
            raise UsageError(f"{base} has no option {option!r}.{nearest(option, list(ranges))}")
        if value not in map(str, ranges[option]):
            raise UsageError(f"{base}: {option} is {ranges[option][0]} to {ranges[option][-1]}, and not {value!r}.")
    level = kind.level(int(given.get("difficulty", 1)))
    return f"{base}?" + "&".join(f"{option}={given.get(option, value)}" for option, value in level.items())


@lru_cache(maxsize=64)
def rule_of(called: SeededName) -> PrivateRule:
    base, _, query = called.name.partition("?")
    options = {option: int(value) for option, value in parse_qsl(query)}
    return KINDS[base].rule(Dice(f"{VERSION}/{called.seed}/{called.name}"), options)


def generate(called: SeededName, split: Split, index: int) -> Question:
    dice, rule = Dice(f"{VERSION}/{called.seed}/{called.name}/{split}/{index}"), rule_of(called)
    while True:
        posed = rule.ask(dice, split)
        if split_of(posed.text) == split:
            break
    base = called.name.partition("?")[0]
    return Question(
        id=f"{base}-{split}-{index}",
        benchmark=called.name,
        split=split,
        task_type=f"{base}-{posed.part}" if posed.part else base,
        question=posed.text,
        gold=posed.gold,
        solution=posed.solution,
        meta={"answers": json.dumps([posed.gold]), "phase": str(posed.phase), "time": str(posed.time)},
    )
