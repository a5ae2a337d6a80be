from mage_es.engine.agents.briefs import PrinciplesBrief
from mage_es.engine.models.reference.principles import author_principles

from .cases import CASES


def written(*existing: str, limit: int = 9) -> tuple[str, ...]:
    brief = PrinciplesBrief(task_type="t", skill="s", cases=CASES, existing=existing, limit=limit)
    return author_principles(brief).principles


def test_the_shared_order_of_operations_becomes_a_sentence() -> None:
    assert any("multiply, then subtract" in principle for principle in written())


def test_what_exists_is_not_written_again_and_the_limit_holds() -> None:
    everything = written()
    assert written(*everything) == ()
    assert written(limit=1) == everything[:1]


def test_principles_name_no_number_or_noun_of_a_question() -> None:
    assert not any(word in principle for principle in written() for word in ("jar", "vase", "24", "19"))
