"""`builtin/truthworld`: an execution model that answers rightly as often as the law of truthworld says.

Rules
    - The reply is a function of the prompt alone: no clock, no file, no memory between calls, the same for any number
      of workers. Its one draw belongs to the question and is the same in every prompt that asks it.
    - Most of its right answers rest on the true rules; of the rest, in the shares that the world's shape sets, some
      rest on wrong rules that happen to lead there, some on none. Wrong answers follow what it was wrongly told, else
      what is commonly believed.
    - Steps of a chain and results of tools change nothing but the route that the law goes by.
    - It is not a language model: it stands for one whose use of memories is known.
"""

from __future__ import annotations

from mage_es.engine.benchmarks.truthworld.claims import Account, account, false_account, is_true, true_account
from mage_es.engine.benchmarks.truthworld.law import Informed, draw, probability
from mage_es.engine.benchmarks.truthworld.puzzles import Puzzle, atlas_of, gold_of, read_puzzle, standing
from mage_es.engine.benchmarks.truthworld.standings import HEDGE, SAYINGS, STANDINGS
from mage_es.engine.benchmarks.truthworld.world import ORDINARY, VERSION, Rule, Shape, World, world_of
from mage_es.engine.benchmarks.wordmath.dice import Dice
from mage_es.engine.models.arithmetic.words import count_tokens
from mage_es.engine.models.seam import Completion, Request
from mage_es.engine.models.truthworld.prompts import ReadPrompt, read_prompt
from mage_es.engine.models.truthworld.tools import arguments_of

_FREELY, _HEDGED = 60, 30
"""Percent of standings that are said in other words, and percent of those wrong ones that say nothing definite."""


class TruthLearner:
    """`builtin/truthworld`: right with a known probability. `shape` is that of the world it is asked about."""

    name = "builtin/truthworld"

    def __init__(self, shape: Shape = ORDINARY) -> None:
        self._shape = shape

    async def complete(self, request: Request) -> Completion:
        """Return reasoning and a final line. Never raises on any prompt."""
        text = self.reply(request.prompt)
        return Completion(text=text, input_tokens=count_tokens(request.prompt), output_tokens=count_tokens(text))

    def reply(self, prompt: str) -> str:
        """Return the reply to a prompt; a question of no world that it knows gets no answer."""
        read = read_prompt(prompt)
        atlas = atlas_of(read.asked)
        world = world_of(atlas, self._shape) if atlas is not None else None
        puzzle = read_puzzle(read.asked, world) if world else None
        if world is None or puzzle is None:
            return "This is in no atlas that I know.\n####"
        if read.manner == "step":
            return f"This part is about the marks {', '.join(puzzle.marks)}, in this order."
        if read.manner == "call":
            return arguments_of(puzzle.start, puzzle.marks, puzzle.line)
        reasoning, answer = _worked(world, puzzle, read)
        return f"#### {answer}" if read.route == "direct" else f"{reasoning}\n#### {answer}"


def _worked(world: World, puzzle: Puzzle, read: ReadPrompt) -> tuple[str, str]:
    """Return reasoning and answer."""
    chance = probability(world, puzzle, read.informed, route=read.route)
    dice = Dice(f"{VERSION}/{world.seed}/manner/{puzzle.key}")
    is_right = draw(world, puzzle) < chance
    worked = _rightly(world, puzzle, dice) if is_right else _wrongly(world, puzzle, read.informed)
    if puzzle.task_type.kind == "court":
        gold = gold_of(puzzle, world)
        return worked.text, _said(gold if is_right else _other(gold, worked, puzzle), dice, is_right=is_right)
    return worked.text, str(worked.result)


def _rightly(world: World, puzzle: Puzzle, dice: Dice) -> Account:
    manner = dice.below(100)
    if manner < world.shape.fluke and len(puzzle.marks) > 1:
        return false_account(world, puzzle.start, puzzle.marks, at=dice.below(len(puzzle.marks) - 1))
    right = true_account(world, puzzle.start, puzzle.marks)
    if world.shape.fluke <= manner < world.shape.fluke + world.shape.mute:
        return Account(f"Reading the marks from left to right, {puzzle.start} becomes {right.result}.", right.result)
    return right


def _wrongly(world: World, puzzle: Puzzle, informed: Informed) -> Account:
    """Return a reckoning by the wrong rules that were stated, else with one mark taken as is commonly believed."""
    told = {claim.mark: claim.rule for claim in sorted(informed.shown | informed.told) if not is_true(world, claim)}
    beliefs: dict[str, Rule] = {mark: told[mark] for mark in puzzle.marks if mark in told}
    if not beliefs:
        mark = puzzle.marks[_slip(world, puzzle)]
        beliefs[mark] = world.marks[mark].decoy
    wrong = account(puzzle.start, puzzle.marks, lambda mark: beliefs.get(mark, world.marks[mark].rule))
    if wrong.result != true_account(world, puzzle.start, puzzle.marks).result:
        return wrong
    # Wrong rules can lead to the right number; whoever errs then also slips at the end.
    return Account(f"{wrong.text}\nOne more is carried over: {wrong.result} + 1 = {wrong.result + 1}", wrong.result + 1)


def _slip(world: World, puzzle: Puzzle) -> int:
    """Return the place of the mark that is typically got wrong."""
    return Dice(f"{VERSION}/{world.seed}/slip/{puzzle.key}").below(len(puzzle.marks))


def _other(gold: str, wrong: Account, puzzle: Puzzle) -> str:
    """Return a wrong standing: that of the wrong reckoning, else the next one."""
    found = standing(wrong.result, puzzle.line)
    return found if found != gold else STANDINGS[(STANDINGS.index(gold) + 1) % len(STANDINGS)]


def _said(word: str, dice: Dice, *, is_right: bool) -> str:
    """Return a standing in its own word or in others; who does not know may say nothing definite."""
    if not dice.percent(_FREELY):
        return word
    if not is_right and dice.percent(_HEDGED):
        return HEDGE
    return dice.pick(SAYINGS[word])
