"""Reading WebQuestions: records of three forms, distinguished by the names of their fields.

The forms are: `question` and `answers` (Hugging Face); `utterance` and `targetValue` (the original); `qText`, `qId` and
`answers`. A question without gold answers is malformed: the official metric is not defined for it.
"""

import json
import re
from functools import partial
from pathlib import Path

import msgspec

from mage_es.engine.bench.dataset import DataFile, Definition
from mage_es.engine.bench.webqa.scoring import measure, total, verdict
from mage_es.engine.benchmarks.records import Records, read_records
from mage_es.engine.seams.benchmark import Question, Split, everywhere

TYPES = ("what", "who", "where", "when", "which", "how")
"""First words that are task types; all others have the type `other`."""


class _Row(msgspec.Struct, frozen=True):
    question: str = ""
    answers: list[str] | None = None
    utterance: str = ""
    target: str = msgspec.field(default="", name="targetValue")
    text: str = msgspec.field(default="", name="qText")
    name: str = msgspec.field(default="", name="qId")
    url: str = ""


def read(path: Path, split: Split) -> Records[Question]:
    return read_records(path, _Row, partial(_question, split))


def task_type_of(question: str) -> str:
    """`what's` counts as what, and any other first word as `other`. [section 4, WebQuestions, task types]"""
    word = question.lower().replace("’", "'").split(maxsplit=1)[:1]
    first = word[0].partition("'")[0].strip('.,:;?!"“”') if word else ""
    return first if first in TYPES else "other"


def _question(split: Split, position: int, row: _Row) -> Question:
    text = row.question or row.utterance or row.text
    if not text.strip():
        raise ValueError("question: neither question nor utterance nor qText has a text")
    golds = row.answers
    if golds is None and row.target:
        try:
            golds = read_target_value(row.target)
        except ValueError as error:
            raise ValueError(f"targetValue: {error}") from error
    if not golds:
        raise ValueError("answers: there are none, neither as answers nor as targetValue")
    return Question(
        id=row.name or f"webqa-{'train' if split == 'evolution' else 'test'}-{position}",
        benchmark="webqa",
        split=split,
        task_type=task_type_of(text),
        question=text,
        gold="; ".join(golds),
        solution=f"Answer: {golds[0]}",
        meta={"answers": json.dumps(golds, ensure_ascii=False), "url": row.url},
    )


WEBQA = Definition(
    name="webqa",
    licence="CC BY 4.0 (WebQuestions, Berant et al. 2013)",
    task_type_source="input",
    answer_format='Finish with a line such as "Answer: <Mount Erebus>"; separate several answers by ";".',
    instruction="Say in a sentence what you know about it.",
    parts={
        "evolution": (
            DataFile(
                (
                    "train.jsonl",
                    "webquestions.examples.train.json",
                    "data/train-00000-of-00001.parquet",
                    "main/trainmodel.json",
                    "train.json",
                )
            ),
            DataFile(("main/val.json",), optional=True, is_missed=False),
            DataFile(("main/devtest.json",), optional=True, is_missed=False),
        ),
        "test": (
            DataFile(
                (
                    "test.jsonl",
                    "webquestions.examples.test.json",
                    "data/test-00000-of-00001.parquet",
                    "main/test.json",
                    "test.json",
                )
            ),
        ),
    },
    read=read,
    verdict=verdict,
    measure=measure,
    total=total,
    predictions="json",
    is_cross_checked=everywhere,
)
"""Closed-book factoid questions in English: 3,778 training and 2,032 test questions upstream."""


_DESCRIPTION = re.compile(
    r'\s*\(\s*description(?:\s*"(?P<quoted>(?:[^"\\]|\\.)*+)"|\s+(?P<bare>[^()"\s][^()"]*+))\s*\)', re.DOTALL
)
_OPENED, _CLOSED = re.compile(r"\s*\(\s*list\b"), re.compile(r"\s*\)\s*")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_CONTROL = {"n": "\n", "t": "\t", "r": "\r"}


def read_target_value(text: str) -> list[str]:
    """Raises `ValueError` for a text of another form."""
    answers: list[str] = []
    found = _OPENED.match(text)
    place = found.end() if found else 0
    while found and (found := _DESCRIPTION.match(text, place)):
        bare, quoted = found["bare"], found["quoted"]
        answers.append(bare.strip() if bare else _ESCAPED.sub(lambda mark: _CONTROL.get(mark[1], mark[1]), quoted))
        place = found.end()
    if not place or not _CLOSED.fullmatch(text, place):
        raise ValueError(f"expected (list (description ...) ...), found {text[place : place + 60]!r}")
    return answers
