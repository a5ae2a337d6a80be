"""The options that a question offers: lettered lines, numbers in brackets, words in quotation marks, or yes and no.

Numbers in brackets are options only if the last line announces some: a passage may number things as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import zip_longest

BEGUN = re.compile(r"\bAnswer:([^\n.?!]*)$")
"""The start of an answer that the question itself begins: `Answer: Option (`."""
_LETTERED = re.compile(r"^([A-Z])\. (.+)$", re.MULTILINE)
_CHOICE = re.compile(r"\b(?:your|one|following) options?\b|\boptions?:", re.IGNORECASE)
_CHOSEN = re.compile(r"\b(?:Option|answer is) *\(?$", re.IGNORECASE)
_MARK = re.compile(r"(?<![\w.(-])\(?(\d{1,2})\)[:.]? ")
_END = re.compile(r"[\n\"]|[.;] |[.;,]?\s*$")
_WORDS = re.compile(r"answer [\"'](?:[\w ]+ )?(\w+)[\"'] or [\"'](?:[\w ]+ )?(\w+)[\"']", re.IGNORECASE)
_AUXILIARY = re.compile(r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will)\b", re.IGNORECASE)


def options_in(question: str) -> dict[str, str]:
    """Return the name of each option with its text."""
    broken_off = BEGUN.search(question)
    begun = broken_off[1] if broken_off else ""
    text = (question[: broken_off.start()] if broken_off else question).strip()
    lettered = dict(_LETTERED.findall(text))
    if len(lettered) > 1:
        return lettered
    if words := _WORDS.search(text):
        return {word: word for word in words.groups()}
    last = text.rpartition("\n")[2]
    if (_CHOICE.search(last) or _CHOSEN.search(begun)) and (numbered := _numbered(text)):
        return numbered
    asked = last.rpartition(". ")[2]
    return {"yes": "yes", "no": "no"} if _AUXILIARY.match(asked) and " or " not in asked else {}


def _numbered(text: str) -> dict[str, str]:
    found: list[dict[str, str]] = [{}]
    for number, item in _items(text):
        if number <= 1 and str(number - 1) not in found[-1]:
            found.append({})
        if not found[-1] or str(number - 1) in found[-1]:
            found[-1][str(number)] = item
    return next((items for items in reversed(found) if len(items) > 1), {})


def _items(text: str) -> Iterator[tuple[int, str]]:
    marks = list(_MARK.finditer(text))
    for mark, after in zip_longest(marks, marks[1:]):
        item = text[mark.end() : after.start() if after else len(text)].strip(" ")
        if after is None and (end := _END.search(item)):
            item = item[: end.start()]
        yield int(mark[1]), item.rstrip(" ,;")
