import msgspec

from mage_es.engine.briefs import AuthoredPrinciple, PrinciplesBrief
from mage_es.engine.players.reference.authors import author_principles

from .cases import CASES

UNLIKE = {
    "q1": "Ana packs 4 boxes with 6 jars. She sells 5. What remains?",
    "q2": "Six teams of 4 meet, and 5 people go home. Who stays?",
}


def written(*existing: str, limit: int = 9) -> tuple[str, ...]:
    brief = PrinciplesBrief(task_type="t", skill="s", cases=CASES, existing=existing, limit=limit)
    return tuple(each.do for each in author_principles(brief).principles)


def test_the_operations_that_questions_share_become_a_sentence() -> None:
    assert written() == ("Carry the operations out in this order: multiply, then subtract.",)


def test_what_exists_is_not_written_again_and_the_limit_holds() -> None:
    everything = written()
    assert not set(written(*everything)) & set(everything)
    assert written(limit=0) == ()


def test_a_sentence_names_its_cases_of_which_there_are_two_at_least() -> None:
    alike = tuple(msgspec.structs.replace(CASES[0], question_id=name, question=asked) for name, asked in UNLIKE.items())
    brief = PrinciplesBrief(task_type="t", skill="s", cases=alike, limit=9)
    sentence = "Carry the operations out in this order: multiply, then subtract."
    assert author_principles(brief).principles == (AuthoredPrinciple(do=sentence, cases=tuple(UNLIKE)),)
    assert author_principles(msgspec.structs.replace(brief, existing=(sentence,))).principles == ()
    assert author_principles(msgspec.structs.replace(brief, cases=alike[:1])).principles == ()


def test_principles_name_no_number_or_noun_of_a_question() -> None:
    assert not any(word in principle for principle in written() for word in ("jar", "vase", "24", "19"))
