import msgspec

from mage_es.engine.briefs import FailureBrief, FailureCase
from mage_es.engine.players.reference.authors import author_failures

from .cases import CASES


def brief(*cases: FailureCase, wants_strategy: bool, limit: int = 3) -> FailureBrief:
    return FailureBrief(task_type="t", skill="s", cases=cases, wants_strategy=wants_strategy, limit=limit)


def test_a_specific_memory_is_the_solution_in_plain_equations() -> None:
    (memory,) = author_failures(brief(CASES[0], wants_strategy=False)).memories
    assert (memory.kind, memory.question_id, memory.answer, memory.recognise) == ("specific", "q0", "19", "")
    assert memory.reasoning == "All: 4 * 6 = 24\nLeft: 24 - 5 = 19"


def test_no_more_corrections_are_written_than_wanted_and_a_strategy_beside_them() -> None:
    kinds = [memory.kind for memory in author_failures(brief(*CASES, wants_strategy=True, limit=2)).memories]
    assert kinds == ["type_strategy", "specific", "specific"]
    assert len(author_failures(brief(*CASES, wants_strategy=False, limit=2)).memories) == 2
    assert author_failures(brief(*CASES, wants_strategy=False, limit=0)).memories == ()


def test_a_strategy_generalises_what_the_failures_share() -> None:
    strategy = author_failures(brief(*CASES, wants_strategy=True)).memories[0]
    assert strategy.kind == "type_strategy"
    assert "multiply" in strategy.reasoning and "subtract" in strategy.reasoning
    assert not any(word in strategy.reasoning for word in ("jar", "vase", "24", "19"))


def test_no_strategy_is_written_where_none_is_wanted_or_only_one_failure_is_there() -> None:
    assert {m.kind for m in author_failures(brief(*CASES, wants_strategy=False)).memories} == {"specific"}
    assert {m.kind for m in author_failures(brief(CASES[0], wants_strategy=True)).memories} == {"specific"}


def test_a_failure_without_a_solution_gives_its_right_answer_and_an_episode_nothing() -> None:
    bare = FailureCase(
        question_id="q", question="?", context="", wrong_answer="2", wrong_reasoning="", answer="1", solution=" "
    )
    (memory,) = author_failures(brief(bare, wants_strategy=True)).memories
    assert (memory.kind, memory.reasoning) == ("specific", "Not 2: the right answer is 1.")
    episode = msgspec.structs.replace(bare, wrong_reasoning="go north: you see sand")
    assert author_failures(brief(episode, wants_strategy=True)).memories == ()
