"""Whether what was learned is served: unless the bare prompt beats it on the anchors, which are answered both ways."""

from itertools import chain
from math import comb

import msgspec
import pytest

from mage_es.engine.commands import TakeSnapshot
from mage_es.engine.config import PAPER, Config
from mage_es.engine.rules.benefit import LOOK, Pair, decide_benefit, differ, is_settled, outdated, questions_to_ask_more
from mage_es.engine.rules.setting import Setting
from mage_es.engine.rules.snapshot import is_decided, looks, take_snapshot
from mage_es.events.vocabulary import BenefitDecided, IterationClosed, IterationPlanned, Purpose, QuestionPlanned
from mage_es.projections.benefit import Benefit
from mage_es.projections.fold import State
from tests.engine.rules.test_curriculum import judged
from tests.engine.rules.test_drift import FIRST as FIRST_RULE
from tests.engine.rules.test_drift import OTHER, appended, stream
from tests.kit.plain_events import plain

WON, LOST = Pair(learned=True, bare=False), Pair(learned=False, bare=True)
BOTH, NEITHER = Pair(learned=True, bare=True), Pair(learned=False, bare=False)


def served(pairs: dict[str, list[Pair]], p: float = 0.1) -> dict[str, str]:
    records, pooled = decide_benefit(pairs, p=p)
    return {record.task_type: record.served for record in (*records, pooled)}


@pytest.mark.parametrize("more", [0, 50])
def test_what_was_learned_is_served_until_the_bare_prompt_has_beaten_it(more: int) -> None:
    even = {"a": [NEITHER] * (8 + more), "b": [WON, LOST]}
    assert set(served(even).values()) == {"learned"}
    assert set(served({**even, "b": [WON, LOST, LOST]}).values()) == {"bare"}
    records, pooled = decide_benefit(even, p=0.1, is_start=True)
    assert {record.served for record in (*records, pooled)} == {"bare"}, "nothing was learned yet"


def test_a_type_is_served_what_was_learned_against_all_others_once_its_own_anchors_show_that_it_helps() -> None:
    others = {"others": [LOST] * 9}
    assert served({**others, "t": [WON] * 4 + [BOTH] * 19})["t"] == "learned"
    assert served({**others, "t": [WON] * 3 + [BOTH] * 19})["t"] == "bare"


def test_a_type_whose_anchors_lose_more_than_they_win_is_bare_whatever_the_others_show() -> None:
    found = served({"helped": [WON] * 20, "harmed": [LOST, BOTH], "even": [WON, LOST]})
    assert found == {"helped": "learned", "harmed": "bare", "even": "learned", "": "learned"}


def test_a_type_with_few_anchors_leans_on_all_types_together() -> None:
    few = {name: [WON, *[BOTH] * 5] for name in "abcd"}
    assert set(served(few).values()) == {"learned"}
    assert set(served({**few, "e": [LOST] * 5}).values()) == {"bare"}
    records, pooled = decide_benefit({**few, "e": [WON] * 4}, p=0.1)
    assert [record.is_own for record in records] == [False] * 4 + [True]
    assert (pooled.pairs, pooled.learned, pooled.bare, pooled.won, pooled.lost) == (28, 28, 20, 8, 0)


@pytest.mark.parametrize("p", [0.05, 0.1])
def test_a_type_that_nothing_helps_is_served_against_all_others_with_at_most_the_probability_of_the_setting(
    p: float,
) -> None:
    for changed in range(60):
        chance = sum(
            comb(changed, won) / 2**changed
            for won in range(changed + 1)
            if served({"others": [LOST] * 60, "t": [WON] * won + [LOST] * (changed - won)}, p)["t"] == "learned"
        )
        assert chance <= p


def setting(**changes: object) -> Setting:
    config = Config(**{"benchmark": "wordmath", "iterations": 9} | changes)  # type: ignore[arg-type]
    return Setting(config, (), tuple(f"q{place}" for place in range(10)), (), (), "")


def answered(
    state: State,
    k: int,
    right: int,
    *,
    purpose: Purpose = "anchor",
    total: int = 10,
    letter: str = "q",
    task_type: str = "t",
    recalled: bool = False,
) -> None:
    for place in range(total):
        answer = judged(k, task_type, correct=place < right, purpose=purpose)
        state.apply(msgspec.structs.replace(answer, question_id=f"{letter}{place}", recalled=recalled))


def decided(setting: Setting, state: State, k: int) -> BenefitDecided | None:
    drafts = take_snapshot(setting, state, TakeSnapshot(k))
    for draft in drafts:
        state.apply(draft.event)
    state.apply(IterationClosed(iteration=k, digests=()))
    return next((draft.event for draft in drafts if isinstance(draft.event, BenefitDecided)), None)


def test_each_snapshot_compares_with_the_start_which_learned_nothing() -> None:
    state = State()
    answered(state, -1, 2)
    start = decided(setting(), state, -1)
    assert start is not None and (start.pooled.won, start.pooled.lost, start.pooled.served) == (0, 0, "bare")
    assert state.benefit.is_bare("t") and state.benefit.is_bare("a type without an anchor")
    answered(state, 0, 7)
    better = decided(setting(), state, 0)
    assert better is not None and (better.pooled.learned, better.pooled.bare, better.pooled.won) == (7, 2, 5)
    assert not state.benefit.is_bare("t")
    answered(state, 1, 1)
    assert decided(setting(), state, 1) is not None and state.benefit.is_bare("t")


def test_an_anchor_that_was_not_asked_again_counts_as_it_last_answered() -> None:
    state = State()
    answered(state, -1, 2)
    decided(setting(), state, -1)
    answered(state, 0, 7)
    decided(setting(), state, 0)
    found = decided(setting(), state, 1)
    assert found is not None and (found.pooled.learned, found.stale) == (7, 0)


def test_a_run_that_goes_on_from_another_compares_with_answers_to_the_bare_prompt() -> None:
    state = State()
    answered(state, 4, 9)
    assert decided(setting(), state, 4) is None  # nothing to compare with
    answered(state, 5, 3, purpose="bare")
    answered(state, 5, 9)
    found = decided(setting(), state, 5)
    assert found is not None and (found.pooled.won, found.pooled.served) == (6, "learned")


def test_without_anchors_or_with_the_gate_off_what_was_learned_is_served() -> None:
    state = State()
    assert decided(setting(), state, -1) is None
    assert not state.benefit.is_bare("t") and not state.benefit.records()
    state = State()
    answered(state, -1, 9)
    answered(state, 0, 0)
    found = decided(setting(gate="off"), state, 0)
    assert found is not None and (found.pooled.lost, found.pooled.served) == (9, "learned")
    assert not state.benefit.is_bare("t")
    assert PAPER["gate"] == "off"


def test_in_the_last_iteration_every_anchor_is_asked_and_all_at_once() -> None:
    state, names = State(), [f"q{place}" for place in range(9)]
    answered(state, -1, 2)
    decided(setting(), state, -1)
    for k, gate, parts in ((7, "paired", 3), (8, "paired", 1), (8, "off", 3)):
        for name in names:
            state.apply(plain(QuestionPlanned, iteration=k, purpose="anchor", question_id=name))
        found = looks(setting(gate=gate), state, k)
        assert len(found) == parts and sorted(chain(*found)) == names
        answered(state, k, 9)
        assert is_decided(setting(gate=gate), state, k, found[0])


FIRST = tuple(f"f{place}" for place in range(20))


def after_anchors(right: int, *, k: int = 8, first: int = 0) -> State:
    """Return a state after an iteration with so many of 10 anchors right, 2 at the start, and 6 of FIRST once."""
    state = State()
    answered(state, -1, 2)
    decided(setting(), state, -1)
    answered(state, first, 6, purpose="fresh", total=20, letter="f")
    answered(state, k, right)
    return state


def with_first(**changes: object) -> Setting:
    return setting(**changes)._replace(evolution=FIRST)


@pytest.mark.parametrize("right", [0, 1, 2, 3, 4, 5, 6])
def test_where_few_anchors_leave_it_open_others_are_asked_once_more_at_the_end(right: int) -> None:
    state = after_anchors(right)
    answered(state, 8, 6, purpose="fresh", total=5, letter="g")
    asked = questions_to_ask_more(with_first(), state, 8)
    assert asked == dict.fromkeys(FIRST, "again") | {f"g{place}": "bare" for place in range(5)}
    assert questions_to_ask_more(with_first(), after_anchors(right, k=7), 7) == {}
    assert questions_to_ask_more(with_first(gate="off"), state, 8) == {}
    answered(state, 8, 1, purpose="again", total=3, letter="f")
    assert questions_to_ask_more(with_first(), state, 8) == asked  # as before, for a snapshot that is resumed


def test_both_ways_of_asking_once_more_make_pairs() -> None:
    state = after_anchors(3)
    answered(state, 8, 4, purpose="fresh", total=5, letter="g")
    answered(state, 8, 15, purpose="again", total=20, letter="f")
    answered(state, 8, 1, purpose="bare", total=5, letter="g")
    found = decided(setting(), state, 8)
    assert found is not None and (found.pooled.pairs, found.pooled.won, found.pooled.served) == (35, 13, "learned")


def test_in_a_run_of_one_iteration_all_are_asked_again() -> None:
    assert questions_to_ask_more(with_first(iterations=1), after_anchors(3, k=0), 0) == dict.fromkeys(FIRST, "again")


def test_without_anchors_what_is_asked_once_more_decides() -> None:
    none, state = with_first(iterations=1)._replace(anchors=()), State()
    answered(state, 0, 6, purpose="fresh", total=20, letter="f")
    assert questions_to_ask_more(none, state, 0) == dict.fromkeys(FIRST, "again")
    answered(state, 0, 2, purpose="again", total=20, letter="f")
    found = decided(none, state, 0)
    assert found is not None and (found.pooled.lost, found.pooled.served) == (4, "bare")


def test_nothing_is_asked_again_that_was_not_asked_once_when_nothing_had_been_learned() -> None:
    continued = with_first()._replace(first=5)
    assert "again" not in questions_to_ask_more(continued, after_anchors(3, k=13, first=5), 13).values()
    assert "again" not in questions_to_ask_more(with_first(), after_anchors(3, first=1), 8).values()
    twice = after_anchors(3)
    answered(twice, 4, 1, purpose="revisit", total=1, letter="f")
    assert set(questions_to_ask_more(with_first(), twice, 8)) == set(FIRST[1:])


@pytest.mark.parametrize("right", [7, 10])
def test_nothing_is_asked_once_more_where_the_anchors_are_sure(right: int) -> None:
    assert questions_to_ask_more(with_first(), after_anchors(right), 8) == {}


def test_nothing_is_asked_once_more_where_many_anchors_show_no_gain() -> None:
    many = with_first()._replace(anchors=tuple(f"q{place}" for place in range(60)))
    state = State()
    answered(state, -1, 30, total=60)
    answered(state, 0, 6, purpose="fresh", total=20, letter="f")
    answered(state, 8, 30, total=60)
    assert questions_to_ask_more(many, state, 8) == {}
    assert questions_to_ask_more(many._replace(anchors=many.anchors[:59]), state, 8)


def out_of_date(fresh: int, *, first: int = 5, recalled: bool = False) -> tuple[Setting, State]:
    """Return a run that continues another: 18 of 20 anchors were right by the old rule, and so many of 20 new ones."""
    many = with_first(iterations=1)._replace(anchors=tuple(f"q{place}" for place in range(20)), first=first)
    state = State()
    answered(state, first - 1, 18, total=20)
    decided(many, state, first - 1)
    answered(state, first, fresh, purpose="fresh", total=20, letter="g")
    answered(state, first, 4, purpose="bare", total=20)
    answered(state, first, 18, total=20, recalled=recalled)
    return many, state


def test_anchors_that_the_last_questions_contradict_are_out_of_date_and_these_alone_count() -> None:
    many, state = out_of_date(2)
    assert questions_to_ask_more(many, state, 5) == {f"g{place}": "bare" for place in range(20)}
    answered(state, 5, 8, purpose="bare", total=20, letter="g")
    found = decided(many, state, 5)
    assert found is not None and (found.pooled.pairs, found.pooled.lost, found.pooled.served) == (20, 6, "bare")


def test_anchors_that_the_last_questions_agree_with_count_and_nothing_more_is_asked() -> None:
    many, state = out_of_date(12)
    assert questions_to_ask_more(many, state, 5) == {}
    found = decided(many, state, 5)
    assert found is not None and (found.pooled.pairs, found.pooled.served) == (20, "learned")


def with_cases(*moves: tuple[int, ...]) -> tuple[Setting, State]:
    """Return such a run, half of whose anchors are of the new rule, with the cases of one iteration after another."""
    many, state = out_of_date(12)
    for event in appended(stream(*moves)):
        state.apply(event)
    return many, state


def test_anchors_older_than_the_cases_that_are_up_to_date_do_not_count_even_if_no_share_shows_it() -> None:
    many, state = with_cases(FIRST_RULE, FIRST_RULE, FIRST_RULE, FIRST_RULE, OTHER)
    assert outdated(many, state, 5) == {"t"}
    assert questions_to_ask_more(many, state, 5) == {f"g{place}": "bare" for place in range(20)}
    answered(state, 5, 4, purpose="bare", total=20, letter="g")
    found = decided(many, state, 5)
    assert found is not None and (found.pooled.pairs, found.pooled.won, found.pooled.served) == (20, 8, "learned")


def test_answers_on_cases_that_are_all_out_of_date_by_now_say_nothing() -> None:
    many, state = with_cases(FIRST_RULE, FIRST_RULE, FIRST_RULE, FIRST_RULE, FIRST_RULE, OTHER)
    assert questions_to_ask_more(many, state, 5) == {} and decided(many, state, 5) is None


def test_a_question_that_was_asked_before_is_as_old_as_the_anchors() -> None:
    many, state = with_cases(FIRST_RULE, FIRST_RULE, FIRST_RULE, FIRST_RULE, OTHER)
    old = ("g0", "g1")
    state.apply(IterationPlanned(iteration=5, frontier=(), brief="", epoch=1, fresh=old, revisits=(), repeats=old))
    assert questions_to_ask_more(many, state, 5) == {f"g{place}": "bare" for place in range(2, 20)}


def test_recalled_anchors_do_not_show_that_anchors_are_out_of_date() -> None:
    assert not outdated(*out_of_date(2, recalled=True), 5)


def test_in_a_run_that_begins_with_nothing_no_anchor_is_out_of_date() -> None:
    many, state = out_of_date(2)
    assert outdated(many, state, 5) == {"t"}
    assert not outdated(many._replace(first=0), state, 5)
    assert not outdated(many._replace(is_served=True), state, 5)


@pytest.mark.parametrize("right", range(0, 21, 4))
def test_equal_shares_do_not_differ_and_opposite_ones_do(right: int) -> None:
    ones = [True] * right + [False] * (20 - right)
    assert not differ(ones, ones) and not differ(ones, []) and not differ([], [])
    assert differ([True] * 20, [False] * 20) and not differ([True], [False])


def test_asking_once_more_ends_when_the_pairs_of_every_type_settle_the_matter() -> None:
    state, names = after_anchors(2), [f"g{place}" for place in range(LOOK)]
    answered(state, 8, LOOK, purpose="fresh", total=LOOK, letter="g")
    answered(state, 8, 0, purpose="bare", total=LOOK, letter="g")
    # On a resumed snapshot later questions may be answered already: only those asked so far count.
    assert not is_settled(setting(), state, 8, names[:3]) and is_settled(setting(), state, 8, names)
    answered(state, 8, 1, purpose="fresh", total=1, letter="h", task_type="another")
    answered(state, 8, 0, purpose="bare", total=1, letter="h", task_type="another")
    assert not is_settled(setting(), state, 8, [*names, "h0"])


def test_a_recalled_anchor_is_no_pair_of_a_prompt() -> None:
    state = State()
    answered(state, -1, 2)
    decided(setting(), state, -1)
    answered(state, 8, 9, recalled=True)
    found = decided(setting(), state, 8)
    assert found is not None and (found.pooled.pairs, found.records, found.stale) == (0, (), 0)
    assert [(each.won, each.lost, each.served) for each in found.recalled] == [(7, 0, "learned")]
    answered(state, 9, 1, recalled=True)
    found = decided(setting(), state, 9)
    assert found is not None and [(each.won, each.lost, each.served) for each in found.recalled] == [(0, 1, "bare")]


def test_where_the_bare_prompt_is_served_recall_must_have_beaten_it() -> None:
    def after(recalled_right: int) -> Benefit:
        state = State()
        answered(state, -1, 5)
        answered(state, -1, 9, letter="r")
        decided(setting(), state, -1)
        answered(state, 8, 1)
        answered(state, 8, recalled_right, letter="r", recalled=True)
        decided(setting(), state, 8)
        return state.benefit

    assert after(10).is_bare("t") and after(10).may_recall("t")
    assert after(9).is_bare("t") and not after(9).may_recall("t")
    assert not after(10).may_recall("another"), "no anchor of this type was recalled"
