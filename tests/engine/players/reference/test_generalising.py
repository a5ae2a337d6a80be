from mage_es.engine.players.reference.generalising import share
from mage_es.engine.players.reference.solutions import Worked, work_out

from .cases import CASES


def works() -> list[Worked]:
    found = [work_out(case.question, case.solution, answer=case.answer) for case in CASES]
    return [worked for worked in found if worked is not None]


def test_the_recipe_that_most_questions_share_is_found_with_its_members() -> None:
    odd = work_out("A coat costs $80 at 25% off.", "80 * (1 - 25%) = 60\n#### 60", answer="60")
    assert odd is not None
    found = share([odd, *works()])
    assert found is not None
    assert sorted(found.members) == [1, 2, 3]
    assert found.strategy.count(" stands for a number: ") == 3 and found.strategy.count("\nStep ") == 2


def test_one_question_alone_gives_no_recipe() -> None:
    assert share(works()[:1]) is None
    assert share([]) is None
