"""The gold answers of the original WebQuestions files: `(list (description A) (description "B C"))`."""

from __future__ import annotations

import re

_TOKEN = re.compile(r'\s*(?:(?P<open>\()|(?P<close>\))|"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s()"]+))', re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_CONTROL = {"n": "\n", "t": "\t", "r": "\r"}


def read_target_value(text: str) -> list[str]:
    tokens = _tokens(text)
    if tokens[:2] != ["(", "list"] or tokens[-1:] != [")"]:
        raise ValueError(f"expected (list (description ...) ...), found {text[:60]!r}")
    answers: list[str] = []
    rest = tokens[2:-1]
    while rest:
        head, rest = rest[:2], rest[2:]
        if head != ["(", "description"] or ")" not in rest:
            raise ValueError(f"expected (description ...) after {len(answers)} of them in {text[:60]!r}")
        end = rest.index(")")
        words = [word.text if isinstance(word, _Quoted) else word for word in rest[:end]]
        if not words or "(" in rest[:end]:
            raise ValueError(f"description {len(answers) + 1} of {text[:60]!r} is not one piece of text")
        answers.append(" ".join(words))
        rest = rest[end + 1 :]
    return answers


class _Quoted(str):
    """A quoted token, which is not a bracket even if it looks like one."""

    __slots__ = ("text",)

    def __new__(cls, text: str) -> _Quoted:
        made = super().__new__(cls, f'"{text}"')
        made.text = text
        return made

    text: str


def _tokens(text: str) -> list[str]:
    tokens: list[str] = []
    place, end = 0, len(text.rstrip())
    while place < end:
        found = _TOKEN.match(text, place)
        if not found:
            raise ValueError(f"cannot be read from character {place + 1}: {text[place : place + 40]!r}")
        quoted = found["quoted"]
        tokens.append(
            found[0].strip()
            if quoted is None
            else _Quoted(_ESCAPED.sub(lambda found: _CONTROL.get(found[1], found[1]), quoted))
        )
        place = found.end()
    return tokens
