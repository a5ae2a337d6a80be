"""What a question asks for: one of several options, one of two words, a pair or a row of numbers, or a text.

Rules
    - Only the question's own words are read; what is not told by them is a text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

_LETTERED = re.compile(r"^([A-Z])\. (.+)$", re.MULTILINE)
_NUMBERED = re.compile(r"\(?(\d+)\)[:.]? ?(.+?)(?=,? \(?\d+\)[:.]? |[\n\"]|\. |\.$|$)")
_REGION = re.compile(r"\bRegion (\d+)\b")
_BREAKS_OFF = re.compile(r"(?:Option|answer is|in Region)\s*\(?$")
_WORDS = re.compile(r"answer [\"'](?:[\w ]+ )?(\w+)[\"'] or [\"'](?:[\w ]+ )?(\w+)[\"']", re.IGNORECASE)
_AUXILIARY = re.compile(r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will)\b", re.IGNORECASE)
_PAIR = re.compile(r"\((-?\d+\.\d+), ?(-?\d+\.\d+)")
_ROW = re.compile(r"(inflows|outflows): \[([\d., ]+)\]", re.IGNORECASE)
_STEPS = 6
"""Numbers that a flow is continued by."""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What is asked: `sentence` is the question itself, `passage` what stands before it.

    `options` maps what an answer is called to its text; `guess` is the answer that follows from the question alone, ""
    where none does.
    """

    sentence: str
    passage: str
    options: Mapping[str, str]
    guess: str = ""


def read_wanted(question: str) -> Wanted:
    """Return what a question asks for."""
    text = question.strip()
    options = _options(text)
    passage, _, sentence = text.rpartition("\n")
    if options and not passage.strip():
        sentence = text
    return Wanted(sentence=sentence if not _LETTERED.search(text) else text, passage=passage, options=options,
                  guess="" if options else _continued(text))  # fmt: skip


def _options(text: str) -> dict[str, str]:
    lettered = dict(_LETTERED.findall(text))
    if len(lettered) > 1:
        return lettered
    if words := _WORDS.search(text):
        return {word: word for word in words.groups()}
    if _BREAKS_OFF.search(text):
        if text.endswith("Region"):
            return {number: "" for number in sorted(set(_REGION.findall(text)))}
        return {number: option.strip() for number, option in _NUMBERED.findall(text[-600:])}
    last = text.rpartition("\n")[2].rpartition(". ")[2]
    return {"yes": "yes", "no": "no"} if _AUXILIARY.match(last) and " or " not in last else {}


def _continued(text: str) -> str:
    """Return the last point of a trajectory, or the last number of a flow as often as it is to be continued."""
    if text.endswith("next point is") and (pairs := _PAIR.findall(text)):
        return f"({pairs[-1][0]}, {pairs[-1][1]})"
    rows = {name.lower(): numbers.split(",") for name, numbers in _ROW.findall(text)}
    wanted = "outflows" if "predicted outflows" in text else "inflows"
    if "are: [" in text[-20:] and wanted in rows:
        return "[" + ", ".join([rows[wanted][-1].strip()] * _STEPS) + "]"
    return ""
