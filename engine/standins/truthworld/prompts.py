"""An execution prompt of truthworld: which claims it states, in which sections, and what it asks for.

A claim counts only where it is quoted with `> `. Solved questions, corrections and strategies show a claim at work; any
other section only states it. Earlier calls for the same question are no source of claims.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Literal, NamedTuple

from mage_es.engine.seams.model import Request
from mage_es.engine.standins.prompts import lines_by_heading
from mage_es.engine.worlds.truthworld.claims import claims_in
from mage_es.engine.worlds.truthworld.law import Informed

_SHOWING = frozenset({"Solved earlier", "Corrected earlier", "Strategy"})
_EARLIER_CALLS = frozenset({"Steps so far", "Tool", "Tool result"})
Manner = Literal["answer", "step", "call"]
"""What a prompt wants: the answer, one step towards it, or the arguments of a tool."""


class TruthPrompt(NamedTuple):
    """`route` is the one that the law (law.py) applies to."""

    asked: str
    informed: Informed
    route: str
    manner: Manner


def read_truth_prompt(request: Request) -> TruthPrompt:
    head, mark, asked = f"\n{request.prompt}".rpartition("\n## Question\n")
    sections = lines_by_heading(head)
    quoted: dict[bool, list[str]] = {True: [], False: []}
    for title in sections.keys() - _EARLIER_CALLS:
        quoted[title in _SHOWING] += [line[2:] for line in sections[title] if line.startswith("> ")]
    return TruthPrompt(
        asked=asked if mark else request.prompt,
        informed=Informed(claims_in("\n".join(quoted[True])), claims_in("\n".join(quoted[False]))),
        route="direct" if "no reasoning" in request.system else _route(sections),
        manner="step" if "This step" in sections else "call" if "Tool" in sections else "answer",
    )


def _route(titles: Collection[str]) -> str:
    if "Steps so far" in titles:
        return "chain"
    if "Tool result" in titles:
        return "tool"
    return "cot_principles" if "Principles" in titles else "cot"
