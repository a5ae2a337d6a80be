"""MedQA-USMLE: medical board questions with four or five options, one of which is right.

The official files are in a zip on Google Drive, linked in the README of github.com/jind11/MedQA: unpack it in the
benchmark's folder. Hugging Face has a copy of the training and test files.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from mage_es.engine.benchmarks.dataset import DataFile, Definition
from mage_es.engine.benchmarks.measuring import Measured, Prediction
from mage_es.engine.benchmarks.records import Records, read_records
from mage_es.engine.seams.benchmark import Question, Split, Verdict
from mage_es.engine.seams.extraction import plain_answer, without_reasoning

LETTERS = "ABCDE"
TASK_TYPES: Mapping[str, str] = {"step1": "medqa_step1", "step2&3": "medqa_step2_3"}
"""The task type of a record's `meta_info`; a record without one is typed from its text."""

_MARK = "\nAnswer: "
_WRAPPED = (
    r"\(\s*([{0}])\s*\)|\[\s*([{0}])\s*\]|\{{\s*([{0}])\s*\}}|\*\*\s*([{0}])\s*\*\*"
    r"|\\(?:boxed|text)\{{\s*(?:\\text\{{)?\s*([{0}])\s*\}}"
)
_BARE = r"([{0}])(?![\w'’])"
_NO_ARTICLE = r"(?!A(?!\s*(?:$|[.):])))"
"""A bare A counts only at the end or before . ) : (elsewhere it may be the article)."""
_BETWEEN = r"\s*(?:,|/|&|\bor\b|\band\b)+\s*"
"""What separates the letters of a reply that names several."""
_FOLDERS = ("US/4_options/", "data_clean/questions/US/4_options/", "")


class _Choice(msgspec.Struct, frozen=True):
    key: str
    value: str


class _Row(msgspec.Struct, frozen=True):
    question: str
    options: dict[str, str] | list[_Choice]
    answer_idx: str
    answer: str = ""
    meta_info: str | None = None


def read(path: Path, split: Split) -> Records[Question]:
    upstream = path.name.removesuffix(".gz").rpartition(".")[0].removeprefix("phrases_no_exclude_")

    def question(position: int, row: _Row) -> Question:
        options = row.options if isinstance(row.options, dict) else {each.key: each.value for each in row.options}
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


def labelled(text: str, letters: str) -> str:
    """Return the letter that the Medprompt parser reads, "" if none or several. [section 4, MedQA, the metric]

    It looks for `[X]` after the first line that begins with "Answer: ", or everywhere without such a line.
    """
    _, _, behind = text.partition(_MARK)
    shown = behind if _MARK in text else text
    found = [letter for letter in letters if f"[{letter}]" in shown]
    return found[0] if len(found) == 1 else ""


def chosen(reply: str, options: Mapping[str, str]) -> str:
    """Return the letter of the option that a reply chooses, "" if it chooses none or several. Never raises.

    [section 4, MedQA, the metric] There is no official parser; strict is Medprompt's. A bare A before a word is an
    article.
    """
    letters = "".join(options)
    if label := labelled(without_reasoning(reply), letters):
        return label
    span = plain_answer(reply)
    same = [letter for letter, text in options.items() if len(text) > 1 and _folded(text) == _folded(span)]
    if len(same) == 1:
        return same[0]
    patterns = _patterns(letters)
    if listed := patterns.listed.match(span):
        named = {_letter(match) for match in patterns.letter.finditer(listed[0])}
        return named.pop() if len(named) == 1 else ""
    said = {_letter(match) for match in patterns.said.finditer(span)}
    if said:
        return said.pop() if len(said) == 1 else ""
    return contained(span, options)


class _Patterns(NamedTuple):
    letter: re.Pattern[str]
    listed: re.Pattern[str]
    said: re.Pattern[str]


@cache
def _patterns(letters: str) -> _Patterns:
    wrapped, bare = _WRAPPED.format(letters), _BARE.format(letters)
    letter = f"(?:{wrapped}|{_NO_ARTICLE}{bare})"
    said = rf"\b(?:(?i:answer\s+is)\s*:?\s*{letter}|(?i:option)\s+(?:{wrapped}|{bare}))"
    return _Patterns(re.compile(letter), re.compile(rf"{letter}(?:{_BETWEEN}{letter})*"), re.compile(said))


def _letter(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group)


def contained(span: str, options: Mapping[str, str]) -> str:
    """Return the one option whose text occurs in the span; a longer option hides a shorter one inside it."""
    rest, found = _folded(span), []
    for letter, text in sorted(options.items(), key=lambda option: -len(option[1])):
        words = re.compile(rf"(?<!\w){re.escape(_folded(text))}(?!\w)")
        if text.strip() and words.search(rest):
            found.append(letter)
            rest = words.sub("\n", rest)
    return found[0] if len(found) == 1 else ""


def _folded(text: str) -> str:
    return " ".join(text.casefold().split()).strip(" .\"'“”")


def verdict(question: Question, reply: str) -> Verdict:
    options = _options(question)
    letter = chosen(reply, options)
    is_strict = labelled(reply, "".join(options)) == question.gold
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
    answer_format='Finish with a line "Answer: [<letter>]", the letter of one option.',
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
