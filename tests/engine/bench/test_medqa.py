"""MedQA's records with four and five options, and which letter a reply chooses."""

import json
import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.bench.dataset import Dataset
from mage_es.engine.bench.medqa import MEDQA, measure, verdict
from mage_es.engine.benchmarks.letters import chosen, labelled
from mage_es.engine.benchmarks.measuring import Prediction
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.testing import check_benchmark
from mage_es.events.errors import PrerequisiteError

DATA = Path(os.environ.get("MAGE_ES_DATA", Path(__file__).parents[4] / "shared" / "data"))
needs_data = pytest.mark.skipif(
    not list((DATA / "medqa").rglob("*.jsonl*")), reason=f"no MedQA in {DATA}; set MAGE_ES_DATA"
)

OPTIONS = {"A": "Gentamicin", "B": "Acute myocarditis", "C": "Myocarditis", "D": "E. coli"}
FIVE = {**OPTIONS, "E": "Trimethoprim"}
GOOD: dict[str, Any] = {
    "question": "Which drug was given?",
    "answer": "Myocarditis",
    "options": OPTIONS,
    "meta_info": "step2&3",
    "answer_idx": "C",
    "metamap_phrases": ["drug"],
}


def write(folder: Path, *records: object, name: str = "US/4_options/phrases_no_exclude_test.jsonl") -> Path:
    for file, content in ((name, records), ("phrases_no_exclude_train.jsonl", [GOOD])):
        path = folder / "medqa" / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(record) + "\n" for record in content))
    return folder


def one(folder: Path, record: object) -> Question:
    return Dataset(MEDQA, write(folder, record)).questions("test")[0]


def test_a_record_becomes_a_question_that_ends_with_its_options(tmp_path: Path) -> None:
    question = one(tmp_path, GOOD)
    assert (question.id, question.gold, question.task_type) == ("medqa-test-0", "C", "medqa_step2_3")
    assert question.question == (
        "Which drug was given?\n\nA. Gentamicin\nB. Acute myocarditis\nC. Myocarditis\nD. E. coli"
    )
    assert (question.context, question.solution) == ("", "")


@pytest.mark.paper("section 4, MedQA, task types")
def test_five_options_and_records_without_meta_info_are_read_and_left_to_the_typer(tmp_path: Path) -> None:
    record = {"question": "q", "answer": "x", "options": FIVE, "answer_idx": "E"}
    question = one(tmp_path, record)
    assert (question.gold, question.task_type) == ("E", "")
    assert question.question.endswith("\nE. Trimethoprim")


@pytest.mark.parametrize("meta_info", ["step3", "", None])
def test_a_step_that_is_not_known_is_left_to_the_typer(tmp_path: Path, meta_info: str | None) -> None:
    assert one(tmp_path, {**GOOD, "meta_info": meta_info}).task_type == ""


@pytest.mark.parametrize(
    "name",
    ["US/4_options/phrases_no_exclude_test.jsonl", "phrases_no_exclude_test.jsonl",
     "data_clean/questions/US/4_options/phrases_no_exclude_test.jsonl"],
)  # fmt: skip
def test_files_may_stand_where_a_download_or_an_unpacked_archive_has_them(tmp_path: Path, name: str) -> None:
    benchmark = Dataset(MEDQA, write(tmp_path, GOOD, name=name))
    assert [question.id for question in benchmark.questions("test")] == ["medqa-test-0"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"question": "\n"}, "question: the question is empty"),
        ({"answer_idx": "E"}, "answer_idx: 'E' is not one of the options A, B, C, D"),
        ({"options": {"A": "x", "C": "y"}}, "options: must be lettered"),
        ({"options": {"A": "x"}, "answer_idx": "A"}, "options: must be lettered"),
        ({"options": dict.fromkeys("ABCDEF", "x")}, "options: must be lettered"),
        ({"options": {"A": 1, "B": "y"}}, "Expected `str`, got `int` - at `$.options[...]`"),
        ({"options": "A"}, "at `$.options`"),
    ],
)
def test_a_malformed_record_is_named_with_its_field(tmp_path: Path, change: dict[str, object], complaint: str) -> None:
    with pytest.raises(PrerequisiteError) as caught:
        one(tmp_path, {**GOOD, **change})
    assert "phrases_no_exclude_test.jsonl, line 1: " in str(caught.value)
    assert complaint in str(caught.value)


@pytest.mark.paper("section 4, MedQA, the metric")
@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("Reasoning.\nAnswer: [C]", "C"),
        ("I exclude [A].\nAnswer: [C] since", "C"),
        ("I exclude [A]. [C]", ""),
        ("x\nAnswer: [A]\nAnswer: [C]", ""),
        ("x\nAnswer: [C]\nAnswer: [C]", "C"),
        ("Answer: [A] at the very start, then [C]", ""),
        ("[C]", "C"),
        ("[A] or [B]", ""),
        ("[E]", ""),
        ("[c]", ""),
        ("[ C ]", ""),
        ("［C］", ""),
        ("[С]", ""),
        ("(C)", ""),
        ("C", ""),
        ("", ""),
    ],
)
def test_the_strict_parser_reads_one_letter_in_brackets(text: str, letter: str) -> None:
    assert labelled(text, "ABCD") == letter


@pytest.mark.paper("section 4, MedQA, the metric")
@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("Answer: C", "C"),
        ("Answer: (C)", "C"),
        ("Answer: C.", "C"),
        ("Answer: C) Myocarditis", "C"),
        ("Answer: C: Ceftriaxone", "C"),
        ("Answer: **C**", "C"),
        ("Answer: **C**: because", "C"),
        ("Answer: {C}", "C"),
        ("Answer: [C]", "C"),
        ("It is \\boxed{C}", "C"),
        ("It is \\boxed{\\text{C}}", "C"),
        ("Final answer: C is the best choice", "C"),
        ("Answer: A", "A"),
        ("Answer: A.", "A"),
        ("Answer: (A)", "A"),
        ("Answer: A: Gentamicin", "A"),
        ("Answer: A) it is", "A"),
        ("Answer: A patient like this", ""),
        ("Answer: A beta blocker", ""),
        ("So the answer is C.", "C"),
        ("The correct answer is (B), not another", "B"),
        ("The answer is A.", "A"),
        ("The answer is A drug", ""),
        ("Therefore option D is right", "D"),
        ("Option B", "B"),
        ("option A or option B", ""),
        ("Answer: [A] or [B]", ""),
        ("Answer: B or C", ""),
        ("Answer: (B) and (C)", ""),
        ("Answer: B, C", ""),
        ("Answer: C or C", "C"),
        ("Answer: B and a beta blocker", "B"),
        ("Answer: B, A patient like this", "B"),
        ("Answer: Gentamicin", "A"),
        ("Answer: it must be gentamicin, I think", "A"),
        ("Answer: acute  myocarditis", "B"),
        ("Answer: this is acute myocarditis", "B"),
        ("Answer: this is myocarditis", "C"),
        ("Answer: acute myocarditis and myocarditis", ""),
        ("Answer: Gentamicins", ""),
        ("Answer: E. coli", "D"),
        ("Answer: E", ""),
        ("Answer: С", ""),
        ("Answer: Ｃ", ""),
        ("Answer: c", ""),
        ("Answer: Cyanosis", ""),
        ("Answer: D's", ""),
        ("I do not know", ""),
        ("Answer: A, gentamicin", "A"),
        ("The answer is (A).\nThe answer is (C).", "C"),
        ("The answer is (C).\n\nFinal answer:", "C"),
        ("(B) is wrong, since it heals.\n(C) is the correct answer, as shown.\nThat is all.", "C"),
        ("Answer: $C$", "C"),
        ("Answer: I take option C here", "C"),
        ("The answer is (A).\nThe answer is BC", ""),
        ("The answer is (A).\nAnswer: none of the above", ""),
        ("Therefore, among A through D, the answer is C, myocarditis.", "C"),
        ("<answer>\n(B)\n</answer>", "B"),
        ("<answer>(A), (B)</answer>", ""),
        ("The answer is BC", ""),
        ("The correct options are (B) and (C).", ""),
        ("Answer: (A), (B), (C) and (D)", ""),
        ("Answer: none of the above", ""),
        ('{"reasoning": "not (A)", "answer": "C"}', "C"),
        ("The answer is (C).\n\nQ: Next?\nA: Let us think. The answer is (B).", "C"),
        ("Answer: C</s>[A]", "C"),
        ("<think>[A]</think>\nAnswer: [C]", "C"),
        ("<think>[A]", ""),
        ("", ""),
    ],
)
def test_a_reply_chooses_a_letter(reply: str, letter: str) -> None:
    assert chosen(reply, OPTIONS) == letter


@pytest.mark.parametrize(
    "reply",
    ["The most likely diagnosis is C.", "The correct option is **C**", "The best next step is (C) ceftriaxone.",
     "Diagnosis: C", "**Diagnosis:** C", "**Diagnosis**: C. Myocarditis", "the most likely cause of it is C",
     "Therefore, the most appropriate treatment is C.", "I would choose C.", "I choose (C).", "We select option C.",
     "I'd go with C.", "The best answer is therefore C", "The most likely diagnosis is option C.",
     "Most likely diagnosis: C",
     "So the correct choice would be C: Myocarditis.", "The most likely diagnosis is C because of the rash.",
     "The most likely diagnosis in this patient, who has fever, is C.\n\nHe has had it for long.", "Final choice: C",
     "The most appropriate next step is \\boxed{C}.", "The most likely diagnosis is $C$.", "### Conclusion: C",
     "The most likely diagnosis is B. No: it is older.\nThe most likely diagnosis is C.", "Answer: [letter]\nC",
     "The initial management is C – that alone", "The most likely diagnosis is A.\n\nAnswer: C"],
)  # fmt: skip
def test_a_letter_that_is_called_the_diagnosis_the_best_step_or_ones_choice_is_chosen(reply: str) -> None:
    assert chosen(reply, OPTIONS) == "C"


@pytest.mark.parametrize(
    "reply",
    ["The most likely diagnosis is hepatitis B.", "The best treatment is a drug.", "The patient's blood type is B.",
     "The most likely cause is A disease of the heart.", "The most likely diagnosis is either B or C.", "Blood type: A",
     "The most likely diagnosis is B or C.", "The most likely diagnosis is (B) or (C).",
     "The most likely cause is Vitamin D.",
     "The best test is A CT scan of the head.", "The most likely diagnosis is not B.", "Hepatitis: B",
     "The correct answer is neither B nor C.", "The patient most likely has B."],
)  # fmt: skip
def test_a_letter_that_is_part_of_a_name_denied_or_one_of_two_is_not(reply: str) -> None:
    assert chosen(reply, OPTIONS) == ""


@pytest.mark.parametrize(
    ("reply", "options", "letter"),
    [
        ("Answer: this is acute myocarditis", ["Myocarditis", "Acute myocarditis"], "B"),
        ("Answer: start on oral metronidazole", ["Send the patient home", "Start the patient on metronidazole"], "B"),
        ("Answer: lower lobe pneumonia", ["Left lower lobe pneumonia", "Right lower lobe pneumonia"], ""),
    ],
)
def test_a_longer_option_hides_a_shorter_and_words_in_common_count_where_they_tell_apart(
    reply: str, options: list[str], letter: str
) -> None:
    assert chosen(reply, dict(zip("AB", options, strict=True))) == letter


def test_the_fifth_letter_counts_only_where_there_are_five_options() -> None:
    assert (chosen("Answer: [E]", FIVE), chosen("Answer: E", FIVE), chosen("Answer: [E]", OPTIONS)) == ("E", "E", "")
    assert chosen("Answer: E. coli", FIVE) == "D"


def test_a_verdict_is_strict_if_the_strict_parser_reads_it_too(tmp_path: Path) -> None:
    question = one(tmp_path, GOOD)
    found = [verdict(question, reply) for reply in ("x\nAnswer: [C]", "x\nAnswer: C", "x\nAnswer: [B]")]
    assert [(v.answer, v.correct, v.strict) for v in found] == [
        ("C", True, True),
        ("C", True, False),
        ("B", False, False),
    ]


def test_a_bare_label_is_a_prediction_and_strictly_a_text_is_parsed(tmp_path: Path) -> None:
    question = one(tmp_path, GOOD)

    def accuracy(value: object, *, strict: bool) -> float | None:
        return measure(question, Prediction("x", value), strict=strict).metrics["accuracy"]

    assert (accuracy("C", strict=True), accuracy("C", strict=False)) == (1.0, 1.0)
    assert (accuracy("Answer: C", strict=True), accuracy("Answer: C", strict=False)) == (0.0, 1.0)
    assert (accuracy(None, strict=True), accuracy(3, strict=False)) == (0.0, 0.0)


@given(st.text(), st.sampled_from([OPTIONS, FIVE, {"A": "", "B": "("}, {"A": "x", "B": "x"}]))
@settings(max_examples=200, deadline=None)
def test_no_text_makes_the_reading_of_a_letter_raise(text: str, options: dict[str, str]) -> None:
    assert chosen(text, options) in {"", *options}
    assert chosen(f"Answer: {text}", options) in {"", *options}


@needs_data
def test_the_real_records_pass_the_checks_of_every_benchmark() -> None:
    benchmark = Dataset(MEDQA, DATA)
    check_benchmark(lambda seed: benchmark, 1, replies=50)


@needs_data
def test_the_real_records_are_all_read_and_typed_where_they_can_be() -> None:
    benchmark = Dataset(MEDQA, DATA)
    counts = Counter((question.split, question.task_type) for question in benchmark.questions("evolution"))
    assert counts == {
        ("evolution", "medqa_step1"): 589, ("evolution", "medqa_step2_3"): 441, ("evolution", ""): 1272,
    }  # fmt: skip
    assert len(benchmark.questions("test")) >= 973


@needs_data
def test_the_right_options_text_or_letter_is_right_on_every_real_record() -> None:
    for question in Dataset(MEDQA, DATA).questions("test"):
        for reply in (f"x\nAnswer: [{question.gold}]", f"Answer: ({question.gold})", f"Answer: {question.gold}."):
            assert verdict(question, reply).correct, question.id


@needs_data
def test_the_right_options_text_alone_is_right_on_every_real_record_but_where_options_are_letters() -> None:
    questions = Dataset(MEDQA, DATA).questions("test")
    wrong = [q for q in questions if not verdict(q, f"Answer: {q.meta['answer']}").correct]
    assert all(q.meta["answer"] in "ABCDE" for q in wrong)
