"""`mage-es matrix` from the outside."""

import itertools
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mage_es.engine.config import Config
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.verbs.evolve import evolve
from mage_es.events.errors import Interrupted
from tests.engine.study.test_baseline import hotpot
from tests.few_words import COMMAND

pytestmark = pytest.mark.slow

Command = Callable[..., Any]

SMALL = """
[settings]
iterations = 1
pool = 6
held_out = 6
anchors = 0
guard = "off"
explore_episodes = 0
"""


def write(text: str, *, name: str = "m.toml") -> str:
    Path(name).write_text(text + SMALL)
    return name


def test_every_cell_is_run_and_examined_is_in_the_report_and_found_done_the_next_time(mage: Command) -> None:
    rows = [{"question": f"How much is {a} plus {b}?", "answer": a + b} for a in range(2, 12) for b in range(4)]
    Path("sums.jsonl").write_text("\n".join(map(json.dumps, rows)))  # few, so that a process begins soon
    file = write(
        'benchmarks = ["tasks/sums.jsonl?scorer=number"]\nseeds = [1]\nexams = ["latest"]\n'
        'learners = ["builtin/analogist"]\nteachers = ["builtin/reference"]\n'
        'variants = {full = {}, less = {success_memories = false}, near = {baseline = "knn_few_shot"}}'
    )
    first = mage("matrix", file, "--jobs", "2")
    assert first.code == 0, first.err
    names = {path.name.rpartition("number-")[2] for path in Path("runs").iterdir() if not path.name.startswith(".")}
    assert names == {"analogist-reference-full-s1", "analogist-reference-less-s1", "analogist-near-s1"}
    assert "Next: mage-es report runs" in first.err and "[3/3] " in first.err
    again = json.loads(mage("matrix", file, "--json").out)
    assert [outcome["end"] for outcome in again] == ["skipped"] * 3
    ablation, main = json.loads(mage("report", "runs", "ablation", "main", "--json").out)
    (row,) = ablation["rows"]
    assert row[1] == "no success memories" and [cell["n"] for cell in row[2:]] == [1, 1, 1]
    (row,) = main["rows"]
    names = main["columns"]
    assert [row[names.index(name)]["n"] for name in ("knn", "full")] == [1, 1]
    Path("sums.jsonl").write_text("\n".join(map(json.dumps, rows[1:])))
    changed = mage("matrix", file, "--json")
    assert changed.code == 1
    assert all("tasks/sums.jsonl has changed since" in outcome["problem"] for outcome in json.loads(changed.out))


def test_what_stopped_is_resumed_what_fails_is_named_and_the_rest_is_done(
    mage: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mage_es.engine.study.cli.matrix.PROGRAM", (sys.executable, *COMMAND))
    file = write('benchmarks = ["wordmath", "gsm8k"]\nseeds = [3]\nexams = []')
    config = Config(
        benchmark="wordmath", seed=3, iterations=1, pool=6, held_out=6, anchors=0, guard="off", explore_episodes=0
    )
    looks = itertools.count()
    with pytest.raises(Interrupted):
        evolve(config, runs_dir="runs", run_id="wordmath-full-s3", runtime=Runtime(stop=lambda: next(looks) > 3))
    outcome = mage("matrix", file)
    assert outcome.code == 1
    assert "wordmath-full-s3: resume" in outcome.err and "[1/2] wordmath-full-s3: done" in outcome.err
    failed = next(line for line in outcome.err.splitlines() if "gsm8k-full-s3: FAILED" in line)
    assert outcome.err.count(failed.partition("evolve ended with ")[2]) == 1
    assert outcome.err.count("mage-es evolve gsm8k") == 1
    assert "1 of 2 cells are not done: 1 failed." in outcome.err
    assert "Next: mage-es matrix m.toml\n      mage-es report runs" in outcome.err
    sizes = "--seed 3 --iterations 1 --pool 6 --held-out 6 --anchors 0"
    rest = "--guard off --explore-episodes 0 --runs-dir runs"
    command = next(line for line in outcome.err.splitlines() if "continue with: mage-es evolve gsm8k" in line)
    assert f"--run-id gsm8k-full-s3 --register --register-seeds 3 {sizes} --execution " in command and rest in command
    assert "--mastery-increase" not in command


def test_a_dry_run_tells_cells_and_calls_and_runs_none(mage: Command) -> None:
    file = write('benchmarks = ["wordmath"]\nseeds = [1, 2]')
    outcome = mage("matrix", file, "--dry-run")
    assert outcome.code == 0
    lines = [line.split() for line in outcome.out.splitlines()]
    assert lines[2][:2] == ["wordmath-full-s1", "new"]
    assert lines[2][2:] == lines[3][2:]  # another seed takes as many calls
    assert lines[4][:3] == ["all", "new", "cells"]
    assert not Path("runs").exists() or not list(Path("runs").iterdir())


def test_a_dry_run_says_that_baselines_are_in_no_sum(mage: Command) -> None:
    file = write('benchmarks = ["wordmath"]\nseeds = [1]\nvariants = {once = {baseline = "zero_shot_cot"}}')
    outcome = mage("matrix", file, "--dry-run")
    assert "wordmath-once-s1  new" in outcome.out and "Baselines are not in the sums" in outcome.err
    assert "Baselines" not in mage("matrix", write('benchmarks = ["wordmath"]\nseeds = [1]'), "--dry-run").err


def test_a_benchmark_that_is_none_is_refused_before_anything_runs(mage: Command) -> None:
    outcome = mage("matrix", write('benchmarks = ["wordmath", "wordmth"]\nseeds = [1]'))
    assert (outcome.code, outcome.out) == (2, "")
    assert "no benchmark 'wordmth'. Did you mean wordmath" in outcome.err
    assert not Path("runs").exists()


def test_a_setting_that_is_none_is_refused_before_anything_runs(mage: Command) -> None:
    Path("m.toml").write_text('benchmarks = ["wordmath"]\nseeds = [1]\n[settings]\niteration = 1\n')
    outcome = mage("matrix", "m.toml")
    assert (outcome.code, outcome.out) == (2, "")
    assert "a run has no setting `iteration`. Did you mean iterations" in outcome.err


@pytest.mark.parametrize(("words", "part"), [(["none.toml"], "cannot be read"), (["m.toml", "--jobs", "0"], "--jobs")])
def test_what_cannot_be_run_is_a_usage_error(mage: Command, words: list[str], part: str) -> None:
    write('benchmarks = ["wordmath"]\nseeds = [1]')
    outcome = mage("matrix", *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert part in outcome.err


def test_ctrl_c_stops_the_cells_which_can_be_gone_on_with(mage: Command) -> None:
    Path("m.toml").write_text(
        'benchmarks = ["wordmath"]\nseeds = [1]\nexams = []\n[settings]\niterations = 100\npool = 60\n'
    )
    command = [sys.executable, *COMMAND, "matrix", "m.toml"]
    with subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
    ) as child:
        deadline = time.monotonic() + 600
        while not list(Path("runs").glob("wordmath-full-s1/log/wal/*")) and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        _, err = child.communicate()
    assert child.returncode == 130
    assert "Finishing the calls in flight" in err and "continue with: mage-es " in err


@pytest.mark.parametrize(
    ("benchmark", "baseline", "complaint"),
    [
        ("workshop", "react", "workshop-way-s1: react cannot play the episodes"),
        ("workshop", "few_shot_cot", "workshop-way-s1: few_shot_cot cannot play the episodes"),
        ("workshop", "nearest_label", "workshop-way-s1: nearest_label cannot play the episodes"),
        ("wordmath", "react", "wordmath-way-s1: react needs something to search"),
        ("wordmath", "raect", "wordmath-way-s1: There is no baseline 'raect'. Did you mean react?"),
    ],
)
def test_a_baseline_that_makes_no_sense_is_refused_with_its_cell_before_anything_begins(
    mage: Command, benchmark: str, baseline: str, complaint: str
) -> None:
    file = write(
        f'benchmarks = ["{benchmark}"]\nseeds = [1]\nvariants = {{full = {{}}, way = {{baseline = "{baseline}"}}}}'
    )
    for words in ((), ("--dry-run",)):
        refused = mage("matrix", file, *words)
        assert refused.code == 2 and complaint in refused.err, refused.err
    assert not Path("runs").exists()


def test_react_is_taken_into_a_matrix_where_questions_bring_paragraphs_and_where_nobody_can_tell_yet(
    mage: Command, tmp_path: Path
) -> None:
    file = write('benchmarks = ["hotpotqa"]\nseeds = [1]\nvariants = {react = {baseline = "react"}}')
    assert mage("matrix", file, "--dry-run", "--data-dir", "nowhere").code == 0
    done = mage("matrix", file, "--data-dir", str(hotpot(tmp_path / "data")))
    assert done.code == 0, done.err
