"""`mage-es rejudge`: the price comes first, and what a judge said is paid for once."""

import json
from pathlib import Path

from tests.cli.conftest import Command

JUDGE = ("--judge", "truth/judge")


def test_without_a_yes_the_price_is_printed_and_nothing_is_asked(mage: Command, runs_dir: Path) -> None:
    done = mage("rejudge", "first", *JUDGE)
    assert done.code == 2 and "Judging " in done.err and "calls of truth/judge" in done.err
    assert "by the length of the prompts; dollars unknown, as a price is missing (--prices FILE" in done.err
    assert "Nothing was asked. Proceed without a known price" in done.err
    assert not (runs_dir / "first" / "effects").exists()


def test_what_would_be_refused_has_no_price(mage: Command, runs_dir: Path) -> None:
    done = mage("rejudge", "first", "--judge", "openai/m?base_url=http://models.example/v1", "--max-usd", "1")
    assert done.code == 2 and "price of the judge model" in done.err and "Judging" not in done.err


def test_with_a_yes_it_asks_once_and_says_how_far_both_agree(mage: Command, runs_dir: Path) -> None:
    done = mage("rejudge", "first", *JUDGE, "--yes")
    assert done.code == 0 and "Answers of first to its questions, judged anew by truth/judge" in done.out
    assert "Both agree on " in done.out and "Cohen's kappa " in done.out and "calls were made" in done.out
    assert "judged again " in done.err and "exam" not in done.err
    assert "Where they differ" in done.out and "mage-es show wordmath-" in done.err
    again = mage("rejudge", "first", *JUDGE, "--json")
    assert again.code == 0 and "Every opinion that is needed is on record: no model is called." in again.err
    report = json.loads(again.out)
    counts = report["agreement"]
    assert report["made"] == 0 and counts["both"] + counts["rule_only"] == report["right"]
    assert f"{report['now']} of {report['total']} would be right" in done.out


def test_who_judges_has_to_be_said_and_a_benchmark_has_no_other_scorer(mage: Command, runs_dir: Path) -> None:
    for words, why in (
        ((), "Say who judges: either --judge MODEL or --scorer SCORER"),
        ((*JUDGE, "--scorer", "exact"), "Say who judges"),
        (("--scorer", "exact"), "only your own tasks can have another scorer"),
        ((*JUDGE, "--exam", "7"), "no complete exam 7: none is complete"),
    ):
        refused = mage("rejudge", "first", *words)
        assert refused.code == 2 and why in refused.err and refused.err.startswith("mage-es: "), refused.err
