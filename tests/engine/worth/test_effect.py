"""What memories are worth: which prompts count, for which of three numbers, and how often."""

from math import comb
from typing import Any

import pytest

from mage_es.engine.rules.distributions import LEAST
from mage_es.engine.rules.routes import RECALL
from mage_es.engine.rules.step_prompt import STEP_TEMPLATES
from mage_es.engine.worth.effect import Prompted, askings, association_of, chance_of, coin_of, pairs_of, to_ask
from mage_es.events.vocabulary import AnswerJudged, BundleTrimmed, Event, QuestionPlanned, Record, Retrieved
from tests.kit.plain_events import plain

A, B = frozenset("a"), frozenset("b")


def plan(question: str, shown: str = "", *, left: str = "", iteration: int = 0, **changes: Any) -> QuestionPlanned:
    return QuestionPlanned(
        iteration=iteration,
        question_id=question,
        skill="s",
        search_arm="nearest",
        search_probability=1.0,
        routing_probability=1.0,
        memories=tuple(Retrieved(memory_id=name, similarity=0.5) for name in shown),
        left_out=tuple(Retrieved(memory_id=name, similarity=0.5) for name in left),
        prompt_sha256="",
        spans=(),
        **{"purpose": "fresh", "task_type": "t", "routing_arm": "cot", "template": "", "principles": (), **changes},
    )


def verdict(planned: QuestionPlanned, *, right: bool) -> AnswerJudged:
    return plain(
        AnswerJudged,
        iteration=planned.iteration,
        purpose=planned.purpose,
        question_id=planned.question_id,
        correct=right,
    )


def found(*asked: tuple[QuestionPlanned, bool] | Event) -> list[Prompted]:
    events = [
        event
        for one in asked
        for event in ((one[0], verdict(one[0], right=one[1])) if isinstance(one, tuple) else (one,))
    ]
    about = {"event_id": b"", "ts_us": 0, "run": "r", "iteration": 0, "phase": "evaluate", "ordinal": 0}
    return askings(
        Record(seq=seq, commit=seq, causation=0, correlation="", event=event, **about)  # type: ignore[arg-type]
        for seq, event in enumerate(events, 1)
    )


def test_a_question_is_asked_again_as_it_was_last_asked_with_the_memory() -> None:
    asked = found((plan("q", "ab"), True), (plan("q", "a", iteration=1), False), (plan("q", "b", iteration=2), True))
    [again] = to_ask(asked, A)
    assert again.asking.planned.iteration == 1 and again.removed == A
    [both] = to_ask(asked, A | B)
    assert both.asking.planned.iteration == 2 and both.removed == B


def test_principles_count_as_memories_and_what_did_not_fit_was_not_shown() -> None:
    asked = plan("q", "ab", principles=("p",))
    trim = BundleTrimmed(
        iteration=0, purpose="fresh", question_id="q", about="q", request_sha256="", memory_id="a", problem=""
    )
    [one] = found(asked, trim, verdict(asked, right=True))
    assert one.shown == {"b", "p"} and not to_ask([one], A) and to_ask([one], frozenset("p"))


@pytest.mark.parametrize(
    "changes",
    [
        {"is_bare": True},
        {"purpose": "bare"},
        {"purpose": "form"},
        {"routing_arm": RECALL},
        {"template": min(STEP_TEMPLATES)},
    ],
)
def test_bare_prompts_recalled_answers_and_episodes_are_in_no_number(changes: dict[str, Any]) -> None:
    assert not found((plan("q", "a", **changes), True))


def test_a_pair_needs_an_answer_of_both_kinds() -> None:
    wanted = to_ask(found(*((plan(name, "a"), name != "z") for name in "wxyz")), A)
    names = [each.name for each in wanted]
    assert pairs_of(wanted, {names[0]: False, names[1]: None, names[3]: True}) == [(True, False), (False, True)]


def test_the_coin_compares_its_two_sides_whatever_else_was_shown() -> None:
    asked = [(plan(f"in{n}", "a", coin=0.5), n % 2 == 0) for n in range(LEAST)]
    asked += [(plan(f"out{n}", "b", left="a", coin=0.5), n % 4 == 0) for n in range(LEAST)]
    asked += [(plan("untossed", "a"), True)]
    coin = coin_of(found(*asked), A)
    assert (coin.with_memory, coin.held_back, coin.difference) == (LEAST, LEAST, 0.25)
    assert coin_of(found(*asked[1:]), A).missing == 1 and coin_of(found(*asked[1:]), A).low is None


def test_the_chance_of_two_sides_of_a_coin_is_that_of_the_exact_test_and_needs_both() -> None:
    asked = [(plan(f"in{n}", "a", coin=0.5), False) for n in range(LEAST)]
    asked += [(plan(f"out{n}", left="a", coin=0.5), True) for n in range(LEAST)]
    assert chance_of(coin_of(found(*asked), A)) == pytest.approx(2 / comb(2 * LEAST, LEAST))
    assert chance_of(coin_of(found(*asked[1:]), A)) is None


def test_the_association_is_with_questions_of_the_same_type_since_the_memory_was_there() -> None:
    before = [(plan("early", "b"), True)]
    saw = [(plan(f"saw{n}", "a", iteration=1), True) for n in range(3)]
    others = [(plan("late", "b", iteration=1), False), (plan("other", "b", task_type="u", iteration=1), True)]
    association = association_of(found(*before, *saw, *others), A)
    assert (association.with_memory, association.held_back, association.difference) == (3, 1, 1.0)


def test_a_memory_shown_to_missed_questions_only_because_they_are_asked_again_is_not_associated_with_misses() -> None:
    # Of each question the chance to be right is its own, whatever is shown: half are always right, half never.
    first = [(plan(f"q{n}", "ab"[n // 2 % 2]), n % 2 == 0) for n in range(80)]
    again = [(plan(f"q{n}", "a", purpose="revisit", iteration=1), False) for n in range(80) if n % 2]
    association = association_of(found(*first, *again), A)
    assert (association.with_memory, association.held_back, association.difference) == (40, 40, 0.0)
