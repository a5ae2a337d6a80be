"""Harm done to one file of a backup, and what becomes of it: the same run is restored, or nothing is, by name."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from random import Random

from mage_es.engine.run.directory import Run
from mage_es.engine.upkeep.backup import backup, restore
from mage_es.events.errors import LogError, PrerequisiteError
from tests.events.damage import harm
from tests.hostile.odd import not_for_ever, put

KINDS: Sequence[str] = ("flip", "cut", "zeros", "extra", "missing", "pipe", "terabyte")
_ODD = ("pipe", "terabyte")
_AGAIN = "again"


def recorded(run: Path) -> dict[str, bytes]:
    """Return every file of a run's logs but the locks, which say who wrote last."""
    files = [path for log in (run / "log", *run.glob("exams/*/log")) for path in log.rglob("*") if path.is_file()]
    return {str(path.relative_to(run)): path.read_bytes() for path in files if path.name != "LOCK"}


def backed_up(runs_dir: Path, saved: Path) -> dict[str, bytes]:
    """Return what a whole backup restores."""
    shutil.rmtree(runs_dir / _AGAIN, ignore_errors=True)
    restore(str(saved), runs_dir=runs_dir, name=_AGAIN)
    return recorded(runs_dir / _AGAIN)


def objects_in(saved: Path) -> list[str]:
    found = (path for path in saved.rglob("*") if path.is_file() and path.name != ".lock")
    return sorted(str(path.relative_to(saved)) for path in found)


def judge(run: Run, saved: Path, right: dict[str, bytes], name: str, kind: str, random: Random) -> str:
    """Harm a file of a backup, restore it, back up to it again, and restore that; return what became of the first.

    `refused`, the `same` run, or the `earlier` one, which is said: that of the backup before the newest, where the
    newest has lost the record of its objects, as one has that was interrupted. Raises `AssertionError` for all else.
    """
    case = f"{kind} of {name}"
    if kind in _ODD:
        put(kind, saved / name)
    else:
        harm(saved / name, kind, random)
    with not_for_ever(case):
        outcome = _restored(run, saved, right, case, name)
        newest = max(each for each in (*objects_in(saved), name) if each.startswith("whole/"))
        assert outcome != "earlier" or (kind, name) == ("missing", newest), case
        try:
            backup(run, str(saved))
        except (LogError, PrerequisiteError) as error:
            assert Path(name).name in str(error), f"{case}: {error}"
        else:
            assert _restored(run, saved, right, case, name) == "same", case
    return outcome


def _restored(run: Run, saved: Path, right: dict[str, bytes], case: str, name: str) -> str:
    runs_dir = run.path.parent
    shutil.rmtree(runs_dir / _AGAIN, ignore_errors=True)
    try:
        report = restore(str(saved), runs_dir=runs_dir, name=_AGAIN)
    except (LogError, PrerequisiteError) as error:
        assert Path(name).name in str(error), f"{case}: {error}"
        return "refused"
    if not report.is_newest:
        return "earlier"
    assert recorded(runs_dir / _AGAIN) == right, case
    return "same"
