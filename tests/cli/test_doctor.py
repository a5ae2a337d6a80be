"""`mage-es doctor` from the outside."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from mage_es.engine.benchmarks.tasks import ROLES
from tests.engine.providers.provider import provider

Command = Callable[..., Any]


@pytest.mark.slow
def test_a_machine_that_can_run_gives_zero(mage: Command) -> None:
    outcome = mage("doctor", "--json")
    assert outcome.code == 0
    assert {"mage-es", "runs folder"} <= {finding["name"] for finding in json.loads(outcome.out)["checks"]}


@pytest.mark.slow
def test_what_would_stop_a_run_gives_four_and_the_remedy(mage: Command) -> None:
    outcome = mage("doctor", "--execution", "builtin/nothing")
    assert outcome.code == 4
    assert "FAILED" in outcome.out
    assert "execution model: Choose another with --execution." in outcome.err


@pytest.mark.slow
def test_it_says_whom_it_asks_and_how_to_leave_that(mage: Command) -> None:
    with provider(answer=lambda body: "hello") as server:
        spec = f"openai/exec?base_url={server.openai_url}"
        outcome = mage("doctor", "--execution", spec)
        loud = len(server.asked)
        quiet = mage("doctor", "--execution", spec, "--no-calls")
        assert len(server.asked) == loud == 3
    assert "Asking openai/exec: " in outcome.err and "--no-calls" in outcome.err
    assert "execution endpoint" in outcome.out and "Asking" not in quiet.err
    assert (outcome.code, quiet.code) == (0, 0)


@pytest.mark.slow
def test_the_command_that_checks_again_asks_about_the_same_models(mage: Command) -> None:
    outcome = mage("doctor", "--execution", "openai/exec?base_url=http://127.0.0.1:9/v1")
    assert outcome.code == 4
    assert "Next: mage-es doctor --execution 'openai/exec?base_url=http://127.0.0.1:9/v1'" in outcome.err


def tickets(path: Path) -> Path:
    rows = [{"text": f"Ticket {n}: where is my {thing}?", "team": team} for n in range(20) for thing, team in TEAMS]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


TEAMS = (("parcel", "delivery"), ("invoice", "billing"))


def test_of_your_own_tasks_it_asks_three_and_says_of_each_whether_it_is_right_and_one_of_the_labels(
    mage: Command, tmp_path: Path
) -> None:
    def answer(body: Mapping[str, Any]) -> str:
        return "delivery" if "parcel" in body["messages"][-1]["content"] else "the billing department"

    file = str(tickets(tmp_path / "tickets.jsonl"))
    with provider(answer=answer) as server:
        spec = f"openai/exec?base_url={server.openai_url}"
        outcome = mage("doctor", file, "--columns", "question=text,answer=team", "--execution", spec, "--json")
        assert len(server.asked) == 3
    found = {finding["name"]: finding for finding in json.loads(outcome.out)["checks"]}
    assert "to learn from" in found["tasks"]["detail"]
    replies = [found[f"execution reply {number}"] for number in (1, 2, 3)]
    right = [reply for reply in replies if reply["state"] == "ok"]
    wrong = [reply for reply in replies if reply["state"] == "optional"]
    assert right and wrong and len(right) + len(wrong) == 3
    assert all("its answer: delivery, right" in reply["detail"] for reply in right)
    assert all("wrong; it is none of the answers" in reply["detail"] for reply in wrong)
    assert all("--labels billing,delivery" in reply["remedy"] for reply in wrong)
    assert "--labels billing,delivery" in outcome.err.partition("Next: mage-es evolve")[2]
    assert "A warning does not stop it" in outcome.err


def test_of_labels_that_are_listed_it_does_not_say_to_list_them(mage: Command, tmp_path: Path) -> None:
    file = str(tickets(tmp_path / "tickets.jsonl"))
    own = ("--columns", "question=text,answer=team", "--labels", "billing,delivery")
    with provider(answer=lambda body: "the cellar") as server:
        spec = f"openai/exec?base_url={server.openai_url}"
        outcome = mage("doctor", file, *own, "--execution", spec, "--json")
    replies = [each for each in json.loads(outcome.out)["checks"] if each["name"].startswith("execution reply")]
    assert replies and all("that the prompt lists" in each["detail"] for each in replies)
    assert not any("--labels" in each["remedy"] for each in replies)
    assert outcome.err.partition("Next: mage-es evolve")[2].count("billing,delivery") == 1


def test_a_column_that_gives_every_task_a_type_of_its_own_is_a_warning_with_the_way_to_leave_it_out(
    mage: Command, tmp_path: Path
) -> None:
    rows = [f"Is {k} odd?,{'yes' if k % 2 else 'no'},c{k}" for k in range(120)]
    (tmp_path / "mine.csv").write_text("\n".join(["question,answer,category", *rows]) + "\n")
    words = ("doctor", "mine.csv", "--no-calls", "--json", "--execution", "builtin/analogist")
    checks = {each["name"]: each for each in json.loads(mage(*words).out)["checks"]}
    found = checks["task types"]
    assert found["state"] == "optional" and "120 of its 120 types have a single task" in found["detail"]
    assert "--columns task_type=" in found["remedy"]
    without = json.loads(mage(*words, "--columns", "task_type=").out)["checks"]
    assert "task types" not in [each["name"] for each in without]


def test_tasks_that_cannot_be_read_are_a_failed_check(mage: Command, tmp_path: Path) -> None:
    file = str(tickets(tmp_path / "tickets.jsonl"))
    outcome = mage("doctor", file, "--columns", "question=text,answer=squad", "--json")
    assert outcome.code == 4
    (found,) = [finding for finding in json.loads(outcome.out)["checks"] if finding["name"] == "tasks"]
    assert found["state"] == "failed" and "squad" in found["detail"] and found["remedy"]


def test_the_faults_of_several_rows_are_sentences_of_their_own(mage: Command, tmp_path: Path) -> None:
    rows = [{"question": "a", "answer": ""}, {"question": "", "answer": "x"}]
    (tmp_path / "bad.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    told = mage("doctor", "bad.jsonl", "--no-calls")
    assert "delete the row. All faults are below.\n" in told.out and "line 2" not in told.out
    assert "delete the row.\nbad.jsonl, line 2: question: is empty; fill it in or delete the row.\nNothing" in told.err
    assert "--no-calls" in told.err.partition("Next: ")[2]


def test_it_lists_every_role_with_its_column_or_why_it_has_none(mage: Command, tmp_path: Path) -> None:
    rows = [f"ticket {k},{'late' if k % 3 else 'lost'}" for k in range(40)]
    (tmp_path / "mine.csv").write_text("\n".join(["text,category", *rows]) + "\n")
    words = ("doctor", "mine.csv", "--columns", "question=text,answer=category,id=")
    columns = {
        row["role"]: (row["column"], row["why"]) for row in json.loads(mage(*words, "--json").out)["tasks"]["columns"]
    }
    assert columns.keys() == ROLES.keys()
    assert (columns["question"], columns["answer"], columns["id"]) == (("text", ""), ("category", ""), ("", ""))
    assert columns["task_type"] == ("", "category is the answer") and columns["context"] == ("", "text is the question")
    printed = mage(*words).out
    assert re.search(r"task_type +none: category is the answer", printed) and re.search(r"answer +category\n", printed)


@pytest.mark.parametrize("command", ["evolve", "doctor"])
def test_the_help_lists_every_role_with_the_columns_that_have_it_by_name(mage: Command, command: str) -> None:
    said = " ".join(mage(command, "--help").out.split())
    assert all(f"{role} ({', '.join(names)})" in said for role, names in ROLES.items())
    assert "ROLE= means no column" in said


def test_a_benchmark_without_its_data_fails_with_the_command_that_fetches_it(mage: Command) -> None:
    outcome = mage("doctor", "gsm8k", "--data-dir", "nowhere", "--json")
    checks = {each["name"]: each for each in json.loads(outcome.out)["checks"]}
    assert (outcome.code, checks["tasks"]["state"]) == (4, "failed")
    assert checks["tasks"]["remedy"] == "mage-es fetch gsm8k --data-dir nowhere"
    assert json.loads(outcome.out)["tasks"] is None


def test_what_is_left_out_is_listed_and_the_next_command_divides_alike(mage: Command, tmp_path: Path) -> None:
    rows = [f"What is {k} + {k + 3}?,{2 * k + 3}" for k in (*range(30), 0)]
    (tmp_path / "mine.csv").write_text("\n".join(["question,answer", *rows]) + "\n")
    told = mage("doctor", "mine.csv", "--held-out", "7", "--anchors", "2")
    assert "2 anchors, 7 held out, 1 left out" in told.out and "row-31 repeats row-1" in told.out
    assert told.err.endswith("Next: mage-es evolve mine.csv --execution MODEL --held-out 7 --anchors 2\n")
    typed = ("mine.csv", "--scorer", "number", "--execution", "builtin/analogist")
    assert mage("doctor", *typed, "--no-calls").err.endswith(f"Next: mage-es evolve {' '.join(typed)}\n")
