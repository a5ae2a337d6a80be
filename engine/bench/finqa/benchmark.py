"""FinQA as a benchmark: the paper's numeric match for replies, upstream's two accuracies for programs."""

from collections.abc import Sequence

import msgspec

from mage_es.engine.bench.dataset import DataFile, Definition
from mage_es.engine.bench.finqa.equality import is_same_program
from mage_es.engine.bench.finqa.matching import answer_in, formal_answer_in, is_match
from mage_es.engine.bench.finqa.program import END, InvalidProgram, ProgramValue, execute, steps_of, tokens_of
from mage_es.engine.bench.finqa.records import read
from mage_es.engine.benchmarks.measuring import Measured, Prediction, means, text_of
from mage_es.engine.seams.benchmark import Question, Verdict


def verdict(question: Question, reply: str) -> Verdict:
    """`strict` is the same match for an answer in the required form, with percentages only as they are written: see
    `matching`."""
    formal = formal_answer_in(reply)
    if is_match(formal, question.gold, percent_strict=True):
        return Verdict(answer=formal, score=1.0, strict=True)
    answer = answer_in(reply)
    return Verdict(answer=answer, score=float(is_match(answer, question.gold)), strict=False)


def measure(question: Question, prediction: Prediction, strict: bool) -> Measured:
    """Return `execution_accuracy` and `program_accuracy` of a program, and `numeric_match` of the answer.

    A program is the prediction itself or its part `program`. Without a text the program's result is the answer; a text
    without a program has no accuracies (None).
    """
    metrics: dict[str, float | None] = {"execution_accuracy": None, "program_accuracy": None}
    is_text = not isinstance(prediction.value, list)
    answer = (formal_answer_in if strict else answer_in)(prediction.text) if is_text else ""
    tokens = _program_in(prediction)
    if tokens is not None:
        table = msgspec.json.decode(question.meta["table"], type=list[list[str]])
        done = execute(tokens, table, strict=strict)
        metrics["execution_accuracy"] = float(done.result == _value(question.gold))
        gold = tokens_of(question.meta["program"])
        metrics["program_accuracy"] = float(is_same_program(gold, tokens, strict=strict))
        if "program" not in prediction.parts:
            answer = str(done.result)
    metrics["numeric_match"] = float(is_match(answer, question.gold, percent_strict=strict, within_percent=strict))
    return Measured(answer, metrics)


def total(measured: Sequence[tuple[Question, Measured]]) -> dict[str, float]:
    """If any prediction has a program, those without one count as wrong."""
    has_programs = any(one.metrics["execution_accuracy"] is not None for _, one in measured)
    if not has_programs:
        return means(measured)
    counted = [Measured(one.answer, {name: value or 0.0 for name, value in one.metrics.items()}) for _, one in measured]
    return means([(question, one) for (question, _), one in zip(measured, counted, strict=True)])


def _program_in(prediction: Prediction) -> Sequence[str] | None:
    program = prediction.parts.get("program", prediction.value)
    if isinstance(program, list):
        return [text_of(token) for token in program]
    if not isinstance(program, str):
        return [END] if "program" in prediction.parts else None
    tokens = tokens_of(program)
    return tokens if "program" in prediction.parts or _is_program(tokens) else None


def _is_program(tokens: Sequence[str]) -> bool:
    try:
        return bool(steps_of(tokens))
    except InvalidProgram:
        return False


def _value(gold: str) -> ProgramValue:
    return gold if gold in ("yes", "no") else float(gold)


FINQA = Definition(
    name="finqa",
    licence="MIT (github.com/czyssrs/FinQA)",
    task_type_source="gold",
    answer_format='Finish with a line that has "Answer: <>" and then a number, with % for a percentage, or yes or no.',
    instruction="Name the figures that the question is about, and write what you compute as equations.",
    parts={
        "evolution": (
            DataFile(("train.json", "train.jsonl")),
            DataFile(("dev.json", "validation.jsonl"), optional=True),
        ),
        "test": (DataFile(("test.json", "test.jsonl")),),
    },
    read=read,
    verdict=verdict,
    measure=measure,
    total=total,
    predictions="tokens",
)
"""Numbers from pages of financial reports: 6,251 training, 883 development and 1,147 test questions upstream."""
