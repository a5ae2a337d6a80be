"""A question as it is meant: land, start, marks and line; how it is phrased, and how a text is read back."""

from __future__ import annotations

import re
from typing import NamedTuple

from mage_es.engine.benchmarks.truthworld.claims import true_account
from mage_es.engine.benchmarks.truthworld.world import TaskType, World

_ATLAS = re.compile(r"\b[Aa]tlas (\d+)")
_NUMBER = re.compile(r"\d+")
_WORD = re.compile(r"[A-Za-z]+")


class Puzzle(NamedTuple):
    """What a question asks. `line` is 0 where it asks for a number."""

    task_type: TaskType
    start: int
    marks: tuple[str, ...]
    line: int = 0

    @property
    def key(self) -> str:
        """Return what tells this question from every other of its world, however it is phrased."""
        return "/".join((self.task_type.land, str(self.start), *self.marks, str(self.line)))


def atlas_of(text: str) -> int | None:
    """Return the number of the world that a text is about, None if it names none."""
    found = _ATLAS.search(text)
    return int(found[1]) if found else None


def read_puzzle(text: str, world: World) -> Puzzle | None:
    """Return the puzzle in a question's text; None where it cannot be told."""
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
    """Return the text of a puzzle."""
    *others, last = puzzle.marks
    marks = f"{', '.join(others)} and {last}" if others else last
    return phrasing.format(atlas=atlas, land=puzzle.task_type.land, start=puzzle.start, marks=marks, line=puzzle.line)


def gold_of(puzzle: Puzzle, world: World) -> str:
    """Return the right answer: a number, or how the estate stands."""
    result = true_account(world, puzzle.start, puzzle.marks).result
    return standing(result, puzzle.line) if puzzle.task_type.kind == "court" else str(result)


def standing(result: int, line: int) -> str:
    """Return `surplus`, `level` or `debt`."""
    return "surplus" if result > line else "debt" if result < line else "level"
