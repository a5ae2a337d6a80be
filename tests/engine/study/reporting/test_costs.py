"""Calls, tokens, dollars and latency."""

import datetime
from typing import Any

import pytest

from mage_es.engine.run.pricing import Price, Prices
from mage_es.engine.study.reporting.tables import calls, cost, latency
from mage_es.events.vocabulary import EmbeddingCalled


def priced(model: str) -> Prices:
    return Prices([Price(models=(model,), input=1000.0, output=2000.0, source="x", date=datetime.date(2026, 1, 1))])


@pytest.mark.paper("tables, cost")
def test_calls_tokens_and_dollars_are_by_tier_and_shares_have_their_range(bench: Any, cells: Any) -> None:
    make = bench.tools
    teacher = {"tier": "guidance", "purpose": "ontology_v1", "model": "anthropic/sage"}
    for seed, answers in ((1, 3), (2, 7)):
        events = [make.called(f"q{n}", purpose="fresh", iteration=0) for n in range(answers)]
        events += [make.called("ontology", **teacher)]
        bench.run(f"r{seed}", seed=seed, events=events, guidance="anthropic/sage", after="1")
    table = cost(bench.study(prices=priced("anthropic/sage")))
    whole, exams, one = cells(table)
    # 2 of 12 calls are guidance; 1 of 4 and 1 of 8. A call has 10 and 5 tokens, a teacher's costs 0.01 + 0.01 dollars.
    assert whole == [
        "All runs",
        "2",
        "16.7",
        "12.5 to 25.0",
        "10",
        "2",
        "0",
        "0.1",
        "0.0",
        "0",
        "0.0000",
        "0.0400",
        "0.0000",
    ]
    assert exams[:6] == ["All exams", "2", "0.0", "0.0 to 0.0", "0", "0"]
    assert one[4:6] == ["5.0 ± 2.8 n=2", "1.0 ± 0.0 n=2"]
    assert one[11] == "0.0200 ± 0.0000 n=2"


def embedded(number: int, **changes: Any) -> EmbeddingCalled:
    known = {"purpose": "vectors", "texts": 64, "tries": 0, "request_sha256": "", "model": "openai/e", **changes}
    return EmbeddingCalled(iteration=0, number=number, input_tokens=500, **known)


def test_a_served_embedder_is_a_tier_where_there_is_one_and_no_agent_asks_it(bench: Any, cells: Any) -> None:
    make = bench.tools
    events = [make.called("q", purpose="fresh", iteration=0), embedded(1, purpose="fingerprint"), embedded(2)]
    bench.run("served", events=events, after="1", facts={"latest": [embedded(3)]})
    bench.run("plain", seed=2, events=[make.called("q", purpose="fresh", iteration=0)], after="1")
    study = bench.study(prices=priced("openai/e"))
    table = cost(study)
    assert table.columns[4:8] == tuple(f"calls: {tier}" for tier in ("execution", "guidance", "judge", "embedder"))
    whole, exams, _ = cells(table)
    assert (whole[4:8], whole[11], whole[15]) == (["2", "0", "0", "2"], "1", "1.0000")
    assert (exams[7], exams[2]) == ("1", "0.0")
    assert [row[:3] for row in cells(calls(study))][-2:] == [
        ["-", "embedder", "fingerprint"],
        ["-", "embedder", "vectors"],
    ]


def test_what_came_in_batches_costs_what_batches_cost(bench: Any, cells: Any) -> None:
    price = Price(
        models=("anthropic/sage",), input=1000.0, output=2000.0, source="x", date=datetime.date(2026, 1, 1), batch=0.5
    )
    event = bench.tools.called("q", purpose="fresh", iteration=0, model="anthropic/sage", batched=True)
    bench.run("r", events=[event], after="1")
    assert cells(cost(bench.study(prices=Prices([price]))))[0][10] == "0.0100"


def test_a_model_without_a_price_leaves_a_dash_and_the_way_to_give_one(bench: Any, cells: Any) -> None:
    make = bench.tools
    bench.run("r", events=[make.called("q", purpose="fresh", iteration=0, model="nobody/knows")], after="1")
    table = cost(bench.study())
    assert cells(table)[0][10] == "-"
    assert "No price is known for nobody/knows: give one with --prices FILE." in table.notes


@pytest.mark.paper("tables, cost")
def test_every_call_stands_under_its_agent_tier_and_purpose(bench: Any, cells: Any) -> None:
    make = bench.tools
    events = [make.called("q0", purpose="fresh", iteration=0), make.called("q1", purpose="fresh", iteration=0)]
    judge = make.called("q0", tier="judge", purpose="judge_v1")
    bench.run("r", events=events, after="1", facts={"latest": [make.called("q0"), judge]})
    table = calls(bench.study())
    assert cells(table) == [
        ["Learner", "execution", "exam", "0", "1"],
        ["Learner", "execution", "fresh", "2", "0"],
        ["Critic", "judge", "judge_v1", "0", "1"],
    ]
    assert table.notes == ("No model calls: SkillDiscovery, Navigator, Explorer, Curator.",)


@pytest.mark.paper("tables, latency")
def test_the_latency_of_a_question_is_all_calls_of_its_course_added_up(bench: Any, cells: Any) -> None:
    make = bench.tools
    course = [make.called("q0/1", ms=300), make.called("q0", ms=200), make.called("q1", ms=1500)]
    slow_judge = make.called("q1", tier="judge", purpose="judge_v1", ms=9000)
    bench.run("r", after="10", facts={"latest": [*course, slow_judge]})
    bench.baseline("z", "zero_shot_cot", "10", facts=[make.called("q0", ms=100), make.called("q1", ms=200)])
    (row,) = cells(latency(bench.study()))
    assert row[1:3] == ["0.150", "50.0"]
    assert row[-2:] == ["1.000", "50.0"]  # (0.5 + 1.5) / 2; the judge's time is not the learner's


def test_the_calls_of_a_run_that_has_not_finished_are_said_to_be_in_the_means(bench: Any) -> None:
    bench.run("whole", after="1")
    bench.run("broken", seed=2, finished=False)
    assert "Unfinished, and counted as far as they got: broken." in cost(bench.study()).notes
