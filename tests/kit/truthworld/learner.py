"""`truth/learner`: a learner that is right as often as the law of truthworld says.

It reads from its prompt which claims are stated in which sections. A claim counts only where it is quoted with `> `.
Solved questions, corrections and strategies show a claim at work; any other section only states it. Claims from earlier
calls for the same question do not count.

Most right answers follow the true rules; in shares that the world's shape sets, some follow wrong rules that happen to
give the right number, and some give no rules. Wrong answers follow the wrong rules in the prompt, or else a common
misbelief.
"""

from collections.abc import Collection
from functools import partial
from typing import Literal, NamedTuple

from mage_es.engine.players.prompts import in_sections, lines_by_heading
from mage_es.engine.players.stand_in import StandIn
from mage_es.engine.players.worlds.wordmath.dice import Dice
from mage_es.engine.seams.model import Request
from tests.kit.truthworld.claims import WorkedAccount, account, claims_in, false_account, is_true, true_account
from tests.kit.truthworld.law import Informed, draw, probability
from tests.kit.truthworld.puzzles import Puzzle, atlas_of, gold_of, read_puzzle, standing
from tests.kit.truthworld.standings import HEDGE, SAYINGS, STANDINGS
from tests.kit.truthworld.tools import arguments_of
from tests.kit.truthworld.world import ORDINARY, VERSION, HiddenWorld, Rule, world_of

_SHOWING = frozenset({"Solved earlier", "Corrected earlier", "Strategy"})
_EARLIER_CALLS = frozenset({"Steps so far", "Tool", "Tool result"})
Manner = Literal["answer", "step", "call"]
"""What a prompt wants: the answer, one step towards it, or the arguments of a tool."""


class TruthPrompt(NamedTuple):
    """`route` is the one that the law (law.py) applies to."""

    asked: str
    informed: Informed
    route: str
    manner: Manner


def read_truth_prompt(request: Request) -> TruthPrompt:
    prompt = in_sections(request)
    head, mark, asked = f"\n{prompt}".rpartition("\n## Question\n")
    sections = lines_by_heading(head)
    quoted: dict[bool, list[str]] = {True: [], False: []}
    for title in sections.keys() - _EARLIER_CALLS:
        quoted[title in _SHOWING] += [line[2:] for line in sections[title] if line.startswith("> ")]
    return TruthPrompt(
        asked=asked if mark else prompt,
        informed=Informed(claims_in("\n".join(quoted[True])), claims_in("\n".join(quoted[False]))),
        route="direct" if "no reasoning" in request.system else _route(sections),
        manner="step" if "This step" in sections else "call" if "Tool" in sections else "answer",
    )


def _route(titles: Collection[str]) -> str:
    if "Steps so far" in titles:
        return "chain"
    if "Tool result" in titles:
        return "tool"
    return "cot_principles" if "Principles" in titles else "cot"


_FREELY, _HEDGED = 60, 30
"""Percentage of verdicts that are worded freely, and of the wrong ones among them that are vague."""


def reply(request: Request) -> str:
    read = read_truth_prompt(request)
    atlas = atlas_of(read.asked)
    world = world_of(atlas, ORDINARY) if atlas is not None else None
    puzzle = read_puzzle(read.asked, world) if world else None
    if world is None or puzzle is None:
        return "This is in no atlas that I know.\n####"
    if read.manner == "step":
        return f"This part is about the marks {', '.join(puzzle.marks)}, in this order."
    if read.manner == "call":
        return arguments_of(puzzle.start, puzzle.marks, puzzle.line)
    reasoning, answer = _worked(world, puzzle, read)
    return f"#### {answer}" if read.route == "direct" else f"{reasoning}\n#### {answer}"


TruthLearner = partial(StandIn, "truth/learner", reply)


def _worked(world: HiddenWorld, puzzle: Puzzle, read: TruthPrompt) -> tuple[str, str]:
    chance = probability(world, puzzle, read.informed, route=read.route)
    dice = Dice(f"{VERSION}/{world.seed}/manner/{puzzle.key}")
    is_right = draw(world, puzzle) < chance
    worked = _rightly(world, puzzle, dice) if is_right else _wrongly(world, puzzle, read.informed)
    if puzzle.task_type.kind == "court":
        gold = gold_of(puzzle, world)
        return worked.text, _worded(gold if is_right else _other(gold, worked, puzzle), dice, is_right=is_right)
    return worked.text, str(worked.result)


def _rightly(world: HiddenWorld, puzzle: Puzzle, dice: Dice) -> WorkedAccount:
    manner = dice.below(100)
    if manner < world.shape.fluke and len(puzzle.marks) > 1:
        return false_account(world, puzzle.start, puzzle.marks, at=dice.below(len(puzzle.marks) - 1))
    right = true_account(world, puzzle.start, puzzle.marks)
    if world.shape.fluke <= manner < world.shape.fluke + world.shape.mute:
        return WorkedAccount(
            f"Reading the marks from left to right, {puzzle.start} becomes {right.result}.", right.result
        )
    return right


def _wrongly(world: HiddenWorld, puzzle: Puzzle, informed: Informed) -> WorkedAccount:
    told = {claim.mark: claim.rule for claim in sorted(informed.shown | informed.told) if not is_true(world, claim)}
    beliefs: dict[str, Rule] = {mark: told[mark] for mark in puzzle.marks if mark in told}
    if not beliefs:
        mark = puzzle.marks[Dice(f"{VERSION}/{world.seed}/slip/{puzzle.key}").below(len(puzzle.marks))]
        beliefs[mark] = world.marks[mark].decoy
    wrong = account(puzzle.start, puzzle.marks, lambda mark: beliefs.get(mark, world.marks[mark].rule))
    if wrong.result != true_account(world, puzzle.start, puzzle.marks).result:
        return wrong
    # Wrong rules can lead to the right number. The answer has to be wrong, so a slip is added at the end.
    return WorkedAccount(
        f"{wrong.text}\nOne more is carried over: {wrong.result} + 1 = {wrong.result + 1}", wrong.result + 1
    )


def _other(gold: str, wrong: WorkedAccount, puzzle: Puzzle) -> str:
    found = standing(wrong.result, puzzle.line)
    return found if found != gold else STANDINGS[(STANDINGS.index(gold) + 1) % len(STANDINGS)]


def _worded(word: str, dice: Dice, *, is_right: bool) -> str:
    if not dice.percent(_FREELY):
        return word
    if not is_right and dice.percent(_HEDGED):
        return HEDGE
    return dice.pick(SAYINGS[word])
