"""A benchmark made of files: which files stand for which split, and that no question stands on both sides."""

import json
from pathlib import Path

import pytest

from mage_es.engine.bench.dataset import DataFile, Dataset, Definition, missing_files
from mage_es.engine.benchmarks.measuring import Measured, Prediction, means
from mage_es.engine.benchmarks.records import Records, read_records
from mage_es.engine.seams.benchmark import TEST_SHARE, Question, Split, Verdict, is_test
from mage_es.events.errors import PrerequisiteError


def read(path: Path, split: Split) -> Records[Question]:
    def question(position: int, row: dict[str, str]) -> Question:
        return Question(
            id=row["id"], benchmark="toy", split=split, task_type="t", question=row["q"], gold="x", solution=path.name
        )

    return read_records(path, dict[str, str], question)


def is_gold(question: Question, reply: str) -> Verdict:
    return Verdict(answer=reply, score=float(reply == question.gold), strict=reply == question.gold)


def exact(question: Question, prediction: Prediction, strict: bool) -> Measured:
    return Measured(prediction.text, {"accuracy": float(prediction.text == question.gold), "distance": None})


TWO = Definition(
    name="toy",
    licence="none",
    task_type_source="metadata",
    answer_format="Say it.",
    parts={
        "evolution": (DataFile(("train.json",)), DataFile(("more.json", "more.subset.json"), optional=True)),
        "test": (DataFile(("test.json",)),),
    },
    read=read,
    verdict=is_gold,
    measure=exact,
)
ONE = TWO._replace(parts={"evolution": (DataFile(("all.json",)),)})


def put(folder: Path, name: str, *ids: str) -> None:
    (folder / "toy").mkdir(exist_ok=True)
    (folder / "toy" / name).write_text("".join(json.dumps({"id": i, "q": f"{i}?"}) + "\n" for i in ids))


def ids(benchmark: Dataset, split: Split) -> list[str]:
    return [question.id for question in benchmark.questions(split)]


def test_a_question_of_the_test_split_is_left_out_of_evolution_whatever_file_it_is_in(tmp_path: Path) -> None:
    put(tmp_path, "train.json", "a", "b", "c")
    put(tmp_path, "more.subset.json", "b", "d")
    put(tmp_path, "test.json", "c", "e")
    opened = Dataset(TWO, tmp_path)
    assert ids(opened, "evolution") == ["a", "b", "d"]
    assert ids(opened, "test") == ["c", "e"]
    assert opened.questions("evolution")[1].solution == "train.json"


@pytest.mark.parametrize("clash", ["train.json", "more.json", "test.json"])
def test_one_id_for_two_questions_is_refused_with_its_place_and_a_repeat_is_not(tmp_path: Path, clash: str) -> None:
    for name, ids in (("train.json", "ab"), ("more.json", "bd"), ("test.json", "ce")):
        put(tmp_path, name, *ids)
    with (tmp_path / "toy" / clash).open("a") as file:
        file.write(json.dumps({"id": "a", "q": "quite another?"}) + "\n")
    where = "toy, evolution, record 1" if clash == "test.json" else f"{clash}, record 3"
    with pytest.raises(PrerequisiteError, match=f"{where}: the id 'a' is that of another question"):
        Dataset(TWO, tmp_path)
    with pytest.raises(PrerequisiteError, match=r"train\.json, record 3: the id 'a'"):
        put(tmp_path, "train.json", "a", "b")
        with (tmp_path / "toy" / "train.json").open("a") as file:
            file.write(json.dumps({"id": "a", "q": "quite another?"}) + "\n")
        Dataset(TWO, None, file=tmp_path / "toy" / "train.json")


def test_an_optional_file_may_be_missing_and_changes_the_hash(tmp_path: Path) -> None:
    put(tmp_path, "train.json", "a")
    put(tmp_path, "test.json", "b")
    without = Dataset(TWO, tmp_path).data_sha256
    put(tmp_path, "more.json", "c")
    assert Dataset(TWO, tmp_path).data_sha256 != without


def test_an_optional_file_that_is_not_there_is_told_unless_it_only_completes_another_form_of_the_data(
    tmp_path: Path,
) -> None:
    put(tmp_path, "train.json", "a")
    put(tmp_path, "test.json", "b")
    assert missing_files(Dataset(TWO, tmp_path)) == "not there: more.json"
    train, more = TWO.parts["evolution"]
    parts = {**TWO.parts, "evolution": (train, more, DataFile(("train.1-of-2.json",), optional=True, is_missed=False))}
    assert missing_files(Dataset(TWO._replace(parts=parts), tmp_path)) == "not there: more.json"


def test_a_missing_file_ends_with_the_command_that_fetches_it(tmp_path: Path) -> None:
    put(tmp_path, "train.json", "a")
    with pytest.raises(PrerequisiteError, match=r"neither toy/test\.json nor .* mage-es fetch toy --data-dir"):
        Dataset(TWO, tmp_path)


def test_one_split_is_divided_by_id_alone(tmp_path: Path) -> None:
    names = [f"q{k}" for k in range(2000)]
    put(tmp_path, "all.json", *names)
    whole = Dataset(ONE, tmp_path)
    test = ids(whole, "test")
    assert abs(len(test) / len(names) - TEST_SHARE) < 0.03
    assert sorted(test + ids(whole, "evolution")) == sorted(names)
    assert all(question.split == "test" for question in whole.questions("test"))
    put(tmp_path, "all.json", *names[::2])
    assert ids(Dataset(ONE, tmp_path), "test") == [name for name in names[::2] if is_test(name)]
    assert set(ids(Dataset(ONE, tmp_path), "test")) <= set(test)


def test_a_metric_that_does_not_count_a_prediction_is_averaged_over_the_others() -> None:
    question = Question(id="a", benchmark="toy", split="test", task_type="t", question="?", gold="x")
    measured = [Measured("", {"right": 1.0, "metres": None}), Measured("", {"right": 0.0, "metres": 5.0})]
    assert means([(question, one) for one in measured]) == {"right": 0.5, "metres": 5.0}
