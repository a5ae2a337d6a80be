"""`mage-es effect`: the price comes first, and without a yes two of the three numbers are printed."""

import json
import re
from pathlib import Path

import pytest

import mage_es
from tests.bench.effect import measured
from tests.cli.conftest import Command


def test_without_a_yes_nothing_is_asked_and_the_other_numbers_are_printed(mage: Command, runs_dir: Path) -> None:
    done = mage("effect", "first", "--top", "3")
    assert done.code == 0 and "calls of builtin/analogist, " in done.err, "and of no judge"
    assert "association, not effect" in done.out and "never tossed" in done.out and " asked" in done.out
    assert "Nothing was asked again: --yes asks, and so does a limit" in done.out
    assert not (runs_dir / "first" / "effects").exists()


def test_with_a_yes_it_asks_once_and_says_too_few_where_there_is_no_interval(mage: Command, runs_dir: Path) -> None:
    done = mage("effect", "first", "--top", "3", "--yes")
    assert done.code == 0 and "calls were made" in done.out and " of 30" in done.out
    again = mage("effect", "first", "--top", "3", "--json")
    assert again.code == 0 and "no model is called" in again.err
    report = json.loads(again.out)
    assert report["made"] == 0 and all(row["paired"]["pairs"] == row["paired"]["questions"] for row in report["rows"])


@pytest.mark.slow
def test_a_limit_equal_to_the_printed_price_suffices_whatever_was_asked_before(mage: Command, runs_dir: Path) -> None:
    stopped = mage("effect", "first", "--max-calls", "2")
    assert stopped.code == 3 and "2 calls is reached. To go on, pass --max-calls" in stopped.err
    assert "Every answer so far is kept" in stopped.err and "The same command continues" not in stopped.err
    [left] = re.findall(r"about (\d+) calls", mage("effect", "first").err)
    done = mage("effect", "first", "--max-calls", left)
    assert done.code == 0 and "calls were made" in done.out and "no model is called" in mage("effect", "first").err
    assert mage("verify", "first").code == 0


@pytest.mark.slow
def test_memories_are_listed_by_what_they_are_worth(mage: Command) -> None:
    measured(Path("runs"), 2, questions=120, top=6)
    listed = json.loads(mage("memory", "list", "2-asked", "--sort", "effect", "--json").out)
    best = [listed["worth"].get(item["memory_id"]) for item in listed["items"]]
    ranks = [("re-ask", "coin", "association").index(each["by"]) for each in best if each]
    points = [each["points"] for each in best if each]
    assert ranks == sorted(ranks) and 0 < ranks.count(0) < len(ranks) and not any(best[len(points) :])
    for rank in set(ranks):  # the largest association is no proof
        of_rank = [each for place, each in zip(ranks, points, strict=True) if place == rank]
        assert of_rank == sorted(of_rank, reverse=True)
    assert all(each["low"] <= each["points"] <= each["high"] and min(each["n"]) >= 20 for each in best if each)
    first = best[0]
    told = f"{points[0]:+.1f} {first['by']}, 95 % {first['low']:+.1f} to {first['high']:+.1f} (n {first['n'][0]}"
    assert told in mage("memory", "list", "2-asked", "--sort", "effect").out
    worst = json.loads(mage("memory", "list", "2-asked", "--sort", "harm", "--json").out)
    asked = ranks.count(0)
    assert [worst["worth"][item["memory_id"]]["points"] for item in worst["items"][:asked]] == points[:asked][::-1]


def test_an_order_that_does_not_exist_is_refused(mage: Command, runs_dir: Path) -> None:
    refused = mage("memory", "list", "first", "--sort", "worth")
    assert refused.code == 2 and "--sort" in refused.err


def test_what_does_not_exist_is_refused_by_name(mage: Command, runs_dir: Path) -> None:
    done = mage("effect", "first", "--kind", "principal")
    assert done.code == 2 and "principal" in done.err and "principle" in done.err


@pytest.mark.slow
def test_what_is_proved_harmful_goes_out_of_use_once_and_a_dry_run_only_says_so(mage: Command) -> None:
    measured(Path("runs"), 1, questions=120, top=6)
    looked = mage("memory", "prune", "1-asked", "--dry-run")
    assert looked.code == 0 and "1 would go out of use" in looked.out and "22 of 45 right as they were" in looked.out
    refused = mage("evolve", "--from", "1-asked", "--prune", "--register-questions", "5")
    assert refused.code == 2 and "add --register" in refused.err
    assert json.loads(mage("memory", "list", "1-asked", "--status", "quarantined", "--json").out)["items"] == []
    refused = mage("evolve", "--from", "1-asked", "--prune", "--run-id", "1-asked", "--yes")
    assert refused.code == 2 and "There is a run '1-asked' already" in refused.err
    done = json.loads(mage("memory", "prune", "1-asked", "--json").out)
    [pruned] = done["pruned"]
    listed = json.loads(mage("memory", "list", "1-asked", "--status", "quarantined", "--json").out)["items"]
    assert [item["memory_id"] for item in listed] == [pruned["memory_id"]]
    assert "Nothing is proved harmful" in mage("memory", "prune", "1-asked").out


@pytest.mark.slow
def test_prune_needs_a_record_to_go_by(mage: Command, runs_dir: Path) -> None:
    for words in (("wordmath",), ("--from", "first", "--at", "iter-0")):
        refused = mage("evolve", *words, "--prune")
        assert refused.code == 2 and "--prune uses the final record of the run that --from names" in refused.err
    words = ("evolve", "--from", "first", "--prune", "--iterations", "1", "--pool", "4")
    unpaid = mage(*words)
    assert unpaid.code == 2 and "Going on with 1 iteration" in unpaid.err and "Nothing was asked" in unpaid.err
    assert "looked at" not in unpaid.err and [run.name for run in runs_dir.iterdir()] == ["first"]
    went_on = mage(*words, "--yes")
    price = mage_es.evolve_price(
        mage_es.Config(benchmark="wordmath", iterations=1, pool=4), from_run=runs_dir / "first"
    )
    assert price and price.questions == 4 and price.calls > 10
    assert f"Going on with 1 iteration of 4 questions in all takes about {price.calls} calls" in went_on.err
    assert went_on.code == 0 and "Nothing is proved harmful in first: 0 memories looked at" in went_on.err


@pytest.mark.slow
def test_of_episodes_no_verb_claims_what_no_prompt_can_show_and_none_advises_it(
    mage: Command, whole_benchmark: None
) -> None:
    sizes = ("--iterations", "2", "--pool", "6", "--held-out", "2", "--anchors", "4", "--explore-episodes", "4")
    assert mage("evolve", "workshop", *sizes, "--run-id", "w").code == 0
    memory = json.loads(mage("memory", "list", "w", "--json").out)["items"][0]["memory_id"]
    for verb in (("effect", "w"), ("what-if", "w", "--without", memory)):
        done = mage(*verb)
        assert done.code == 2 and "are episodes, which retrieve memories at every step" in done.err
    done = mage("bisect", "w", "--metric", "anchors")
    assert done.code == 0 and "1 answer won or lost" in done.out and "--question" not in done.err


def test_without_a_prompt_that_showed_a_memory_nothing_is_counted_as_left_alone(mage: Command, runs_dir: Path) -> None:
    assert mage("fork", "first", "--at", "start", "--run-id", "forked").code == 0
    looked = mage("memory", "prune", "forked", "--dry-run")
    told = "Nothing is proved harmful in forked: no prompt showed a memory that is in use."
    assert looked.out.strip() == told and "runs show forked" in looked.err
