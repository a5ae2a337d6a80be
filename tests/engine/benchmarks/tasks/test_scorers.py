"""Scorers by name: what each calls right, and that no reply makes one raise."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.benchmarks.tasks.columns import question_of
from mage_es.engine.benchmarks.tasks.scorers import SCORERS, problem_with, scorer_of


def asked(answer: object, **more: Any):
    return question_of({"question": "?", "answer": answer, **more}, {}, position=0, split="evolution")


@pytest.mark.parametrize(
    ("scorer", "answer", "reply", "score"),
    [
        ("exact", "The Beatles", "Well.\nAnswer: beatles.", 1.0),
        ("exact", ["Paris", "Lutetia"], "Answer: Lutetia", 1.0),
        ("exact", "Paris", "Answer: Paris, France", 0.0),
        ("contains", "Paris", "Answer: Paris, France", 1.0),
        ("contains", "Par", "Answer: Paris", 0.0),
        ("contains", "the", "Answer: the", 1.0),
        ("contains", "the", "Answer: the cat", 0.0),
        ("contains", "A", "Answer: A.", 1.0),
        ("exact", "A", "Answer: a", 1.0),
        ("exact", -5, "Answer: 5", 0.0),
        ("exact", 3.5, "Answer: 35", 0.0),
        ("exact", "1,000", "Answer: 1000", 1.0),
        ("exact", "5.0", "Answer: 5", 1.0),
        ("exact", "5 apples", "Answer: 5 pears", 0.0),
        ("f1", -5, "Answer: 5", 0.0),
        ("contains", 3.5, "Answer: 35 km", 0.0),
        ("contains", 3.5, "Answer: 3.5 km.", 1.0),
        ("exact", "9" * 80, "Answer: " + "8" * 80, 0.0),
        ("exact", "A", "", 0.0),
        ("exact", "A", "Answer: the", 0.0),
        ("exact", "+", "Answer: +", 1.0),
        ("exact", "+", "Answer: -", 0.0),
        ("f1", "A", "", 0.0),
        ("f1", "A", "Answer: A", 1.0),
        ("judge", "A", "", 0.0),
        ("f1", "Barack Hussein Obama", "Answer: Obama", 0.5),
        ("f1", "no", "Answer: no idea", 0.0),
        ("number", "1,200", "#### 1200", 1.0),
        ("number", 12, "Answer: 12 apples", 1.0),
        ("number", 12, "Answer: 13", 0.0),
        ("judge", "Paris", "Answer: Paris", 1.0),
    ],
)
def test_a_scorer_calls_right_what_its_name_says(scorer: str, answer: object, reply: str, score: float) -> None:
    assert SCORERS[scorer].verdict(asked(answer), reply).score == score


@pytest.mark.parametrize(
    ("reply", "score"),
    [("Answer: [B]", 1.0), ("Answer: B", 1.0), ("Answer: green", 1.0), ("Answer: A", 0.0), ("", 0.0)],
)
def test_a_choice_is_read_as_letter_or_as_text(reply: str, score: float) -> None:
    question = asked("B", options=["red", "green"])
    assert SCORERS["choice"].verdict(question, reply).score == score


def test_only_a_wrong_answer_that_says_something_goes_to_the_judge() -> None:
    verdict = SCORERS["judge"].verdict
    assert [verdict(asked("Paris"), reply).undecided for reply in ("Paris", "Lutetia", "")] == [False, True, False]


@pytest.mark.parametrize(
    ("scorer", "answer", "complaint"),
    [("number", "twelve", "'twelve' is no number"), ("choice", "A", "options: there are none"), ("exact", "x", "")],
)
def test_a_task_that_a_scorer_cannot_check_is_refused(scorer: str, answer: str, complaint: str) -> None:
    problem = problem_with(asked(answer), scorer)
    assert complaint in problem if complaint else not problem


@given(st.text(), st.sampled_from(sorted(SCORERS)))
def test_no_reply_makes_a_scorer_raise(reply: str, scorer: str) -> None:
    question = asked("7", options={"7": "seven", "8": "eight"})
    assert 0 <= SCORERS[scorer].verdict(question, reply).score <= 1


def test_more_options_than_five_are_chosen_among_as_well() -> None:
    question = asked("G", options=list("tuvwxyz"))
    assert SCORERS["choice"].verdict(question, "Answer: (G)").score == 1


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("It is late.\nAnswer: late delivery", "late delivery"),
        ("**Answer:** Delivery.", "delivery"),
        ("Answer: this is about Billing", "billing"),
        ("Answer: billing or delivery", ""),
        ("Answer: complaint", ""),
        ("", ""),
    ],
)
def test_with_labels_the_answer_is_the_one_that_is_named(reply: str, answer: str) -> None:
    labels = ("billing", "delivery", "late delivery")
    scorer = scorer_of("choice", labels)
    assert scorer.answer_format.endswith("one of: billing, delivery, late delivery.")
    for right in labels:
        verdict = scorer.verdict(asked(right), reply)
        assert (verdict.answer, verdict.correct) == (answer, answer == right)


def test_an_answer_that_is_no_label_is_a_problem_of_its_row() -> None:
    assert problem_with(asked("Billing"), "choice", ("billing", "lost")) == ""
    assert "'refund' is none of the labels billing, lost" in problem_with(
        asked("refund"), "choice", ("billing", "lost")
    )
