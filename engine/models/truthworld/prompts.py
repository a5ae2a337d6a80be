"""What an execution prompt says in truthworld: which claims it states, where they stand, and what is asked how.

Rules
    - Retrieved text is believed to be data only: a claim counts where it is quoted with `> `, and nowhere else.
    - Solved questions, corrections and strategies show a claim at work; whatever else is quoted only tells it; what
      was said or computed in earlier calls for the same question is no source of claims.
"""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from mage_es.engine.benchmarks.truthworld.claims import claims_in
from mage_es.engine.benchmarks.truthworld.law import Informed

_HEADING = re.compile(r"^## (.+?)\s*$")
_SHOWING = frozenset({"Solved earlier", "Corrected earlier", "Strategy"})
_EARLIER_CALLS = frozenset({"Steps so far", "Tool", "Tool result"})
Manner = Literal["answer", "step", "call"]
"""What a prompt wants: the answer, one step towards it, or the arguments of a tool."""


class ReadPrompt(NamedTuple):
    """A prompt as read. `asked` is what stands under its last heading `Question`, instructions included.

    `route` is the route by which the law goes (law.py).
    """

    asked: str
    informed: Informed
    route: str
    manner: Manner


def read_prompt(prompt: str) -> ReadPrompt:
    """Return what a prompt says; a prompt without headings is a question and nothing else."""
    head, mark, asked = prompt.rpartition("\n## Question\n")
    title, quoted = "", {True: list[str](), False: list[str]()}
    titles = set()
    for line in head.splitlines():
        heading = _HEADING.match(line)
        if heading:
            title = heading[1]
            titles.add(title)
        elif line.startswith("> ") and title not in _EARLIER_CALLS:
            quoted[title in _SHOWING].append(line[2:])
    return ReadPrompt(
        asked=asked if mark else prompt,
        informed=Informed(claims_in("\n".join(quoted[True])), claims_in("\n".join(quoted[False]))),
        route=_route(titles, asked),
        manner="step" if "This step" in titles else "call" if "Tool" in titles else "answer",
    )


def _route(titles: set[str], asked: str) -> str:
    if "without reasoning" in asked.lower():
        return "direct"
    if "Steps so far" in titles:
        return "chain"
    if "Tool result" in titles:
        return "tool"
    return "cot_principles" if "Principles" in titles else "cot"
