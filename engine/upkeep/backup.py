"""The verbs `backup`, `restore` and `mirror`: copy a run's logs (its own and its exams') to a folder or a bucket, and
back, those of one run or of all.

    log/...             the objects of the run's log and its questions, see `mage_es.events.care.backup`
    exams/<n>/log/...   those of each exam's
    effects/reasked/log/...     those of what `effect`, `bisect` and `mage_es.gepa` asked again
    log/past/log/...            those of the run that this one continues an empty key file, if tasks name subjects
    whole/<n>           all objects of a complete backup with their hashes, see `mage_es.events.care.manifest`

Everything else in a run directory can be rebuilt from the logs and is not copied.
"""

import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from mage_es.engine.run.directory import Run, delete_run, require_name
from mage_es.events.care import verify_log
from mage_es.events.care.backup import back_up, held, newest_head
from mage_es.events.care.buckets import SCHEME, S3Objects
from mage_es.events.care.manifest import CompleteBackup, complete, item_of
from mage_es.events.care.objects import FolderObjects, Objects, create_once
from mage_es.events.care.restore import restore as restore_log
from mage_es.events.disk import LocalFileSystem, write_new
from mage_es.events.disk.documents import Head
from mage_es.events.disk.keys import key_file, no_keys
from mage_es.events.errors import MageError, UsageError
from mage_es.events.log import LogReader

_LOG, _KEYS = "log/", "keys"
_WITHIN = re.compile(r"((?:(?:exams|effects)/([^/\\]+)|log/past(?:/log/past)*)/)log/")
_RECORD = re.compile(r"(?:([^/]+)/)?whole/\d{8}")


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
    """Whether the backup is the last one there: no object belongs to a later backup that was interrupted or has lost
    its record."""


class MirrorReport(msgspec.Struct, frozen=True, kw_only=True):
    """The result of mirroring backups: the names of runs that are new in `runs_dir`, of those that replaced an earlier
    state, how many are unchanged, and why each of the others was left out."""

    place: str
    runs_dir: str
    restored: tuple[str, ...]
    replaced: tuple[str, ...]
    unchanged: int
    left_out: dict[str, str]


def backup(run: Run, destination: str | None = None, *, gold: bool = True) -> BackupReport:
    """Copy what is new in a run's logs to a folder or to `s3://bucket/prefix`; the run may be working meanwhile.

    By default the copy of `runs/first` is `runs-backups/first`: beside the runs, where nothing mistakes it for one.
    Objects already there are compared: in a folder by reading them, in a bucket by size, and by MD5 if the bucket knows
    it. Damaged ones are stored again. No copy has the keys of subjects: in the copy their texts read as erased until
    the run's own key file is put there. Without `gold` it lacks the right answers: it can be read and asked, but
    neither examined nor resumed.

    Raises: UsageError: The destination is neither a folder nor a bucket. SequenceConflict: It holds another run, a
    later or different state of this one, or the answers that it should lack. LogDamaged: A log, or one of its heads in
    the place, is not what was written. PrerequisiteError: The destination is not accessible, or the run has no event
    yet.
    """
    objects = open_objects(destination or str(place_beside(run.path)))
    # Listed before the run's log is copied, and copied after it, so that the copied log knows each of them.
    begun = [each for each in run.parts() if each.events]
    fs = LocalFileSystem()
    stored = [back_up(run.log_path, objects, at=_LOG, fs=fs, gold=gold)]
    stored += [back_up(each.log_path, objects, at=f"{_place(run, each)}/{_LOG}", fs=fs, gold=gold) for each in begun]
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
    with _built(source, runs_dir, name) as (built, report):
        built.rename(target)
        LocalFileSystem().sync_folder(runs_dir)
    return report


def mirror(source: str, *, runs_dir: Path) -> MirrorReport:
    """Restore each run that has a backup below `source`, a folder or `s3://bucket/prefix`, under the backup's name.

    An existing run is replaced if its backup is a continuation of it, and keeps its file of subjects' keys. It is
    unchanged if it is the same or ahead. It is left out if it is another run or is being written, as is a damaged or
    incomplete backup. No run is ever deleted.

    Raises: UsageError: The source is neither a folder nor a bucket, holds nothing, or is itself the backup of one run.
    PrerequisiteError: It cannot be reached.
    """
    objects = open_objects(source)
    if not (names := objects.names()):
        raise UsageError(f"There is no backup in {source}. Pass the folder or prefix below which each run has one.")
    records = [match[1] for name in names if (match := _RECORD.fullmatch(name))]
    if None in records:
        raise UsageError(f"{source} is the backup of one run: `mage-es restore {source} NAME` restores it.")
    outcomes, left_out = dict[str, str](), dict[str, str]()
    for name in sorted({name.partition("/")[0] for name in names if "/" in name}):
        if name not in records:
            left_out[name] = f"{source.rstrip('/')}/{name} holds no complete backup (yet)."
            continue
        try:
            outcomes[name] = _mirror_one(f"{source.rstrip('/')}/{name}", runs_dir, name)
        except MageError as error:  # the others do not wait for it
            left_out[name] = str(error)
    return MirrorReport(
        place=objects.place,
        runs_dir=str(runs_dir),
        restored=tuple(name for name, outcome in outcomes.items() if outcome == "restored"),
        replaced=tuple(name for name, outcome in outcomes.items() if outcome == "replaced"),
        unchanged=list(outcomes.values()).count("unchanged"),
        left_out=left_out,
    )


def _mirror_one(source: str, runs_dir: Path, name: str) -> str:
    require_name(name)  # a bucket can hold any name, also one that leads out of the folder
    run = Run(name, runs_dir / name)
    if not run.path.exists():
        restore(source, runs_dir=runs_dir, name=name)
        return "restored"
    theirs, ours = _heads_in(CompleteBackup(open_objects(source))), _heads_of(run)
    if all(place in ours and head.seq <= ours[place].seq for place, head in theirs.items()):
        _require_within(theirs, run.path, run.path, source)
        return "unchanged"
    with _built(source, runs_dir, name) as (built, _):
        _require_within(_heads_of(run), built, run.path, source)
        if (keys := key_file(run.log_path)).exists():
            shutil.copy2(keys, built / _KEYS)
        delete_run(run, instead=built)
    return "replaced"


def _require_within(heads: dict[str, Head], path: Path, ours: Path, source: str) -> None:
    """Raise `UsageError` unless the logs of the run in the folder `path` passed through all these heads."""
    now = _heads_of(Run(ours.name, path))
    for place, head in heads.items():
        if now.get(place) == head:
            continue
        search = verify_log(path / place / "log", head=head.chain).search if place in now else None
        if search is None or search.found != head:
            raise UsageError(
                f"{ours} and {source} have different events, so neither continues the other: {ours} was kept. Move "
                "it aside to restore the backup, or back up one of them under another name."
            )


def _heads_of(run: Run) -> dict[str, Head]:
    """Return where each log of a run ends, by its folder within the run's ("" for the run's own)."""
    heads = {_place(run, each): LogReader(each.log_path, opened=False).head for each in run.parts() if each.events}
    return {"": LogReader(run.log_path, opened=False).head, **heads}


def _heads_in(backed_up: CompleteBackup) -> dict[str, Head]:
    """Return where each log in a backup ends, by its folder in the same way."""
    found = {}
    for place in ("", *_places(backed_up)):
        note = newest_head(backed_up, held(backed_up, at=place + _LOG), at=place + _LOG)
        found[place.rstrip("/")] = Head(note.seq, note.chain)
    return found


@contextmanager
def _built(source: str, runs_dir: Path, name: str) -> Iterator[tuple[Path, RestoreReport]]:
    """Build a run from its backup, and give its folder, which is removed afterwards unless it was moved."""
    objects = open_objects(source)
    if not objects.names():
        raise UsageError(f"There is no backup in {source}. Pass the destination that `mage-es backup` wrote to.")
    backed_up = CompleteBackup(objects)
    within = _places(backed_up)
    runs_dir.mkdir(parents=True, exist_ok=True)
    # One level deeper than where runs are looked for, so that nothing mistakes it for a run while it is incomplete.
    building = Path(tempfile.mkdtemp(prefix=".restoring-", dir=runs_dir))
    try:
        head = restore_log(backed_up, building / name / "log", at=_LOG, fs=LocalFileSystem())
        for place in within:
            path = building / name / place / "log"
            restore_log(backed_up, path, at=f"{place}{_LOG}", fs=LocalFileSystem())
        if _KEYS in backed_up.names():
            write_new(LocalFileSystem(), building / name / _KEYS, backed_up.read(_KEYS))
        report = RestoreReport(
            run_id=name,
            place=objects.place,
            path=str(runs_dir / name),
            head_seq=head.seq,
            head_chain=head.chain,
            exams=sum(place.startswith("exams/") for place in within),
            is_newest=not backed_up.beyond(),
        )
        yield building / name, report
    finally:
        shutil.rmtree(building)


def _places(backed_up: CompleteBackup) -> list[str]:
    """Return the places in a backup of the logs of a run's parts."""
    found = (match for each in backed_up.names() if (match := _WITHIN.match(each)) and match[2] not in (".", ".."))
    return sorted({match[1] for match in found})


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
