"""Runs of a folder: which count, which exam is the one, what is missing."""

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mage_es.engine.run.directory import Run
from mage_es.engine.study.reporting.cells import Cell
from mage_es.engine.study.reporting.places import FULL, Placement
from mage_es.engine.study.reporting.recorded import RecordedRun, find_runs
from mage_es.engine.study.reporting.study import open_study
from mage_es.engine.study.reporting.words import in_words
from mage_es.engine.verbs.evolve import evolve
from mage_es.events.errors import UsageError
from mage_es.events.vocabulary import RunRegistered
from tests.engine.conftest import SMALL

HERE = Placement("wordmath", "analogist", "reference", "", FULL)


def test_the_exam_of_a_run_is_the_first_at_its_end_without_a_control_however_often_it_is_repeated(bench: Any) -> None:
    run = bench.run("one", before="0011", after="0111")
    end = bench.study().runs[0].reader.head.seq
    bench.exam(run, "latest", "1111", head=end, control="shuffled")
    bench.exam(run, "iter-0/evaluate", "0000", head=3)
    study = bench.study()
    assert study.reached(HERE) == Cell(mean=75.0, sd=None, n=1)
    assert study.reached(HERE, at="start") == Cell(mean=50.0, sd=None, n=1)
    bench.exam(run, "latest", "1111", head=end)
    study = bench.study()
    assert study.reached(HERE) == Cell(mean=75.0, sd=None, n=1)
    assert "one took 2 exams at its end (4, 4 questions): 0002-latest counts." in study.notes
    assert "Exams taken: 1 before and 2 after learning, in 1 run." in in_words(study)


def test_the_first_exam_of_all_held_out_questions_counts_before_smaller_ones(bench: Any) -> None:
    run = bench.run("one", taken={"held_out": 4})
    end = bench.study().runs[0].reader.head.seq
    bench.exam(run, "latest", "11", head=end)
    assert bench.study().reached(HERE) == Cell(mean=100.0, sd=None, n=1), "there is no other yet"
    bench.exam(run, "latest", "0101", head=end)
    bench.exam(run, "latest", "1111", head=end)
    assert bench.study().reached(HERE) == Cell(mean=50.0, sd=None, n=1)


def test_the_exam_that_was_registered_counts_before_a_larger_one(bench: Any) -> None:
    told = RunRegistered(metric="accuracy", questions=2, exams=1, seeds=(0,))
    run = bench.run("one", taken={"held_out": 4}, events=[told])
    end = bench.study().runs[0].reader.head.seq
    bench.exam(run, "latest", "1111", head=end)
    bench.exam(run, "latest", "10", head=end)
    assert bench.study().reached(HERE) == Cell(mean=50.0, sd=None, n=1)


def test_exams_that_asked_other_questions_are_not_compared_and_named(bench: Any) -> None:
    bench.run("one", before="00", after="0111")
    study = bench.study()
    assert study.gain(HERE, HERE, over="start") is None
    [note] = study.notes
    assert note == (
        "Not compared: the exams of one before and after asked 4 and 2 questions, "
        "2 of them the same (q2 is in one only)."
    )
    study.gain(HERE, HERE, over="start")
    assert study.notes == [note]


@pytest.mark.parametrize("edit", [{"question": "How many are 1 of 2?"}, {"answer": "7"}], ids=("text", "answer"))
def test_exams_with_a_question_that_was_edited_in_between_are_not_compared(
    bench: Any, tmp_path: Path, edit: dict[str, str]
) -> None:
    tasks = [{"id": f"q{n}", "question": f"What is {n} of {n * n}?", "answer": f"{n}"} for n in range(9)]
    file, settings = tmp_path / "mine.json", {"data": tmp_path}
    settings["benchmark"] = f"tasks/{file}"
    file.write_text(json.dumps(tasks))
    bench.run("one", after="0111", **settings)
    bench.baseline("same", "zero_shot", "0101", execution="", **settings)
    there, here = bench.study().places
    assert bench.study().gain(here, there).mean == 25.0
    file.write_text(json.dumps([tasks[0], tasks[1] | edit, *tasks[2:]]))
    bench.baseline("then", "zero_shot", "0001", execution="", **settings)
    study = bench.study()
    assert study.gain(here, there) is None
    assert study.notes[-1] == (
        "Not compared: the exams of one and then asked 4 and 4 questions, 3 of them the same "
        "(q1 was edited in between)."
    )


def test_of_two_runs_of_one_place_and_seed_the_newer_counts_and_the_other_is_named(bench: Any) -> None:
    bench.run("a", after="11")
    bench.run("b", after="10")
    study = bench.study()
    assert [run.run.id for run in study.counted] == ["b"]
    assert any(note.startswith("a is left out") for note in study.notes)


@pytest.mark.paper("tables, cells")
def test_what_was_not_measured_is_none_and_a_run_without_an_exam_is_named_with_its_command(bench: Any) -> None:
    (bench.folder / "below").mkdir(parents=True)
    bench.run("unsat").path.rename(bench.folder / "below" / "unsat")
    study = bench.study()
    assert study.reached(HERE) is None
    assert f"unsat has no exam at its end: mage-es exam unsat --runs-dir {bench.folder / 'below'}" in study.notes


def test_an_unfinished_run_is_in_no_mean_of_exams_and_is_named_with_the_way_to_its_end(bench: Any) -> None:
    bench.run("whole", seed=1, after="11")
    bench.run("broken", seed=2, after="00", finished=False)
    study = bench.study()
    assert study.reached(HERE) == Cell(mean=100.0, sd=None, n=1)
    assert study.notes == [f"broken has not finished: mage-es resume broken --runs-dir {bench.folder}"]


def test_settings_in_which_runs_differ_part_them_and_the_rest_does_not(bench: Any) -> None:
    bench.run("short", iterations=1, after="11")
    bench.run("long", iterations=2, after="10")
    assert [place.setting for place in bench.study().full()] == ["iterations 1", "iterations 2"]


def test_a_setting_that_is_empty_in_some_run_is_said_in_words(bench: Any) -> None:
    bench.run("with", search="record", after="11")
    bench.run("without", after="10")
    assert [place.setting for place in bench.study().full()] == ["no search", "search record"]


def test_where_no_run_has_a_guard_that_is_a_setting_and_else_a_part_switched_off(bench: Any) -> None:
    bench.run("a", guard="off", after="11")
    assert [(place.setting, place.system) for place in bench.study().places] == [("no guard", "full")]
    bench.run("b", after="11")
    assert [(place.setting, place.system) for place in bench.study().places] == [("", "full"), ("", "no guard")]


def test_runs_in_folders_below_are_found_and_exams_and_hidden_folders_are_no_runs(bench: Any) -> None:
    bench.run("deep/down/one", after="1")
    bench.run(".building/two", seed=2, after="1")
    assert [run.run.id for run in open_study(bench.folder).runs] == ["one"]


def test_a_damaged_run_is_left_out_and_named(bench: Any) -> None:
    bench.run("good", after="1")
    bad = bench.run("bad", seed=2, after="1")
    for path in bad.log_path.rglob("*"):
        if path.is_file() and path.name != "FORMAT":
            path.write_bytes(b"\x00" * path.stat().st_size)
    study = bench.study()
    assert [run.run.id for run in study.runs] == ["good"]
    assert study.notes[0].startswith("bad is left out: ")


def test_a_damaged_exam_is_left_out_and_named_and_the_rest_of_its_run_counts(bench: Any) -> None:
    run = bench.run("one", before="0011", after="0111")
    for path in (run.exams_path / "0001-start" / "log").rglob("*"):
        if path.is_file() and path.name != "FORMAT":
            path.write_bytes(b"\x00" * path.stat().st_size)
    study = bench.study()
    assert study.reached(HERE) == Cell(mean=75.0, sd=None, n=1)
    assert study.reached(HERE, at="start") is None
    assert [note.partition(": ")[0] for note in study.notes] == ["Exam 0001-start of one is left out"]


def test_a_folder_that_is_none_is_told_from_one_without_runs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no folder"):
        open_study(tmp_path / "nowhere")


def test_a_folder_without_runs_is_a_usage_error_that_names_the_way(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="mage-es matrix"):
        open_study(tmp_path)


def test_two_models_of_one_short_name_keep_their_whole_names(bench: Any) -> None:
    bench.run("a", execution="builtin/analogist", after="1")
    bench.run("b", execution="recorded/analogist", after="1")
    assert [place.learner for place in bench.study().full()] == ["builtin/analogist", "recorded/analogist"]


@pytest.mark.slow
def test_a_run_that_continues_another_is_one_run_with_the_sizes_that_it_began_with(
    small_run: Run, tmp_path: Path
) -> None:
    parent = Run("small", shutil.copytree(small_run.path, tmp_path / "small"))
    evolve(msgspec.structs.replace(SMALL, iterations=1), from_run=parent, runs_dir=tmp_path, run_id="branch")
    assert [run.id for run in find_runs(tmp_path)] == ["small", "branch"]
    [before, after] = (RecordedRun(run).growth["nodes"].to_list() for run in find_runs(tmp_path))
    assert after[-1] > before[0] and RecordedRun(Run("branch", tmp_path / "branch")).mastery.height
