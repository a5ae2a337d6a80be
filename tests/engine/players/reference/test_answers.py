"""What right answers alone show: an answer that most questions of a kind share; of episodes nothing."""

import pytest

from mage_es.engine.briefs import FailureCase, SolvedCase
from mage_es.engine.players.reference.authors import answer_correction, answer_principles, is_episode, shared_answer

SAID = "Questions of this kind are mostly answered with: No."


def failed(answer: str, *, wrong: str = "Yes", reasoning: str = "The nearest is Yes.") -> FailureCase:
    return FailureCase(
        question_id=f"q-{answer}",
        question="Is it?",
        context="",
        answer=answer,
        solution="",
        wrong_answer=wrong,
        wrong_reasoning=reasoning,
    )


def solved(answer: str) -> SolvedCase:
    return SolvedCase(question_id="s", question="Is it?", context="", answer=answer, solution="")


@pytest.mark.parametrize(
    ("answers", "shared"),
    [
        (["No", "No", "No"], "No"),
        (["No", "No", "No", "Yes"], "No"),
        (["No", "No"], ""),
        (["No", "No", "No", "Yes", "Yes"], ""),
        ([], ""),
    ],
)
def test_an_answer_is_shared_by_three_questions_and_three_quarters_of_them(answers: list[str], shared: str) -> None:
    assert shared_answer([failed(answer) for answer in answers]) == shared


def test_questions_that_went_right_are_counted_too() -> None:
    assert answer_principles([failed("No"), solved("No"), solved("No")], [])[0].do == SAID
    assert answer_principles([failed("No"), solved("Yes"), solved("Yes")], []) == []


def test_what_is_known_already_is_not_said_again() -> None:
    assert answer_principles([failed("No")] * 3, [SAID]) == []


def test_an_episode_is_no_question_with_an_answer() -> None:
    episode = failed("No", reasoning="go north: you see sand\ntake sand: you have sand")
    assert is_episode(episode) and not is_episode(failed("No")) and not is_episode(solved("No"))
    assert shared_answer([failed("No"), failed("No"), failed("No"), episode]) == ""


def test_a_correction_names_what_was_wrong_where_there_was_an_answer() -> None:
    assert answer_correction(failed("No")) == "Not Yes: the right answer is No."
    assert answer_correction(failed("No", wrong="")) == "No"
