"""One generated question from (seed, split, index).

Rules
    - A question's text decides which split it belongs to (a hash of its normal form), so no text can be in both, for
      any seeds; the generator draws again until the text falls into the wanted split.
    - Families marked `held_out` occur in the test split only.
    - Every intermediate value is a positive integer; a draw that breaks this is thrown away.
"""

import operator
from functools import lru_cache
from itertools import groupby
from zlib import crc32

from mage_es.engine.players.worlds.wordmath.dice import Dice
from mage_es.engine.players.worlds.wordmath.parts import TASK_TYPES, Family, NumberRules, ProblemStep, ProblemType
from mage_es.engine.players.worlds.wordmath.rendering import Storyteller, has_person
from mage_es.engine.players.worlds.wordmath.words import DISTRACTORS
from mage_es.engine.seams.benchmark import Question, Split

VERSION = "wordmath/1"

_LARGEST = 20_000
_TRIES = 2_000
_DISTRACTOR = 35
_SPARE = range(11, 70)
"""Numbers for the distractor sentences; one is taken that the problem does not use."""
_OPERATIONS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.floordiv}
_TEST_SHARE = 4
"""One text in this many belongs to the test split."""


def generate(seed: int, split: Split, index: int) -> Question:
    dice = Dice(f"{VERSION}/{seed}/{split}/{index}")
    task_type = dice.pick(TASK_TYPES)
    family = dice.pick(_families(task_type.name, split))
    key = dice.pick(tuple(family.asks))
    for _ in range(_TRIES):
        values = _values(task_type, family, key, dice)
        text = _text(task_type, family, key, values, dice)
        if split_of(text) == split:
            return _question(task_type, family, key, values, text=text, split=split, index=index)
    raise AssertionError(f"{task_type.name}/{family.name}/{key} has no question left for the {split} split")


def split_of(text: str) -> Split:
    code = crc32(" ".join(text.casefold().split()).encode())
    return "test" if code % _TEST_SHARE == 0 else "evolution"


@lru_cache
def _families(name: str, split: Split) -> tuple[Family, ...]:
    families = next(task_type.families for task_type in TASK_TYPES if task_type.name == name)
    return tuple(family for family in families if split == "test" or not family.held_out)


def _values(task_type: ProblemType, family: Family, key: str, dice: Dice) -> dict[str, int]:
    """Draw numbers until all results of the chain are positive integers of a sensible size."""
    variant = task_type.variants[key]
    rules: NumberRules = {**task_type.numbers, **variant.numbers, **family.numbers}
    for _ in range(_TRIES):
        values: dict[str, int] = {}
        for name, rule in rules.items():
            if isinstance(rule, int):
                values[name] = rule
            else:
                values[name] = rule(values) if callable(rule) else dice.pick(rule)
        if min(values.values()) >= 2 and all(_apply(step, values) for step in variant.steps):
            return values
    raise AssertionError(f"{task_type.name}/{family.name}/{key}: the rules for its numbers leave nothing to draw")


def _apply(step: ProblemStep, values: dict[str, int]) -> bool:
    """Add a step's result to the values; return False if it is not a positive integer, or is a huge one."""
    left, right = operand(step.left, values), operand(step.right, values)
    if step.operator == "/" and (right == 0 or left % right):
        return False
    values[step.result] = _OPERATIONS[step.operator](left, right)
    return 0 < values[step.result] <= _LARGEST


def operand(name: str, values: dict[str, int]) -> int:
    return int(name) if name.isdigit() else values[name]


def _text(task_type: ProblemType, family: Family, key: str, values: dict[str, int], dice: Dice) -> str:
    *more, ask = family.asks[key]
    sentences = _ordered([*family.says, *more], dice)
    spare = 0
    if dice.percent(_DISTRACTOR):
        line = dice.pick(_distractors(task_type.avoid, is_personal=has_person(family)))
        sentences.insert(dice.pick((0, len(sentences))), line)  # elsewhere it would separate "them" from their noun
        used = set(values.values())
        spare = dice.pick([number for number in _SPARE if number not in used])
    sentences = [ask, *sentences] if family.ask_first else [*sentences, ask]
    story = Storyteller(family, values, dice)
    return " ".join(story.tell(sentence, d=spare) for sentence in sentences)


@lru_cache
def _distractors(avoid: tuple[str, ...], *, is_personal: bool) -> tuple[str, ...]:
    lines = [line for topic, lines in DISTRACTORS.items() if topic not in avoid for line in lines]
    return tuple(line for line in lines if is_personal or "{who" not in line)


def _ordered(sentences: list[str], dice: Dice) -> list[str]:
    ordered: list[str] = []
    for is_free, run in groupby(sentences, key=lambda sentence: sentence.startswith("* ")):
        together = list(run)
        ordered += dice.shuffled([sentence[2:] for sentence in together]) if is_free else together
    return ordered


def _question(
    task_type: ProblemType, family: Family, key: str, values: dict[str, int], *, text: str, split: Split, index: int
) -> Question:
    steps = task_type.variants[key].steps
    lines = [
        f"{step.says}: {operand(step.left, values)} {step.operator} {operand(step.right, values)}"
        f" = {values[step.result]}"
        for step in steps
    ]
    gold = str(values[steps[-1].result])
    return Question(
        id=f"wordmath-{split}-{index}",
        benchmark="wordmath",
        split=split,
        task_type=f"wordmath_{task_type.name}",
        question=text,
        gold=gold,
        solution="\n".join((*lines, f"#### {gold}")),
        family=f"{task_type.name}/{family.name}",
        meta={"variant": key},
    )
