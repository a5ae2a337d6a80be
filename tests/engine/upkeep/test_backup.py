"""The drill: a run backed up while it evolves and at its end comes back with equal digests, and goes on."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from mage_es.engine.auditing.verify import verify
from mage_es.engine.config import Config
from mage_es.engine.run.directory import Run, find_run, list_runs
from mage_es.engine.run.runtime import ProgressNote, Runtime
from mage_es.engine.upkeep.backup import backup, mirror, open_objects, restore
from mage_es.engine.upkeep.memory import curate, memories
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.replay import replay
from mage_es.engine.verbs.resume import resume
from mage_es.events.care import verify_log
from mage_es.events.care.manifest import complete, item_of
from mage_es.events.disk.keys import make_keys
from mage_es.events.errors import LogDamaged, PrerequisiteError, UsageError
from mage_es.events.log import Log, LogReader
from mage_es.projections.fold import fold
from tests.events.bucket import bucket

SMALL = Config(benchmark="wordmath", seed=7, iterations=2, pool=24, held_out=20, anchors=12)


@pytest.fixture
def place() -> Iterator[str]:
    """The address of an empty bucket."""
    with bucket() as address:
        yield address


def digests(run: Run, until: str = "latest") -> dict[str, str]:
    reader = LogReader(run.log_path)
    return {each.projection: each.value for each in fold(reader, until=reader.resolve(until)).digests()}


@pytest.mark.slow
def test_a_run_comes_back_from_its_middle_and_from_its_end(place: str, tmp_path: Path) -> None:
    runs, taken = tmp_path / "runs", []

    def observe(note: ProgressNote) -> None:
        if note.iteration == 1 and note.phase == "evaluate" and not taken:
            run = find_run(runs, "r")
            taken.append(backup(run, f"{place}/middle"))
            taken.append(backup(run, f"{place}/whole"))

    evolve(SMALL, runs_dir=runs, data_dir=None, runtime=Runtime(workers=4, observer=observe), run_id="r")
    run = find_run(runs, "r")
    examine(run, at="latest", questions=None, control="none", data_dir=None, runtime=Runtime(workers=4))
    whole = backup(run, f"{place}/whole")
    middle = taken[0]
    assert 0 < middle.head_seq < whole.head_seq
    assert backup(run, f"{place}/whole").objects == 0
    shutil.rmtree(run.path / "snapshots")

    assert restore(f"{place}/whole", runs_dir=runs, name="whole").exams == 1
    again = find_run(runs, "whole")
    assert verify(again).ok
    report = replay(again, until="latest")
    assert [check.equal for check in report.checks] == [True] * len(report.checks)
    assert digests(again) == digests(run)
    assert verify(again).head == whole.head_chain

    restored = restore(f"{place}/middle", runs_dir=runs, name="middle")
    half = find_run(runs, "middle")
    assert (restored.head_seq, restored.head_chain) == (middle.head_seq, middle.head_chain)
    assert verify(half).ok
    assert digests(half, "iter-0") == digests(run, "iter-0")
    resume(half, config=None, data_dir=None, runtime=Runtime(workers=4))
    assert digests(half) == digests(run)
    assert verify(half).ok


def test_damage_leaves_nothing_under_the_name(small_run: Run, tmp_path: Path) -> None:
    backup(small_run, str(tmp_path / "backup"))
    segment = next((tmp_path / "backup" / "log" / "seg").glob("*.vec.parquet"))
    data = bytearray(segment.read_bytes())
    data[len(data) // 2] ^= 1
    segment.write_bytes(bytes(data))
    with pytest.raises(LogDamaged, match=segment.name):
        restore(str(tmp_path / "backup"), runs_dir=tmp_path / "runs", name="again")
    assert list((tmp_path / "runs").iterdir()) == []


def test_what_is_being_restored_is_no_run_yet(small_run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    backup(small_run, str(tmp_path / "backup"))
    seen = []
    rename = Path.rename

    def spy(path: Path, target: Path) -> Path:
        seen.append((list_runs(tmp_path / "runs"), (path / "log" / "FORMAT").exists()))
        return rename(path, target)

    monkeypatch.setattr(Path, "rename", spy)
    restore(str(tmp_path / "backup"), runs_dir=tmp_path / "runs", name="again")
    assert seen == [([], True)]
    assert [run.id for run in list_runs(tmp_path / "runs")] == ["again"]
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["again"]


def test_what_is_refused(small_run: Run, tmp_path: Path) -> None:
    backup(small_run, str(tmp_path / "backup"))
    (tmp_path / "runs" / "taken").mkdir(parents=True)
    for source, name, said in (
        ("backup", "taken", "restore it under another name"),
        ("backup", "a/b", "cannot be a run's name"),
        ("nowhere", "again", "no backup in"),
        ("ftp://host/x", "again", "not a destination for backups"),
    ):
        with pytest.raises(UsageError, match=said):
            restore(source if ":" in source else str(tmp_path / source), runs_dir=tmp_path / "runs", name=name)
    (tmp_path / "junk").mkdir()
    (tmp_path / "junk" / "file").write_text("x")
    with pytest.raises(PrerequisiteError, match="no complete backup"):
        restore(str(tmp_path / "junk"), runs_dir=tmp_path / "runs", name="again")
    assert list((tmp_path / "runs" / "taken").iterdir()) == []


def test_a_backup_cannot_name_a_place_outside_the_run(small_run: Run, tmp_path: Path) -> None:
    backup(small_run, str(tmp_path / "backup"))
    shutil.copytree(tmp_path / "backup" / "log", tmp_path / "backup" / "exams" / "..evil" / "log")
    objects = open_objects(str(tmp_path / "backup"))
    complete(objects, (item_of(name, objects.read(name)) for name in objects.names() if "whole/" not in name))
    report = restore(str(tmp_path / "backup"), runs_dir=tmp_path / "runs", name="again")
    own = {exam.path.name for exam in small_run.exams()}  # whatever other tests have set
    assert report.exams == len(own) + 1
    assert {path.name for path in (tmp_path / "runs" / "again" / "exams").iterdir()} == {*own, "..evil"}


@pytest.fixture
def grown(small_run: Run, tmp_path: Path) -> Run:
    """A copy of that run in a folder of its own, to be changed."""
    return Run(small_run.id, shutil.copytree(small_run.path, tmp_path / "theirs" / small_run.id))


def grow(run: Run) -> None:
    """Record one more event."""
    served = next(row for row in memories(run, at="latest").items if row.status == "active")
    curate(run, served.memory_id, action="quarantine", reason="doubtful", by="me")


def head_of(path: Path) -> str:
    return verify_log(path / "log").head.chain


@pytest.mark.slow
def test_a_mirror_has_every_run_of_a_bucket_and_follows_those_that_grow(place: str, grown: Run, tmp_path: Path) -> None:
    here = tmp_path / "here"
    backup(grown, f"{place}/team/anna")
    backup(grown, f"{place}/team/bob")
    first = mirror(f"{place}/team", runs_dir=here)
    assert (first.restored, first.replaced, first.unchanged, first.left_out) == (("anna", "bob"), (), 0, {})
    grow(grown)
    newer = backup(grown, f"{place}/team/bob")
    stored = open_objects(place).listed()
    later = mirror(f"{place}/team/", runs_dir=here)
    assert (later.restored, later.replaced, later.unchanged, later.left_out) == ((), ("bob",), 1, {})
    assert head_of(here / "bob") == newer.head_chain != head_of(here / "anna")
    assert verify(find_run(here, "bob")).ok
    assert {path.name for path in here.iterdir()} == {"anna", "bob"}
    assert mirror(f"{place}/team", runs_dir=here).unchanged == 2
    assert open_objects(place).listed() == stored, "a mirror writes nothing to its source"


def test_a_mirror_keeps_what_is_no_longer_backed_up_and_what_is_ahead(grown: Run, tmp_path: Path) -> None:
    here, team = tmp_path / "here", tmp_path / "team"
    for name in ("anna", "bob"):
        backup(grown, str(team / name))
    mirror(str(team), runs_dir=here)
    shutil.rmtree(team / "anna")
    grow(find_run(here, "bob"))
    ahead = head_of(here / "bob")
    assert mirror(str(team), runs_dir=here).unchanged == 1
    assert (here / "anna" / "log" / "FORMAT").exists() and head_of(here / "bob") == ahead


@pytest.mark.slow
def test_a_mirror_leaves_out_another_run_and_an_incomplete_backup_and_says_why(grown: Run, tmp_path: Path) -> None:
    here, team = tmp_path / "here", tmp_path / "team"
    backup(grown, str(team / "same"))
    shutil.copytree(grown.path, here / "other")
    grow(find_run(here, "other"))
    kept = head_of(here / "other")
    memory = memories(grown, at="latest").items[-1].memory_id
    for reason in ("another", "once more"):  # as long as the one here, then longer
        curate(grown, memory, action="quarantine" if reason == "another" else "release", reason=reason, by="anna")
        backup(grown, str(team / "other"))
        report = mirror(str(team), runs_dir=here)
        assert str(here / "other") in report.left_out["other"] and str(team / "other") in report.left_out["other"]
        assert "different events" in report.left_out["other"] and head_of(here / "other") == kept
    shutil.copytree(team / "other" / "log", team / "begun" / "log")
    report = mirror(str(team), runs_dir=here)
    assert "no complete backup" in report.left_out["begun"] and not (here / "begun").exists()
    assert report.unchanged == 1, "the others are restored all the same"
    assert {path.name for path in here.iterdir()} == {"other", "same"}
    shutil.copytree(team / "same", team / "-odd")  # a bucket can have names that lead elsewhere
    (here / "-odd").mkdir()
    assert "'-odd'" in mirror(str(team), runs_dir=here).left_out["-odd"] and not [*(here / "-odd").iterdir()]


def test_a_damaged_backup_changes_nothing_of_the_run_that_is_here(grown: Run, tmp_path: Path) -> None:
    here, team = tmp_path / "here", tmp_path / "team"
    backup(grown, str(team / "r"))
    mirror(str(team), runs_dir=here)
    kept = head_of(here / "r")
    grow(grown)
    backup(grown, str(team / "r"))
    segment = next((team / "r" / "log" / "seg").glob("*.parquet"))
    segment.write_bytes(segment.read_bytes()[:-1])
    assert segment.name in mirror(str(team), runs_dir=here).left_out["r"]
    assert head_of(here / "r") == kept and [path.name for path in here.iterdir()] == ["r"]


def test_a_run_that_is_replaced_keeps_its_keys_and_one_that_is_being_written_is_not(grown: Run, tmp_path: Path) -> None:
    here, team = tmp_path / "here", tmp_path / "team"
    backup(grown, str(team / "r"))
    mirror(str(team), runs_dir=here)
    make_keys(here / "r" / "log", ["ada"])
    keys = (here / "r" / "keys").read_bytes()
    grow(grown)
    newer = backup(grown, str(team / "r"))
    with Log.open(here / "r" / "log", clock=lambda: 0):
        assert "r" in mirror(str(team), runs_dir=here).left_out
    assert mirror(str(team), runs_dir=here).replaced == ("r",)
    assert (head_of(here / "r"), (here / "r" / "keys").read_bytes()) == (newer.head_chain, keys)


def test_what_a_mirror_refuses(grown: Run, tmp_path: Path) -> None:
    backup(grown, str(tmp_path / "team" / "r"))
    for source, said in (("team/r", "is the backup of one run"), ("nowhere", "There is no backup in")):
        with pytest.raises(UsageError, match=said):
            mirror(str(tmp_path / source), runs_dir=tmp_path / "here")
    assert not (tmp_path / "here").exists()
