"""Cases that are out of date: found by those that came later, and shown no more."""

import msgspec
import numpy as np
import pytest

from mage_es.engine.rules.drift import LEAST, Dated, Since, changes, since
from mage_es.engine.rules.retrieval import Query, Terms, retrieve
from mage_es.events.vocabulary import MemoryAppended, MemoryQuarantined, Origin
from mage_es.projections.memory import Memory
from tests.engine.rules.test_retrieval import memory_of, remembered, unit

TOPICS, EACH = 4, 24
TERMS = Terms(bundle=3, long_context=500, strategy_floor=0.0, exclude_self=True, is_measured=True)


def text(topic: int, draw: np.random.Generator) -> np.ndarray:
    vector = draw.normal(scale=0.1, size=TOPICS)
    vector[topic] += 1.0
    return unit(*vector)


def stream(
    *moves: tuple[int, ...], each: int = EACH, noise: float = 0.0, clients: str = "", seed: int = 3
) -> list[Dated]:
    """Return cases of one iteration after another; `moves` says which team has each topic in it."""
    draw = np.random.default_rng(seed)
    found = []
    for iteration, teams in enumerate(moves):
        for place in range(each):
            topic = place % TOPICS
            team = draw.integers(TOPICS) if draw.random() < noise else teams[topic]
            client = clients[place // TOPICS % len(clients)] if clients else ""
            found.append(Dated(iteration, text(topic, draw), f"team {team}", client))
    return found


FIRST, OTHER, PART = (0, 1, 2, 3), (1, 2, 3, 0), (2, 1, 2, 3)


def appended(cases: list[Dated]) -> list[MemoryAppended]:
    def case(place: int) -> MemoryAppended:
        iteration, vector, answer, client = cases[place]
        event = remembered(f"{place:03}", vector, ordinal=place, question=f"case {place}", answer=answer)
        return msgspec.structs.replace(event, iteration=iteration, origin=Origin(by=client))

    return [case(place) for place in range(len(cases))]


def remember(cases: list[Dated]) -> Memory:
    return memory_of(*appended(cases))


def shown(memory: Memory, topic: int, terms: Terms = TERMS) -> set[str]:
    asked = Query(text(topic, np.random.default_rng(5)), "t", "asked", "What is asked?", 0)
    bundle = retrieve("nearest", asked, memory, terms)
    return {memory.row(hit.memory_id).answer for hit in (*bundle.success, *bundle.failure)}


def test_after_another_rule_only_its_own_cases_are_up_to_date() -> None:
    found = changes(stream(FIRST, FIRST, FIRST, OTHER))
    assert found == Since(3) and found.is_outdated(2, "team 0") and not found.is_outdated(3, "team 0")


def test_the_last_of_several_changes_counts() -> None:
    assert changes(stream(FIRST, FIRST, OTHER, OTHER, FIRST)).all_answers == 4


def test_a_change_is_dated_by_all_cases_that_are_near_to_each_other_on_either_side_of_it() -> None:
    found = [changes(stream(*[FIRST] * 6, *[OTHER] * 6, noise=0.5, seed=seed)).all_answers for seed in range(24)]
    dated = [first for first in found if first]
    assert len(dated) == 20 and dated.count(6) >= 18


def test_where_a_part_of_the_rule_changed_only_the_answer_that_it_took_away_is_out_of_date() -> None:
    found = changes(stream(FIRST, FIRST, FIRST, PART, PART))
    assert found == Since(0, {"team 0": 3})
    assert found.is_outdated(2, "Team 0 ") and not found.is_outdated(2, "team 1")


@pytest.mark.parametrize("noise", [0.0, 0.3, 1.0])
def test_a_rule_that_stays_makes_nothing_out_of_date_however_noisy_and_many_the_later_cases_are(noise: float) -> None:
    assert changes(stream(*[FIRST] * 12, noise=noise)) == Since()
    few_before = [*stream(FIRST, each=LEAST), *[case._replace(iteration=1) for case in stream(*[FIRST] * 12)]]
    assert changes(few_before) == Since()


def test_one_days_cases_show_another_rule_though_some_slip() -> None:
    slips = stream(*[FIRST] * 6, OTHER, noise=0.2)
    assert changes(slips).all_answers == 6 and changes(slips[:-EACH]) == Since()


def test_what_a_single_client_of_several_says_is_no_change_of_the_rule() -> None:
    known = stream(FIRST, FIRST, FIRST, clients="abc")
    flood = [case._replace(iteration=3, client="mal") for case in stream(OTHER, OTHER)]
    assert changes([*known, *flood]) == Since()
    assert changes([*known, *(case._replace(client="") for case in flood)]) == Since(3)
    assert changes(stream(FIRST, FIRST, FIRST, OTHER, clients="abc")) == Since(3)
    assert changes(stream(FIRST, FIRST, FIRST, OTHER, clients="a")) == Since(3)


def test_questions_about_something_new_make_nothing_out_of_date() -> None:
    draw = np.random.default_rng(8)
    asked = [(iteration, place % 2 + 2 * (iteration == 3)) for iteration in range(4) for place in range(EACH)]
    assert changes([Dated(iteration, text(topic, draw), f"team {topic}") for iteration, topic in asked]) == Since()


def test_a_question_that_is_asked_again_has_the_right_answer_that_it_had() -> None:
    cases = stream(FIRST, FIRST, FIRST, OTHER)
    memory = remember(cases)
    again = memory.row("000")
    # A right answer is kept as the learner wrote it, a missed one as its gold answer is written.
    late = remembered("late", cases[0].vector, ordinal=99, question=again.question, answer=f" {again.answer.title()}")
    memory.apply(msgspec.structs.replace(late, question_id=again.question_id, iteration=3, outcome="failure_memory"))
    assert memory.taught(memory.row("late")) == 0 and shown(memory, 0) == {"team 1"}


def test_answers_that_no_two_questions_share_and_few_cases_make_nothing_out_of_date() -> None:
    alone = [case._replace(answer=str(place)) for place, case in enumerate(stream(FIRST, OTHER))]
    assert changes(alone) == Since()
    assert changes(stream(FIRST, OTHER, each=LEAST - 1)) == Since() == changes([])


def test_what_is_out_of_date_is_shown_no_more_until_what_came_later_is_out_of_use() -> None:
    memory = remember(stream(FIRST, FIRST, FIRST, OTHER))
    assert shown(memory, 0) == {"team 1"}
    assert "team 0" in shown(memory, 0, TERMS._replace(is_measured=False))
    for place in range(3 * EACH, 4 * EACH):
        memory.apply(MemoryQuarantined(memory_id=f"{place:03}", reason="", by=""))
    assert since(memory, "t") == Since() and shown(memory, 0) == {"team 0"}
    assert since(memory, "a type without cases") == Since()


def test_questions_that_were_missed_and_later_solved_are_no_sign_of_a_change_since() -> None:
    # Nothing tells the answers, so distinct questions seldom agree; but a question always agrees with itself. Of sixty,
    # forty-five were asked again, and then thirty others.
    draw = np.random.default_rng(4)
    told = [(unit(*draw.normal(size=16)), f"team {draw.integers(4)}") for _ in range(90)]
    turns = ((0, range(60)), (1, range(45)), (2, range(60, 90)))
    events = [
        msgspec.structs.replace(
            remembered(
                f"{turn}-{place}", told[place][0], ordinal=place, answer=told[place][1], question_id=f"q{place}"
            ),
            iteration=turn,
        )
        for turn, places in turns
        for place in places
    ]
    assert since(memory_of(*events), "t") == Since()
