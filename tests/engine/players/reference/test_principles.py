import msgspec

from mage_es.engine.briefs import AuthoredPrinciple, PrinciplesBrief, SolvedCase
from mage_es.engine.players.reference.principles import author_principles

from .cases import CASES

UNLIKE = {
    "q1": "Ana packs 4 boxes with 6 jars. She sells 5. What remains?",
    "q2": "Six teams of 4 meet, and 5 people go home. Who stays?",
}


def written(*existing: str, limit: int = 9) -> tuple[str, ...]:
    brief = PrinciplesBrief(task_type="t", skill="s", cases=CASES, existing=existing, limit=limit)
    return tuple(each.do for each in author_principles(brief).principles)


def test_the_words_and_the_operations_that_questions_share_become_a_sentence() -> None:
    assert written() == ('When the question says "left", multiply, then subtract.',)


def test_what_exists_is_not_written_again_and_the_limit_holds() -> None:
    everything = written()
    assert not set(written(*everything)) & set(everything)
    assert written(limit=0) == ()


def test_a_word_that_questions_with_other_operations_say_tells_nothing() -> None:
    other = SolvedCase(
        question_id="q9",
        question="A jar holds 3 figs and another jar 4. How many figs are left in both?",
        context="",
        answer="7",
        solution="Both: 3 + 4 = 7\n#### 7",
    )
    brief = PrinciplesBrief(task_type="t", skill="s", cases=CASES, existing=(), limit=9, solved=(other,))
    assert not any('"left"' in principle.do for principle in author_principles(brief).principles)


def test_where_no_word_tells_the_operations_their_order_is_said() -> None:
    alike = tuple(msgspec.structs.replace(CASES[0], question_id=name, question=asked) for name, asked in UNLIKE.items())
    brief = PrinciplesBrief(task_type="t", skill="s", cases=alike, limit=9)
    sentence = "Carry the operations out in this order: multiply, then subtract."
    assert author_principles(brief).principles == (AuthoredPrinciple(do=sentence, cases=tuple(UNLIKE)),)
    assert author_principles(msgspec.structs.replace(brief, existing=(sentence,))).principles == ()
    assert author_principles(msgspec.structs.replace(brief, cases=alike[:1])).principles == ()


def test_principles_name_no_number_or_noun_of_a_question() -> None:
    assert not any(word in principle for principle in written() for word in ("jar", "vase", "24", "19"))
