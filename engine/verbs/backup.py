"""The verbs `backup` and `restore`: copy a run's logs (its own and its exams') to a folder or a bucket, and back.

    log/...             the objects of the run's log and its questions, see `mage_es.events.care.backup`
    exams/<n>/log/...   those of each exam's
    effects/reasked/log/...     those of what `effect`, `bisect` and `mage_es.gepa` asked again
    an empty key file, if tasks name subjects
    whole/<n>           all objects of a complete backup with their hashes, see `mage_es.events.care.manifest`

Everything else in a run directory can be rebuilt from the logs and is not copied.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

import msgspec

from mage_es.engine.run.directory import Run, require_name
from mage_es.events.care import CompleteBackup, back_up, complete, item_of
from mage_es.events.care import restore as restore_log
from mage_es.events.disk import SCHEME, FolderObjects, LocalFileSystem, Objects, S3Objects, create_once, write_new
from mage_es.events.disk.keys import key_file, no_keys
from mage_es.events.errors import UsageError

_LOG, _KEYS = "log/", "keys"
_WITHIN = re.compile(r"((?:exams|effects)/([^/\\]+)/)log/")


class BackupReport(msgspec.Struct, frozen=True, kw_only=True):
    """How far a backup reaches, and what it added: the number of `objects` and their total `bytes`."""

    run_id: str
    place: str
    head_seq: int
    head_chain: str
    exams: int
    objects: int
    bytes: int


class RestoreReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was restored: a verified log up to `head_seq`, and the logs of the run's exams."""

    run_id: str
    place: str
    path: str
    head_seq: int
    head_chain: str
    exams: int
    is_newest: bool = True
    """Whether nothing there belongs to a later backup that was interrupted or has lost its record."""


def backup(run: Run, destination: str | None = None, *, gold: bool = True) -> BackupReport:
    """Copy what is new in a run's logs to a folder or to `s3://bucket/prefix`; the run may be working meanwhile.

    By default the copy of `runs/first` is `runs-backups/first`: beside the runs, where nothing mistakes it for one.
    What is already there is compared, in a folder by reading it, in a bucket by size and MD5 if the bucket knows it;
    what is damaged is stored again. No copy has the keys of subjects: their texts in it read as erased until the run's
    own key file is put there. Without `gold` it lacks the right answers: it can be read and asked, but neither examined
    nor resumed.

    Raises:
        UsageError: The destination is neither.
        SequenceConflict: It holds another run, a later or different state of this one, or the answers that it should
            lack.
        LogDamaged: A log, or one of its heads in the place, is not what was written.
        PrerequisiteError: The destination is not accessible, or the run has no event yet.
    """
    objects = open_objects(destination or str(place_beside(run.path)))
    # Listed before the run's log is copied, and copied after it, so that the copied log knows each of them.
    begun = [each for each in run.parts() if each.events]
    fs = LocalFileSystem()
    stored = [back_up(run.log_path, objects, at=_LOG, fs=fs, gold=gold)]
    stored += [back_up(each.log_path, objects, at=f"{_place(run, each)}/{_LOG}", fs=fs) for each in begun]
    items = [item for each in stored for item in each.items]
    if key_file(run.log_path).exists():
        create_once(objects, _KEYS, no_keys())
        items.append(item_of(_KEYS, no_keys()))
    added = complete(objects, items)
    return BackupReport(
        run_id=run.id,
        place=objects.place,
        head_seq=stored[0].head.seq,
        head_chain=stored[0].head.chain,
        exams=sum(each.path.parent == run.exams_path for each in begun),
        objects=sum(each.objects for each in stored) + bool(added),
        bytes=sum(each.bytes for each in stored) + added,
    )


def restore(source: str, *, runs_dir: Path, name: str) -> RestoreReport:
    """Build the run directory `name` from a backup and verify it. It appears under its name only once it is whole.

    Raises:
        UsageError: The run exists, the name is invalid, or the source is neither a folder nor a bucket.
        LogDamaged: An object is missing or damaged.
        PrerequisiteError: The source has no complete backup, or cannot be reached.
    """
    require_name(name)
    target = runs_dir / name
    if target.exists():
        raise UsageError(f"{runs_dir} already has a run {name!r}: restore it under another name.")
    objects = open_objects(source)
    if not objects.names():
        raise UsageError(f"There is no backup in {source}. Pass the destination that `mage-es backup` wrote to.")
    backed_up = CompleteBackup(objects)
    names = backed_up.names()
    found = [match for each in names if (match := _WITHIN.match(each)) and match[2] not in (".", "..")]
    within = sorted({match[1] for match in found})
    runs_dir.mkdir(parents=True, exist_ok=True)
    # One level deeper than where runs are looked for, so that nothing mistakes it for a run while it is incomplete.
    building = Path(tempfile.mkdtemp(prefix=".restoring-", dir=runs_dir))
    try:
        head = restore_log(backed_up, building / name / "log", at=_LOG, fs=LocalFileSystem())
        for place in within:
            path = building / name / place / "log"
            restore_log(backed_up, path, at=f"{place}{_LOG}", fs=LocalFileSystem())
        if _KEYS in names:
            write_new(LocalFileSystem(), building / name / _KEYS, backed_up.read(_KEYS))
        (building / name).rename(target)
        LocalFileSystem().sync_folder(runs_dir)
    finally:
        shutil.rmtree(building)
    return RestoreReport(
        run_id=name,
        place=objects.place,
        path=str(target),
        head_seq=head.seq,
        head_chain=head.chain,
        exams=sum(place.startswith("exams/") for place in within),
        is_newest=not backed_up.beyond(),
    )


def _place(run: Run, part: Run) -> str:
    return part.path.relative_to(run.path).as_posix()


def place_beside(path: Path) -> Path:
    """Return where a run's copy goes by default, relative if the run's path is."""
    runs = path.parent if path.parent.name else path.parent.resolve()
    return runs.with_name(f"{runs.name}-backups") / path.resolve().name


def open_objects(place: str) -> Objects:
    """Return the objects of a folder or under `s3://bucket/prefix`. Raises `UsageError` for any other place."""
    if place.startswith(SCHEME):
        return S3Objects(place)
    if "://" in place:
        raise UsageError(f"{place!r} is not a destination for backups: pass a folder or s3://bucket/prefix.")
    return FolderObjects(Path(place), LocalFileSystem())
