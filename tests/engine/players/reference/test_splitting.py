import msgspec

from mage_es.engine.briefs import Case, SolvedCase, SplittingBrief, TypeStanding
from mage_es.engine.players.reference.authors import author_split

from .cases import CASES


def solved(case: Case) -> SolvedCase:
    return SolvedCase(
        question_id=case.question_id,
        question=case.question,
        context=case.context,
        answer=case.answer,
        solution=case.solution,
    )


LESS = tuple(solved(case) for case in CASES)
MORE = tuple(
    SolvedCase(
        question_id=f"m{number}",
        question=f"A shelf holds {number} vases. Then {number + 2} more come. How many vases are there?",
        context="",
        answer=str(2 * number + 2),
        solution=f"All: {number} + {number + 2} = {2 * number + 2}",
    )
    for number in (11, 17, 23)
)


def brief(*standings: TypeStanding, **changes: object) -> SplittingBrief:
    made = SplittingBrief(skill="s", description="", task_types=standings, parts=(), skills=("s",), limit=4)
    return msgspec.structs.replace(made, **changes)


def standing(name: str, *samples: SolvedCase, wrong: int = 1) -> TypeStanding:
    return TypeStanding(task_type=name, right=1, wrong=wrong, samples=samples)


def test_a_skill_of_several_task_types_is_split_by_them_the_worst_first() -> None:
    reply = author_split(brief(standing("t", *LESS), standing("u", *MORE, wrong=5)))
    assert [(child.name, child.resolves) for child in reply.children] == [("s-u", ("u",)), ("s-t", ("t",))]
    assert "multiply, then subtract" in reply.children[1].description
    assert "Step 1: multiply" in reply.children[1].strategy


def test_what_resolves_one_task_type_or_was_split_by_them_stays_whole() -> None:
    two = standing("t", *LESS), standing("u", *MORE)
    for whole in (brief(two[0]), brief(*two, skills=("s", "s-t")), brief(*two, limit=1), brief()):
        reply = author_split(whole)
        assert reply.children == ()
        assert reply.reason
