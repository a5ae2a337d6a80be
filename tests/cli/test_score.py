"""`mage-es score`: one JSON object in, one out, and the totals apart."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mage_es.engine.bench.webshop.benchmark import PAPER, WebShop
from mage_es.engine.bench.webshop.reference import solution
from mage_es.engine.benchmarks.registry import open_benchmark
from tests.engine.bench.webshop.small import DATA, needs_data


def test_each_question_is_one_line_on_stdout_and_the_totals_are_on_stderr(
    mage: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "test.jsonl").write_text('{"question": "1 + 1?", "answer": "<<1+1=2>>\\n#### 2"}\n')
    (tmp_path / "mine.jsonl").write_text('{"id": "gsm8k-test-0", "prediction": "It is 2 or 3."}\n')
    words = ["score", "gsm8k", "--records", str(tmp_path / "test.jsonl"), "--predictions", str(tmp_path / "mine.jsonl")]
    done = mage(*words)
    assert json.loads(done.out) == {
        "id": "gsm8k-test-0",
        "answer": "",
        "metrics": {"accuracy": 0.0, "strict": 0.0},
        "missing": False,
    }
    assert "1 questions, 0 without a prediction" in done.err
    assert "accuracy: 0.0000" in done.err
    document = json.loads(mage(*words, "--strict", "--json").out)
    assert (document["strict"], document["totals"]) == (True, {"accuracy": 0.0})


def test_a_judge_that_is_named_is_asked_and_a_table_says_how_far_it_agrees(
    mage: Callable[..., Any], tmp_path: Path
) -> None:
    benchmark = open_benchmark("truthworld", seed=7)
    known = next(question for question in benchmark.questions("test") if question.gold == "surplus")
    other = next(question for question in benchmark.questions("test") if question.gold.isdecimal())  # not its business
    rows = [{"id": question.id, "prediction": f"Answer: {question.gold}"} for question in (known, other)]
    (tmp_path / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ["score", "truthworld", "--seed", "7", "--predictions", str(tmp_path / "mine.jsonl")]
    done = mage(*words, "--judge", "truth/judge")
    assert done.code == 0
    judged = {line["id"]: line["metrics"]["judge"] for line in map(json.loads, done.out.splitlines())}
    assert (judged[known.id], judged[other.id], len(judged)) == (1.0, 0.0, len(benchmark.questions("test")))
    assert "truth/judge on 2 predictions (judge_v1):" in done.err
    assert "rule right             1           1" in done.err and "agreement 50.0 %" in done.err
    document = json.loads(mage(*words, "--judge", "truth/judge", "--json").out)["judge"]
    assert (document["both"], document["rule_only"], document["kappa"]) == (1, 1, 0.0)
    assert mage(*words, "--judge", "truth/judge", "--max-calls", "1").code == 3
    assert mage(*words, "--judge", "builtin/analogist").code == 2


def test_help_says_that_in_a_run_the_rule_decides_first(mage: Callable[..., Any]) -> None:
    assert "the rule decides first" in " ".join(mage("score", "--help").out.split())


@pytest.mark.slow
def test_a_list_of_actions_is_played_as_an_episode_and_one_of_numbers_as_a_rollout_of_the_simulator(
    mage: Callable[..., Any], tmp_path: Path
) -> None:
    (tmp_path / "worlds.jsonl").write_text('{"seed": 6}\n')
    reached = []
    for actions in ([0, 5], ["Do"], ["Noop", "Do"]):  # an episode begins with a Noop of its own
        (tmp_path / "mine.jsonl").write_text(json.dumps({"id": "crafter-000000006", "prediction": actions}))
        done = mage("score", "crafter", "--records", "worlds.jsonl", "--predictions", "mine.jsonl", "--json")
        assert done.code == 0
        reached.append(json.loads(done.out)["predictions"][0]["metrics"]["collect_sapling"])
    assert reached == [1.0, 1.0, 0.0]


@pytest.mark.slow
@needs_data
def test_a_list_of_actions_in_the_shop_is_a_visit_and_the_totals_are_upstreams(
    mage: Callable[..., Any], tmp_path: Path
) -> None:
    shop = WebShop(42, DATA, preset=PAPER)
    question = shop.questions("test")[0]
    bought = solution(shop.store, shop.goals[int(question.meta["goal"])])
    actions = [line.partition("]: ")[0] + "]" for line in bought.splitlines()]
    (tmp_path / "mine.jsonl").write_text(json.dumps({"id": question.id, "prediction": actions}))
    done = mage("score", "webshop-100", "--data-dir", str(DATA), "--predictions", "mine.jsonl", "--json")
    assert done.code == 0
    report = json.loads(done.out)
    assert report["predictions"][0]["metrics"]["success"] == 1.0
    assert (report["questions"], report["missing"], report["totals"]["task_score"]) == (100, 99, 1.0)
