"""Which settings part the rows of a table, and which do not since nothing of the result comes from them."""

from typing import Any

import pytest

from mage_es.engine.study.reporting.places import ALL, EXAMINED, PARTS, differing, values


@pytest.mark.parametrize("field", PARTS)
def test_a_switch_is_nothing_else_that_has_to_agree(bench: Any, field: str) -> None:
    bench.run("full")
    bench.run("less", **{field: PARTS[field]})
    one, other = bench.study().runs
    assert values(one) == values(other)


def test_settings_that_differ_part_rows(bench: Any) -> None:
    bench.run("one", seed=1, after="1n")
    bench.run("two", seed=2, after="10", guard_drop=0.2, judge="some/judge")
    assert {place.setting for place in bench.study().full()} == {
        "no judge, guard_drop 0.03",
        "judge some/judge, guard_drop 0.2",
    }


def test_of_episodes_their_length_is_a_condition(bench: Any) -> None:
    tools = bench.tools
    for name, steps in (("one", 9), ("two", 10)):
        played = [tools.played("q0", score=1, steps=3, unparsed=0, iteration=0, purpose="fresh")]
        bench.run(name, events=played, after="1", episode_steps=steps, benchmark="workshop")
    assert [place.setting for place in bench.study().full()] == ["episode_steps 9", "episode_steps 10"]


def test_more_questions_than_there_are_is_one_size_however_many_were_asked_for(bench: Any) -> None:
    for name, seed, wanted, there in (("one", 1, 200, 43), ("two", 2, 300, 42)):
        bench.run(name, seed=seed, held_out=wanted, taken={"held_out": there, "anchors": 100}, after="11")
    study = bench.study()
    assert [values(run)["held_out"] for run in study.runs] == [ALL, ALL]
    assert [place.setting for place in study.full()] == [""]
    bench.run("three", held_out=20, taken={"held_out": 20, "anchors": 100}, after="11")
    assert [place.setting for place in bench.study().full()] == ["held_out 20", "held_out all"]


def test_a_setting_of_the_guard_parts_the_guarded_and_pairs_those_without_guard_by_what_they_had(bench: Any) -> None:
    for drop in (0.03, 0.2):
        bench.run(f"on-{drop}", guard_drop=drop, after="11")
        bench.run(f"off-{drop}", guard_drop=drop, guard="off", after="10")
    places = bench.study().places
    assert [(place.setting, place.system) for place in places] == [
        (f"guard_drop {drop}", system) for drop in (0.03, 0.2) for system in ("full", "no guard")
    ]


def test_runs_that_differ_in_nothing_asked_for_part_nothing(bench: Any) -> None:
    bench.run("one", pool=60)
    bench.run("two", pool=90)
    assert differing(map(values, bench.study().runs), EXAMINED) == []
