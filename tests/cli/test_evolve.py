"""`mage-es evolve` from the outside: a run, and everything that is refused."""

import io
import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pytest

from mage_es.engine.benchmarks.registry import with_own_models
from mage_es.engine.benchmarks.tasks import ROLES
from mage_es.engine.config import configured, parse
from mage_es.engine.run.world import first_event
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import ModelCalled, RunStarted
from tests.few_words import IN_A_PROCESS

pytestmark = pytest.mark.slow

Command = Callable[..., Any]
SMALL = ("--iterations", "2", "--pool", "20", "--held-out", "20", "--anchors", "10", "--gate", "off")


def test_a_run_ends_with_a_table_and_the_next_command(mage: Command, tmp_path: Path) -> None:
    outcome = mage("evolve", "wordmath", *SMALL, "--runs-dir", "here", "--run-id", "r1")
    assert outcome.code == 0
    assert "Run r1: wordmath, seed 42, finished" in outcome.out
    *_, accuracy, anchors = outcome.out.split("\n\n")
    assert [line.split()[0] for line in accuracy.splitlines()[-3:]] == ["start", "0", "1"]
    assert anchors.startswith("Questions asked both ways")
    assert "evaluate 20/20" in outcome.err
    assert "Next: mage-es exam r1 --runs-dir here" in outcome.err
    assert (tmp_path / "here" / "r1" / "log").is_dir()


def test_with_json_the_summary_is_the_only_thing_on_stdout(mage: Command) -> None:
    outcome = mage("evolve", "wordmath", *SMALL, "--no-principles", "--json")
    summary = json.loads(outcome.out)
    assert (outcome.code, summary["state"], summary["iterations_done"]) == (0, "finished", 2)
    assert [row["fresh_total"] + row["revisit_total"] for row in summary["rows"]] == [0, 20, 20]
    assert summary["rows"][-1]["principles"] == 0


def test_a_benchmark_with_models_of_its_own_needs_no_option_for_them(mage: Command) -> None:
    evolved = mage("evolve", "truthworld", "--teacher-sees", "solutions", *SMALL, "--run-id", "t")
    assert evolved.code == 0
    assert "execution truth/learner, guidance truth/guide" in evolved.out
    assert "judge truth/judge, asked" in evolved.out
    examined = mage("exam", "t")
    assert examined.code == 0
    assert " judge calls" in examined.out
    verified = mage("verify", "t")
    assert verified.code == 0
    assert " judge calls" in verified.out
    shown = mage("exam", "t", "--json")
    asked = json.loads(shown.out)["answers"][0][0]
    assert mage("show", asked, "t").code == 0


def test_a_run_under_the_papers_preset_records_its_values_and_says_what_to_expect(
    mage: Command, tmp_path: Path
) -> None:
    chosen = {"iterations": 1, "pool": 12, "held_out": 4, "failure_signal": "cumulative"}
    words = [word for name, value in chosen.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    outcome = mage("evolve", "wordmath", "--preset", "paper", *words, "--run-id", "p")
    assert outcome.code == 0
    assert "Caution: failure_signal cumulative starves task types" in outcome.err
    config = parse(first_event(LogReader(tmp_path / "runs" / "p" / "log")).config)
    assert config == with_own_models(configured("paper", benchmark="wordmath", **chosen))


@pytest.mark.parametrize(
    ("words", "code", "parts"),
    [
        (["wordmaths"], 2, ["'wordmaths'", "wordmath"]),
        ([], 2, ["Name a benchmark, such as wordmath"]),
        (["wordmath", "--execution", "builtin/analogits"], 2, ["'builtin/analogits'", "builtin/analogist"]),
        (["wordmath", "--guidance", "builtin/analogist"], 2, ["builtin/analogist", "builtin/reference"]),
        (["wordmath", "--embedder", "hsah"], 2, ["'hsah'", "hash"]),
        (["wordmath", "--pool", "0"], 2, ["--pool", "at least 1"]),
        (["wordmath", "--run-id", "../x"], 2, ["'../x'"]),
        (["wordmath", "--sede", "4"], 2, ["--sede", "--seed"]),
        (["gsm8k", "--data-dir", "nowhere"], 4, ["mage-es fetch gsm8k --data-dir nowhere"]),
        (["gsm8k"], 4, ["mage-es fetch gsm8k"]),
    ],
)
def test_what_cannot_work_is_refused_before_a_run_is_made(
    mage: Command, tmp_path: Path, words: list[str], code: int, parts: list[str]
) -> None:
    outcome = mage("evolve", *words)
    assert (outcome.code, outcome.out) == (code, "")
    assert all(part in outcome.err for part in parts), outcome.err
    assert "Traceback" not in outcome.err
    assert not (tmp_path / "runs").exists()


def test_a_malformed_line_is_named_and_nothing_is_loaded(mage: Command, tmp_path: Path) -> None:
    folder = tmp_path / "data" / "gsm8k"
    folder.mkdir(parents=True)
    (folder / "train.jsonl").write_text('{"question": "1 + 1?", "answer": "#### 2"}\n{"question": "1 +\n')
    (folder / "test.jsonl").write_text('{"question": "2 + 2?", "answer": "#### 4"}\n')
    outcome = mage("evolve", "gsm8k", "--data-dir", "data")
    assert outcome.code == 4
    assert "train.jsonl" in outcome.err and "2" in outcome.err
    assert not (tmp_path / "runs").exists()


def test_a_name_that_is_taken_is_refused(mage: Command, runs_dir: Path) -> None:
    outcome = mage("evolve", "wordmath", *SMALL, "--run-id", "first")
    assert outcome.code == 2
    assert "mage-es resume first" in outcome.err


def said_until(stream: IO[str], words: str) -> str:
    """Return what a program says up to the line with some words."""
    said = ""
    while words not in said:
        line = stream.readline()
        assert line, said
        said += line
    return said


@pytest.mark.parametrize("times", [1, 2])
def test_ctrl_c_once_or_twice_stops_with_130_and_resume_goes_on_to_the_end(mage: Command, times: int) -> None:
    words = ("evolve", "wordmath", "--iterations", "2", "--pool", "60", "--held-out", "20", "--anchors", "10")
    script = f"{IN_A_PROCESS}from mage_es.cli import main\nmain({(*words, '--run-id', 'r1')!r})"
    with subprocess.Popen(
        [sys.executable, "-W", "error", "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None and process.stdout is not None
        said_until(process.stderr, "snapshot")
        process.send_signal(signal.SIGINT)
        err = said_until(process.stderr, "Ctrl-C again")
        if times == 2:
            process.send_signal(signal.SIGINT)
        out, err = process.stdout.read(), err + process.stderr.read()
    # A second one that comes when everything is said ends the interpreter, which a shell calls 130, too.
    assert process.returncode in ((130,) if times == 1 else (130, -signal.SIGINT)), err
    assert "Finishing the calls in flight" in err and "Traceback" not in err
    assert "mage-es resume r1" in err
    assert times == 2 or "Run r1" in out
    assert "unfinished" in mage("runs", "list").out
    resumed = mage("resume", "r1")
    assert resumed.code == 0
    assert "2 of 2 iterations" in resumed.out


def test_sigterm_stops_as_ctrl_c_does_with_143(mage: Command) -> None:
    words = ("evolve", "wordmath", "--iterations", "9", "--pool", "60", "--run-id", "r1")
    with subprocess.Popen(
        [sys.executable, "-c", f"{IN_A_PROCESS}from mage_es.cli import main\nmain({words!r})"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stderr is not None
        said_until(process.stderr, "snapshot")
        process.terminate()
        out, err = process.communicate()
    assert process.returncode == 143
    assert "Finishing the calls in flight" in err and "mage-es resume r1" in err and "Traceback" not in err
    assert "Run r1" in out


@pytest.mark.parametrize("command", [("evolve", "--pool", "8"), ("baseline", "zero_shot_cot")])
def test_questions_that_repeat_others_are_left_out_and_that_is_said_once(
    mage: Command, empty_folder: Path, command: tuple[str, ...]
) -> None:
    rows = [f"What is {k} + {k + 3}?,{2 * k + 3}" for k in range(5, 45)]
    twice = (empty_folder / "mine.csv", empty_folder / "test.csv")
    for file, more in zip(twice, ([], rows[:1]), strict=True):
        own = rows if file == twice[0] else [row.replace("What is", "Add up") for row in rows[:10]]
        file.write_text("\n".join(["prompt,label", *own, *more]) + "\n")
    spec = "tasks/mine.csv?scorer=number&test=test.csv"
    told = (*command, spec, "--execution", "builtin/analogist", "--held-out", "11", "--anchors", "0", "--run-id", "r")
    outcome = mage(*told, *(("--iterations", "1") if command[0] == "evolve" else ()))
    assert outcome.code == 0
    assert outcome.err.count("1 question is left out: row-1 repeats test-row-11.") == 1


def test_the_doctor_lists_what_is_left_out_and_which_near_duplicates_stay_together(
    mage: Command, empty_folder: Path
) -> None:
    long = " ".join(f"word{k}" for k in range(20))
    rows = [
        *(f"What is {k} + {k + 3}?,{2 * k + 3}" for k in range(30)),
        "What is 0 + 3?,3",
        f"{long} a,1",
        f"{long} b,2",
    ]
    (empty_folder / "mine.csv").write_text("\n".join(["prompt,label", *rows]) + "\n")
    told = mage("doctor", "mine.csv", "--scorer", "number", "--anchors", "2", "--json")
    found = json.loads(told.out)["tasks"]
    assert found["evolution"] + found["anchors"] + found["held_out"] == 32
    assert found["left_out"] == [{"id": "row-31", "of": "row-1", "nearly": False}]
    assert found["groups"] == [["row-32", "row-33"]]
    shown = mage("doctor", "--tasks", "mine.csv?scorer=number").out
    assert "row-31 repeats row-1" in shown and "row-32, row-33" in shown


def test_tasks_of_ones_own_are_evolved_and_resumed_without_any_code(mage: Command, empty_folder: Path) -> None:
    rows = [f"What is {k} + {k + 3}?,{2 * k + 3}" for k in range(5, 45)]
    (empty_folder / "mine.csv").write_text("\n".join(["prompt,label", *rows]) + "\n")
    words = (
        "mine.csv",
        "--scorer",
        "number",
        "--execution",
        "builtin/analogist",
        "--iterations",
        "1",
        "--pool",
        "8",
        "--anchors",
        "4",
    )
    outcome = mage("evolve", *words, "--json")
    assert outcome.code == 0
    summary = json.loads(outcome.out)
    assert summary["run_id"] == "mine-s42-001"
    assert summary["benchmark"] == "tasks/mine.csv?scorer=number"
    assert mage("resume").code == mage("exam", "--questions", "4").code == mage("verify").code == 0


def test_more_tasks_go_on_from_what_a_run_learned_with_its_settings(mage: Command, empty_folder: Path) -> None:
    for name, numbers in (("mine", range(30)), ("more", range(20, 50))):
        asked = (f"Ann has {n} apples and gets {n * 2} more in street {n * 7}. How many has she?" for n in numbers)
        rows = (json.dumps({"prompt": text, "label": str(3 * n)}) for n, text in zip(numbers, asked, strict=True))
        (empty_folder / f"{name}.jsonl").write_text("\n".join(rows))
    own = ("--columns", "question=prompt,answer=label", "--scorer", "number", "--execution", "builtin/analogist")
    sizes = ("--iterations", "1", "--pool", "8", "--held-out", "5", "--anchors", "2")
    begun = mage("evolve", "mine.jsonl", *own, *sizes, "--run-id", "first")
    assert begun.code == 0 and "Columns: question=prompt, answer=label; none for context," in begun.err
    assert mage("evolve", "more.jsonl", *own, "--at", "iter-0").code == 2
    (empty_folder / "mine.jsonl").unlink()
    more = mage("evolve", "--from", "first", "--at", "iter-0", "--tasks", "more.jsonl", "--run-id", "second", "--yes")
    assert more.code == 0, more.err
    assert "Continues first with its 30 questions and 20 new ones" in more.err
    assert "continues from iter-0 of first, which took" in more.out and "1 of 1 iterations" in more.out
    assert json.loads(mage("runs", "show", "second", "--json").out)["parent"]["run_id"] == "first"
    for run in ("first", "second"):
        [started] = LogReader(empty_folder / "runs" / run / "log").of(RunStarted)
        taken = {column.role: column.name for column in started.columns}
        assert taken.keys() == ROLES.keys()
        assert {role: name for role, name in taken.items() if name} == {"question": "prompt", "answer": "label"}
    assert mage("resume", "second").code == 0
    assert mage("runs", "delete", "first", "--yes").code == 0
    assert mage("verify", "second").code == 0
    assert mage("evolve", "--from", "second", "--seed", "7", "--yes").code == 0


def test_the_prompts_of_own_tasks_begin_with_what_is_to_be_done_and_list_the_labels(
    mage: Command, empty_folder: Path
) -> None:
    rows = [f"Is {k} odd?,{'odd' if k % 2 else 'even'}" for k in range(5, 45)]
    (empty_folder / "mine.csv").write_text("\n".join(["prompt,label", *rows]) + "\n")
    (empty_folder / "how.txt").write_text("Look at the last digit.\n")
    words = ("--labels", "odd,even", "--instruction", "how.txt", "--iterations", "1", "--pool", "4", "--anchors", "0")
    named = ("--execution", "builtin/analogist", *words)
    outcome = mage("evolve", "--tasks", "mine.csv", *named, "--no-bandits")
    assert outcome.code == 0
    guided = "Guidance is builtin/reference: rules, no language model. It writes from worked solutions; tasks with one:"
    assert guided in " ".join(outcome.err.split())
    (empty_folder / "how.txt").unlink()
    shown = json.loads(mage("ask", "Is 7 odd?", "--json").out)["moves"][0]["system"]
    assert shown.startswith("Look at the last digit.\n\nAnswer the question.")
    lines = 'Finish with one of these lines: "Answer: odd", "Answer: even".'
    assert shown.endswith(f"{lines} Nothing else, no reasoning.")


def test_another_guidance_model_is_advised_only_where_guidance_is_asked(mage: Command, empty_folder: Path) -> None:
    rows = [f"Is {k} odd?,{'odd' if k % 2 else 'even'},parity" for k in range(5, 45)]
    (empty_folder / "mine.csv").write_text("\n".join(["prompt,label,type", *rows]) + "\n")
    words = ("--execution", "builtin/analogist", "--iterations", "1", "--pool", "4", "--anchors", "0")
    for columns, is_asked in (("type", False), ("", True)):  # without types of their own, guidance induces them
        outcome = mage("evolve", "mine.csv", *words, "--columns", f"task_type={columns}", "--run-id", f"r{is_asked}")
        calls = LogReader(Path("runs", f"r{is_asked}", "log")).of(ModelCalled)
        assert any(call.tier == "guidance" for call in calls) is is_asked
        assert ("--guidance" in outcome.err) is is_asked


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (("wordmath", "--tasks", "mine.csv"), "Both the benchmark wordmath and --tasks mine.csv"),
        (("wordmath", "--scorer", "number"), "--scorer: only for your own tasks, and wordmath is a benchmark"),
        (("--labels", "a,b"), "--labels: only for your own tasks, and no file was named"),
        (("mine.csv", "--labels", "a,b", "--scorer", "exact"), "the scorer exact is not needed: omit it"),
        (("mine.xlsx",), "A file of tasks ends in .csv, .tsv, .json, .jsonl or .parquet"),
    ],
)
@pytest.mark.parametrize("command", [("evolve",), ("baseline", "zero_shot_cot")])
def test_options_of_own_tasks_that_do_not_fit_the_benchmark_are_refused(
    mage: Command, command: tuple[str, ...], words: tuple[str, ...], complaint: str
) -> None:
    outcome = mage(*command, *words)
    assert outcome.code == 2 and complaint in " ".join(outcome.err.split())


@pytest.mark.parametrize("command", [("evolve",), ("baseline", "zero_shot_cot")])
def test_who_does_own_tasks_is_a_question_and_an_error_where_nobody_can_be_asked(
    mage: Command, empty_folder: Path, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"What is the capital of country {k}?,city {k}" for k in range(40)]
    (empty_folder / "mine.csv").write_text("\n".join(["question,answer", *rows]) + "\n")
    words = (*command, "mine.csv", "--held-out", "5", "--anchors", "0")
    refused = mage(*words)
    assert refused.code == 2 and "a solver of arithmetic word problems by rules" in refused.err
    assert "--execution 'openai/MODEL" in refused.err and not (empty_folder / "runs").exists()

    asked = io.StringIO("y\n")
    asked.isatty = lambda: True  # type: ignore[method-assign]
    monkeypatch.setattr(sys, "stdin", asked)
    accepted = mage(*words, *(("--iterations", "1", "--pool", "6") if command[0] == "evolve" else ()))
    assert accepted.code == 0 and "Go on with it? [y/N]" in accepted.err
    hint = "None of the 6 answers of the first iteration was right. 3 of them:"
    assert accepted.err.count(hint) == (command[0] == "evolve")
    if command[0] == "evolve":
        told = re.findall(r"  row-\d+: the reply ends '(.+)'\n    read as '(.*)', expected 'city \d+'\n", accepted.err)
        assert len(told) == 3 and all(read in reply for reply, read in told)


def test_what_the_guard_takes_back_is_said_when_it_does(mage: Command) -> None:
    sizes = ("--iterations", "4", "--pool", "12", "--held-out", "10", "--anchors", "5")
    told = mage("evolve", "wordmath", *sizes, "--guard", "paper", "--json")
    verdicts = {row["iteration"]: row["guard"] for row in json.loads(told.out)["rows"] if row["iteration"] >= 0}
    taken_back = [k for k, verdict in verdicts.items() if verdict.endswith("rollback")]
    assert taken_back and [int(k) for k in re.findall(r"iter-(\d): rolled back", told.err)] == taken_back


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (("--at", "iter-9"), 2, "has no marker iter-9"),
        (("--tasks", "nowhere.jsonl"), 4, "There is no file nowhere.jsonl"),
        (("--execution", "builtin/nobody"), 2, "There is no model 'builtin/nobody'"),
    ],
)
def test_what_cannot_go_on_is_refused_before_a_price_is_printed(
    mage: Command, runs_dir: Path, words: tuple[str, ...], code: int, why: str
) -> None:
    refused = mage("evolve", "--from", "first", *words)
    assert refused.code == code and refused.err.startswith("mage-es: ") and why in refused.err
    assert [run.name for run in runs_dir.iterdir()] == ["first"]


def test_the_price_of_going_on_is_that_of_the_models_that_will_be_asked(mage: Command, runs_dir: Path) -> None:
    told = mage("evolve", "--from", "first", "--execution", "openai/another")
    assert told.code == 2 and "calls of builtin/reference and openai/another, " in told.err
    assert "dollars unknown, as a price is missing (--prices FILE gives it)" in told.err
    assert "Proceed without a known price with --yes, or within a limit: --max-calls" in told.err
