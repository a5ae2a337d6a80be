"""Answers that are a value, a query or a program: compared by value, never as text.

    regex   the whole final answer matches the pattern, in RE2's syntax
    json    the same JSON value: numbers by their value, keys in any order
    sql     the query gives the rows of the right one on the task's `schema`, in that order if the right one is ordered
    python  the program passes the task's test

Queries and programs run in the sandbox. If it takes more than a second, or too much memory, it is wrong: a program that
loops is not an answer. If the task's own query fails, or the sandbox lacks something that a program needs, the verdict
is undecided.
"""

import functools
import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

from mage_es.engine.bench.programs import run_test
from mage_es.engine.benchmarks.tasks.scorers import FINISH, Scorer, right_answers
from mage_es.engine.sandbox.limits import ToolLimits
from mage_es.engine.sandbox.sandbox import Sandbox
from mage_es.engine.seams.answer_form import answer_in_form
from mage_es.engine.seams.benchmark import Question, Verdict
from mage_es.engine.seams.extraction import plain_answer, said
from mage_es.events.errors import PrerequisiteError

INSTALL = "python -m pip install 'mage-es[scorers]'"
_LONGEST = 100_000
NOT_THE_QUERYS = ("the task's own query fails", "the sandbox ended")
"""The prefix of a problem that is not the query's own fault."""


def verdict_of(answers: Sequence[str], is_right: Callable[[str], bool]) -> Verdict:
    """Return the verdict on several readings of a reply, any of which may be right; the first reading is the strict
    one."""
    for place, answer in enumerate(answers):
        if len(answer) <= _LONGEST and is_right(answer):
            return Verdict(answer=answer, score=1.0, strict=place == 0)
    return Verdict(answer=answers[0], score=0.0, strict=False)


def last_block(reply: str) -> str:
    """Return the content of the last fenced block of a reply, without its language; or ""."""
    for block in reversed(said(reply).split("```")[1::2]):
        first, _, rest = block.partition("\n")
        if content := (rest if first.strip().isalnum() or not first.strip() else block).strip():
            return content
    return ""


def block_or_answer(reply: str) -> str:
    return last_block(reply) or plain_answer(reply)


def by_pattern(question: Question, reply: str) -> Verdict:
    patterns = [_pattern(text) for text in right_answers(question)]
    readings = (answer_in_form(reply), plain_answer(reply))
    return verdict_of(readings, lambda answer: any(pattern.fullmatch(answer) for pattern in patterns))


@functools.lru_cache(4096)
def _pattern(text: str) -> Any:
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        return re2.compile(text, options)
    except re2.error as error:
        raise ValueError(f"{text!r} is not a regular expression of RE2, which has no look-around: {error}") from None


class _Number(NamedTuple):
    value: Decimal


def by_value(question: Question, reply: str) -> Verdict:
    wanted = [_value(text) for text in right_answers(question)]
    inner = reply[min((at for sign in "[{" if (at := reply.find(sign)) >= 0), default=0) :]
    inner = inner[: max(inner.rfind("]"), inner.rfind("}")) + 1]
    readings = (answer_in_form(reply), last_block(reply), plain_answer(reply), inner)
    return verdict_of(readings, lambda answer: any(_value(answer) == right for right in wanted if right))


def _value(text: str) -> list[Any]:
    """Return the JSON value in a list, [] for anything else. A number is not a boolean, although 1 == True in
    Python."""

    def number(digits: str) -> _Number:
        return _Number(Decimal(digits))

    try:
        return [json.loads(text, parse_int=number, parse_float=number, parse_constant=_refused)]
    except (ValueError, ArithmeticError, RecursionError):
        return []


def _refused(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def by_rows(question: Question, reply: str) -> Verdict:
    query = block_or_answer(reply)
    problems = []
    for right in right_answers(question):
        payload = json.dumps({"schema": question.meta.get("schema", ""), "right": right})
        outcome = _database().run(query, payload, language="sql")
        if outcome.result == "same":
            return Verdict(answer=query, score=1.0, strict=bool(last_block(reply)))
        problems.append(outcome.problem)
    why = next((f"not run: {problem}" for problem in problems if problem), "")
    is_open = any(problem.startswith(NOT_THE_QUERYS) for problem in problems)
    return Verdict(answer=query, score=0.0, strict=False, undecided=is_open, why=why)


@functools.cache
def _database() -> Sandbox:
    return Sandbox(ToolLimits(source=_LONGEST, arguments=10_000_000, memory_mib=2048, cpu_seconds=5))


def by_test(question: Question, reply: str) -> Verdict:
    program = block_or_answer(reply)
    outcomes = [run_test(program, test) for test in right_answers(question)]
    if any(not outcome.problem for outcome in outcomes):
        return Verdict(answer=program, score=1.0, strict=bool(last_block(reply)))
    why = next((f"not run: {outcome.problem}" for outcome in outcomes if not outcome.is_run), "")
    is_open = any(not (outcome.is_run or outcome.is_costly) for outcome in outcomes)
    return Verdict(answer=program, score=0.0, strict=False, undecided=is_open, why=why)


def problem_with_pattern(question: Question) -> str:
    try:
        for text in right_answers(question):
            _pattern(text)
    except ValueError as error:
        return f"answer: {error}"
    return ""


def problem_with_value(question: Question) -> str:
    bad = [text for text in right_answers(question) if not _value(text)]
    return f"answer: {bad[0][:60]!r} is no JSON, and the scorer json needs it" if bad else ""


def problem_with_schema(question: Question) -> str:
    missing = not question.meta.get("schema")
    return "schema: there is none, and the scorer sql runs queries on one (CREATE and INSERT)" if missing else ""


def problem_with_test(question: Question) -> str:
    try:
        for text in right_answers(question):
            compile(text, "answer", "exec", dont_inherit=True)
    except (SyntaxError, ValueError, MemoryError) as error:  # a MemoryError if it is nested too deeply
        return f"answer: no Python test: {error or 'it is nested too deep'}"
    return ""


def _needs(scorer: str, module: str, package: str) -> Callable[[], None]:
    def require() -> None:
        if importlib.util.find_spec(module) is None:
            raise PrerequisiteError(f"The scorer {scorer} needs the library `{package}`, which is missing: {INSTALL}")

    return require


SCORERS: Mapping[str, Scorer] = {
    "regex": Scorer(FINISH, by_pattern, problem=problem_with_pattern, require=_needs("regex", "re2", "google-re2")),
    "json": Scorer(
        'Finish with a line such as "Answer: <{"total": 1467}>", the JSON in one line.',
        by_value,
        problem=problem_with_value,
    ),
    "sql": Scorer(
        'Finish with the query in one block, such as "```sql\n<SELECT 1467>\n```".',
        by_rows,
        extract=block_or_answer,
        problem=problem_with_schema,
        require=_needs("sql", "duckdb", "duckdb"),
    ),
    "python": Scorer(
        'Finish with the whole program in one block, such as "```python\n<print(1467)>\n```".',
        by_test,
        extract=block_or_answer,
        problem=problem_with_test,
        require=_needs("python", "pydantic_monty", "pydantic-monty"),
    ),
}
"""The entry points `mage_es.scorers` of this wing."""
