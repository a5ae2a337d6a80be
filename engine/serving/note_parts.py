"""What a note shows, in parts, for programs that lay it out themselves."""

from collections.abc import Collection
from typing import NamedTuple

from mage_es.engine.rules.ingredients import CASES, CaseParts, cases_of, noted, remembered
from mage_es.engine.rules.prompt import BARE, inert, render_sections
from mage_es.engine.served.notes import CaseLayout
from mage_es.projections.fold import State


class NoteParts(NamedTuple):
    """What a note shows, for programs that lay it out themselves: the cases, and the text of everything else (or
    "")."""

    cases: tuple[CaseParts, ...]
    text: str


def parts_of(state: State, memories: Collection[str], layout: CaseLayout) -> NoteParts:
    """Return what the note of these memories shows, in the note's order and made inert."""
    cases = cases_of(map(state.memory.row, memories), answers_only=layout.answers_only)
    titled = {title: quotes for title, quotes in remembered(state, memories, BARE).items() if title not in CASES}
    text, _ = render_sections(noted(titled), preface=layout.preface)
    return NoteParts(tuple(CaseParts(case.memory_id, *map(inert, case[1:])) for case in cases), text.strip())
