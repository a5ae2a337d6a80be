"""FinQA as a benchmark: the paper's numeric match for replies, upstream's two accuracies for programs."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from mage_es.engine.benchmarks.dataset import Definition, Part
from mage_es.engine.benchmarks.finqa.equality import is_same_program
from mage_es.engine.benchmarks.finqa.matching import answer_in, is_match
from mage_es.engine.benchmarks.finqa.program import END, Value, execute, tokens_of
from mage_es.engine.benchmarks.finqa.records import read
from mage_es.engine.benchmarks.measuring import Measured, Prediction
from mage_es.engine.benchmarks.protocol import Question, Verdict


def verdict(question: Question, reply: str) -> Verdict:
    """Judge a reply by the number, or the yes or no, that it ends with.

    `strict` is the same match without the generosity about percentages: see `matching`.
    """
    answer = answer_in(reply)
    is_right = is_match(answer, question.gold)
    is_strict = is_right and is_match(answer, question.gold, percent_strict=True)
    return Verdict(answer=answer, score=float(is_right), strict=is_strict)


def measure(question: Question, prediction: Prediction, strict: bool) -> Measured:
    """Return `execution_accuracy` and `program_accuracy` of a program, `numeric_match` of a text.

    A program is upstream's list of tokens as the prediction, or a part `program`, a list or a text. A prediction
    may have both; what it does not have is not counted. Strict: the literal evaluator, and percentages only as written.
    """
    program = prediction.value if isinstance(prediction.value, list) else prediction.parts.get("program")
    metrics: dict[str, float | None] = {"execution_accuracy": None, "program_accuracy": None, "numeric_match": None}
    answer = ""
    if program is not None:
        tokens = tokens_of(program) if isinstance(program, str) else _listed(program)
        table = msgspec.json.decode(question.meta["table"], type=list[list[str]])
        done = execute(tokens, table, strict=strict)
        gold = tokens_of(question.meta["program"])
        answer = str(done.result)
        metrics["execution_accuracy"] = float(not done.problem and done.result == _value(question.gold))
        metrics["program_accuracy"] = float(is_same_program(gold, tokens, strict=strict))
    if not isinstance(prediction.value, list):
        answer = answer_in(prediction.text)
        metrics["numeric_match"] = float(is_match(answer, question.gold, percent_strict=strict))
    return Measured(answer, metrics)


def _listed(program: object) -> Sequence[str]:
    """Return predicted tokens; upstream's evaluator expects an end mark as the last of them."""
    return [str(token) for token in program] if isinstance(program, list) else [END]


def _value(gold: str) -> Value:
    return gold if gold in ("yes", "no") else float(gold)


FINQA = Definition(
    name="finqa",
    licence="MIT (github.com/czyssrs/FinQA)",
    task_type_source="gold",
    answer_format='End with a line "Answer: <number>" (with % for a percentage), or "Answer: yes" or "Answer: no".',
    parts={
        "evolution": (Part(("train.json", "train.jsonl")), Part(("dev.json", "validation.jsonl"), optional=True)),
        "test": (Part(("test.json", "test.jsonl")),),
    },
    read=read,
    verdict=verdict,
    measure=measure,
)
"""Numbers from pages of financial reports: 6,251 training, 883 development and 1,147 test questions upstream."""
