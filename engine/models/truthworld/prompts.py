"""What an execution prompt says in truthworld: which claims it states, where they stand, and what is asked how.

Rules
    - Retrieved text is believed to be data only: a claim counts where it is quoted with `> `, and nowhere else.
    - Solved questions, corrections and strategies show a claim at work; whatever else is quoted only tells it.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from mage_es.engine.benchmarks.truthworld.claims import claims_in
from mage_es.engine.benchmarks.truthworld.law import Informed

_HEADING = re.compile(r"^## (.+?)\s*$")
_SHOWING = frozenset({"Solved earlier", "Corrected earlier", "Strategy"})


class ReadPrompt(NamedTuple):
    """A prompt as read. `asked` is what stands under its last heading `Question`, instructions included."""

    asked: str
    informed: Informed
    titles: frozenset[str]
    is_direct: bool


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
        elif line.startswith("> "):
            quoted[title in _SHOWING].append(line[2:])
    return ReadPrompt(
        asked=asked if mark else prompt,
        informed=Informed(claims_in("\n".join(quoted[True])), claims_in("\n".join(quoted[False]))),
        titles=frozenset(titles),
        is_direct="without reasoning" in asked.lower(),
    )
