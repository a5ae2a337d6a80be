"""Scoring HotpotQA: answers, supporting facts, both together, and the corpus over all gold ids."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.bench.hotpotqa.scoring import measure, total, verdict
from mage_es.engine.benchmarks.measuring import Prediction
from mage_es.engine.seams.benchmark import Question

FACTS = [["Kiss and Tell", 0], ["Shirley Temple", 1]]


def ask(gold: str = "Chief of Protocol", facts: object = FACTS, beyond: object = ()) -> Question:
    meta = {"supporting_facts": json.dumps(facts), "facts_beyond": json.dumps(beyond)}
    return Question(
        id="q", benchmark="hotpotqa", split="test", task_type="bridge", question="Who?", gold=gold, meta=meta
    )


def metrics(value: object, *, strict: bool = True, question: Question | None = None, **parts: object) -> dict:
    return dict(measure(question or ask(), Prediction("q", value, parts), strict).metrics)


def facts(given: object, *, question: Question | None = None, strict: bool = True) -> tuple:
    found = metrics("x", strict=strict, question=question, supporting_facts=given)
    return tuple(found[f"sp_{name}"] for name in ("em", "f1", "prec", "recall"))


def test_strict_takes_the_prediction_as_it_is_and_otherwise_the_final_answer_counts() -> None:
    reply = "She was an actress.\nAnswer: **Chief of Protocol**."
    assert metrics(reply)["em"] == 0
    assert metrics(reply)["f1"] == pytest.approx(2 * (3 / 7) / (3 / 7 + 1))
    assert metrics(reply, strict=False) == {"em": 1, "f1": 1, "prec": 1, "recall": 1, "lenient": 1} | dict.fromkeys(
        ("sp_em", "sp_f1", "sp_prec", "sp_recall", "joint_em", "joint_f1", "joint_prec", "joint_recall")
    )


@pytest.mark.parametrize(
    ("given", "em", "f1", "precision", "recall"),
    [
        (FACTS, 1, 1, 1, 1),
        ([*FACTS, FACTS[0]], 1, 1, 1, 1),
        (FACTS[:1], 0, 2 / 3, 1, 1 / 2),
        ([*FACTS, ["Other", 0]], 0, 4 / 5, 2 / 3, 1),
        ([["kiss and tell", 0]], 0, 0, 0, 0),
        ([["Kiss and Tell", "0"], ["Shirley Temple", 1]], 0, 1 / 2, 1 / 2, 1 / 2),
        ([], 0, 0, 0, 0),
        (["Kiss and Tell", {"title": 1}, None, [["a"], 0]], 0, 0, 0, 0),
    ],
    ids=["all", "twice", "one", "more", "case", "type", "none", "junk"],
)
def test_supporting_facts_are_sets_of_title_and_index(
    given: object, em: float, f1: float, precision: float, recall: float
) -> None:
    assert facts(given) == pytest.approx((em, f1, precision, recall))


def test_two_empty_sets_of_facts_are_equal_and_have_no_f1() -> None:
    assert facts([], question=ask(facts=[])) == (1, 0, 0, 0)


@pytest.mark.paper("appendix, HotpotQA EM and F1")
def test_a_fact_beyond_its_paragraph_is_ignored_except_to_the_letter() -> None:
    question = ask(facts=[["A", 0], ["A", 9]], beyond=[["A", 9]])
    assert facts([["A", 0]], question=question) == pytest.approx((0, 2 / 3, 1, 1 / 2))
    assert facts([["A", 0]], question=question, strict=False) == (1, 1, 1, 1)
    assert facts([["A", 0], ["A", 9]], question=question, strict=False) == (1, 1, 1, 1)


@pytest.mark.paper("appendix, HotpotQA EM and F1")
def test_joint_metrics_are_of_the_products_and_need_both_parts() -> None:
    found = metrics("Protocol", supporting_facts=FACTS[:1])
    assert (found["prec"], found["recall"], found["sp_prec"], found["sp_recall"]) == pytest.approx((1, 1 / 3, 1, 1 / 2))
    assert (found["joint_prec"], found["joint_recall"]) == pytest.approx((1, 1 / 6))
    assert found["joint_f1"] == pytest.approx(2 * (1 / 6) / (7 / 6)) and found["joint_em"] == 0
    assert metrics("Protocol officer", sp=FACTS)["joint_prec"] == 1 / 2
    assert metrics("Chief of Protocol", sp=FACTS)["joint_em"] == 1
    assert metrics(None, supporting_facts=FACTS)["joint_em"] == 0
    assert metrics("Chief of Protocol")["joint_em"] == 0


def test_to_the_letter_an_empty_answer_equals_a_gold_that_is_only_an_article_and_a_missing_one_does_not() -> None:
    the_the = ask("The The")
    assert (metrics("", question=the_the)["em"], metrics(None, question=the_the)["em"]) == (1, 0)
    assert metrics("", question=the_the, strict=False)["em"] == 0


@pytest.mark.paper("appendix, HotpotQA EM and F1")
def test_the_corpus_is_all_gold_ids_and_what_is_missing_counts_nothing() -> None:
    question = ask()
    predictions = [Prediction("q", "Chief of Protocol", {"supporting_facts": FACTS}), Prediction("q", None)]
    for strict in (True, False):
        found = total([(question, measure(question, one, strict)) for one in predictions])
        assert {found[name] for name in ("em", "f1", "sp_em", "joint_em", "joint_f1")} == {0.5}


def test_facts_that_nobody_predicted_are_left_out_except_to_the_letter() -> None:
    question, prediction = ask(), Prediction("q", "Chief of Protocol")
    usual, literal = (total([(question, measure(question, prediction, strict))]) for strict in (False, True))
    assert set(usual) == {"em", "f1", "prec", "recall", "lenient"}
    assert literal["sp_em"] == 0


@pytest.mark.parametrize(
    ("gold", "reply", "score", "strict", "near_miss"),
    [
        ("Chief of Protocol", "Answer: chief of protocol", 1, True, False),
        ("Béla Viktor János Bartók", "Béla Bartók", 2 / 3, False, False),
        ("the", "a", 1, True, False),
        ("Chelsea Lately", "Answer: Chelsea Handler", 0, False, True),
        ("Protocol", "She became Chief of Protocol.", 1, False, False),
        ("Chief of Protocol of the United States", "Answer: Protocol", 0, False, True),
        ("Chief of Protocol", "Answer: ambassador", 0, False, False),
        ("yes", "Yes, they are", 1, False, False),
        ("yes", "no", 0, False, False),
        ("Chief of Protocol", "", 0, False, False),
        ("The The", "", 0, False, False),
        ("Chief of Protocol", "<think>Chief of Protocol", 0, False, False),
    ],
)
def test_right_is_equal_or_half_overlapping_and_only_a_near_miss_is_left_to_a_judge(
    gold: str, reply: str, score: float, strict: bool, near_miss: bool
) -> None:
    found = verdict(ask(gold), reply)
    assert (found.score, found.strict, found.near_miss) == (pytest.approx(score), strict, near_miss)
    assert found.correct == (score >= 0.5)
    if found.score < 1:
        assert not found.correct or metrics(reply, strict=False, question=ask(gold))["lenient"]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=3)
)


@given(st.text(), JSON, JSON, st.booleans())
def test_nothing_that_is_predicted_makes_the_scorer_fail(
    reply: str, value: object, given: object, strict: bool
) -> None:
    assert 0 <= verdict(ask(), reply).score <= 1
    found = metrics(value, strict=strict, supporting_facts=given)
    assert all(number is None or 0 <= number <= 1 for number in found.values())
