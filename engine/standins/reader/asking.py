"""What a question asks for: one of several options, one of two words, a pair or a row of numbers, or else a text.

Numbers in brackets are options only if the last line announces some: a passage may number things as well.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest

import msgspec

_BEGUN = re.compile(r"\bAnswer:([^\n.?!]*)$")
_LETTERED = re.compile(r"^([A-Z])\. (.+)$", re.MULTILINE)
_CHOICE = re.compile(r"\b(?:your|one|following) options?\b|\boptions?:", re.IGNORECASE)
_CHOSEN = re.compile(r"\b(?:Option|answer is) *\(?$", re.IGNORECASE)
_MARK = re.compile(r"(?<![\w.(-])\(?(\d{1,2})\)[:.]? ")
_END = re.compile(r"[\n\"]|[.;] |[.;,]?\s*$")
_REGIONS = re.compile(r"\bnumber of the region\b|\bRegion *$", re.IGNORECASE)
_REGION = re.compile(r"\bRegion (\d+)\b")
_WORDS = re.compile(r"answer [\"'](?:[\w ]+ )?(\w+)[\"'] or [\"'](?:[\w ]+ )?(\w+)[\"']", re.IGNORECASE)
_AUXILIARY = re.compile(r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will)\b", re.IGNORECASE)
_POINT = re.compile(r"\bnext point\b")
_PAIR = re.compile(r"\((-?\d+\.\d+), ?(-?\d+\.\d+)")
_ROW = re.compile(r"\b(inflow|outflow)s: \[([\d., ]+)\]", re.IGNORECASE)
_STEPS = re.compile(r"\b(inflow|outflow)\b.* (\d{1,2}) time steps", re.IGNORECASE)


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """`sentence` is the question itself, `passage` the text before it; `options` maps the name of each to its text.

    `guess` is the answer that follows from the question alone, "" if none does.
    """

    sentence: str
    passage: str
    options: Mapping[str, str]
    guess: str = ""


def read_wanted(question: str) -> Wanted:
    broken_off = _BEGUN.search(question)
    begun = broken_off[1] if broken_off else ""
    text = (question[: broken_off.start()] if broken_off else question).strip()
    options = _options(text, begun)
    passage, _, sentence = text.rpartition("\n")
    if options and not passage.strip():
        sentence = text
    return Wanted(sentence=sentence if not _LETTERED.search(text) else text, passage=passage, options=options,
                  guess="" if options else _continued(text))  # fmt: skip


def _options(text: str, begun: str) -> dict[str, str]:
    lettered = dict(_LETTERED.findall(text))
    if len(lettered) > 1:
        return lettered
    if words := _WORDS.search(text):
        return {word: word for word in words.groups()}
    last = text.rpartition("\n")[2]
    if (_CHOICE.search(last) or _CHOSEN.search(begun)) and (numbered := _numbered(text)):
        return numbered
    if _REGIONS.search(last) or _REGIONS.search(begun):
        return {number: "" for number in sorted(set(_REGION.findall(text)))}
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


def _continued(text: str) -> str:
    """The last point of a trajectory, or the last number of a flow, repeated for each step asked for."""
    last = text.rpartition("\n")[2]
    if _POINT.search(last) and (pairs := _PAIR.findall(text)):
        return f"({pairs[-1][0]}, {pairs[-1][1]})"
    rows = {name.lower(): numbers.split(",") for name, numbers in _ROW.findall(text)}
    if (steps := _STEPS.search(last)) and (row := rows.get(steps[1].lower())):
        return "[" + ", ".join([row[-1].strip()] * int(steps[2])) + "]"
    return ""
