"""Turning a row of the user's own table into a question: the role of each column, and its valid values.

Rules
    - One column has one role: a column cannot be given two roles, and if it was given one, its name does not give it
      another (an answer in `category` is not a task type). `--columns task_type=` says that no column has that role.
    - A column is looked up by its exact name, or else ignoring case and surrounding blanks.
    - Options, or right answers, that are spread over several columns are named together: `options=A/B/C/D`.
    - A question without an id gets its row number.
    - `by` names who gave the answer: a client or an annotator. It is recorded unencrypted with what is learned from the
      answer, so it must not be the subject whose texts can be erased.
"""

import functools
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from string import ascii_uppercase
from typing import Any

from mage_es.engine.benchmarks.tasks import ROLES
from mage_es.engine.seams.benchmark import ONE_TYPE, Question, Split

_MANY = ("options", "answer")
"""Roles that several columns may have together, as in `options=A/B/C/D` or `answer=label/alias`."""
NEEDED = ("question", "answer")
_LEARNED = frozenset({"train", "training", "learn", "evolution"})
_EXAMINED = frozenset(
    {"test", "validation", "valid", "val", "dev", "eval", "held_out", "heldout", "held-out", "holdout"}
)
_COLUMNAR = {"label", "text"}
"""Options in a form common on the hub: a list of letters and a list of texts."""


def question_of(
    row: Mapping[str, Any], columns: Mapping[str, str], *, position: int, split: Split, is_json: bool = False
) -> Question:
    """Return the question of a row; with `is_json` its answer may be any value. Raises `ValueError`, the column
    first."""
    called, found = _Called(row), columns_of(row, columns)
    text, schema = _text(row, found["question"]), _text(row, found["schema"])
    answers = [_as_json(row[found["answer"]])] if is_json else _answers(row, called, found["answer"])
    if not text:
        raise ValueError(f"{found['question']}: is empty; fill it in or delete the row")
    options = _options(row, called, found["options"]) if found["options"] else {}
    if options:
        answers = [_letter(answer, options) for answer in answers]
        options = dict(zip(ascii_uppercase, options.values(), strict=False))
        text += "".join(f"\n{letter}. {option}" for letter, option in options.items())
    said = _text(row, found["split"]).casefold()
    if said and said not in _LEARNED | _EXAMINED:
        raise ValueError(
            f"{found['split']}: {said!r:.40} is not a split: give `train` to questions to learn from and `test` to "
            "those that only exams ask, or leave it empty; if the column means something else, add --columns split="
        )
    by, subject = (_text(row, found[role]) for role in ("by", "subject"))
    if by and by == subject:
        raise ValueError(
            f"{found['by']}: is the {found['subject']} too, which can be erased; give the source another name"
        )
    others = {name: text for name, text in (("schema", schema), ("by", by)) if text}
    return Question(
        id=_text(row, found["id"]) or f"{'test-' if split == 'test' else ''}row-{position + 1}",
        benchmark="tasks",
        split="test" if said in _EXAMINED else split,
        task_type=_text(row, found["task_type"]) or ONE_TYPE,
        question=text,
        # A model must see the table that it has to query.
        context=_text(row, found["context"]) or schema,
        gold=answers[0],
        solution=_text(row, found["solution"]),
        subject=subject,
        meta={"answers": json.dumps(answers), "options": json.dumps(options), **others},
    )


def columns_of(row: Iterable[str], columns: Mapping[str, str]) -> Mapping[str, str]:
    """Return the column for each role in a row, or ""; `columns` are those that the user named, or "".

    Raises `ValueError`, the column first.
    """
    return _columns_of(tuple(row), tuple(columns.items()))


@functools.lru_cache(256)
def _columns_of(row: tuple[str, ...], columns: tuple[tuple[str, str], ...]) -> Mapping[str, str]:
    called = _Called(row)
    found = {role: _named(called, role, name) if name else "" for role, name in columns}
    taken: dict[str, str] = {}
    for role, name in found.items():
        for column in filter(None, [name] if name in row else called.each(name)):
            if (other := taken.setdefault(_folded(column), role)) != role:
                raise ValueError(f"{column}: is named for two roles, {other} and {role}; one column has one role")
    for role in ROLES.keys() - found.keys():
        usual = (column for name in ROLES[role] if (column := called.find(name)))
        found[role] = next((column for column in usual if _folded(column) not in taken), "")
    if missing := [role for role in NEEDED if not found[role]]:
        there = ", ".join(map(str, row)) or "none"
        form = " (a JSON file of tasks is a list of objects)" if len(row) == 1 else ""
        raise ValueError(
            f"{missing[0]}: there is no such column, only {there}. Name it: --columns {missing[0]}=NAME{form}"
        )
    return {role: found[role] for role in ROLES}


def why_none(role: str, columns: Mapping[str, str]) -> str:
    """Return why a role has no column although a column has the role's name; "" if no column has."""
    usual = {_folded(name) for name in ROLES[role]}
    for other, taken in columns.items():
        for name in (taken, *taken.split("/")):
            if other != role and _folded(name) in usual:
                return f"{name} is the {other}"
    return ""


class _Called:
    def __init__(self, row: Collection[str]) -> None:
        self.row = row
        self._folded = {_folded(column): column for column in reversed(list(row))}

    def find(self, name: str) -> str:
        """Return the column of that name, or one that differs only in case or surrounding blanks, or ""."""
        return name if name in self.row else self._folded.get(_folded(name), "")

    def each(self, names: str) -> list[str]:
        """Return the columns that `A/B/C` names, or none if any is missing."""
        found = [self.find(name) for name in names.split("/")]
        return found if len(found) > 1 and all(found) else []


def _folded(name: object) -> str:
    return str(name).strip().casefold()


def _named(called: _Called, role: str, name: str) -> str:
    if found := called.find(name):
        return found
    if role in _MANY and called.each(name):
        return name
    there = ", ".join(map(str, called.row))
    raise ValueError(f"{name}: there is no such column (for the {role}), only {there}")


def _text(row: Mapping[str, Any], column: str) -> str:
    value = row.get(column) if column else None
    if isinstance(value, bool):
        raise ValueError(f"{column}: expected a text, got {json.dumps(value)}")
    return _written(value, column)


def _as_json(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)


def _answers(row: Mapping[str, Any], called: _Called, column: str) -> list[str]:
    value = row[column] if column in row else [_text(row, name) for name in called.each(column)]
    answers = [_written(answer, column) for answer in (value if isinstance(value, list) else [value])]
    if not any(answers):
        raise ValueError(
            f"{column}: is empty; a task needs an answer that can be checked: fill it in or delete the row"
        )
    return [answer for answer in answers if answer]


def _written(value: object, column: str) -> str:
    """Return a value as text: "" if it is missing (tables have NaN for it), never with an exponent."""
    if value is None or value != value:
        return ""
    if isinstance(value, list | dict):
        raise ValueError(f"{column}: expected a text, got {json.dumps(value, default=str)[:60]}")
    return format(Decimal(repr(value)), "f") if isinstance(value, float) else str(value).strip()


def _options(row: Mapping[str, Any], called: _Called, column: str) -> dict[str, str]:
    value = row[column] if column in row else {name: _text(row, name) for name in called.each(column)}
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            raise ValueError(
                f'{column}: expected a JSON list of texts, such as ["red", "blue"], got {value[:60]!r}; options in '
                "columns of their own are named --columns options=A/B/C/D"
            ) from None
    if isinstance(value, Sequence):
        value = dict(enumerate(value))
    elif (
        isinstance(value, Mapping)
        and set(value) == _COLUMNAR
        and all(isinstance(part, list) for part in value.values())
    ):
        value = dict(zip(value["label"], value["text"], strict=False))
    if not isinstance(value, Mapping) or not 2 <= len(value) <= len(ascii_uppercase):
        raise ValueError(f"options: expected a list or an object of 2 to 26 texts, got {str(value)[:60]}")
    return {str(called): _written(option, "options") for called, option in value.items()}


def _letter(answer: str, options: Mapping[str, str]) -> str:
    """Return the letter of the option that an answer names: by letter, text, or name in the table."""
    texts = [option.casefold() for option in options.values()]
    for names in (list(ascii_uppercase[: len(texts)]), texts, list(options)):
        if (called := answer if names is not texts else answer.casefold()) in names:
            return ascii_uppercase[names.index(called)]
    raise ValueError(f"answer: {answer!r} is not one of the options {', '.join(ascii_uppercase[: len(texts)])}")
