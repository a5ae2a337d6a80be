import msgspec
import pytest

from mage_es.engine.briefs import RefinementBrief
from mage_es.engine.players.reference.refinement import author_refinement

from .cases import CASES

BRIEF = RefinementBrief(
    skill="s", description="", task_type="t", prompt_template="", strategy="", cases=CASES, solved=(), length=1200
)


def with_replies(*replies: str) -> RefinementBrief:
    cases = [msgspec.structs.replace(case, wrong_reasoning=reply) for case, reply in zip(CASES, replies, strict=False)]
    return msgspec.structs.replace(BRIEF, cases=tuple(cases))


@pytest.mark.parametrize(
    ("reply", "advice"),
    [
        ("19", "Write every step as an equation"),
        ("4 * 6 = 24", "Do not stop early"),
        ("4 + 6 = 10\n10 - 5 = 5", "choose the operation"),
        ("4 * 5 = 20\n20 - 4 = 16", "Use every number"),
    ],
)
def test_what_went_wrong_in_a_reply_is_what_the_instruction_warns_of(reply: str, advice: str) -> None:
    instruction = author_refinement(with_replies(reply)).prompt_template
    assert advice in instruction
    assert "1 of 1 failures" in instruction


def test_the_commonest_fault_comes_first() -> None:
    instruction = author_refinement(with_replies("no", "no", "3 * 12 = 36")).prompt_template
    assert instruction.index("Write every step") < instruction.index("Do not stop early")
    assert "2 of 3 failures" in instruction


def test_the_strategy_is_the_chain_that_the_failures_share() -> None:
    assert author_refinement(BRIEF).strategy.count("\nStep ") == 2


def test_a_text_that_would_not_fit_is_not_cut_into_nonsense() -> None:
    assert author_refinement(msgspec.structs.replace(BRIEF, length=20)).strategy == ""


def test_where_no_solution_can_be_read_nothing_is_refined() -> None:
    prose = [msgspec.structs.replace(case, solution="It is obvious.") for case in CASES]
    reply = author_refinement(msgspec.structs.replace(BRIEF, cases=tuple(prose)))
    assert (reply.prompt_template, reply.strategy) == ("", "")
