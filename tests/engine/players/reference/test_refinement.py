import msgspec

from mage_es.engine.briefs import RefinementBrief
from mage_es.engine.players.reference.authors import author_refinement

from .cases import CASES

BRIEF = RefinementBrief(
    skill="s", description="", task_type="t", prompt_template="", strategy="", cases=CASES, solved=(), length=1200
)


def test_the_strategy_is_the_chain_that_the_failures_share() -> None:
    reply = author_refinement(BRIEF)
    assert reply.strategy.count("\nStep ") == 2 and "equation" in reply.prompt_template


def test_a_text_that_would_not_fit_is_not_cut_into_nonsense() -> None:
    reply = author_refinement(msgspec.structs.replace(BRIEF, length=20))
    assert (reply.prompt_template, reply.strategy) == ("", "")


def test_where_no_solution_can_be_read_nothing_is_refined() -> None:
    prose = [msgspec.structs.replace(case, solution="It is obvious.") for case in CASES]
    reply = author_refinement(msgspec.structs.replace(BRIEF, cases=tuple(prose)))
    assert (reply.prompt_template, reply.strategy) == ("", "")
