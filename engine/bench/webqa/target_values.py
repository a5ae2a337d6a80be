"""The gold answers of the original WebQuestions files: `(list (description A) (description "B C"))`."""

from __future__ import annotations

import re

_DESCRIPTION = re.compile(
    r'\s*\(\s*description(?:\s*"(?P<quoted>(?:[^"\\]|\\.)*+)"|\s+(?P<bare>[^()"\s][^()"]*+))\s*\)', re.DOTALL
)
_OPENED, _CLOSED = re.compile(r"\s*\(\s*list\b"), re.compile(r"\s*\)\s*")
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_CONTROL = {"n": "\n", "t": "\t", "r": "\r"}


def read_target_value(text: str) -> list[str]:
    """Raises `ValueError` for a text of another form."""
    answers: list[str] = []
    found = _OPENED.match(text)
    place = found.end() if found else 0
    while found and (found := _DESCRIPTION.match(text, place)):
        bare, quoted = found["bare"], found["quoted"]
        answers.append(bare.strip() if bare else _ESCAPED.sub(lambda mark: _CONTROL.get(mark[1], mark[1]), quoted))
        place = found.end()
    if not place or not _CLOSED.fullmatch(text, place):
        raise ValueError(f"expected (list (description ...) ...), found {text[place : place + 60]!r}")
    return answers
