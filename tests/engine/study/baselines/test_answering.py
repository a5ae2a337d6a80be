"""Chain of thought, votes and revisions: which calls are made, what they are shown, and which reply counts."""

import msgspec
import pytest

from mage_es.engine.courses import Ask
from mage_es.engine.rules.prompt import PromptQuestion, render_answer
from mage_es.engine.study.baselines.answering import few_shot_cot, reflexion, self_consistency
from mage_es.engine.study.baselines.trial import Shot, zero_shot_cot
from tests.engine.study.baselines.driving import SETTING, attempt, drive


def test_zero_shot_is_the_learners_prompt_with_nothing_in_it() -> None:
    tried = attempt()
    (move,), finish = drive(zero_shot_cot(tried), ["#### 1"])
    assert isinstance(move, Ask)
    bare = render_answer("answer_cot", [], PromptQuestion(tried.question.question, "", SETTING.answer_format))
    assert (move.request.prompt, move.request.temperature, move.about) == (bare.text, 0.0, tried.question.id)
    assert finish.reply == "#### 1"


def test_a_baseline_answers_at_the_learners_own_temperature() -> None:
    tried = attempt()
    config = msgspec.structs.replace(tried.setting.config, answer_temperature=0.4)
    (move,), _ = drive(zero_shot_cot(tried._replace(setting=tried.setting._replace(config=config))), ["#### 1"])
    assert isinstance(move, Ask) and move.request.temperature == 0.4


def test_examples_stand_before_the_question_each_with_where_it_is_from() -> None:
    tried = attempt()._replace(shots=(Shot("a", "1 + 1?", "It is 1 + 1 = 2.", "2"), Shot("b", "2?", "Two.", "2")))
    (move,), _ = drive(few_shot_cot(tried), ["#### 1"])
    assert isinstance(move, Ask)
    prompt = move.request.prompt
    assert "> Question: 1 + 1?\n> Reply: It is 1 + 1 = 2.\n> #### 2" in prompt
    assert prompt.index("> Question: 2?") < prompt.index(tried.question.question)
    assert [span.source for span in move.spans] == ["shot/a", "shot/b"]


def test_an_example_that_ends_in_its_answer_is_not_given_it_a_second_time() -> None:
    tried = attempt()._replace(shots=(Shot("a", "1 + 1?", "It is 1 + 1 = 2.\n#### 2", ""),))
    (move,), _ = drive(few_shot_cot(tried), ["#### 1"])
    assert isinstance(move, Ask)
    assert "> Reply: It is 1 + 1 = 2.\n> #### 2\n" in move.request.prompt
    assert "> Answer:" not in move.request.prompt


def test_a_question_that_breaks_off_is_asked_without_its_end_as_the_learner_asks_it() -> None:
    tried = attempt()
    broken = msgspec.structs.replace(tried.question, question="Where is it? Option (", stub=" Option (")
    (move,), _ = drive(zero_shot_cot(tried._replace(question=broken)), ["#### 1"])
    assert isinstance(move, Ask)
    assert "Where is it?" in move.request.prompt and "Option (" not in move.request.prompt


@pytest.mark.slow
@pytest.mark.parametrize(
    ("replies", "answer"),
    [
        (["#### 5"] * 4 + ["#### 7"] * 6, "#### 7"),
        (["#### 5", "#### 7"] * 5, "#### 5"),
        (["I think #### 7"] + ["", ""] * 9, "I think #### 7"),
        (["#### -5"] * 6 + ["#### 5"] * 4, "#### -5"),
        (["#### 5"] * 4 + ["#### 7", "#### 7.0", "Answer: $7", "Answer: 7 apples", "#### 7.", "7"], "#### 7"),
        (["", ""] * 10, ""),
    ],
)
def test_the_answer_of_most_samples_wins_the_first_of_equals_and_nothing_has_no_vote(
    replies: list[str], answer: str
) -> None:
    moves, finish = drive(self_consistency(attempt()), replies)
    assert finish.reply == answer
    asks = [move for move in moves if isinstance(move, Ask)]
    assert len({move.about for move in asks}) == 10 and {move.request.temperature for move in asks} == {0.7}
    assert len({move.request.prompt for move in asks}) == 1 and len({move.request.sha256 for move in asks}) == 10


def test_a_sample_that_was_cut_has_no_vote_and_its_right_answer_stops_no_oracle() -> None:
    right = f"#### {attempt().question.gold}"
    replies = [right] * 6 + ["#### 99871"] * 4
    assert drive(self_consistency(attempt()), replies)[1].reply == right
    assert drive(self_consistency(attempt()), replies, looped=[right])[1].reply == "#### 99871"
    assert len(drive(reflexion(attempt(), oracle_stop=True), [right] * 5, looped=[right])[0]) == 5


def test_an_answer_is_revised_twice_and_no_call_sees_the_gold_answer() -> None:
    tried = attempt()
    replies = ["#### 99871", "The sign is wrong.", "#### 99872", "Still wrong.", "#### 99873"]
    moves, finish = drive(reflexion(tried), replies)
    assert finish.reply == "#### 99873"
    prompts = [move.request.prompt for move in moves if isinstance(move, Ask)]
    assert "> #### 99871" in prompts[1] and "> - The sign is wrong." in prompts[2]
    assert "> - The sign is wrong." in prompts[4] and "> - Still wrong." in prompts[4] and "> #### 99872" in prompts[4]
    assert [move.about for move in moves if isinstance(move, Ask)][-1] == tried.question.id
    own = tried.question.question
    assert all(tried.question.gold not in prompt.replace(own, "") for prompt in prompts)


def test_only_the_oracle_stops_at_a_right_answer() -> None:
    right = f"#### {attempt().question.gold}"
    assert len(drive(reflexion(attempt(), oracle_stop=True), [right])[0]) == 1
    assert len(drive(reflexion(attempt()), [right, "-", right, "-", right])[0]) == 5
