"""What a benchmark is: questions in two upstream splits, a scorer, and how a prompt asks for the answer.

Rules
    - `gold`, `solution` and `meta` are never shown to the learner.
    - `solution` (the worked reference solution) is read of evolution questions only, wherever else there is one.
    - `score` is a pure function of the question and the reply's text.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

import msgspec

from mage_es.engine.benchmarks.extraction import plain_answer

Split = Literal["evolution", "test"]
TaskTypeSource = Literal["metadata", "input", "gold"]


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One question of a benchmark.

    `task_type` is the benchmark's own label; what it was made from is the benchmark's `task_type_source`. It is ""
    where the metadata that it is made from is missing: such a question is typed from its text.
    `meta` may have a `stub`: the end of a question that breaks off where its answer belongs, left out where the learner
    is to reason first.
    `family` names a group of phrasings, where known; the exam reports families that evolution never shows apart.
    """

    id: str
    benchmark: str
    split: Split
    task_type: str
    question: str
    context: str = ""
    gold: str
    solution: str = ""
    family: str = ""
    meta: Mapping[str, str] = {}


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """A scorer's verdict. `answer` is what was extracted from the reply ("" if nothing); score in [0, 1].

    `undecided`: the rule cannot tell, and a judge may; the score, 0, stands where there is none. `by` is who
    decided: `rule`, a judge's model, or `nobody`. `passing` is the score from which an answer is correct.
    """

    answer: str
    score: float
    strict: bool
    undecided: bool = False
    by: str = "rule"
    passing: float = 0.5

    @property
    def correct(self) -> bool:
        """Return whether the score passes, which it does from one half where the benchmark does not say otherwise."""
        return self.score >= self.passing


def may_be_judged(benchmark: Benchmark, question: Question, verdict: Verdict) -> bool:
    """Return whether a judge, where there is one, has the last word on an answer.

    It has where the rule leaves it undecided; where a benchmark is cross-checked (its own `is_cross_checked` says which
    questions are), also where the rule holds wrong what is not empty.
    """
    if verdict.undecided:
        return True
    is_cross_checked: Callable[[Question], bool] = getattr(benchmark, "is_cross_checked", nowhere)
    return not verdict.correct and verdict.answer.strip() != "" and is_cross_checked(question)


def nowhere(question: Question) -> bool:
    """Return that no wrong answer is put to a judge: the rule has the last word wherever it has one."""
    return False


def everywhere(question: Question) -> bool:
    """Return that a wrong answer to any question is put to a judge."""
    return True


def extract_of(benchmark: Benchmark) -> Callable[[str], str]:
    """Return what reads the final answer off a reply: the benchmark's own `extract`, where it has one."""
    own: Callable[[str], str] = getattr(benchmark, "extract", plain_answer)
    return own


class Benchmark(Protocol):
    """A source of questions with checkable answers."""

    name: str
    licence: str
    task_type_source: TaskTypeSource
    """What the questions' own `task_type` is made from: `metadata` (which is printed) and `input`, a rule on the text,
    may be used anywhere; `gold` labels only the evolution questions, from which the input-only typer is made."""
    answer_format: str
    """One sentence that tells the model how to end its answer."""
    data_sha256: str
    """Hash over everything that was read, or over the generator's version and seed."""

    def questions(self, split: Split) -> Sequence[Question]:
        """Return all questions of an upstream split, in upstream order."""
        ...

    def score(self, question: Question, reply: str) -> Verdict:
        """Judge a reply by rule. Never raises: what cannot be read is wrong, or `undecided` where it may be right."""
        ...
