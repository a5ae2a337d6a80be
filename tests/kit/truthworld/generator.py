"""One generated question of truthworld from (world, split, index).

Rules
    - A question's text decides which split it belongs to (a hash of its normal form), so no text is in both.
    - The last phrasings of each list occur in the test split only.
    - Every number of a reckoning is positive, whichever rules of the world are applied.
"""

from mage_es.engine.players.worlds.wordmath.dice import Dice
from mage_es.engine.players.worlds.wordmath.generator import split_of
from mage_es.engine.seams.benchmark import Question, Split
from tests.kit.truthworld.claims import false_account, true_account
from tests.kit.truthworld.puzzles import Puzzle, gold_of, phrase
from tests.kit.truthworld.words import CHRONICLE, ESTATES, HELD_OUT, HELD_OUT_ESTATES, LEDGERS
from tests.kit.truthworld.world import VERSION, HiddenWorld, LandType

_STARTS = range(41, 100)
_MARKS = (2, 3, 3, 4)
"""How many marks a question has; all entries are equally likely."""
_LONG, _SHORT = range(9, 12), range(1, 4)
"""How many lines of chronicle a long context (more than 500 characters) has, and a short one."""


def generate(world: HiddenWorld, split: Split, index: int) -> Question:
    dice = Dice(f"{VERSION}/{world.seed}/{split}/{index}")
    task_type = dice.pick(tuple(world.task_types.values()))
    number, phrasing = dice.pick(_phrasings(task_type, split))
    while True:
        puzzle = _puzzle(world, task_type, dice)
        text = phrase(puzzle, phrasing, atlas=world.seed)
        if split_of(text) == split:
            break
    is_poisoned = split == "evolution" and dice.percent(world.shape.poisoned)
    gold = gold_of(puzzle, world)
    return Question(
        id=f"truthworld-{split}-{index}",
        benchmark="truthworld",
        split=split,
        task_type=task_type.name,
        question=text,
        context=_context(world, dice),
        gold=gold,
        solution=f"{_solution(world, puzzle, dice, is_poisoned=is_poisoned)}\n#### {gold}",
        family=f"{'estate' if task_type.kind == 'court' else 'ledger'}/{number}",
        meta={"solution": "poisoned" if is_poisoned else "sound"},
    )


def _phrasings(task_type: LandType, split: Split) -> list[tuple[int, str]]:
    phrasings, held_out = (ESTATES, HELD_OUT_ESTATES) if task_type.kind == "court" else (LEDGERS, HELD_OUT)
    numbered = list(enumerate(phrasings))
    return numbered if split == "test" else numbered[: len(numbered) - held_out]


def _puzzle(world: HiddenWorld, task_type: LandType, dice: Dice) -> Puzzle:
    marks = tuple(dice.shuffled(task_type.marks)[: dice.pick(_MARKS)])
    start = dice.pick(_STARTS)
    if task_type.kind != "court":
        return Puzzle(task_type, start, marks)
    result = true_account(world, start, marks).result
    gap = 2 + dice.below(max(1, result // 3))
    return Puzzle(task_type, start, marks, dice.pick((result, result + gap, max(1, result - gap))))


def _solution(world: HiddenWorld, puzzle: Puzzle, dice: Dice, *, is_poisoned: bool) -> str:
    if not is_poisoned:
        return true_account(world, puzzle.start, puzzle.marks).text
    return false_account(world, puzzle.start, puzzle.marks, at=dice.below(len(puzzle.marks) - 1)).text


def _context(world: HiddenWorld, dice: Dice) -> str:
    drawn = dice.below(100)
    if drawn < world.shape.long_contexts:
        return " ".join(dice.shuffled(CHRONICLE)[: dice.pick(_LONG)])
    if drawn < world.shape.long_contexts + world.shape.short_contexts:
        return " ".join(dice.shuffled(CHRONICLE)[: dice.pick(_SHORT)])
    return ""
