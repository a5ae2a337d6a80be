"""FinQA's records: upstream's JSON, reduced copies of it, and the flattened columns of Hugging Face copies.

Only what every form has is required: an id, a question, the table, and a gold: the executed result, else the program,
which is executed here, else the display answer. The display answer comes last because it often contradicts the others.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path

import msgspec

from mage_es.engine.bench.finqa.matching import read_amount
from mage_es.engine.bench.finqa.program import (
    GREATER,
    OF_A_ROW,
    InvalidProgram,
    ProgramStep,
    TableRows,
    execute,
    reference,
    steps_of,
    tokens_of,
)
from mage_es.engine.benchmarks.records import Records, read_records
from mage_es.engine.seams.benchmark import Question, Split

_MOST_STEPS = 5
_AVERAGED = {f"const_{count}" for count in range(2, 11)}
_OF_ONE_STEP: Mapping[str, str] = {"divide": "finqa_ratio", "subtract": "finqa_difference", "multiply": "finqa_product"}
_NESTED = re.compile(r"[^(),]+\(|\)|[^(),]+(?:,(?! )[^(),]+)*")
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
    program: str = ""
    program_re: str = ""
    exe_ans: float | str | None = None
    answer: str | None = None


class _Row(msgspec.Struct, frozen=True):
    """One record: upstream's has `qa`; flattened copies have its fields at the top, some renamed."""

    id: str
    table: list[list[str]]
    pre_text: list[str] = []
    post_text: list[str] = []
    qa: _Annotation | None = None
    question: str = ""
    program: str = ""
    program_re: str = ""
    exe_ans: float | str | None = None
    final_result: float | str | None = None
    final_res: float | str | None = None
    answer: str | None = None


def read(path: Path, split: Split) -> Records[Question]:
    def question(position: int, row: _Row) -> Question:
        results = (result for result in (row.exe_ans, row.final_result, row.final_res) if result is not None)
        annotation = row.qa or _Annotation(row.question, row.program, row.program_re, next(results, None), row.answer)
        if not annotation.question.strip():
            raise ValueError("qa.question: the question is empty")
        program = annotation.program or linear(annotation.program_re)
        gold = _gold(annotation, program, row.table)
        return Question(
            id=row.id,
            benchmark="finqa",
            split=split,
            task_type=task_type_of(program) if program else "",
            question=annotation.question,
            context=rendered(row.pre_text, row.table, row.post_text),
            gold=gold,
            solution=explained(program, gold),
            meta={"program": program, "table": msgspec.json.encode(row.table).decode()},
        )

    return read_records(path, _Row, question)


def _gold(annotation: _Annotation, program: str, table: TableRows) -> str:
    """Return the result as it is given, or else executed, or else displayed."""
    given = annotation.exe_ans
    if isinstance(given, float):
        return _finite("qa.exe_ans", given)
    if given is not None:
        return _read("qa.exe_ans", given)
    if program:
        done = execute(tokens_of(program), table)
        if done.problem:
            raise ValueError(f"qa.exe_ans: is missing, and the program cannot be executed: {done.problem}")
        return _finite("qa.program", done.result) if isinstance(done.result, float) else done.result
    if annotation.answer and annotation.answer.strip():
        return _read("qa.answer", annotation.answer)
    raise ValueError("qa.exe_ans: is missing, and so are the program and the answer that could replace it")


def _read(field: str, text: str) -> str:
    """Return a gold answer that is written as text; a percentage is divided by 100."""
    word = text.strip().lower()
    amount = read_amount(word)
    if word in ("yes", "no"):
        return word
    if amount is None:
        raise ValueError(f"{field}: {text[:40]!r} is neither a number nor yes or no")
    return _finite(field, float(amount.number / 100 if amount.is_percentage else amount.number))


def _finite(field: str, value: float) -> str:
    if not isfinite(value):
        raise ValueError(f"{field}: {value} is not a finite number, so no answer can match it")
    return repr(value)


def rendered(before: Sequence[str], table: TableRows, after: Sequence[str]) -> str:
    lines = ["| " + " | ".join(cell.replace("|", "/") for cell in row) + " |" for row in table]
    if lines:
        lines.insert(1, "|" + " --- |" * len(table[0]))
    parts = ("\n".join(before), "\n".join(lines), "\n".join(after))
    return "\n\n".join(part for part in parts if part.strip())


def linear(nested: str) -> str:
    """Return a nested program, `divide(subtract(3, 2), 2)`, as steps; "" if it is malformed."""
    open_steps: list[list[str]] = []
    steps: list[str] = []
    for token in (token.strip() for token in _NESTED.findall(nested)):
        if token.endswith("("):
            open_steps.append([token[:-1]])
        elif token != ")" and open_steps and token:
            open_steps[-1].append(token)
        elif token == ")" and open_steps:
            operation, *arguments = open_steps.pop()
            if len(arguments) != 2:
                return ""
            steps.append(f"{operation}({arguments[0]}, {arguments[1]})")
            if open_steps:
                open_steps[-1].append(f"#{len(steps) - 1}")
    return "" if open_steps else ", ".join(steps)


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
