"""Reading STBench: JSON lines of `Question` and `Answer`, whose form differs from file to file.

Rules
    - There is no official split. A question's id is its file's name and its position, and the hash of the id decides
      the split.
    - Types without a file are omitted. If a file asks a question twice, a run uses the first; measuring uses both.
    - A learner is shown the question verbatim, but if it should reason first, the stub at the end is omitted.
"""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import msgspec

from mage_es.engine.bench.dataset import DataFile, Definition
from mage_es.engine.bench.stbench.answers import without_stub
from mage_es.engine.bench.stbench.scoring import has_class, measure, total, verdict
from mage_es.engine.bench.stbench.tasks import TASK_TYPES, STBenchType, type_of_file, type_of_question
from mage_es.engine.bench.stbench.upstream import STEPS, require
from mage_es.engine.benchmarks.records import Records, read_records
from mage_es.engine.seams.benchmark import Question, Split
from mage_es.events.errors import PrerequisiteError

Label = str | int | float | list[float]

ANSWER_FORMAT = 'Finish with a line that has "Answer: <>" and then a number, a word or a list of numbers.'
_FIRST_INTEGER = re.compile(r"\d+")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_FINDINGS = {"normal": "normal", "anomalous": "anomalous", "abnormal": "anomalous", "anomaly": "anomalous"}
_VEHICLES = {"car": "1", "bike": "2", "bicycle": "2", "pedestrian": "3"}
_LENGTHS = {"point": 2, "flow": STEPS}


class _Row(msgspec.Struct, frozen=True):
    question: str = msgspec.field(name="Question")
    answer: Label = msgspec.field(name="Answer")


def read(path: Path, split: Split, *, name: str = "stbench", merge_constant_types: bool = False) -> Records[Question]:
    """The file's name shows its task. Raises `PrerequisiteError`."""
    require()
    found = type_of_file(path.name)
    if found is None:
        known = ", ".join(task_type.name for task_type in TASK_TYPES)
        raise PrerequisiteError(f"{path} belongs to no task of STBench: its name contains none of {known}.")
    records = read_records(path, _Row, partial(_question, name, path.name.partition(".")[0], split, found))
    questions = _once(records.items) if split == "evolution" else records.items
    return records._replace(items=tuple(map(_merged, questions)) if merge_constant_types else questions)


def gold_of(kind: str, answer: Label) -> str:
    """Return an option's number, Yes or No, normal or anomalous, or a JSON list of numbers. Raises `ValueError`."""
    if kind in _LENGTHS:
        numbers = answer if isinstance(answer, list) else [float(piece) for piece in _NUMBER.findall(str(answer))]
        if len(numbers) != _LENGTHS[kind]:
            raise ValueError(f"Answer: expected {_LENGTHS[kind]} numbers, found {answer!r}")
        return msgspec.json.encode(numbers).decode()
    text = str(answer).strip(" .'\"").lower()
    if kind == "yesno" and text in ("yes", "no"):
        return text.title()
    if kind == "anomaly" and text in _FINDINGS:
        return _FINDINGS[text]
    if kind == "vehicle" and text in _VEHICLES:
        return _VEHICLES[text]
    if kind in ("option", "vehicle") and not isinstance(answer, list) and (number := _FIRST_INTEGER.search(text)):
        return str(int(number[0][:9]))
    raise ValueError(f"Answer: {answer!r} is not an answer of the kind {kind}")


def _question(name: str, file: str, split: Split, found: STBenchType, position: int, row: _Row) -> Question:
    if not row.question.strip():
        raise ValueError("Question: it is empty")
    task_type = type_of_question(found, row.question)
    gold = gold_of(task_type.kind, row.answer)
    return Question(
        id=f"stbench-{file}-{position}",
        benchmark=name,
        split=split,
        task_type=task_type.name,
        question=row.question,
        gold=gold,
        solution=f"Answer: {gold}",
        stub=row.question[len(without_stub(row.question)) :],
        meta={
            "task": task_type.task,
            "kind": task_type.kind,
            "file": file if task_type == found else f"{file}/{task_type.name}",
            "answer": msgspec.json.encode(row.answer).decode(),
            "merged": task_type.merged,
        },
    )


def _once(questions: Sequence[Question]) -> tuple[Question, ...]:
    first: dict[str, Question] = {}
    for question in questions:
        first.setdefault(question.question, question)
    return tuple(first.values())


def _merged(question: Question) -> Question:
    return msgspec.structs.replace(question, task_type=question.meta["merged"] or question.task_type)


def _parts(task_types: Sequence[STBenchType]) -> tuple[DataFile, ...]:
    """Return the files of task types: each under upstream's path, flat in the folder, or as its stand-in."""
    return tuple(
        DataFile((*_places(file), *(_places(task_type.stand_in) if task_type.stand_in else ())), optional=True)
        for task_type in task_types
        for file in task_type.files
    )


def _places(file: str) -> tuple[str, ...]:
    return f"datasets/{file}.jsonl", f"{file}.jsonl", f"{file.rpartition('/')[2]}.jsonl"


def stbench(name: str = "stbench", *, merge_constant_types: bool = False, has_extension: bool = False) -> Definition:
    """Define the benchmark, possibly with a different partition into task types.

    [section 4, STBench, task types] Six types have a constant answer, which any memory of the type gives away:
    `stbench-merged` merges them into two. `has_extension` includes the three tasks of 2025.
    """
    return Definition(
        name=name,
        folder="stbench",
        licence="MIT (github.com/LwbXc/STBench)",
        task_type_source="metadata",
        answer_format=ANSWER_FORMAT,
        parts={"evolution": _parts([one for one in TASK_TYPES if has_extension or not one.is_extension])},
        read=partial(read, name=name, merge_constant_types=merge_constant_types),
        verdict=verdict,
        measure=measure,
        total=total,
        is_cross_checked=has_class,
        context_role="question",
        is_type_asked=True,
    )


STBENCH = stbench()
"""Spatio-temporal tasks in English: twenty-seven types, some 75,000 questions upstream."""
MERGED = stbench("stbench-merged", merge_constant_types=True)
"""The same, with the six types whose answer is constant merged into two."""
EXTENDED = stbench("stbench-extended", has_extension=True)
"""The same, with the three tasks of semantic reasoning of 2025: thirty types."""
