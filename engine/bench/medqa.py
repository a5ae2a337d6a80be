"""MedQA-USMLE: medical board questions with four or five options, one of which is right.

The official files are in a zip on Google Drive, linked in the README of github.com/jind11/MedQA: unpack it in the
benchmark's folder. Hugging Face has a copy of the training and test files.
"""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from mage_es.engine.bench.dataset import DataFile, Definition
from mage_es.engine.benchmarks.letters import LETTER_FORMAT, LETTERS, chosen, labelled
from mage_es.engine.benchmarks.measuring import Measured, Prediction
from mage_es.engine.benchmarks.records import Records, read_records
from mage_es.engine.seams.benchmark import Question, Split, Verdict

TASK_TYPES: Mapping[str, str] = {"step1": "medqa_step1", "step2&3": "medqa_step2_3"}
"""The task type of a record's `meta_info`; a record without one is typed from its text."""

_FOLDERS = ("US/4_options/", "data_clean/questions/US/4_options/", "")


class _Row(msgspec.Struct, frozen=True):
    question: str
    options: dict[str, str]
    answer_idx: str
    answer: str = ""
    meta_info: str | None = None


def read(path: Path, split: Split) -> Records[Question]:
    upstream = path.name.removesuffix(".gz").rpartition(".")[0].removeprefix("phrases_no_exclude_")

    def question(position: int, row: _Row) -> Question:
        options = row.options
        if not row.question.strip():
            raise ValueError("question: the question is empty")
        if list(options) != list(LETTERS[: len(options)]) or len(options) < 2:
            raise ValueError(f"options: must be lettered A, B, ... and at most {LETTERS[-1]}, not {list(options)}")
        if row.answer_idx not in options:
            raise ValueError(f"answer_idx: {row.answer_idx!r} is not one of the options {', '.join(options)}")
        lines = [f"{letter}. {text}" for letter, text in options.items()]
        return Question(
            id=f"medqa-{upstream}-{position}",
            benchmark="medqa",
            split=split,
            task_type=TASK_TYPES.get(row.meta_info or "", ""),
            question="\n".join([row.question, "", *lines]),
            gold=row.answer_idx,
            meta={"options": msgspec.json.encode(options).decode(), "answer": options[row.answer_idx]},
        )

    return read_records(path, _Row, question)


def verdict(question: Question, reply: str) -> Verdict:
    options = _options(question)
    is_strict = labelled(reply, "".join(options)) == question.gold
    letter = question.gold if is_strict else chosen(reply, options)
    return Verdict(answer=letter, score=float(letter == question.gold), strict=is_strict)


def measure(question: Question, prediction: Prediction, strict: bool) -> Measured:
    options = _options(question)
    if strict:
        text = prediction.text
        answer = text if text in options else labelled(text, "".join(options))
    else:
        answer = chosen(prediction.text, options)
    return Measured(answer, {"accuracy": float(answer == question.gold)})


def _options(question: Question) -> dict[str, str]:
    return msgspec.json.decode(question.meta["options"], type=dict[str, str])


def _names(*files: str) -> tuple[str, ...]:
    """The four-option files: in a subset's folder, in the unpacked zip, or downloaded."""
    return tuple(folder + file for file in files for folder in _FOLDERS)


MEDQA = Definition(
    name="medqa",
    licence="MIT (github.com/jind11/MedQA)",
    task_type_source="metadata",
    answer_format=LETTER_FORMAT,
    instruction="Reason from the findings to the option that fits best.",
    parts={
        "evolution": (
            DataFile(_names("phrases_no_exclude_train.jsonl", "phrases_no_exclude_train.subset1030.jsonl")),
            DataFile(
                (*_names("phrases_no_exclude_dev.jsonl"), "US/dev.5_options.jsonl", "US/dev.jsonl", "dev.jsonl"),
                optional=True,
            ),
        ),
        "test": (DataFile(_names("phrases_no_exclude_test.jsonl")),),
    },
    read=read,
    verdict=verdict,
    measure=measure,
)
"""Medical board questions: 10,178 training, 1,272 development and 1,273 test questions upstream."""
