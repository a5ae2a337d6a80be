"""`mage-es backup` and `mage-es restore` from the outside."""

import json
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

from mage_es.engine.run.directory import Run
from mage_es.events.care.buckets import S3Objects
from tests.events.bucket import bucket
from tests.hostile.backups import KINDS, backed_up, judge, objects_in

pytestmark = pytest.mark.slow

Command = Callable[..., Any]


def test_the_newest_run_goes_to_a_folder_and_back(mage: Command, runs_dir: Path) -> None:
    stored = mage("backup", "first", "saved")
    assert stored.code == 0
    assert "first up to event" in stored.out
    assert "Next: mage-es restore saved first-restored" in stored.err
    assert "nothing new" in mage("backup", "first", "saved").out
    outcome = mage("restore", "saved", "first-restored")
    assert (outcome.code, "and verified" in outcome.out) == (0, True)
    assert "mage-es runs show first-restored" in outcome.err, "which knows whether it is finished, served or to go on"
    assert mage("verify", "first-restored").code == 0
    assert mage("replay", "first-restored", "--until", "latest").code == 0
    assert "finished" in mage("resume", "first-restored").out


def test_the_only_word_is_the_run_and_its_copy_goes_beside_the_runs(mage: Command, runs_dir: Path) -> None:
    shutil.copytree(runs_dir / "first", runs_dir / "second")
    stored = mage("backup", "first")
    assert (stored.code, stored.out.partition(":")[0]) == (0, "runs-backups/first")
    assert "restore runs-backups/first first-restored" in stored.err
    assert (
        "nothing new" in mage("backup", "runs/first").out
        and "nothing new" in mage("backup", str(runs_dir / "first")).out
    )
    assert "runs-backups/second" in mage("backup").out
    unknown = mage("backup", "saved")
    assert (unknown.code, "There is no run 'saved'" in unknown.err) == (2, True)
    assert not (runs_dir.parent / "saved").exists()


def test_a_run_goes_to_a_bucket_and_back(mage: Command, runs_dir: Path) -> None:
    with bucket() as address:
        stored = json.loads(mage("backup", "first", f"{address}/first", "--json").out)
        restored = json.loads(mage("restore", f"{address}/first", "again", "--json").out)
    assert stored["head_chain"] == restored["head_chain"]
    assert mage("verify", "again").code == 0


def test_all_runs_of_a_bucket_are_restored_and_what_is_left_out_is_named(mage: Command, runs_dir: Path) -> None:
    line = ("--all", "--runs-dir", "theirs")
    with bucket() as address:
        mage("backup", "first", f"{address}/team/first")
        restored = mage("restore", f"{address}/team", *line)
        assert (restored.code, restored.out) == (0, "theirs: 1 new, 0 replaced, 0 unchanged, 0 left out.\n")
        S3Objects(address).create("team/begun/log/FORMAT", b"x")
        again = mage("restore", f"{address}/team", *line, "--json")
        assert (again.code, json.loads(again.out)["unchanged"]) == (1, 1)
        assert f"{address}/team/begun holds no complete backup" in again.err
    for words in (("saved",), ("saved", "again", "--all")):
        refused = mage("restore", *words)
        assert (refused.code, "or --all for every run" in refused.err) == (2, True)


def test_what_is_refused(mage: Command, runs_dir: Path) -> None:
    assert mage("backup", "a", "b", "c").code == 2
    assert mage("backup", "frist", "saved").code == 2
    mage("backup", "first", "saved")
    taken = mage("restore", "saved", "first")
    assert (taken.code, "another name" in taken.err) == (2, True)


def test_a_damaged_backup_is_exit_code_five_and_no_run(mage: Command, runs_dir: Path, tmp_path: Path) -> None:
    mage("backup", "first", "saved")
    tail = next((tmp_path / "saved" / "log" / "tail").iterdir())
    tail.write_bytes(tail.read_bytes()[:-1])
    outcome = mage("restore", "saved", "again")
    assert (outcome.code, "damaged" in outcome.err) == (5, True)
    assert [path.name for path in runs_dir.iterdir()] == ["first"]


@pytest.fixture
def saved(mage: Command, runs_dir: Path, tmp_path: Path) -> Path:
    """Return a folder with two backups of a run, with an exam and without."""
    mage("backup", "first", "saved")
    mage("exam", "first", "--questions", "3")
    assert mage("backup", "first", "saved").code == 0
    return tmp_path / "saved"


def test_no_damage_of_a_backup_is_restored_and_the_next_backup_mends_or_names_it(runs_dir: Path, saved: Path) -> None:
    """Each file, harmed in each way or, after the first of its kind, in two: what is restored is the run as it was
    backed up last, or nothing."""
    whole, random = shutil.copytree(saved, saved.with_name("whole")), Random(26)
    first, right = Run("first", runs_dir / "first"), backed_up(runs_dir, saved)
    outcomes = Counter[str]()
    alike = set[str]()
    for name in objects_in(whole):
        for kind in ("flip", "missing") if (place := Path(name).parent.name) in alike else KINDS:
            outcomes[judge(first, saved, right, name, kind, random)] += 1
            shutil.rmtree(saved)
            shutil.copytree(whole, saved)
        alike.add(place)
    assert outcomes["refused"] > outcomes["same"] and outcomes["earlier"] == 1


def test_what_is_damaged_in_a_bucket_is_stored_anew(mage: Command, runs_dir: Path) -> None:
    with bucket() as address:
        place = f"{address}/first"
        mage("backup", "first", place)
        objects = S3Objects(place)
        segment = next(name for name in objects.names() if "/seg/" in name)
        data = objects.read(segment)
        objects.replace(segment, data[:-1] + bytes([data[-1] ^ 1]))
        refused = mage("restore", place, "again")
        assert (refused.code, segment in refused.err) == (5, True)
        assert "1 new objects" in mage("backup", "first", place).out
        assert mage("restore", place, "again").code == 0
