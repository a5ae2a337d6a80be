"""GSM8K: grade-school word problems, read from the upstream files `train.jsonl` and `test.jsonl`.

The task types come from the gold solutions (the paper's own practice), so they may label evolution questions only.
"""

import re
from pathlib import Path

import msgspec

from mage_es.engine.bench.dataset import DataFile, Definition
from mage_es.engine.benchmarks.measuring import Measured, Prediction
from mage_es.engine.benchmarks.numbers import (
    ANSWER_FORMAT,
    INSTRUCTION,
    INVALID,
    number_in,
    official_answer,
    read_number,
    score_number,
)
from mage_es.engine.benchmarks.records import Records, read_records
from mage_es.engine.seams.benchmark import Question, Split, Verdict, everywhere

_CALCULATION = re.compile(r"<<[^<>]*>>")
_MOST_STEPS = 8


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    question: str
    answer: str


def task_type_of(answer: str) -> str:
    """Return `gsm8k_<n>step`, n the number of calculator annotations of a gold solution, within 1 to 8.

    A solution without annotations counts its non-empty lines before the `####` line.
    """
    steps = len(_CALCULATION.findall(answer))
    if not steps:
        reasoning = answer.partition("####")[0]
        steps = sum(1 for line in reasoning.splitlines() if line.strip())
    return f"gsm8k_{min(max(steps, 1), _MOST_STEPS)}step"


def read(path: Path, split: Split) -> Records[Question]:
    upstream = path.name.partition(".")[0].partition("-")[0]  # train.jsonl, or train-00000-of-00001.parquet

    def question(position: int, row: _Row) -> Question:
        gold = official_answer(row.answer)
        if not row.question.strip():
            raise ValueError("question: the question is empty")
        if gold == INVALID or read_number(gold) is None:
            raise ValueError(f'answer: does not end with a line "#### <number>"; it ends with {row.answer[-40:]!r}')
        return Question(
            id=f"gsm8k-{upstream}-{position}",
            benchmark="gsm8k",
            split=split,
            task_type=task_type_of(row.answer),
            question=row.question,
            gold=gold,
            solution=_CALCULATION.sub("", row.answer),
        )

    return read_records(path, _Row, question)


def verdict(question: Question, reply: str) -> Verdict:
    return score_number(question.gold, reply)


def measure(question: Question, prediction: Prediction, strict: bool) -> Measured:
    if strict:
        answer = official_answer(prediction.text)
        return Measured(answer, {"accuracy": float(answer == question.gold)})
    found = verdict(question, prediction.text)
    return Measured(found.answer, {"accuracy": found.score, "strict": float(found.strict)})


GSM8K = Definition(
    name="gsm8k",
    licence="MIT (github.com/openai/grade-school-math)",
    task_type_source="gold",
    answer_format=ANSWER_FORMAT,
    instruction=INSTRUCTION,
    parts={
        "evolution": (DataFile(("train.jsonl", "main/train-00000-of-00001.parquet")),),
        "test": (DataFile(("test.jsonl", "main/test-00000-of-00001.parquet")),),
    },
    read=read,
    verdict=verdict,
    measure=measure,
    extract=number_in,
    is_cross_checked=everywhere,
)
"""Grade-school mathematics in English: 7,473 training and 1,319 test questions upstream."""
