"""A replay rebuilds any moment elsewhere, and agrees with what was recorded live."""

import shutil
import sys
from pathlib import Path

import pytest

from mage_es.engine.run.directory import Run
from mage_es.engine.verbs.replay import replay
from mage_es.events.errors import PrerequisiteError, UsageError
from mage_es.projections.fold import State
from mage_es.projections.lance import read_digest


@pytest.mark.parametrize("marker", ["start", "iter-0", "iter-1", "latest"])
def test_every_digest_equals_the_one_recorded_live(small_run: Run, tmp_path: Path, marker: str) -> None:
    report = replay(small_run, until=marker, into=tmp_path / "there")
    assert [check.equal for check in report.checks] == [True] * len(State().digested())


def test_the_memory_is_read_back_from_tables_where_those_are_asked_for(small_run: Run, tmp_path: Path) -> None:
    report = replay(small_run, until="iter-1", into=str(tmp_path / "there"), tables=True)
    memory = next(check for check in report.checks if check.projection == "memory")
    assert memory.equal
    assert memory.rebuilt == read_digest(tmp_path / "there" / "memory")
    assert report.success_memories + report.failure_memories + report.principles > 0


def test_tables_without_lancedb_are_refused_before_anything_is_written(
    small_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lancedb", None)
    with pytest.raises(PrerequisiteError, match=r"pip install 'mage-es\[lance\]'"):
        replay(small_run, until="iter-1", into=tmp_path / "there", tables=True)
    assert not (tmp_path / "there").exists()
    assert all(check.equal for check in replay(small_run, until="iter-1", into=tmp_path / "there").checks)


def test_a_moment_between_iterations_has_digests_but_nothing_to_hold_them_against(
    small_run: Run, tmp_path: Path
) -> None:
    report = replay(small_run, until="iter-1/evaluate", into=tmp_path / "there")
    assert {check.equal for check in report.checks} == {None}


def test_neither_models_nor_data_nor_cached_folds_are_needed(small_run: Run, tmp_path: Path) -> None:
    """Only the log is copied: no snapshots, no tables, no data set."""
    alone = Run("alone", tmp_path / "alone")
    shutil.copytree(small_run.log_path, alone.log_path)
    report = replay(alone, until="iter-1")
    assert all(check.equal for check in report.checks)
    assert Path(report.path).is_relative_to(alone.path)


def test_a_replay_leaves_the_log_as_it_was(small_run: Run, tmp_path: Path) -> None:
    before = sorted((p, p.stat().st_mtime_ns, p.stat().st_size) for p in small_run.log_path.rglob("*"))
    replay(small_run, until="iter-0", into=tmp_path / "there")
    assert sorted((p, p.stat().st_mtime_ns, p.stat().st_size) for p in small_run.log_path.rglob("*")) == before


def test_a_folder_with_something_in_it_is_not_written_to(small_run: Run, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    with pytest.raises(UsageError, match="is not empty"):
        replay(small_run, until="iter-0", into=tmp_path)
    with pytest.raises(UsageError, match="precious is not a folder"):
        replay(small_run, until="iter-0", into=tmp_path / "precious")
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


def test_an_iteration_that_does_not_exist_is_named_with_those_that_do(small_run: Run) -> None:
    with pytest.raises(UsageError, match=r"iter-9.*iter-1"):
        replay(small_run, until="iter-9")
