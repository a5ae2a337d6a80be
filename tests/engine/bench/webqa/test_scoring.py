"""Scoring WebQuestions: the official set metric to the letter, and replies in prose."""

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.bench.webqa.scoring import answers_in, hit, measure, official, total, verdict
from mage_es.engine.benchmarks.measuring import Prediction
from mage_es.engine.seams.benchmark import Question


def ask(*golds: str) -> Question:
    return Question(
        id="q", benchmark="webqa", split="test", task_type="what", question="what?", gold="; ".join(golds),
        meta={"answers": json.dumps(golds)},
    )  # fmt: skip


def metrics(question: Question, value: object, *, strict: bool) -> dict:
    return dict(measure(question, Prediction("q", value), strict).metrics)


@pytest.mark.paper("section 4, WebQuestions, the metric")
@pytest.mark.parametrize(
    ("golds", "given", "recall", "precision", "f1"),
    [
        (["A"], ["A"], 1, 1, 1),
        (["A"], ["A", "A"], 1, 1, 1),
        (["A", "A", "B"], ["A"], 2 / 3, 1, 4 / 5),
        (["A", "B"], ["A", "C"], 1 / 2, 1 / 2, 1 / 2),
        (["A"], [], 0, 1, 0),
        (["A"], ["B"], 0, 0, 0),
        (["A"], ["a"], 0, 0, 0),
        (["A"], ["A "], 0, 0, 0),
        (["É"], ["E"], 0, 0, 0),
        (["1836"], [1836], 0, 0, 0),
        (["A"], [["A"], None, {"A": 1}], 0, 0, 0),
    ],
)
def test_the_official_metric_compares_values_as_they_are_and_counts_each(
    golds: list[str], given: list[object], recall: float, precision: float, f1: float
) -> None:
    expected = pytest.approx({"f1": f1, "precision": precision, "recall": recall})
    assert official(golds, given) == expected
    assert metrics(ask(*golds), given, strict=True) == expected
    assert metrics(ask(*golds), json.dumps(given), strict=True) == expected


def test_without_gold_answers_there_is_no_metric() -> None:
    with pytest.raises(ValueError, match="without gold answers"):
        official([], ["A"])


def test_strict_takes_a_text_that_is_no_list_as_one_answer() -> None:
    assert metrics(ask("Jamaica"), "Jamaica", strict=True)["f1"] == 1
    assert metrics(ask("Jamaica"), "jamaica", strict=True)["f1"] == 0
    assert metrics(ask("Jamaica"), "", strict=True) == {"f1": 0, "precision": 1, "recall": 0}
    assert metrics(ask("1836"), "1836", strict=True)["f1"] == 1
    assert metrics(ask("1836"), 1836, strict=True)["f1"] == 0
    assert metrics(ask("1836"), None, strict=True) == {"f1": 0, "precision": 1, "recall": 0}


@pytest.mark.paper("section 4, WebQuestions, the metric")
def test_a_total_has_the_means_and_the_f1_of_the_means() -> None:
    question = ask("A", "B")
    values = ["A"], ["A", "B", "C", "D"]
    measured = [(question, measure(question, Prediction("q", value), strict=True)) for value in values]
    assert total(measured) == pytest.approx(
        {"f1": (2 / 3 + 2 / 3) / 2, "precision": 0.75, "recall": 0.75, "f1_of_means": 0.75}
    )


@pytest.mark.parametrize(
    ("answer", "golds", "pieces"),
    [
        ("Paris, Rome and Oslo; Bonn", ["x"], ["Paris", "Rome", "Oslo", "Bonn"]),
        ("- Paris\n2. Rome\n* **Oslo**", ["x"], ["Paris", "Rome", "Oslo"]),
        ("Washington, D.C.", ["Washington, D.C."], ["Washington, D.C."]),
        ("the Washington, DC", ["Washington D.C."], ["the Washington, DC"]),
        (" , ; the", ["x"], []),
        ("", ["x"], []),
    ],
)
def test_a_list_in_prose_is_split_unless_the_whole_is_a_gold_answer(
    answer: str, golds: list[str], pieces: list[str]
) -> None:
    assert answers_in(answer, golds) == pieces


@pytest.mark.paper("section 4, WebQuestions, the metric")
@pytest.mark.parametrize(
    ("answer", "golds", "is_hit"),
    [
        ("Jamaican Creole", ["Jamaican Creole English Language"], True),
        ("the capital is Paris", ["Paris"], True),
        ("Parish", ["Paris"], False),
        ("Par", ["Par avion"], False),
        ("the", ["The Who"], False),
        ("Rome", ["Paris", "Rome"], True),
        ("March 4, 1841", ["3/4/1841"], True),
        ("Born on 1841-03-04", ["3/4/1841"], True),
        ("Oslo; 3/4/1841", ["1841-03-04"], True),
        ("anything", ["the"], False),
        ("", ["Paris"], False),
    ],
)
def test_a_hit_equals_a_gold_answer_holds_one_or_is_a_long_enough_part_of_one(
    answer: str, golds: list[str], is_hit: bool
) -> None:
    assert hit(golds, answer) is is_hit


@pytest.mark.paper("section 4, WebQuestions, the metric")
@pytest.mark.parametrize(
    ("golds", "answer", "question", "is_hit"),
    [
        (["Jamaican English"], "Jamaican", "what does jamaican people speak", False),
        (["Jamaican English"], "What does Jamaican people speak?", "what does jamaican people speak", False),
        (["University of Oregon"], "Oregon", "what college is in oregon", False),
        (["Ken Barlow"], "Ken Barlow plays in Coronation Street", "who plays ken barlow in coronation street", False),
        (["Ken Barlow"], "Ken Barlow", "who plays ken barlow in coronation street", True),
        (["Jamaican English"], "English", "what does jamaican people speak", True),
        (["English"], "The people of Canada speak English.", "what do the people of canada speak", True),
        (["Lincoln"], "Lincoln was first", "who was first lincoln or washington", True),
    ],
)
def test_what_only_repeats_the_question_is_no_answer_unless_it_equals_a_gold(
    golds: list[str], answer: str, question: str, is_hit: bool
) -> None:
    assert hit(golds, answer, question) is is_hit


CITIES = ["Paris", "London", "Rome", "Berlin", "Madrid", "Oslo"]


@pytest.mark.paper("section 4, WebQuestions, the metric")
@pytest.mark.parametrize(
    "form",
    ["; ".join, ", ".join, "\n".join, lambda items: "\n".join(f"- {item}" for item in items),
     lambda items: "\n".join(f"{place}. {item}" for place, item in enumerate(items, 1)),
     lambda items: f"It is one of these: {', '.join(items)}"],
)  # fmt: skip
def test_a_list_of_more_than_a_few_is_no_answer_unless_as_many_are_asked_for(form: Callable[[list[str]], str]) -> None:
    question = ask("Rome")
    assert not verdict(question, form(CITIES)).correct and not verdict(question, f"Answer: {form(CITIES)}").correct
    assert verdict(question, form(CITIES[:3])).correct
    assert verdict(ask("Rome", "Athens", "Bern"), form(CITIES)).correct
    assert metrics(question, CITIES, strict=False)["hit"] == 0
    assert metrics(question, json.dumps(CITIES), strict=True) == official(["Rome"], CITIES)


def test_the_clauses_of_a_sentence_are_no_list() -> None:
    assert hit(["Paris"], "He was born on March 4, 1841, in Paris, France, and died in Rome, in 1910, of fever.")


def test_prose_is_measured_by_its_final_answer_and_its_list() -> None:
    question = ask("Jazmyn Bieber", "Jaxon Bieber")
    reply = "He has two half-siblings.\nAnswer: jaxon bieber and Jazmyn Bieber"
    assert metrics(question, reply, strict=False) == {"f1": 1, "precision": 1, "recall": 1, "hit": 1}
    half = metrics(question, "Answer: Jaxon Bieber; Selena", strict=False)
    assert half == {"f1": 0.5, "precision": 0.5, "recall": 0.5, "hit": 1}
    assert metrics(question, ["jaxon bieber", 7], strict=False) == half


@pytest.mark.paper("section 4, semantic judge")
@pytest.mark.parametrize(
    ("reply", "score", "strict", "near_miss"),
    [
        ("Answer: Jamaican English", 1, True, False),
        ("Answer: jamaican english", 1, False, False),
        ('["Jamaican English"]', 1, True, False),
        ("Answer: Jamaican Patois", 0, False, True),
        ("Answer: Spanish", 0, False, False),
        ("", 0, False, False),
    ],
)
def test_a_reply_is_right_by_a_hit_and_only_a_near_miss_is_left_to_a_judge(
    reply: str, score: float, strict: bool, near_miss: bool
) -> None:
    found = verdict(ask("Jamaican English"), reply)
    assert (found.score, found.strict, found.near_miss) == (score, strict, near_miss)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(), lambda inner: st.lists(inner, max_size=3)
)


@given(st.text(), JSON, st.booleans())
def test_nothing_that_is_predicted_makes_the_scorer_fail(reply: str, value: object, strict: bool) -> None:
    question = ask("Paris", "3/4/1841")
    assert verdict(question, reply).score in (0, 1)
    for predicted in (reply, value):
        assert all(0 <= number <= 1 for number in metrics(question, predicted, strict=strict).values())
