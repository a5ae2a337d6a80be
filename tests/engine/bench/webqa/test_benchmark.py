"""Reading WebQuestions in its three forms."""

import json
import os
from collections import Counter
from pathlib import Path

import pytest

from mage_es.engine.bench.dataset import Dataset
from mage_es.engine.bench.webqa.benchmark import WEBQA, read, task_type_of
from mage_es.engine.testing.benchmarks import check_benchmark
from mage_es.events.errors import PrerequisiteError

DATA = Path(os.environ.get("MAGE_ES_DATA", Path(__file__).parents[5] / "shared" / "data"))
needs_data = pytest.mark.skipif(not (DATA / "webqa").is_dir(), reason=f"no WebQuestions in {DATA}; set MAGE_ES_DATA")

TEXT, GOLDS = "what is the name of justin bieber brother?", ["Jazmyn Bieber", "Jaxon Bieber"]
FORMS = {
    "hugging face": {"url": "u", "question": TEXT, "answers": GOLDS},
    "original": {
        "url": "u",
        "utterance": TEXT,
        "targetValue": '(list (description "Jazmyn Bieber") (description "Jaxon Bieber"))',
    },
    "with ids": {"url": "u", "qText": TEXT, "qId": "wqr000000", "answers": GOLDS, "freebaseKey": "justin_bieber"},
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("is_array", [True, False])
def test_every_form_gives_the_same_question_as_array_and_as_lines(tmp_path: Path, form: str, is_array: bool) -> None:
    path = tmp_path / "train.json"
    path.write_text(json.dumps([FORMS[form]], indent=1) if is_array else json.dumps(FORMS[form]) + "\n")
    (question,) = read(path, "evolution").items
    assert question.id == ("wqr000000" if form == "with ids" else "webqa-train-0")
    assert (question.question, question.context, question.task_type) == (TEXT, "", "what")
    assert (question.gold, json.loads(question.meta["answers"])) == ("Jazmyn Bieber; Jaxon Bieber", GOLDS)
    assert question.meta["url"] == "u"


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        ({"question": TEXT}, "answers: there are none"),
        ({"question": TEXT, "answers": []}, "answers: there are none"),
        ({"question": TEXT, "answers": [1]}, r"Expected `str`, got `int` - at `\$\.answers"),
        ({"answers": GOLDS}, "question: neither question nor utterance nor qText"),
        ({"utterance": TEXT, "targetValue": "(list (name A))"}, "targetValue: expected"),
        ({"utterance": TEXT, "targetValue": "(list)"}, "answers: there are none"),
    ],
)
def test_a_malformed_record_is_named_by_file_line_and_field(tmp_path: Path, record: dict, complaint: str) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text(json.dumps(FORMS["original"]) + "\n" + json.dumps(record) + "\n")
    with pytest.raises(PrerequisiteError, match=rf"train\.jsonl, line 2: .*{complaint}"):
        read(path, "evolution")


@pytest.mark.paper("section 4, WebQuestions, task types")
@pytest.mark.parametrize(
    ("question", "task_type"),
    [
        ("what's cher's son's name?", "what"),
        ("What does jamaican people speak?", "what"),
        ("who’s the king", "who"),
        ("where is it", "where"),
        ("When?", "when"),
        ("which one", "which"),
        ("how many", "how"),
        ("whatever happened", "other"),
        ("in which year", "other"),
        ("", "other"),
    ],
)
def test_the_type_is_the_first_word_without_its_contraction(question: str, task_type: str) -> None:
    assert task_type_of(question) == task_type


def test_the_splits_of_the_form_with_ids_are_read_together(tmp_path: Path) -> None:
    folder = tmp_path / "webqa" / "main"
    folder.mkdir(parents=True)
    for number, name in enumerate(["trainmodel", "val", "devtest", "test"]):
        record = {"qText": f"who is {name}?", "qId": f"wq{number}", "answers": ["A"]}
        (folder / f"{name}.json").write_text(json.dumps([record]))
    opened = Dataset(WEBQA, tmp_path)
    assert [question.id for question in opened.questions("evolution")] == ["wq0", "wq1", "wq2"]
    assert [question.id for question in opened.questions("test")] == ["wq3"]


@needs_data
def test_the_real_records_have_the_published_types() -> None:
    opened = Dataset(WEBQA, DATA)
    assert len(opened.questions("evolution")) == 3778
    counts = Counter(question.task_type for question in opened.questions("evolution"))
    assert set(counts) == {"what", "who", "where", "when", "which", "how", "other"}
    assert (counts["what"], counts["how"]) == (2068, 13)


@pytest.mark.slow
@needs_data
def test_it_is_a_benchmark_as_every_other() -> None:
    check_benchmark(lambda seed: Dataset(WEBQA, DATA), 3, replies=100)
