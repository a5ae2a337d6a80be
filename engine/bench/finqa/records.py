"""FinQA's records: upstream's JSON, or reduced copies of it.

The gold is the result of the annotated program, `exe_ans`. The display answer, which often contradicts it, is not read.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from math import isfinite
from pathlib import Path
from typing import Literal

import msgspec

from mage_es.engine.bench.finqa.program import (
    GREATER,
    OF_A_ROW,
    InvalidProgram,
    ProgramStep,
    TableRows,
    reference,
    steps_of,
    tokens_of,
)
from mage_es.engine.benchmarks.records import Records, read_records
from mage_es.engine.seams.benchmark import Question, Split

_MOST_STEPS = 5
_AVERAGED = {f"const_{count}" for count in range(2, 11)}
_OF_ONE_STEP: Mapping[str, str] = {"divide": "finqa_ratio", "subtract": "finqa_difference", "multiply": "finqa_product"}
_SAID = {
    "add": "{} plus {}",
    "subtract": "{} minus {}",
    "multiply": "{} times {}",
    "divide": "{} divided by {}",
    "exp": "{} to the power of {}",
    GREATER: "whether {} is greater than {}",
    "table_max": "the largest number of the row {}",
    "table_min": "the smallest number of the row {}",
    "table_sum": "the sum of the row {}",
    "table_average": "the average of the row {}",
}


class _Annotation(msgspec.Struct, frozen=True):
    question: str
    program: str
    exe_ans: float | Literal["yes", "no"]


class _Row(msgspec.Struct, frozen=True):
    id: str
    table: list[list[str]]
    qa: _Annotation
    pre_text: list[str] = []
    post_text: list[str] = []


def read(path: Path, split: Split) -> Records[Question]:
    return read_records(path, _Row, partial(_question, split))


def _question(split: Split, position: int, row: _Row) -> Question:
    annotation, gold = row.qa, str(row.qa.exe_ans)
    if not annotation.question.strip():
        raise ValueError("qa.question: the question is empty")
    if isinstance(annotation.exe_ans, float) and not isfinite(annotation.exe_ans):
        raise ValueError(f"qa.exe_ans: {gold} is not a finite number, so no answer can match it")
    return Question(
        id=row.id,
        benchmark="finqa",
        split=split,
        task_type=task_type_of(annotation.program) if annotation.program else "",
        question=annotation.question,
        context=rendered(row.pre_text, row.table, row.post_text),
        gold=gold,
        solution=explained(annotation.program, gold),
        meta={"program": annotation.program, "table": msgspec.json.encode(row.table).decode()},
    )


def rendered(before: Sequence[str], table: TableRows, after: Sequence[str]) -> str:
    lines = ["| " + " | ".join(cell.replace("|", "/") for cell in row) + " |" for row in table]
    if lines:
        lines.insert(1, "|" + " --- |" * len(table[0]))
    parts = ("\n".join(before), "\n".join(lines), "\n".join(after))
    return "\n\n".join(part for part in parts if part.strip())


def task_type_of(program: str) -> str:
    """Return the type of a gold program: the first of the rules that applies to its operations.

    [section 4, FinQA, task types] Twelve types. They come from the gold program: they label evolution questions only.
    """
    try:
        steps = steps_of(tokens_of(program))
    except InvalidProgram:
        steps = []
    operations = [step.operation for step in steps]
    if any(operation in OF_A_ROW for operation in operations):
        return "finqa_table_agg"
    if GREATER in operations:
        return "finqa_compare"
    if operations == ["subtract", "divide"] and steps[1].first == "#0" and steps[1].second in steps[0][1:]:
        return "finqa_pct_change"
    if _is_average(steps):
        return "finqa_average"
    if len(operations) == 1 and operations[0] in _OF_ONE_STEP:
        return _OF_ONE_STEP[operations[0]]
    if operations and set(operations) == {"add"}:
        return "finqa_sum"
    return f"finqa_multi{min(max(len(steps), 1), _MOST_STEPS)}"


def _is_average(steps: Sequence[ProgramStep]) -> bool:
    if len(steps) < 2 or steps[-1].operation != "divide" or steps[-1].second not in _AVERAGED:
        return False
    return all(step.operation == "add" for step in steps[:-1])


def explained(program: str, gold: str) -> str:
    try:
        steps = steps_of(tokens_of(program))
    except InvalidProgram:
        return ""
    if not steps:
        return ""
    lines = [f"Program: {program}"]
    for place, step in enumerate(steps):
        arguments = [_named(argument) for argument in (step.first, step.second)]
        lines.append(f"Step {place + 1}: {_SAID[step.operation].format(*arguments)}")
    return "\n".join([*lines, f"Answer: {gold}"])


def _named(argument: str) -> str:
    if argument.startswith("#") and argument[1:].isdecimal():
        return f"the result of step {reference(argument) + 1}"
    return argument.removeprefix("const_").replace("m1", "-1") if argument.startswith("const_") else argument
