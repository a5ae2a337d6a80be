"""Who decided, how far rule and judge agree, and the official metrics of recorded replies."""

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from msgspec.structs import replace

from mage_es.engine.study.reporting.tables import agreement, hotpotqa, judging, metrics


def answers(*kinds: tuple[bool, bool, str]) -> pl.DataFrame:
    return pl.DataFrame(kinds, schema=["correct", "strict", "judge"], orient="row")


@pytest.mark.paper("tables, judges")
def test_agreement_is_the_share_of_equal_verdicts_with_kappa() -> None:
    found = agreement(
        answers((True, True, "rule"), (True, False, "x/judge"), (False, False, "rule"), (False, False, "rule"))
    )
    # By chance 0.5 * 0.25 + 0.5 * 0.75 = 0.5 agree, so kappa is (0.75 - 0.5) / 0.5.
    assert found == pytest.approx((75.0, 25.0, 50.0, 25.0, 75.0, 0.5))


def test_where_all_are_right_by_rule_agreement_is_whole() -> None:
    assert agreement(answers((True, True, "rule")))[-1] == 1.0


def test_evolution_and_exams_stand_apart(bench: Any, cells: Any) -> None:
    events = [bench.tools.judged("a", "j", iteration=0, purpose="fresh")]
    bench.run("r", events=events, after="1jn0")  # what is undecided is not among them
    table = judging(bench.study())
    assert cells(table) == [
        ["wordmath", "evolution", "1", "0.0", "100.0", "100.0", "0.0", "0.0", "0.000"],
        ["wordmath", "exams", "3", "66.7", "33.3", "66.7", "33.3", "66.7", "0.400"],
    ]


@pytest.fixture
def hotpot(tmp_path: Path) -> Path:
    """Two questions of HotpotQA's form, whose answers are Ann and Bob Smith."""
    records = [
        {
            "_id": f"q{number}",
            "question": f"Who is number {number}?",
            "answer": answer,
            "type": "bridge",
            "level": "easy",
            "supporting_facts": [["T", 0]],
            "context": [["T", ["A sentence."]]],
        }
        for number, answer in enumerate(("Ann", "Bob Smith"))
    ]
    folder = tmp_path / "data" / "hotpotqa"
    folder.mkdir(parents=True)
    (folder / "hotpot_dev_distractor_v1.json").write_text(json.dumps(records))
    (folder / "hotpot_train_v1.1.json").write_text(json.dumps([{**records[0], "_id": "t0", "question": "Other?"}]))
    return tmp_path / "data"


@pytest.mark.paper("tables, judges")
def test_hotpotqa_has_exact_match_f1_and_lenient_of_the_recorded_replies(bench: Any, cells: Any, hotpot: Path) -> None:
    replies = [bench.tools.called("q0", text="Answer: Ann"), bench.tools.called("q1", text="Answer: Bob")]
    bench.run("r", benchmark="hotpotqa", after="11", data=hotpot, facts={"latest": replies})
    study = bench.study()
    # F1 of Bob against Bob Smith: precision 1, recall 1/2, so 2/3.
    assert cells(hotpotqa(study)) == [["hotpotqa", "full", "100.0", "50.0", "83.3", "100.0"]]
    found = {row[-2]: row[-1] for row in cells(metrics(study))}
    assert (found["em"], found["f1"]) == ("0.500", "0.833")


def test_of_a_vote_the_reply_that_won_is_measured_and_an_answer_in_no_reply_as_it_was_given(
    bench: Any, cells: Any, hotpot: Path
) -> None:
    called, judged = bench.tools.called, bench.tools.judged
    given = {"q0": "ann", "q1": "Bob Smith"}
    verdicts = [replace(judged(name, "1"), answer=answer) for name, answer in given.items()]
    votes = [called("q0/1", text="Answer: ann"), called("q0/2", text="Answer: ann"), called("q0", text="Answer: Eve")]
    actions = [
        called(f"q1/{place}", text=f"Action: {text}") for place, text in ((1, "search[Bob]"), (2, "finish[Bob]"))
    ]
    bench.baseline("b", "self_consistency", "", benchmark="hotpotqa", data=hotpot, facts=[*votes, *actions, *verdicts])
    assert cells(hotpotqa(bench.study())) == [["hotpotqa", "SC (10)", "100.0", "100.0", "100.0", "100.0"]]


def test_a_question_that_came_to_no_answer_is_measured_as_an_empty_one(bench: Any, cells: Any, hotpot: Path) -> None:
    nothing = [replace(bench.tools.judged("q0", "0"), answer=""), bench.tools.called("q0/1", text="Thought: hm")]
    bench.baseline("b", "react", "", benchmark="hotpotqa", search="record", data=hotpot, facts=nothing)
    assert cells(hotpotqa(bench.study())) == [["hotpotqa", "ReAct", "0.0", "0.0", "0.0", "0.0"]]


def test_in_a_copy_without_gold_answers_the_metrics_are_dashes_and_the_reason_is_told(
    bench: Any, cells: Any, hotpot: Path
) -> None:
    run = bench.run("r", benchmark="hotpotqa", after="10", data=hotpot)
    shutil.rmtree(run.log_path / "golds")
    table = hotpotqa(bench.study())
    assert cells(table) == [["hotpotqa", "full", "50.0", "-", "-", "-"]]
    assert any("without its gold answers" in note for note in table.notes)
