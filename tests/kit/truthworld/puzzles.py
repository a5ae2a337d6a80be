"""The meaning of a question: land, start, marks and line; how it is phrased, and how a text is read back."""

import re
from typing import NamedTuple

from tests.kit.truthworld.claims import true_account
from tests.kit.truthworld.world import HiddenWorld, LandType

_ATLAS = re.compile(r"\b[Aa]tlas (\d+)")
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[A-Za-z]+")


class Puzzle(NamedTuple):
    """`line` is 0 if it asks for a number."""

    task_type: LandType
    start: int
    marks: tuple[str, ...]
    line: int = 0

    @property
    def key(self) -> str:
        return "/".join((self.task_type.land, str(self.start), *self.marks, str(self.line)))


def atlas_of(text: str) -> int | None:
    found = _ATLAS.search(text)
    return int(found[1]) if found else None


def read_puzzle(text: str, world: HiddenWorld) -> Puzzle | None:
    words = _WORD.findall(text)
    task_type = next((world.task_types[word] for word in words if word in world.task_types), None)
    numbers = [int(number) for number in _NUMBER.findall(_ATLAS.sub("", text))]
    if task_type is None:
        return None
    marks = tuple(word for word in words if word in world.marks)
    wanted = 2 if task_type.kind == "court" else 1
    if not marks or len(numbers) < wanted:
        return None
    return Puzzle(task_type, numbers[0], marks, numbers[1] if wanted == 2 else 0)


def phrase(puzzle: Puzzle, phrasing: str, *, atlas: int) -> str:
    *others, last = puzzle.marks
    marks = f"{', '.join(others)} and {last}" if others else last
    return phrasing.format(atlas=atlas, land=puzzle.task_type.land, start=puzzle.start, marks=marks, line=puzzle.line)


def gold_of(puzzle: Puzzle, world: HiddenWorld) -> str:
    result = true_account(world, puzzle.start, puzzle.marks).result
    return standing(result, puzzle.line) if puzzle.task_type.kind == "court" else str(result)


def standing(result: int, line: int) -> str:
    return "surplus" if result > line else "debt" if result < line else "level"
