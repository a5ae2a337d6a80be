"""Reading HotpotQA in both forms, with everything that is odd about its records."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from mage_es.engine.bench.dataset import Dataset
from mage_es.engine.bench.hotpotqa.benchmark import FULLWIKI, HOTPOTQA, LEVELS, read
from mage_es.engine.benchmarks.measuring import Prediction
from mage_es.engine.search.record import in_record
from mage_es.engine.testing.benchmarks import check_benchmark
from mage_es.events.errors import PrerequisiteError

DATA = Path(os.environ.get("MAGE_ES_DATA", Path(__file__).parents[5] / "shared" / "data"))
needs_data = pytest.mark.skipif(not (DATA / "hotpotqa").is_dir(), reason=f"no HotpotQA in {DATA}; set MAGE_ES_DATA")

OFFICIAL = {
    "_id": "5a8c",
    "question": "Which film is older?",
    "answer": "Kiss and Tell",
    "type": "comparison",
    "level": "hard",
    "supporting_facts": [["Kiss and Tell", 0], ["Up", 1]],
    "context": [["Kiss and Tell", ["A 1945 film. ", "It is short."]], ["Up", ["An animated film.", " Of 2009."]]],
    "extra": {"kept": "out"},
}
HUGGING_FACE = {key: value for key, value in OFFICIAL.items() if key != "_id"} | {
    "id": "5a8c",
    "supporting_facts": {"title": ["Kiss and Tell", "Up"], "sent_id": [0, 1]},
    "context": {
        "title": ["Kiss and Tell", "Up"],
        "sentences": [["A 1945 film. ", "It is short."], ["An animated film.", " Of 2009."]],
    },
}


def put(folder: Path, *records: object, name: str = "dev.json") -> Path:
    (folder / name).write_text(json.dumps(list(records)))
    return folder / name


@pytest.mark.paper("section 4, HotpotQA, the setting")
def test_a_record_becomes_a_question_with_one_line_for_each_paragraph(tmp_path: Path) -> None:
    (question,) = read(put(tmp_path, OFFICIAL), "test").items
    assert (question.id, question.split, question.task_type) == ("5a8c", "test", "comparison")
    assert (question.question, question.gold) == ("Which film is older?", "Kiss and Tell")
    assert question.context == "[1] Kiss and Tell: A 1945 film. It is short.\n[2] Up: An animated film. Of 2009."
    assert question.solution == "A 1945 film.\nOf 2009.\nAnswer: Kiss and Tell"
    assert json.loads(question.meta["supporting_facts"]) == OFFICIAL["supporting_facts"]


def test_a_title_with_a_colon_can_be_looked_up(tmp_path: Path) -> None:
    titled = OFFICIAL | {"context": [["Alien: Covenant", ["A film."]], ["Up", ["Another."]]]}
    (question,) = read(put(tmp_path, titled), "test").items
    page = in_record(question).page("Alien: Covenant")
    assert page is not None and page.text == "A film."


def test_the_hugging_face_form_gives_the_same_question_as_lines_and_as_parquet(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    (official,) = read(put(tmp_path, OFFICIAL), "test").items
    (tmp_path / "hf.jsonl").write_text(json.dumps(HUGGING_FACE) + "\n")
    pq.write_table(pa.Table.from_pylist([HUGGING_FACE]), tmp_path / "hf.parquet")
    assert read(tmp_path / "hf.jsonl", "test").items == (official,)
    assert read(tmp_path / "hf.parquet", "test").items == (official,)


def test_a_fact_beyond_its_paragraph_or_about_another_is_kept_apart(tmp_path: Path) -> None:
    record = {**OFFICIAL, "supporting_facts": [["Up", 7], ["Elsewhere", 0], ["Up", 0]]}
    (question,) = read(put(tmp_path, record), "test").items
    assert json.loads(question.meta["facts_beyond"]) == [["Up", 7]]
    assert question.solution == "An animated film.\nAnswer: Kiss and Tell"


def test_few_paragraphs_or_none_are_no_error(tmp_path: Path) -> None:
    (question,) = read(put(tmp_path, {**OFFICIAL, "context": []}), "test").items
    assert question.context == ""


@pytest.mark.parametrize(
    ("changed", "complaint"),
    [
        ({"answer": None}, r"record 2 .*`\$\.answer`"),
        ({"type": "both"}, r"record 2 .*: type: expected bridge or comparison, found 'both'"),
        ({"_id": ""}, r"record 2 .*: _id: it is empty or missing"),
        ({"question": " "}, r"record 2 .*: question: it is empty"),
        ({"context": [["title only"]]}, r"record 2 .*context"),
        ({"supporting_facts": {"title": ["A"], "sent_id": []}}, r"record 2 .*: supporting_facts: 1 titles, but 0"),
        ({"context": {"title": ["A"], "sentences": []}}, r"record 2 .*: context: 1 titles, but sentences of 0"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_a_malformed_record_is_named_by_file_place_and_field(tmp_path: Path, changed: dict, complaint: str) -> None:
    path = put(tmp_path, OFFICIAL, {**OFFICIAL, **changed})
    with pytest.raises(PrerequisiteError, match=complaint) as caught:
        read(path, "test")
    assert str(path) in str(caught.value) and "Nothing was loaded" in str(caught.value)


@pytest.mark.paper("section 4, HotpotQA, task types")
def test_levels_may_be_a_part_of_the_type_and_then_have_to_be_there(tmp_path: Path) -> None:
    (question,) = read(put(tmp_path, OFFICIAL), "test", has_levels=True).items
    assert question.task_type == "comparison_hard"
    with pytest.raises(PrerequisiteError, match="level: it is empty"):
        read(put(tmp_path, {**OFFICIAL, "level": ""}), "test", has_levels=True)


@pytest.mark.paper("section 4, HotpotQA, the setting")
def test_train_and_dev_are_read_from_the_official_files_and_dev_is_the_test_split(tmp_path: Path) -> None:
    (tmp_path / "hotpotqa").mkdir()
    put(tmp_path / "hotpotqa", {**OFFICIAL, "_id": "t"}, OFFICIAL, name="hotpot_train_v1.1.json")
    put(tmp_path / "hotpotqa", OFFICIAL, name="hotpot_dev_distractor_v1.json")
    put(tmp_path / "hotpotqa", {**OFFICIAL, "_id": "w"}, name="hotpot_dev_fullwiki_v1.json")
    for definition, test in ((HOTPOTQA, "5a8c"), (LEVELS, "5a8c"), (FULLWIKI, "w")):
        opened = Dataset(definition, tmp_path)
        assert [question.id for question in opened.questions("test")] == [test]
        assert "t" in [question.id for question in opened.questions("evolution")]
        assert {question.benchmark for question in opened.questions("evolution")} == {definition.name}


@needs_data
def test_the_real_records_are_read_and_their_own_facts_and_answers_score_full_marks() -> None:
    opened = Dataset(HOTPOTQA, DATA)
    questions = [*opened.questions("evolution"), *opened.questions("test")]
    assert Counter(question.task_type for question in opened.questions("test")) == {"bridge": 427, "comparison": 73}
    assert min(question.context.count("\n[") for question in opened.questions("test")) == 1
    measured = [
        (q, opened.measure(q, Prediction(q.id, q.gold, {"sp": json.loads(q.meta["supporting_facts"])}), strict=True))
        for q in questions
    ]
    found = opened.total(measured)
    assert {found["em"], found["sp_em"], found["joint_em"]} == {1.0}
    assert found["f1"] > 0.999  # one answer is nothing but an article: equal, and without overlap


@pytest.mark.slow
@needs_data
def test_it_is_a_benchmark_as_every_other() -> None:
    check_benchmark(lambda seed: Dataset(HOTPOTQA, DATA), 3, replies=100)
