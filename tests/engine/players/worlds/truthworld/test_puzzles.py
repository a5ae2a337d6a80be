"""A question's text can be read back, whatever phrasing it is in and whatever stands around it."""

from __future__ import annotations

import pytest

from mage_es.engine.players.worlds.truthworld.puzzles import Puzzle, atlas_of, gold_of, phrase, read_puzzle, standing
from mage_es.engine.players.worlds.truthworld.words import CHRONICLE, ESTATES, LEDGERS
from mage_es.engine.players.worlds.truthworld.world import HiddenWorld

WORLD = HiddenWorld(42)
COURT = next(found for found in WORLD.task_types.values() if found.kind == "court")
LAND = next(found for found in WORLD.task_types.values() if found.kind == "land")


@pytest.mark.parametrize("phrasing", LEDGERS)
def test_a_ledger_is_read_back_from_every_phrasing(phrasing: str) -> None:
    puzzle = Puzzle(LAND, 57, LAND.marks[:3])
    text = phrase(puzzle, phrasing, atlas=42)
    assert atlas_of(text) == 42
    assert read_puzzle(f"{CHRONICLE[0]}\n\n{text}\n\nReason step by step.", WORLD) == puzzle


@pytest.mark.parametrize("phrasing", ESTATES)
def test_an_estate_is_read_back_with_its_line(phrasing: str) -> None:
    puzzle = Puzzle(COURT, 57, COURT.marks[2:4], line=80)
    assert read_puzzle(phrase(puzzle, phrasing, atlas=42), WORLD) == puzzle


@pytest.mark.parametrize(
    "text", ["", "What is 3 + 4?", f"Atlas 42, {LAND.land}: 57", f"{COURT.land} 57 {LAND.marks[0]}"]
)
def test_what_is_no_question_of_the_world_is_not_read(text: str) -> None:
    assert read_puzzle(text, WORLD) is None


def test_the_right_answer_of_an_estate_is_how_it_stands_to_its_line() -> None:
    result = int(gold_of(Puzzle(LAND, 57, LAND.marks[:2]), WORLD))
    assert [standing(result, line) for line in (result - 1, result, result + 1)] == ["surplus", "level", "debt"]


def test_a_question_is_told_from_others_by_what_it_asks_and_not_by_its_phrasing() -> None:
    puzzle = Puzzle(LAND, 57, LAND.marks[:3])
    texts = [phrase(puzzle, phrasing, atlas=42) for phrasing in LEDGERS]
    assert {found.key for text in texts if (found := read_puzzle(text, WORLD))} == {puzzle.key}
    assert puzzle._replace(marks=puzzle.marks[::-1]).key != puzzle.key
