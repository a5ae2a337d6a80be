"""Clients in doubt: whose cases contradict what the others say, and what becomes of them."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from mage_es.engine.commands import Asked, PlanAnswers
from mage_es.engine.rules.choice import Choosing
from mage_es.engine.rules.doubt import P, clients_in_doubt, doubted, why_doubted
from mage_es.engine.rules.metric import metric_of, outvoted
from mage_es.engine.rules.retrieval import SEARCH_ARMS, Query, Terms, retrieve
from mage_es.engine.rules.routes import ROUTING_ARMS
from mage_es.engine.seams.benchmark import Question
from mage_es.events.vocabulary import MemoryAppended, MemoryQuarantined, Origin
from mage_es.projections.memory import Memory
from tests.engine.rules.states import Built, setting_of
from tests.engine.rules.test_retrieval import memory_of, remembered, unit

Case = tuple[str, bool, Any, str]
TOPICS = 6
RULE, EVIL = (0, 1, 2, 3, 4, 5), (2, 3, 4, 5, 0, 1)
HONEST = ("ann", "bob", "cid", "dee", "eve")
TERMS = Terms(bundle=3, long_context=500, strategy_floor=0.0, exclude_self=True, is_measured=True)


def given(clients: Mapping[str, Sequence[int]], each: int, *, noise: float = 0.0, seed: int = 3) -> list[Case]:
    """Return so many cases of each client; by name, which team it says that each topic has."""
    draw = np.random.default_rng(seed)
    cases = []
    for client, teams in clients.items():
        for place in range(each):
            topic = place % len(teams)
            team = draw.integers(TOPICS) if draw.random() < noise else teams[topic]
            cases.append((client, False, near(topic, draw), f"team {team}"))
    return cases


def near(topic: int, draw: np.random.Generator, topics: int = TOPICS + 2) -> Any:
    vector = draw.normal(scale=0.1, size=topics)
    vector[topic] += 1.0
    return unit(*vector)


def honest(*names: str) -> dict[str, Sequence[int]]:
    return dict.fromkeys(names or HONEST, RULE)


def appended(cases: Sequence[Case]) -> list[MemoryAppended]:
    def case(place: int) -> MemoryAppended:
        client, _, vector, answer = cases[place]
        event = remembered(f"{place:03}", vector, ordinal=place, question=f"case {place}", answer=answer)
        return msgspec.structs.replace(event, origin=Origin(by=client))

    return [case(place) for place in range(len(cases))]


def remember(cases: Sequence[Case]) -> Memory:
    return memory_of(*appended(cases))


def shown(memory: Memory, topic: int, client: str = "") -> set[str]:
    asked = Query(near(topic, np.random.default_rng(5)), "t", "asked", "What is asked?", 0, client=client)
    bundle = retrieve("nearest", asked, memory, TERMS._replace(bundle=20))
    return {memory.row(hit.memory_id).origin.by for hit in (*bundle.success, *bundle.failure)}


def test_a_client_that_contradicts_all_others_is_in_doubt_after_some_six_cases() -> None:
    doubts = clients_in_doubt(given(honest() | {"mal": EVIL}, 6))
    assert list(doubts) == ["mal"] and doubts["mal"].p <= P
    assert doubts["mal"].agreed == 0 < doubts["mal"].asked
    assert clients_in_doubt(given(honest() | {"mal": EVIL}, 2)) == {}  # too little is known yet


@pytest.mark.parametrize("noise", [0.1, 0.3, 1.0])
def test_honest_clients_are_not_in_doubt_however_often_all_of_them_slip(noise: float) -> None:
    names = [f"client {number}" for number in range(10)]
    assert [clients_in_doubt(given(honest(*names), 30, noise=noise, seed=seed)) for seed in range(5)] == [{}] * 5


def test_no_number_of_cases_under_one_name_outweighs_the_others() -> None:
    flood = given({"mal": EVIL}, 600, seed=4)
    assert list(clients_in_doubt([*given(honest(), 12), *flood])) == ["mal"]


def test_clients_in_league_are_found_one_after_another_as_long_as_they_are_the_fewer() -> None:
    league = {"mal": EVIL, "max": EVIL}
    assert set(clients_in_doubt(given(honest() | league, 40))) == set(league)


def test_a_league_that_outnumbers_the_honest_puts_these_in_doubt() -> None:
    league = dict.fromkeys(("mal", "max", "mia", "moe", "mud"), EVIL)
    assert set(clients_in_doubt(given(honest("ann", "bob") | league, 40))) == {"ann", "bob"}


def test_of_two_who_contradict_each_other_neither_is_in_doubt_and_a_single_client_is_compared_with_nothing() -> None:
    assert clients_in_doubt(given(honest("ann") | {"mal": EVIL}, 60)) == {}
    assert clients_in_doubt(given({"": RULE, "mal": EVIL}, 60)).keys() == {"mal"}
    assert doubted(remember(given({"": RULE, "mal": EVIL}, 60)), "t") == {}
    assert doubted(remember(given({"": RULE, "ann": RULE, "mal": EVIL}, 60)), "t").keys() == {"mal"}
    assert doubted(remember([]), "t") == {} == doubted(remember(given(honest(), 9)), "another type")


def test_an_honest_newcomer_in_a_field_of_its_own_is_not_in_doubt() -> None:
    draw = np.random.default_rng(7)
    newcomer = [("new", False, near(TOPICS + place % 2, draw), f"team {TOPICS + place % 2}") for place in range(60)]
    assert clients_in_doubt([*given(honest(), 40, noise=0.1), *newcomer]) == {}


def test_who_comes_after_a_change_of_the_rule_is_not_judged_by_what_was_right_before() -> None:
    before, after = given(honest(), 40), given(honest() | {"new": EVIL}, 6)
    now = dict.fromkeys(HONEST, EVIL) | {"new": EVIL}
    after = given(now, 20, seed=8)
    assert clients_in_doubt([*((who, True, *rest) for who, _, *rest in before), *after]) == {}
    assert "new" in clients_in_doubt([*before, *given(honest() | {"new": EVIL}, 20, seed=8)])


def test_what_a_client_in_doubt_gave_is_shown_to_itself_only_until_its_record_turns() -> None:
    memory = remember(given(honest() | {"mal": EVIL}, 18))
    assert shown(memory, 0) == {*HONEST} == shown(memory, 0, "ann")
    assert shown(memory, 0, "mal") == {*HONEST, "mal"}
    own = [row for row in memory.rows() if row.origin.by == "mal"]
    assert why_doubted(memory, own[0]).startswith("Its client, mal, is in doubt: of its ")
    assert why_doubted(memory, next(iter(memory.rows()))) == ""
    for row in own[1:]:
        memory.apply(MemoryQuarantined(memory_id=row.memory_id, reason="wrong", by="bo"))
    # It is no longer in doubt, but what is left of it is wrong, and its like say so.
    assert doubted(memory, "t") == {} and outvoted(memory) == {own[0].memory_id}


def test_a_principle_and_a_type_strategy_of_a_client_in_doubt_are_shown_to_itself_only() -> None:
    built = Built()
    for event in appended(given(honest() | {"mal": EVIL}, 18)):
        built.state.apply(event)
    query = near(0, np.random.default_rng(5))
    for client in ("mal", "ann", ""):
        rule = remembered(f"rule of {client}", query, ordinal=900, skill="goal", outcome="principle")
        built.state.apply(msgspec.structs.replace(rule, origin=Origin(by=client)))
    how = remembered("how", query, ordinal=901, outcome="failure_memory", kind="type_strategy")
    built.state.apply(msgspec.structs.replace(how, origin=Origin(by="mal")))
    question = Question(id="q", benchmark="", split="test", task_type="t", question="What?", gold="")
    arms = {"failure_only", "cot_principles"}
    for arm in (*SEARCH_ARMS, *ROUTING_ARMS):
        built.reward(arm, alpha=100 if arm in arms else 1, beta=1 if arm in arms else 100, pulls=100)

    def shown_to(client: str) -> set[str]:
        command = PlanAnswers(0, "exam", [], frozen=True, client=client)
        found = Choosing(setting_of(), built.state, command).choose(Asked(question, "t", query, "ask"), "goal")
        return {*found.principles, *found.bundle.ids}

    assert shown_to("ann") == shown_to("") == {"rule of ann", "rule of "}
    assert shown_to("mal") == {"rule of mal", "rule of ann", "rule of ", "how"}


def test_a_client_that_is_right_again_comes_back_with_enough_right_cases() -> None:
    cases = given(honest() | {"mal": EVIL}, 18)
    assert clients_in_doubt([*cases, *given({"mal": RULE}, 12, seed=9)]).keys() == {"mal"}
    assert clients_in_doubt([*cases, *given(honest() | {"mal": RULE}, 200, seed=9)]) == {}


def test_no_metric_is_learned_from_a_client_in_doubt() -> None:
    plain, poisoned = given(honest(), 30), given({"mal": EVIL}, 30, seed=4)
    learned, with_poison = (metric_of(remember(cases), "t") for cases in (plain, [*plain, *poisoned]))
    assert (learned is None) == (with_poison is None)
    if learned and with_poison:
        assert all(np.array_equal(one, other) for one, other in zip(learned, with_poison, strict=True))
