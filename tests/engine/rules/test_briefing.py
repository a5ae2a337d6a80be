"""A brief shows what the teacher may see, in the words that matter most, within the budget."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.briefs import FailureCase, PrinciplesBrief
from mage_es.engine.config import Config
from mage_es.engine.rules.briefing import DETAILS, GAP, Detail, clipped, fitted, teacher_knowledge, tokens_of, window
from mage_es.engine.rules.setting import Setting
from mage_es.engine.seams.benchmark import Question

PASSAGES = (
    "The river Elm is short. The mill was built in 1820 by Ada Crane. It burned down twice.\n"
    "Ada Crane died in 1851 in Oxbow. The town has a school. The school has a garden."
)


def setting(budget: int, room: int = 0) -> Setting:
    config = Config(benchmark="b", guidance_context=budget)
    return Setting(config, (), (), (), (), "", guidance_room=room)


def test_of_a_long_context_the_passages_stay_that_share_words_with_the_question_in_their_order() -> None:
    told = window(PASSAGES, "Where did the builder of the mill, Ada Crane, die? Oxbow", 100)
    assert told == f"[...] The mill was built in 1820 by Ada Crane.{GAP}Ada Crane died in 1851 in Oxbow. [...]"


def test_the_passage_with_the_answer_goes_first_and_what_is_cut_at_an_end_is_marked_too() -> None:
    told = window(PASSAGES, "Where did the builder of the mill, Ada Crane, die?", 60, answer="a garden")
    assert told == "[...] The school has a garden."
    assert window(PASSAGES, "the river", 40, answer="Elm") == "The river Elm is short. [...]"


def test_what_fits_is_left_as_it_is() -> None:
    assert window(PASSAGES, "nothing", 1000) == PASSAGES and clipped("short", 5) == "short"


def test_a_context_without_a_word_in_common_keeps_its_beginning_and_end() -> None:
    assert window(PASSAGES, "quux", 40).startswith("The river Elm")


def test_a_text_that_is_cut_keeps_its_end_where_a_reply_has_its_answer() -> None:
    told = clipped("First this. " + "x" * 500 + " Answer: 7", 60)
    assert len(told) == 60 and told.startswith("First this.") and told.endswith("Answer: 7") and GAP in told


@given(st.text(), st.text(max_size=40), st.integers(0, 200))
def test_nothing_is_longer_than_it_may_be(text: str, about: str, most: int) -> None:
    assert len(window(text, about, most)) <= max(most, len(GAP))
    assert len(clipped(text, most)) <= max(most, len(GAP))


@pytest.mark.parametrize(
    ("solution", "shown"),
    [
        ("So: 3 * 4 = 12\n#### 12", "So: 3 * 4 = 12"),
        ("So: 3 * 4 = 12\nAnswer: 12", "So: 3 * 4 = 12"),
        ("Answer: 12", ""),
        ("So: 3 * 4 = 12", "So: 3 * 4 = 12"),
        ("It is not 12\nbut 13", "It is not 12\nbut 13"),
    ],
)
def test_a_solution_does_not_say_the_answer_that_is_beside_it(solution: str, shown: str) -> None:
    config = Config(benchmark="b", teacher_sees="solutions")
    question = Question(
        id="q", benchmark="b", split="evolution", task_type="t", question="?", gold="12", solution=solution
    )
    assert teacher_knowledge(Setting(config, (), (), (), (), ""), question) == ("12", shown)


def long_brief(detail: Detail) -> PrinciplesBrief:
    cases = tuple(
        FailureCase(question_id=str(n), question=clipped("word " * 2000, detail.text), context=PASSAGES)
        for n in range(min(40, detail.cases))
    )
    return PrinciplesBrief(task_type="t", skill="s", cases=cases, limit=3)


@pytest.mark.parametrize("budget", [12_000, 6_000, 3_000])
def test_a_brief_is_cut_until_it_fits_and_what_it_was_cut_to_is_on_record(budget: int) -> None:
    brief, cut = fitted(setting(budget), 3, "principles_v1", "t", long_brief)
    assert cut is not None and tokens_of("principles_v1", brief, {}) == cut.tokens <= budget < cut.tokens_whole
    assert Detail(cut.cases, cut.solved, cut.context, cut.text) in DETAILS
    assert brief == long_brief(Detail(cut.cases, cut.solved, cut.context, cut.text))


def test_a_brief_that_fits_whole_is_not_cut() -> None:
    def short(detail: Detail) -> PrinciplesBrief:
        return PrinciplesBrief(task_type="t", skill="s", cases=(FailureCase(question_id="q", question="?"),), limit=3)

    assert fitted(setting(12_000), 3, "principles_v1", "t", short)[1] is None


def test_a_server_with_less_room_makes_briefs_shorter() -> None:
    assert (setting(12_000, room=5_000).guidance_context, setting(3_000, room=5_000).guidance_context) == (5_000, 3_000)
    assert setting(12_000).guidance_context == 12_000
