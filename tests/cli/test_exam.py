"""`mage-es exam` from the outside."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mage_es.cli.output import percent

FEW = ("--iterations", "2", "--pool", "20", "--held-out", "20", "--anchors", "10", "--gate", "off")
Command = Callable[..., Any]


def test_an_exam_makes_no_guidance_call(mage: Command, runs_dir: Path) -> None:
    outcome = mage("exam", "--questions", "12", "--json")
    report = json.loads(outcome.out)
    assert (outcome.code, report["total"], report["guidance_calls"]) == (0, 12, 0)


@pytest.mark.slow
def test_every_exam_is_compared_listed_verified_and_shown_and_none_is_taken_twice(
    mage: Command, runs_dir: Path
) -> None:
    then = dict(json.loads(mage("exam", "--at", "start", "--questions", "6", "--json").out)["answers"])
    first = mage("exam", "--questions", "4").out
    asked = [name for name, _ in json.loads(mage("exam", "--questions", "4", "--json").out)["answers"]]
    assert f"Before, in exam 0001-start: {25.0 * sum(then[name] for name in asked)} %" in first
    assert "points, 95 % " in first and "(sign test)" in first and "no model was called" not in first
    again = mage("exam", "--questions", "4").out
    assert "This exam was taken before: the result is the recorded one, and no model was called." in again
    mage("exam", "--questions", "4", "--control", "shuffled")
    heads = [exam["head"] for exam in json.loads(mage("verify", "--json").out)["exams"]]
    for said in (mage("verify"), mage("runs", "show")):
        rows = said.out.partition("Exams\n")[2].split("\n")[1:4]
        assert [row.split()[0] for row in rows] == ["0001-start", "0002-latest", "0003-latest-shuffled"]
        assert (said.code, [row.split()[-1] for row in rows]) == (0, [head[:16] for head in heads])
    assert "exam 0002-latest, " in mage("show", asked[0], "--exam", "2").out
    assert "exam 0003-latest-shuffled, " in mage("show", asked[0]).out
    assert "not asked in exam 9 in first, but in: exam 0001-start" in mage("show", asked[0], "--exam", "9").err
    shutil.rmtree(runs_dir / "first" / "exams" / "0003-latest-shuffled")
    missed = mage("verify")
    assert missed.code == 5 and "exam 0003-latest-shuffled" in missed.out and "FAILED" in missed.out


def test_the_folder_of_an_exam_is_told_from_a_damaged_run(mage: Command, runs_dir: Path) -> None:
    mage("exam", "--questions", "1")
    for words in (("verify",), ("runs", "show"), ("resume",), ("verify", "--repair")):
        outcome = mage(*words, "first/exams/0001-latest")
        assert (outcome.code, "the exam 0001-latest of first" in outcome.err) == (2, True)
        assert "damage" not in outcome.err and "delete" not in outcome.err


def test_an_exam_is_shown_as_a_table(mage: Command, runs_dir: Path) -> None:
    outcome = mage("exam", "first", "--at", "start", "--questions", "5", "--control", "shuffled")
    assert outcome.code == 0
    assert outcome.out.startswith("Exam 0001-start-shuffled of first at start, control shuffled\n")
    assert "0 guidance calls" in outcome.out


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--at", "iter-7"], "iter-"),
        (["--questions", "0"], "--questions"),
        (["--questions", "21"], "20"),
        (["--control", "shufled"], "shuffled"),
    ],
)
def test_what_cannot_be_examined_is_a_usage_error(mage: Command, runs_dir: Path, words: list[str], part: str) -> None:
    outcome = mage("exam", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert part in outcome.err


@pytest.mark.slow
def test_what_comes_next_is_the_exam_that_is_missing_and_then_the_report(mage: Command, runs_dir: Path) -> None:
    few = ("--questions", "2")
    assert mage("exam", *few).err.endswith("Next: mage-es exam first --at start\n")
    assert mage("exam", "--at", "start", *few).err.endswith("Next: mage-es report runs\n")
    shutil.rmtree(next((runs_dir / "first" / "exams").glob("*-latest")))
    assert mage("exam", "--at", "iter-0", *few).err.endswith("Next: mage-es exam first\n")


@pytest.mark.slow
def test_another_model_takes_the_exam_where_the_command_line_names_it_and_is_recorded(
    mage: Command, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MAGE_ES_EXECUTION", "builtin/copier")  # for runs to come
    few = ("--questions", "3")
    assert "Answered by builtin/analogist: " in mage("exam", *few).out
    other = mage("exam", *few, "--execution", "builtin/copier")
    assert "Answered by builtin/copier: " in other.out
    assert "By the run's own builtin/analogist, in exam 0001-latest: " in other.out
    rows = mage("runs", "show").out.partition("Exams\n")[2].split("\n")[1:3]
    assert [row.split()[:4] for row in rows] == [
        ["0001-latest", "latest", "none", "builtin/analogist"],
        ["0002-latest", "latest", "none", "builtin/copier"],
    ]
    assert mage("exam", "--at", "start", *few, "--execution", "builtin/copier").err.endswith(
        "Next: mage-es exam first --at start\n"
    ), "the run's own exam of the start is still to come"


@pytest.mark.slow
def test_a_control_says_what_it_showed_and_is_compared_with_its_state_first_and_then_with_the_start(
    mage: Command, runs_dir: Path
) -> None:
    few = ("--questions", "6")
    alone = mage("exam", *few, "--control", "permuted").out
    assert "There is no exam of this state without the control yet" in alone
    mage("exam", "--at", "start", *few)
    mage("exam", *few)
    words = " ".join(mage("exam", *few, "--control", "permuted").out.split())
    assert " of 6 questions were shown memories with each other's answers, " in words and " were shown none." in words
    first, then = (
        words.index(text) for text in ("Without the control, in exam 0003-latest: ", "Before, in exam 0002-")
    )
    assert first < then
    assert words.count("exact, paired by question") == words.count("(sign test)") == 2


@pytest.mark.slow
def test_random_labels_are_set_beside_the_commonest_answer_and_no_look_up_is_said_to_solve_them(mage: Command) -> None:
    dice = Random(5)
    words = ("printer", "invoice", "router", "garden", "ticket", "parcel", "window", "signal", "table", "chair")
    rows = [f"{' '.join(dice.choices(words, k=8))},{dice.choice(('billing', 'delivery', 'other'))}" for _ in range(120)]
    Path("noise.csv").write_text("\n".join(["text,category", *rows]))
    columns = ("--columns", "question=text,answer=category")
    assert mage("evolve", "noise.csv", *columns, "--execution", "builtin/analogist", *FEW).code == 0
    mage("exam", "--at", "start")
    report = json.loads(mage("exam", "--json").out)
    said = " ".join(mage("exam").out.split())
    answer, right = report["commonest"]
    share = percent(right, report["total"])
    assert f"The commonest answer, '{answer}', would be right for {share} of these questions, without any model" in said
    assert report["recalled"] and "right at least as often as the model" in said and "solve" not in said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--control", "shuffeld"), "--control: 'shuffeld' is not valid. Did you mean shuffled?"),
        (("--questions", "0"), "--questions: '0' is not valid. Give a whole number of at least 1."),
        (("--questions", "few"), "--questions: 'few' is not valid. Give a whole number."),
    ],
)
def test_a_value_that_does_not_fit_an_option_is_refused_as_a_setting_is(
    mage: Command, words: tuple[str, ...], told: str
) -> None:
    outcome = mage("exam", *words)
    assert outcome.code == 2 and outcome.err.startswith(f"mage-es: {told}\n")
