"""What goes out of use when another model takes the learner's place, by pairs of answers to recorded questions."""

import msgspec
import pytest

from mage_es.engine.rules.reproof import Proof, Showing, harmful, in_others_words, proof_of_words, proofs, showing_of
from mage_es.events.vocabulary import MemoryAppended, Origin, QuestionPlanned
from tests.golden.generate import filled

WON, LOST, SAME = (True, False), (False, True), (True, True)


def shown(*memories: str, pair: tuple[bool, bool], has_words: bool = True) -> Showing:
    return Showing(memories, has_words, *pair)


def test_a_memory_has_the_pairs_of_the_questions_that_it_was_shown_to() -> None:
    found = [shown("a", "b", pair=WON), shown("a", pair=LOST), shown("b", pair=SAME), shown(pair=LOST)]
    assert proofs(found) == {"a": Proof(2, 1, 1), "b": Proof(2, 1, 0)}


@pytest.mark.parametrize(
    ("won", "lost", "is_out"),
    [
        pytest.param(0, 3, False, id="three losses may be chance"),
        pytest.param(0, 4, True, id="four may hardly be"),
        pytest.param(1, 5, False, id="one won among six"),
        pytest.param(5, 0, False, id="what helps stays"),
    ],
)
def test_a_memory_goes_out_of_use_where_chance_hardly_brings_in_its_losses(won: int, lost: int, is_out: bool) -> None:
    found = [shown("a", pair=WON)] * won + [shown("a", pair=LOST)] * lost + [shown("a", pair=SAME)] * 9
    assert ("a" in harmful(found, frozenset())) == is_out


def test_cases_in_another_models_words_go_together_where_more_was_lost_than_won() -> None:
    found = [
        shown("old", "fact", pair=LOST),
        shown("old", pair=LOST),
        shown("older", pair=WON),
        shown("fact", pair=WON),
    ]
    words = frozenset({"old", "older", "never shown"})
    assert proof_of_words(found, words) == Proof(3, 1, 2)
    told = harmful(found, words)
    assert set(told) == words and all("1 won, 2 lost of 3 questions" in reason for reason in told.values())
    assert not harmful([*found, shown("old", pair=WON)], words)


def test_words_that_no_prompt_showed_are_not_judged_by_it() -> None:
    found = [shown("old", pair=LOST, has_words=False)] * 3
    assert proof_of_words(found, frozenset({"old"})) == Proof(0, 0, 0) and not harmful(found, frozenset({"old"}))


@pytest.mark.parametrize(
    ("form", "arm", "has_words"),
    [
        ("turns", "direct", False),
        ("worked", "direct", False),
        ("lines", "direct", False),
        ("sections", "direct", True),
        ("worked", "cot", True),
    ],
)
def test_what_asks_for_the_answer_alone_shows_no_words_of_a_case_unless_it_quotes_them(
    form: str, arm: str, has_words: bool
) -> None:
    planned = msgspec.structs.replace(filled(QuestionPlanned, 1), form=form, routing_arm=arm)
    assert showing_of(planned, learned=True, bare=False).has_words == has_words


@pytest.mark.parametrize(
    ("changed", "are_others"),
    [
        pytest.param({}, True, id="a case that another model reasoned"),
        pytest.param({"origin": Origin(writer="test/new")}, False, id="its own"),
        pytest.param({"reasoning": "", "steps": ()}, False, id="an answer alone is a fact"),
        pytest.param({"outcome": "failure_memory"}, False, id="what guidance or the data set wrote"),
    ],
)
def test_only_what_another_learner_reasoned_is_in_others_words(changed: dict[str, object], are_others: bool) -> None:
    memory = filled(MemoryAppended, 1)
    memory = msgspec.structs.replace(
        memory, **{"outcome": "success_memory", "origin": Origin(writer="test/old"), **changed}
    )
    assert in_others_words(memory, "test/new") == are_others
