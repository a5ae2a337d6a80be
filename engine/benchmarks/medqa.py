"""MedQA-USMLE: medical board questions with four or five options, one of which is right.

The official files are in a zip on Google Drive, which the README of github.com/jind11/MedQA names: unpack it in the
benchmark's folder. A copy of the training and test files for download is on Hugging Face.

Rules
    - The options are part of what is asked, one on a line, in the order of the record.
    - Upstream has no parser of replies; the strict one is that of the Medprompt paper.
    - An English article is no answer: an `A` in front of a word does not count as the letter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from mage_es.engine.benchmarks.dataset import Definition, Part
from mage_es.engine.benchmarks.extraction import final_answer, without_reasoning
from mage_es.engine.benchmarks.measuring import Measured, Prediction
from mage_es.engine.benchmarks.protocol import Question, Split, Verdict
from mage_es.engine.benchmarks.records import Records, read_records

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
"""A bare A counts where nothing follows it, or one of . ) :"""
_BETWEEN = r"\s*(?:,|/|&|\bor\b|\band\b)+\s*"
"""What stands between the letters of a reply that names several."""
_FOLDERS = ("US/4_options/", "data_clean/questions/US/4_options/", "")


class _Choice(msgspec.Struct, frozen=True):
    """An option in the list form of some copies."""

    key: str
    value: str


class _Row(msgspec.Struct, frozen=True):
    """One record, as far as it is used."""

    question: str
    options: dict[str, str] | list[_Choice]
    answer_idx: str
    answer: str = ""
    meta_info: str | None = None


def read(path: Path, split: Split) -> Records[Question]:
    """Read one upstream file. Raises `PrerequisiteError`."""
    upstream = path.name.removesuffix(".gz").rpartition(".")[0].removeprefix("phrases_no_exclude_")

    def question(position: int, row: _Row) -> Question:
        options = row.options if isinstance(row.options, dict) else {each.key: each.value for each in row.options}
        if not row.question.strip():
            raise ValueError("question: the question is empty")
        if list(options) != list(LETTERS[: len(options)]) or len(options) < 2:
            raise ValueError(f"options: must be lettered A, B, ... and at most {LETTERS[-1]}, not {list(options)}")
        if row.answer_idx not in options:
            raise ValueError(f"answer_idx: {row.answer_idx!r} is none of the options {', '.join(options)}")
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
    """Return the letter that the Medprompt parser reads, "" if none or several.

    It looks behind the first line that begins with "Answer: ", or everywhere if there is none, for a letter in square
    brackets.
    """
    _, _, behind = text.partition(_MARK)
    shown = behind if _MARK in text else text
    found = [letter for letter in letters if f"[{letter}]" in shown]
    return found[0] if len(found) == 1 else ""


def chosen(reply: str, options: Mapping[str, str]) -> str:
    """Return the letter of the option that a reply chooses, "" if it chooses none or several. Never raises.

    The first of these that applies: the Medprompt parser; the final answer is an option's very text; it begins with a
    letter; it says "answer is X" or "option X"; it contains the text of exactly one option.
    """
    letters = "".join(options)
    if label := labelled(without_reasoning(reply), letters):
        return label
    span = final_answer(reply, lambda text: None)
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
    return _contained(span, options)


class _Patterns(NamedTuple):
    """A letter; letters with `or`, `and` or a comma between them; a letter behind "answer is" or "option"."""

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


def _contained(span: str, options: Mapping[str, str]) -> str:
    """Return the one option whose text stands in the span; a longer text hides a shorter one inside it."""
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
    """Judge a reply by the letter that it chooses; strictly by the Medprompt parser."""
    options = _options(question)
    letter = chosen(reply, options)
    is_strict = labelled(reply, "".join(options)) == question.gold
    return Verdict(answer=letter, score=float(letter == question.gold), strict=is_strict)


def measure(question: Question, prediction: Prediction, strict: bool) -> Measured:
    """Return `accuracy`; strict: of the letter predicted, or of the one that the Medprompt parser reads."""
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
    """Return where files of the four-option variant may stand: as subsets have them, unpacked, or downloaded."""
    return tuple(folder + file for file in files for folder in _FOLDERS)


MEDQA = Definition(
    name="medqa",
    licence="MIT (github.com/jind11/MedQA)",
    task_type_source="metadata",
    answer_format='Reason step by step and end with a line "Answer: [X]", where X is the letter of the option.',
    parts={
        "evolution": (
            Part(_names("phrases_no_exclude_train.jsonl", "phrases_no_exclude_train.subset1030.jsonl")),
            Part(
                (*_names("phrases_no_exclude_dev.jsonl"), "US/dev.5_options.jsonl", "US/dev.jsonl", "dev.jsonl"),
                optional=True,
            ),
        ),
        "test": (Part(_names("phrases_no_exclude_test.jsonl")),),
    },
    read=read,
    verdict=verdict,
    measure=measure,
)
"""Medical board questions: 10,178 training, 1,272 development and 1,273 test questions upstream."""
