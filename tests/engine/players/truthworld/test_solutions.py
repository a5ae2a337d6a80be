"""Reference solutions are read as reckonings, and what most of them say is agreed."""

from __future__ import annotations

from mage_es.engine.briefs import Case
from mage_es.engine.players.truthworld.solutions import agreed, read_solution, sentences
from mage_es.engine.players.worlds.truthworld.puzzles import read_puzzle
from mage_es.engine.players.worlds.truthworld.world import Rule
from mage_es.engine.seams.benchmark import Question

from .cases import BENCHMARK, WORLD, shown


def as_case(question: Question) -> Case:
    return Case(question_id=question.id, question=question.question, answer=question.gold, solution=shown(question))


def test_every_solution_gives_back_what_its_question_asks() -> None:
    for question in BENCHMARK.questions("evolution")[:500]:
        puzzle, read = read_puzzle(question.question, WORLD), read_solution(as_case(question))
        assert puzzle is not None and read is not None
        assert (read.start, read.marks, read.line) == (puzzle.start, puzzle.marks, puzzle.line)
        assert read.answer == question.gold


def test_what_is_no_reckoning_is_not_read() -> None:
    assert read_solution(Case(question_id="q", question="What is 3 + 4?", answer="7", solution="3 + 4 = 7")) is None


def test_the_rule_that_most_solutions_state_wins() -> None:
    found = agreed(["b means add 3", "b means add 3; a means multiply by 2", "b means add 9"])
    assert list(found.items()) == [("a", Rule("multiply by", 2)), ("b", Rule("add", 3))]


def test_sentences_stop_where_the_length_is_used_up() -> None:
    rules = {"a": Rule("multiply by", 2), "b": Rule("add", 3)}
    assert sentences(rules) == "a means multiply by 2. b means add 3."
    assert sentences(rules, length=25) == "a means multiply by 2."
