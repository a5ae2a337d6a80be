"""GSM8K: grade-school word problems, read from the upstream files `train.jsonl` and `test.jsonl`.

Rules
    - All or nothing: one malformed line, and no question is loaded.
    - The task types come from the gold solutions (the paper's own practice), so they may label evolution
      questions only; `task_type_source` says so.
"""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from mage_es.engine.benchmarks.numbers import ANSWER_FORMAT, INVALID, official_answer, read_number, score_number
from mage_es.engine.benchmarks.protocol import Question, Split, TaskTypeSource, Verdict
from mage_es.events.errors import PrerequisiteError

LICENCE = "MIT (github.com/openai/grade-school-math)"
FILES: dict[Split, str] = {"evolution": "train.jsonl", "test": "test.jsonl"}

_CALCULATION = re.compile(r"<<[^<>]*>>")
_MOST_STEPS = 8
_SHOWN_PROBLEMS = 5


class _Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of an upstream file."""

    question: str
    answer: str


class _File(NamedTuple):
    questions: tuple[Question, ...]
    sha256: str


class Gsm8k:
    """Grade-school mathematics in English: 7,473 training and 1,319 test questions upstream."""

    name = "gsm8k"
    licence = LICENCE
    task_type_source: TaskTypeSource = "gold"
    answer_format = ANSWER_FORMAT

    def __init__(self, data_dir: Path | None) -> None:
        """Read both files of `data_dir/gsm8k`, plain or gzipped. Raises `PrerequisiteError`."""
        files = {split: _read(split, data_dir) for split in FILES}
        self._questions = {split: file.questions for split, file in files.items()}
        hashes = "\n".join(f"{FILES[split]} {file.sha256}" for split, file in files.items())
        self.data_sha256 = hashlib.sha256(hashes.encode()).hexdigest()

    def questions(self, split: Split) -> Sequence[Question]:
        """Return all questions of an upstream split, in upstream order."""
        return self._questions[split]

    def score(self, question: Question, reply: str) -> Verdict:
        """Judge a reply: strictly as upstream does, or by the number it ends with."""
        return score_number(question.gold, reply)


def task_type_of(answer: str) -> str:
    """Return `gsm8k_<n>step`, n the number of calculator annotations of a gold solution, within 1 to 8.

    A solution without annotations counts its non-empty lines before the `####` line.
    """
    steps = len(_CALCULATION.findall(answer))
    if not steps:
        reasoning = answer.partition("####")[0]
        steps = sum(1 for line in reasoning.splitlines() if line.strip())
    return f"gsm8k_{min(max(steps, 1), _MOST_STEPS)}step"


def _read(split: Split, data_dir: Path | None) -> _File:
    path = _find(FILES[split], data_dir)
    try:
        content = path.read_bytes()
        raw = gzip.decompress(content) if path.suffix == ".gz" else content
    except (OSError, EOFError, zlib.error) as error:
        raise PrerequisiteError(f"{path} cannot be read: {error}. {_fetch_again(path.parent.parent)}") from error
    lines = raw.removesuffix(b"\n").split(b"\n") if raw else []
    questions: list[Question] = []
    problems: list[str] = []
    for row, line in enumerate(lines):
        try:
            questions.append(_question(split, row, line))
        except ValueError as error:
            problems.append(f"{path}, line {row + 1}: {error}")
    if not lines:
        problems.append(f"{path}, line 1: the file is empty")
    if problems:
        shown, more = problems[:_SHOWN_PROBLEMS], len(problems) - _SHOWN_PROBLEMS
        rest = f"\n... and {more} more malformed lines." if more > 0 else ""
        raise PrerequisiteError("\n".join(shown) + rest + f"\nNothing was loaded. {_fetch_again(path.parent.parent)}")
    return _File(tuple(questions), hashlib.sha256(raw).hexdigest())


def _question(split: Split, row: int, line: bytes) -> Question:
    """Read one line. Raises `ValueError` (of which msgspec's errors are a kind) that says what is wrong."""
    if not line.strip():
        raise ValueError("the line is empty; expected an object with question and answer")
    record = msgspec.json.decode(line, type=_Row)
    gold = official_answer(record.answer)
    if not record.question.strip():
        raise ValueError("the question is empty")
    if gold == INVALID or read_number(gold) is None:
        ending = record.answer[-40:]
        raise ValueError(f'the answer does not end with a line "#### <number>"; it ends with {ending!r}')
    upstream = FILES[split].removesuffix(".jsonl")
    return Question(
        id=f"gsm8k-{upstream}-{row}",
        benchmark="gsm8k",
        split=split,
        task_type=task_type_of(record.answer),
        question=record.question,
        gold=gold,
        solution=record.answer,
    )


def _find(name: str, data_dir: Path | None) -> Path:
    if data_dir is None:
        raise PrerequisiteError(
            "gsm8k is read from files and no data directory was given. Run: mage-es data fetch gsm8k --data-dir data"
        )
    for candidate in (data_dir / "gsm8k" / name, data_dir / "gsm8k" / f"{name}.gz"):
        if candidate.is_file():
            return candidate
    raise PrerequisiteError(
        f"gsm8k is not in {data_dir}: neither gsm8k/{name} nor gsm8k/{name}.gz is there. "
        f"Run: mage-es data fetch gsm8k --data-dir {data_dir}"
    )


def _fetch_again(data_dir: Path) -> str:
    return f"Delete {data_dir / 'gsm8k'} and run: mage-es data fetch gsm8k --data-dir {data_dir}"
