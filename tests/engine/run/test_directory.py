"""Run directories: names, order, and errors that help."""

import os
import re
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.run.directory import create_run, delete_run, find_run, list_runs
from mage_es.events.errors import LogDamaged, UsageError
from mage_es.events.vocabulary import Draft, TaskTypeCreated


def made(runs_dir: Path, name: str, age: int) -> None:
    with create_run(runs_dir, benchmark="gsm8k", seed=42, run_id=name).begin() as log:
        log.append([Draft(event=TaskTypeCreated(task_type="ages", description=""), iteration=-1, phase="open")])
    os.utime(runs_dir / name / "log" / "FORMAT", (1_000_000 - age, 1_000_000 - age))


def test_runs_are_numbered_within_benchmark_and_seed(tmp_path: Path) -> None:
    names = [create_run(tmp_path, benchmark="gsm8k", seed=42).id for _ in range(2)]
    assert names == ["gsm8k-s42-001", "gsm8k-s42-002"]


def test_a_name_that_is_taken_is_refused_with_the_way_to_continue(tmp_path: Path) -> None:
    made(tmp_path, "mine", age=0)
    with pytest.raises(UsageError, match="mage-es resume mine"):
        create_run(tmp_path, benchmark="gsm8k", seed=42, run_id="mine")


@pytest.mark.parametrize("name", ["", "..", "-x", "a/b", "a\\b", "a\x1b[2Jb", "a\nb", "a\u202eb"])
def test_a_name_that_is_no_folder_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be a run's name"):
        create_run(tmp_path, benchmark="gsm8k", seed=42, run_id=name)
    assert list(tmp_path.iterdir()) == []


def test_without_a_name_the_newest_run_is_meant(tmp_path: Path) -> None:
    made(tmp_path, "older", age=100)
    made(tmp_path, "newest", age=1)
    made(tmp_path, "oldest", age=200)
    assert [run.id for run in list_runs(tmp_path)] == ["oldest", "older", "newest"]
    assert find_run(tmp_path, None).id == "newest"


def test_a_run_can_be_named_by_its_path(tmp_path: Path) -> None:
    made(tmp_path / "elsewhere", "r", age=0)
    assert find_run(tmp_path, str(tmp_path / "elsewhere" / "r")).path == tmp_path / "elsewhere" / "r"


def test_an_unknown_run_lists_the_near_matches(tmp_path: Path) -> None:
    made(tmp_path, "gsm8k-s42-001", age=0)
    with pytest.raises(UsageError, match=r"no run 'gsm8k-s42-01'.*Did you mean gsm8k-s42-001\?"):
        find_run(tmp_path, "gsm8k-s42-01")


def test_a_folder_that_is_not_a_run_is_named_as_what_it_is(tmp_path: Path) -> None:
    run = create_run(tmp_path, benchmark="gsm8k", seed=42, run_id="r")
    for each in (run, run.exam("0001-latest")):
        with each.begin() as log:
            log.append([Draft(event=TaskTypeCreated(task_type="ages", description=""), iteration=-1, phase="open")])
    for name in ("r/replays/iter-1/snapshots", "elsewhere/snapshots", "b/log/head", "pictures/old", "f/log"):
        (tmp_path / name).mkdir(parents=True)
    shutil.copytree(run.exam("0001-latest").path, tmp_path / "moved")
    (tmp_path / "f" / "log" / "FORMAT").write_text("Our log is kept in pencil.")
    for name, said in {
        "r/exams/0001-latest": "the exam 0001-latest of r: `mage-es runs show r` lists",
        "moved": "the exam 0001-latest of r: ",
        "r/exams": "the exams of r: `mage-es runs show r` lists",
        "r/log": "the log of one: name the folder that holds it",
        "r/replays/iter-1": "a state of r that `mage-es replay` rebuilt",
        "elsewhere": "a state of the run that `mage-es replay` rebuilt",
        "b": "a backup: `mage-es restore",
        ".": "a folder of runs, such as ",
        "pictures": "a folder with old in it and without a log",
        "pictures/old": "a folder with nothing in it and without a log",
        "f": "a folder with log in it and without a log",
    }.items():
        with pytest.raises(UsageError, match=re.escape(said)):
            find_run(tmp_path / "runs", str(tmp_path / name))
    assert not {"moved", "elsewhere", "pictures"} & {found.id for found in list_runs(tmp_path)}
    assert list_runs(tmp_path / "r" / "exams") == []


def test_no_run_at_all_says_how_to_start_one(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="mage-es evolve wordmath"):
        find_run(tmp_path / "nowhere", None)


def test_a_folder_that_a_failed_start_left_is_taken_up_and_one_with_other_files_is_not(tmp_path: Path) -> None:
    for name in ("rest", "photos"):
        (tmp_path / name).mkdir()
    (tmp_path / "photos" / "cat.png").touch()
    for _ in range(2):
        with create_run(tmp_path, benchmark="gsm8k", seed=42, run_id="rest").begin() as log:
            assert (log.run, log.head.seq) == ("rest", 0)
    with pytest.raises(UsageError, match=r"photos is not a run's folder: it holds cat.png"):
        create_run(tmp_path, benchmark="gsm8k", seed=42, run_id="photos")


FILES = ("FORMAT", "HEAD", "LOCK", "wal", "seg")


@pytest.mark.slow
@settings(deadline=None, max_examples=25)
@given(lost=st.sets(st.sampled_from([f"{log}/{name}" for log in ("log", "exams/0001-latest/log") for name in FILES])))
def test_what_holds_events_or_an_exam_is_listed_and_never_begun_again(lost: set[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = create_run(folder, benchmark="gsm8k", seed=42, run_id="r")
        for each in (run, run.exam("0001-latest")):
            with each.begin() as log:
                log.append([Draft(event=TaskTypeCreated(task_type="ages", description=""), iteration=-1, phase="open")])
        for name in lost:
            path = run.path / name
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        before = {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}
        if any(path.suffix in (".wal", ".parquet") or path.name == "FORMAT" for path in before):
            with pytest.raises((LogDamaged, UsageError)):
                create_run(folder, benchmark="gsm8k", seed=42, run_id="r").begin()
            assert [found.id for found in list_runs(folder)] == ["r"] == [find_run(folder).id]
            assert before == {path: path.read_bytes() for path in run.path.rglob("*") if path.is_file()}


def test_another_folder_takes_a_run_s_place_and_one_that_cannot_leaves_it_where_it_was(tmp_path: Path) -> None:
    made(tmp_path, "mine", age=0)
    other = tmp_path / "aside" / "mine"
    with pytest.raises(FileNotFoundError):
        delete_run(find_run(tmp_path, "mine"), instead=other)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"] and find_run(tmp_path, "mine").events
    made(other.parent, "mine", age=0)
    (other / "snapshots").mkdir()
    delete_run(find_run(tmp_path, "mine"), instead=other)
    assert (tmp_path / "mine" / "snapshots").exists() and not other.exists()
