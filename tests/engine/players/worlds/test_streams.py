"""A stream is an order of tasks: five of them, the same for the same seed."""

from __future__ import annotations

from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.players.worlds.streams import ORDERS, stream
from mage_es.engine.seams.benchmark import Question


def questions(name: str) -> list[Question]:
    return list(open_benchmark(name, seed=1).questions("evolution"))


def numbers(ordered: list[Question], name: str) -> list[int]:
    return [int(question.meta[name]) for question in ordered]


def test_every_order_has_each_question_once_and_no_two_are_alike() -> None:
    for name in ("private-labels", "private-drift", "private-composition", "wordmath"):
        given = questions(name)
        orders = [[question.id for question in stream(given, seed=3, order=order)] for order in range(ORDERS)]
        assert len(set(map(tuple, orders))) == ORDERS == 5
        assert all(sorted(order) == sorted(question.id for question in given) for order in orders)


def test_an_order_depends_on_the_seed_and_not_on_how_the_questions_lie() -> None:
    given = questions("private-labels")
    assert stream(given, seed=3, order=2) == stream(given[::-1], seed=3, order=2)
    assert stream(given, seed=3, order=2) != stream(given, seed=4, order=2)


def test_the_first_order_is_by_time_and_no_order_mixes_what_a_rule_s_change_divides() -> None:
    given = questions("private-drift?changes=2")
    times = numbers(stream(given, seed=1), "time")
    assert times == sorted(times) != numbers(given, "time")
    for order in range(ORDERS):
        phases = numbers(stream(given, seed=1, order=order), "phase")
        assert phases == sorted(phases) and {*phases} == {0, 1, 2}


def test_a_compositional_stream_builds_up_and_a_naive_one_is_mixed() -> None:
    given = questions("private-composition")
    for order in range(ORDERS):
        types = [question.task_type.rpartition("-")[2] for question in stream(given, seed=1, order=order)]
        assert list(dict.fromkeys(types)) == ["keeping", "serving", "bringing"]
        assert types == sorted(types, key=["keeping", "serving", "bringing"].index)
        naive = numbers(stream(given, seed=1, order=order, naive=True), "phase")
        assert {*naive[:20]} == {*naive[-20:]} == {0, 1, 2}
