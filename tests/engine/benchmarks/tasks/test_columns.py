"""From a row to a question: which column is what, and what is said where one cannot be."""

import json
from typing import Any

import pytest

from mage_es.engine.benchmarks.tasks.columns import question_of
from mage_es.engine.seams.benchmark import giver_of

ROW: dict[str, Any] = {"question": "2 + 3?", "answer": 5}


def read(row: dict[str, Any], **columns: str):
    return question_of(row, columns, position=4, split="evolution")


def test_the_usual_names_of_columns_are_known_and_the_rest_is_left_alone() -> None:
    question = read({"prompt": " 2 + 3? ", "label": 5, "category": "sums", "rationale": "count", "colour": None})
    assert (question.question, question.gold, question.task_type) == ("2 + 3?", "5", "sums")
    assert (question.id, question.solution, question.context) == ("row-5", "count", "")


def test_a_named_column_goes_before_the_usual_ones() -> None:
    question = read({**ROW, "q": "mine?", "right": "yes"}, question="q", answer="right")
    assert (question.question, question.gold) == ("mine?", "yes")


def test_any_of_several_answers_will_do() -> None:
    question = read({"question": "?", "answers": ["Jazmyn", "Jaxon", ""]})
    assert (question.gold, json.loads(question.meta["answers"])) == ("Jazmyn", ["Jazmyn", "Jaxon"])


def test_a_missing_value_in_a_list_of_answers_is_no_answer() -> None:
    assert json.loads(read({**ROW, "answer": [None, "a", float("nan")]}).meta["answers"]) == ["a"]


@pytest.mark.parametrize(
    ("value", "gold"),
    [(5, "5"), (5.0, "5.0"), (0.00001, "0.00001"), (1e22, "1" + 22 * "0"), (-2.5, "-2.5"), (True, "True")],
)
def test_a_number_is_an_answer_as_people_write_it(value: object, gold: str) -> None:
    assert read({**ROW, "answer": value}).gold == gold


@pytest.mark.parametrize(
    ("options", "answer"),
    [
        (["red", "green"], "B"),
        (["red", "green"], "Green"),
        (["red", "green"], 1),
        ({"A": "red", "B": "green"}, "B"),
        ('["red", "green"]', "green"),
        ({"label": ["A", "B"], "text": ["red", "green"]}, "B"),
        ({"text": ["red", "green"], "label": ["1", "2"]}, "2"),
    ],
)
def test_options_stand_below_the_question_and_the_answer_is_a_letter(options: object, answer: object) -> None:
    question = read({"question": "Grass?", "options": options, "answer": answer})
    assert question.question == "Grass?\nA. red\nB. green"
    assert question.gold == "B"


@pytest.mark.parametrize(
    ("said", "split"),
    [
        ("test", "test"),
        ("Validation", "test"),
        ("holdout", "test"),
        ("train", "evolution"),
        ("Learn", "evolution"),
        ("", "evolution"),
    ],
)
def test_a_split_column_says_what_is_only_examined(said: str, split: str) -> None:
    assert read({**ROW, "split": said}).split == split


@pytest.mark.parametrize("said", ["tset", "0", "buy"])
def test_a_word_that_is_no_split_is_refused_lest_a_test_be_learned_from(said: str) -> None:
    with pytest.raises(ValueError, match=f"^split: '{said}' is not a split: give `train` .* --columns split=$"):
        read({**ROW, "split": said})
    assert read({**ROW, "split": said}, split="").split == "evolution"


@pytest.mark.parametrize(
    ("row", "columns", "complaint"),
    [
        ({"text": "x"}, {}, "question: there is no such column, only text.*--columns question=NAME"),
        ({"question": "x"}, {}, "answer: there is no such column, only question"),
        (ROW, {"context": "page"}, r"page: there is no such column \(for the context\)"),
        ({**ROW, "question": " "}, {}, "question: is empty"),
        ({**ROW, "answer": None}, {}, "answer: is empty"),
        ({**ROW, "answer": []}, {}, "answer: is empty"),
        ({**ROW, "question": ["a"]}, {}, r"question: expected a text, got \[\"a\"\]"),
        ({**ROW, "answer": [None, float("nan"), " "]}, {}, "answer: is empty"),
        ({**ROW, "answer": float("nan")}, {}, "answer: is empty"),
        ({**ROW, "answer": {"value": 5}}, {}, r"answer: expected a text.*got \{\"value\": 5\}"),
        ({**ROW, "answer": ["a", ["b"]]}, {}, r"answer: expected a text.*got \[\"b\"\]"),
        ({**ROW, "question": float("nan")}, {}, "question: is empty"),
        ({**ROW, "options": ["4", "6"]}, {}, "'5' is not one of the options A, B"),
        ({**ROW, "options": 3}, {}, "expected a list or an object"),
        ({**ROW, "options": "4|5"}, {}, r"options: expected a JSON list of texts.*got '4\|5'.*options=A/B/C/D"),
        ({**ROW, "options": '{"label": ["A"], "text": 3}'}, {}, r"options: expected a text, got \["),
        ({**ROW, "A": "4"}, {"options": "A/B"}, "A/B: there is no such column"),
    ],
)
def test_what_is_no_task_is_named_by_its_column(row: dict[str, Any], columns: dict[str, str], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        read(row, **columns)


def test_a_column_is_found_whatever_its_case_and_the_blanks_around_it_but_by_its_own_name_first() -> None:
    assert read({"Question": "x", "Answer ": "y"}).gold == "y"
    assert read({"Said": "x", " said": "z", "answer": "y"}, question="said").question == "x"
    assert read({"Said": "x", "said": "z", "answer": "y"}, question="said").question == "z"


@pytest.mark.parametrize("answer", ["B", "5", "Right"])
def test_options_may_stand_in_columns_of_their_own(answer: str) -> None:
    question = read({"question": "x", "Left": 4, "Right": 5, "answer": answer}, options="Left/Right")
    assert (question.question, question.gold) == ("x\nA. 4\nB. 5", "B")


def test_valid_answers_in_several_columns_are_named_together_and_a_schema_is_shown() -> None:
    row = {"question": "Capital?", "label": "Paris", "alias": "Lutetia", "also": "", "schema": "CREATE TABLE t (a INT)"}
    question = question_of(row, {"answer": "label/alias/also"}, position=0, split="evolution")
    assert json.loads(question.meta["answers"]) == ["Paris", "Lutetia"]
    assert question.context == question.meta["schema"] == row["schema"]


def test_a_column_that_was_named_for_one_role_fills_no_other_by_its_name() -> None:
    row = {"text": "Where is my parcel?", "category": "delivery", "solution": "Posts bring parcels."}
    labelled = read(row, question="text", answer="Category ")
    assert (labelled.question, labelled.gold) == ("Where is my parcel?", "delivery")
    assert (labelled.context, labelled.task_type) == ("", "task")
    assert read({**row, "category ": "delivery"}, question="text", answer="category").task_type == "task"
    options = {"question": "Grass?", "context": "red", "text": "green", "answer": "green"}
    assert read(options, options="context/text").context == ""


def test_a_role_that_is_set_to_nothing_is_filled_by_no_column() -> None:
    row = {**ROW, "category": "sums", "text": "a page", "subject": "ann"}
    read_with = read(row, task_type="", context="", subject="")
    assert (read_with.task_type, read_with.context, read_with.subject) == ("task", "", "")


def test_who_gave_the_answer_is_kept_with_it_and_cannot_be_the_subject_that_may_be_erased() -> None:
    assert giver_of(read({**ROW, "By": " acme "})) == giver_of(read({**ROW, "team": "acme"}, by="team")) == "acme"
    assert giver_of(read(ROW)) == "" and "by" not in read(ROW).meta
    assert giver_of(read({**ROW, "by": "ann", "subject": "customer 7"})) == "ann"
    with pytest.raises(ValueError, match="by: is the subject too, which can be erased; give the source another name"):
        read({**ROW, "by": "ann", "subject": "ann"})


def test_one_column_is_refused_for_two_roles() -> None:
    with pytest.raises(ValueError, match="answer: is named for two roles, answer and task_type; one column has one"):
        read(ROW, answer="answer", task_type="answer")
    with pytest.raises(ValueError, match="right: is named for two roles"):
        read({"question": "?", "right": "x", "wrong": "y"}, answer="right", options="Right/wrong")


def test_a_subject_is_a_person_unless_the_column_is_named_for_something_else() -> None:
    row = {**ROW, "subject": "algebra"}
    assert (read(row).subject, read(row).task_type) == ("algebra", "task")
    named = read(row, task_type="subject")
    assert (named.subject, named.task_type) == ("", "algebra")
