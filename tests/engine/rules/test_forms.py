"""The form of prompts is the usual one unless answers to the same questions speak for the other."""

from __future__ import annotations

import pytest

from mage_es.engine.rules.forms import decide_form

BOTH, NEITHER, WON, LOST = (True, True), (False, False), (False, True), (True, False)


def form(*pairs: tuple[bool, bool]) -> str:
    usual, tried = ({str(n): pair[place] for n, pair in enumerate(pairs)} for place in (0, 1))
    return decide_form(0, usual, tried, rival="lines").form


@pytest.mark.parametrize(
    ("pairs", "chosen"),
    [
        ([WON] * 4, "lines"),
        ([WON] * 3, "turns"),
        ([WON] * 7 + [LOST], "lines"),
        ([WON] * 5 + [LOST] * 2, "turns"),
        ([LOST] * 9, "turns"),
        ([BOTH, NEITHER] * 15, "turns"),
        ([], "turns"),
    ],
)
def test_lines_are_chosen_where_they_are_better_with_evidence(pairs: list[tuple[bool, bool]], chosen: str) -> None:
    assert form(*pairs) == chosen


def test_what_decided_is_counted_over_the_questions_that_were_answered_in_both_forms() -> None:
    found = decide_form(3, {"a": True, "b": False, "c": True}, {"b": True, "c": True, "d": True}, rival="worked")
    assert (found.iteration, found.pairs, found.turns, found.tried, found.won, found.lost) == (3, 2, 1, 2, 1, 0)
    assert (found.p_value, found.rival, found.form) == (0.5, "worked", "turns")
