"""The form of prompts is the usual one unless answers to the same questions speak for the other."""

import pytest

from mage_es.engine.rules.forms import FEWEST, favoured_form, form_of
from mage_es.engine.rules.setting import Setting
from mage_es.events.vocabulary import MemoryQuarantined
from mage_es.projections.fold import State
from tests.engine.rules.states import Built, setting_of

BOTH, NEITHER, WON, LOST = (True, True), (False, False), (False, True), (True, False)


def form(*pairs: tuple[bool, bool]) -> str:
    usual, tried = ({str(n): pair[place] for n, pair in enumerate(pairs)} for place in (0, 1))
    return favoured_form(0, usual, tried, rival="lines").form


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
    found = favoured_form(3, {"a": True, "b": False, "c": True}, {"b": True, "c": True, "d": True}, rival="worked")
    assert (found.iteration, found.pairs, found.turns, found.tried, found.won, found.lost) == (3, 2, 1, 2, 1, 0)
    assert (found.p_value, found.rival, found.form) == (0.5, "worked", "turns")


ANCHORS = tuple(map(str, range(FEWEST)))


def reasoned(**facts: object) -> Setting:
    return setting_of(form="usual", route="cot")._replace(**facts)  # type: ignore[arg-type]


def corrected() -> State:
    built = Built()
    built.memory("correction", "failure_memory")
    return built.state


def test_without_anchors_for_a_trial_corrections_of_guidance_are_shown_with_what_else_reasons() -> None:
    assert form_of(reasoned(), corrected()) == "worked"
    assert form_of(reasoned(anchors=ANCHORS[1:]), corrected()) == "worked"


@pytest.mark.parametrize("facts", [{"anchors": ANCHORS}, {"has_episodes": True}])
def test_where_a_trial_can_decide_or_nothing_is_shown_as_turns_corrections_do_not(facts: dict[str, object]) -> None:
    assert form_of(reasoned(**facts), corrected()) == "turns"


def test_replies_that_were_right_and_bare_answers_do_not_make_cases_that_reason_the_only_ones() -> None:
    built = Built()
    built.memory("solved")
    built.memory("missed", "failure_memory", kind="case")
    assert form_of(reasoned(), built.state) == "turns"


def test_for_an_answer_alone_and_by_a_setting_or_a_trial_corrections_change_no_form() -> None:
    state = corrected()
    assert form_of(setting_of(form="usual", route="direct"), state) == "turns"
    assert form_of(setting_of(form="lines", route="cot"), state) == "lines"
    tried = {str(n): False for n in range(4)}
    state.apply(favoured_form(0, tried, tried, rival="lines"))
    assert form_of(reasoned(), state) == "turns"


def test_a_correction_out_of_use_changes_no_form() -> None:
    state = corrected()
    state.apply(MemoryQuarantined(memory_id="correction", reason="wrong", by="ann"))
    assert form_of(reasoned(), state) == "turns"
