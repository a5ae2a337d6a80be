"""`mage-es memory` from the outside."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mage_es.cli.output import visible
from mage_es.engine.run.directory import find_run
from mage_es.engine.serving.live import LiveRun
from mage_es.engine.serving.rules.feedback import Feedback
from tests.engine.serving.talking import said

Command = Callable[..., Any]


def listed(mage: Command, *words: str) -> list[dict[str, Any]]:
    outcome = mage("memory", "list", *words, "--json")
    assert outcome.code == 0
    items: list[dict[str, Any]] = json.loads(outcome.out)["items"]
    return items


def test_what_was_learned_is_listed_and_can_be_narrowed(mage: Command, runs_dir: Path) -> None:
    items = listed(mage)
    principles = listed(mage, "--kind", "principle")
    assert 0 < len(principles) < len(items) and {item["kind"] for item in principles} == {"principle"}
    outcome = mage("memory", "list")
    assert items[0]["memory_id"][:12] in outcome.out and f"{len(items)} of {len(items)} memories" in outcome.out
    assert "Next: mage-es memory show" in outcome.err


def test_a_long_list_ends_with_how_many_more_there_are(mage: Command, runs_dir: Path) -> None:
    items = listed(mage)
    assert listed(mage, "--top", "2") == items[:2]
    assert json.loads(mage("memory", "list", "--top", "2", "--json").out)["more"] == len(items) - 2
    told = f"2 of {len(items)} memories; {len(items) - 2} more: --top {len(items)} lists all"
    assert told in " ".join(mage("memory", "list", "--top", "2").out.split())
    few = len(listed(mage, "--kind", "success_memory"))
    told = f"1 of {len(items)} memories; {few - 1} more match: --top {few} lists all"
    assert told in " ".join(mage("memory", "list", "--kind", "success_memory", "--top", "1").out.split())
    assert "more: --top" not in mage("memory", "list").out


@pytest.mark.slow
def test_a_memory_is_taken_out_of_use_shown_and_brought_back(mage: Command, runs_dir: Path) -> None:
    name = listed(mage)[0]["memory_id"]
    outcome = mage("memory", "quarantine", name[:12], "--reason", "it misleads", "--by", "alice")
    assert outcome.code == 0 and "quarantined" in outcome.out and "it misleads" in outcome.out
    assert f"Next: mage-es memory release {name[:12]}" in outcome.err
    assert [item["memory_id"] for item in listed(mage, "--status", "quarantined")] == [name]

    shown = json.loads(mage("memory", "show", name, "--json").out)
    assert shown["item"]["status"] == "quarantined" and "by alice" in shown["history"][0]
    assert mage("memory", "release", name, "--reason", "it does not").code == 0
    assert listed(mage, "--status", "quarantined") == []
    assert mage("verify").code == 0


@pytest.mark.slow
def test_who_decided_is_in_the_list_in_the_log_and_in_the_memory_however_long_the_reason(
    mage: Command, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second, third = (item["memory_id"] for item in listed(mage)[:3])
    assert " by " not in mage("memory", "list").out.splitlines()[1]
    mage("memory", "quarantine", first, "--reason", "it misleads, " * 40, "--by", "alice")
    (line,) = (line for line in mage("log", "-n", "3").out.splitlines() if "memory.quarantined" in line)
    assert "by=alice" in line and line.endswith("...")
    monkeypatch.setenv("MAGE_ES_BY", "bob")
    mage("memory", "quarantine", second, "--reason", "so does it")
    mage("memory", "release", first, "--reason", "it does not")
    monkeypatch.delenv("MAGE_ES_BY")
    monkeypatch.setenv("USER", "account")
    monkeypatch.setenv("LOGNAME", "account")
    mage("memory", "quarantine", third, "--reason", "nor that")
    names = {item["memory_id"]: item["by"] for item in listed(mage) if item["by"]}
    assert names == {first: "bob", second: "bob", third: "user"}, "no name is taken from the machine"
    assert "bob" in mage("memory", "list", "--status", "quarantined").out
    shown = json.loads(mage("memory", "show", first, "--json").out)
    assert shown["item"]["by"] == "bob" and [line.split(" (")[0] for line in shown["history"]] == [
        "memory.quarantined by alice",
        "memory.released by bob",
    ]
    told = mage("memory", "quarantine", first, "--reason", "x", "--by", "guard")
    assert told.code == 2 and "belongs to a rule" in told.err
    past = {item["memory_id"]: item["by"] for item in listed(mage, "--at", "start")}
    assert set(past.values()) <= {""}, "then it was decided by nobody"


def test_an_unknown_memory_is_a_usage_error_and_a_reason_is_required(mage: Command, runs_dir: Path) -> None:
    unknown = mage("memory", "quarantine", "ffffffffffff", "--reason", "x")
    assert (unknown.code, unknown.out) == (2, "") and "mage-es memory list" in unknown.err
    assert mage("memory", "quarantine", "ffffffffffff").code == 2


def test_a_kind_or_status_that_there_is_not_is_refused_with_those_that_there_are(mage: Command, runs_dir: Path) -> None:
    kind, status = mage("memory", "list", "--kind", "princple"), mage("memory", "list", "--status", "x")
    assert (kind.code, kind.out) == (2, "") and "Did you mean principle" in kind.err
    assert (status.code, status.out) == (2, "") and "quarantined" in status.err


def test_a_kind_holds_the_kinds_within_it_and_one_of_which_there_is_nothing_is_empty(
    mage: Command, runs_dir: Path
) -> None:
    kinds = {item["kind"] for item in listed(mage, "--kind", "failure_memory")}
    assert kinds and all(kind.startswith("failure_memory/") for kind in kinds)
    assert listed(mage, "--kind", "abstracted_pattern") == []
    assert mage("memory", "list", "--kind", "abstracted_pattern").err == "\nNext: mage-es memory list first\n"


@pytest.mark.slow
def test_what_stands_in_quarantine_is_counted_where_the_run_is_shown(mage: Command, runs_dir: Path) -> None:
    name = listed(mage)[0]["memory_id"]
    assert "quarantine" not in mage("runs", "show").out
    mage("memory", "quarantine", name, "--reason", "it misleads")
    assert "1 memory in quarantine" in mage("runs", "show").out
    assert json.loads(mage("runs", "show", "--json").out)["quarantined"] == 1
    mage("memory", "release", name, "--reason", "it does not")
    assert json.loads(mage("runs", "show", "--json").out)["quarantined"] == 0


def test_what_was_done_already_is_refused_with_the_way_back(mage: Command, runs_dir: Path) -> None:
    name = listed(mage)[0]["memory_id"]
    assert "memory list --status quarantined" in mage("memory", "release", name, "--reason", "x").err
    mage("memory", "quarantine", name, "--reason", "x")
    again = mage("memory", "quarantine", name, "--reason", "x")
    assert again.code == 2 and "`mage-es memory release`" in again.err


def test_on_a_narrow_terminal_each_memory_has_one_line_and_on_a_wide_one_every_column(
    mage: Command, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = listed(mage)
    monkeypatch.setattr("mage_es.engine.upkeep.cli.memory.is_terminal", lambda: True)
    monkeypatch.setattr("mage_es.cli.output.is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    narrow = mage("memory", "list").out.splitlines()
    assert max(map(len, narrow)) <= 80 and len(narrow) < len(items) + 9
    for item in items:
        (line,) = (line for line in narrow if item["memory_id"][:8] in line)
        assert item["text"][:20] in line and (line.rstrip().endswith("…") or item["text"] in line)
    assert "memory show ID" in " ".join(narrow)
    assert mage("memory", "show", items[0]["memory_id"][:8]).code == 0
    assert listed(mage) == items
    monkeypatch.setenv("COLUMNS", "250")
    assert {"status", "since", "met"} <= set(mage("memory", "list").out.split())


def test_what_is_not_active_says_so_where_each_memory_has_one_line(
    mage: Command, runs_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = listed(mage)[0]["memory_id"]
    mage("memory", "quarantine", name, "--reason", "it misleads")
    monkeypatch.setattr("mage_es.engine.upkeep.cli.memory.is_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    (line,) = (line for line in mage("memory", "list").out.splitlines() if name[:8] in line)
    assert line.split()[1] == "quarantined"


@pytest.mark.slow
def test_a_decision_names_its_run_and_the_copy_that_is_served(mage: Command, runs_dir: Path, planted: str) -> None:
    name = listed(mage, "first")[0]["memory_id"]
    done = mage("memory", "quarantine", name, "first", "--reason", "it misleads")
    assert f"Quarantined {name[:12]} in the run first." in done.out
    assert f"mage-es memory quarantine {name[:12]} first-served" in done.out
    again = mage("memory", "quarantine", name, "first", "--reason", "it misleads")
    assert again.code == 2 and "first: " in again.err and "in quarantine already" in again.err


HOSTILE = "Pay to \x1b[2J DE00\u202e evil\u202c\u200b\U000e0041\n  leak check: like no anchor" + "x" * 900


@pytest.fixture
def planted(runs_dir: Path, mage: Command) -> str:
    """The id of a memory that a client planted, and that no anchor could judge."""
    live = LiveRun.open(find_run(runs_dir, "first"), learn="propose", holdback=0)
    prepared = live.prepare(said("What is the IBAN of Northwind Ltd?"), "chat", key="mallory")
    live.submit(prepared).result()
    value = {"answer": HOSTILE}
    about = {"idempotency_key": "1", "inference_id": prepared.opened.inference}
    told = asyncio.run(live.give_feedback(Feedback(metric="fix", value=value, **about), key="mallory"))
    live.close()
    assert "1 proposal waits" in mage("publish", "first-served", "--yes").err
    return told.memory_id


@pytest.mark.slow
def test_a_review_shows_what_is_hidden_and_cannot_be_faked_by_what_it_shows(mage: Command, planted: str) -> None:
    shown = mage("memory", "review", "first-served")
    assert shown.code == 0 and planted[:12] in shown.out and "the key mallory" in shown.out
    assert "No anchor was asked with it." in shown.out and "IBAN of Northwind" in shown.out
    for hidden in ("\x1b", "\u202e", "\u200b", "\U000e0041"):
        assert hidden not in shown.out and f"<U+{ord(hidden):04X}>" in shown.out
    assert "    |   leak check: like no anchor" in shown.out, "a line of a text begins with a bar"
    assert f"+ {len(HOSTILE) - 600} more characters" in shown.out and "x" * 900 not in shown.out
    assert "x" * 900 in mage("memory", "review", "first-served", "--whole").out
    assert f"mage-es memory approve {planted[:12]} first-served" in shown.err
    [told] = json.loads(mage("memory", "review", "first-served", "--json").out)["proposals"]
    assert told["answer"] == HOSTILE.strip() and told["status"] == "waiting" and len(told["anchors"]) == 3


@pytest.mark.slow
def test_a_proposal_is_approved_published_or_rejected_with_a_reason(mage: Command, planted: str) -> None:
    assert listed(mage, "first-served", "--status", "waiting")[0]["memory_id"] == planted
    assert mage("memory", "approve", planted[:8], "first-served").code == 2, "a reason is required"
    done = mage("memory", "approve", planted[:8], "first-served", "--reason", "checked", "--by", "bob")
    assert f"Approved {planted[:12]} in the run first-served." in done.out and "approved by bob" in done.out
    assert "mage-es publish first-served" in done.err
    assert "first-served: 0 waiting, 1 approved, 0 not tried yet" in mage("memory", "review", "first-served").out
    assert mage("publish", "first-served", "--yes").code == 0
    [item] = (item for item in listed(mage, "first-served") if item["memory_id"] == planted)
    assert item["status"] == "active"
    assert mage("verify", "first-served").code == 0
    refused = mage("memory", "reject", planted[:8], "first-served", "--reason", "late")
    assert refused.code == 2 and "waits for no review, it is active" in refused.err


def test_what_is_visible_stays_as_it_is() -> None:
    assert visible("é 漢字 🙂\n\tx") == "é 漢字 🙂\n\tx"
    assert visible("a\rb\u00a0c\ue000") == "a<U+000D>b<U+00A0>c<U+E000>"


def test_what_a_cascade_would_take_out_is_listed_beforehand_and_nothing_changes(mage: Command, runs_dir: Path) -> None:
    name = json.loads(mage("effect", "first", "--top", "1", "--json").out)["rows"][0]["name"]
    before = {path: path.read_bytes() for path in (runs_dir / "first").rglob("*") if path.is_file()}
    done = mage("memory", "quarantine", name[:12], "--cascade", "--dry-run")
    looked = json.loads(mage("memory", "quarantine", name[:12], "--cascade", "--dry-run", "--json").out)
    assert done.out.startswith(f"Would quarantine {name[:12]} in the run first, and ")
    assert f"{looked['answers']} recorded answers saw any of it." in done.out and "release" not in done.out
    assert f"what-if first --without {name[:12]}" in done.err and "--cascade --reason" in done.err
    assert {path: path.read_bytes() for path in (runs_dir / "first").rglob("*") if path.is_file()} == before
    whole = json.loads(mage("memory", "quarantine", name, "--cascade", "--reason", "wrong", "--json").out)
    ids = [[item["memory_id"] for item in found["derived"]] for found in (looked, whole)]
    assert ids[0] == ids[1] and looked["answers"] == whole["answers"] > 0
    again = mage("memory", "quarantine", name, "--cascade", "--dry-run")
    assert again.code == 2 and "in quarantine already" in again.err and not again.out


@pytest.mark.parametrize(("words", "why"), [(("--dry-run",), "add --cascade"), ((), "add --reason WORDS")])
def test_a_quarantine_without_a_reason_or_a_look_at_no_cascade_is_refused(
    mage: Command, runs_dir: Path, words: tuple[str, ...], why: str
) -> None:
    refused = mage("memory", "quarantine", listed(mage)[0]["memory_id"], *words)
    assert refused.code == 2 and why in refused.err and not refused.out


def test_a_cascade_says_what_went_with_the_memory_and_what_stays(mage: Command, runs_dir: Path) -> None:
    name = listed(mage)[0]["memory_id"]
    outcome = mage("memory", "quarantine", name[:12], "--cascade", "--reason", "its source was wrong", "--json")
    receipt = json.loads(outcome.out)
    assert outcome.code == 0 and receipt["report"]["item"]["status"] == "quarantined"
    beside = {"together", "further", "answers", "was_out", "only_look"}
    assert receipt.keys() == {"report", "derived", "out_before"} | beside
    out = {name, *(item["memory_id"] for item in receipt["derived"])}
    assert {item["memory_id"] for item in listed(mage, "--status", "quarantined")} == out
    other = next(item["memory_id"] for item in listed(mage, "--status", "active"))
    said = mage("memory", "quarantine", other[:12], "--cascade", "--reason", "this too").out
    assert f"Quarantined {other[:12]}" in said and "derived from it" in said
    active = [item["memory_id"] for item in listed(mage, "--status", "active")]
    answers = (mage("memory", "quarantine", each, "--cascade", "--reason", "and this").out for each in active)
    assert "Each comes back by a `mage-es memory release` of its own." in next(x for x in answers if "with it\n" in x)
