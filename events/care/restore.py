"""Restoring a log from the newest complete backup of it (manifest.py), whose every object is compared with its hash."""

import re
from pathlib import Path

from mage_es.events.care.backup import FORMAT
from mage_es.events.care.manifest import CompleteBackup
from mage_es.events.care.questions import verify_questions
from mage_es.events.care.verify import verify_log
from mage_es.events.disk.documents import Head
from mage_es.events.disk.filesystem import FileSystem, write_new
from mage_es.events.disk.layout import Layout
from mage_es.events.errors import LogDamaged, PrerequisiteError
from mage_es.events.facts import Vocabulary

_FILE = re.compile(r"(seg|questions|golds|heads)/([0-9a-f-]+?)(?:-[0-9a-f]{8})?((?:\.vec)?\.parquet|\.note)")
"""An object that is one file of the log; the last digits of a segment's and of a head's say which bytes it has."""
_TAIL = re.compile(r"tail/(\d{20})")
_HEAD = re.compile(r"head/\d{20}")


def restore(
    backed_up: CompleteBackup, path: Path, *, at: str, fs: FileSystem, vocabulary: Vocabulary | None = None
) -> Head:
    """Rebuild the log that a backup holds under the prefix `at`, in the new folder `path`.

    Raises `LogDamaged` if an object is missing or damaged; then the folder is useless. Raises `PrerequisiteError`.
    """
    layout, tail = Layout(path), dict[int, bytes]()
    for folder in (layout.path, layout.wals, layout.segments, layout.quarantine):
        fs.make_folder(folder)
    names = [name.removeprefix(at) for name in backed_up.names() if name.startswith(at)]
    for name in names:
        if match := _TAIL.fullmatch(name):
            tail[int(match[1])] = backed_up.read(at + name)
        elif match := _FILE.fullmatch(name):
            fs.make_folder(path / match[1])
            write_new(fs, path / match[1] / f"{match[2]}{match[3]}", backed_up.read(at + name))
        elif _HEAD.fullmatch(name):
            write_new(fs, layout.head, backed_up.read(at + name))
    if FORMAT not in names or not tail:
        raise PrerequisiteError(f"{backed_up.place} holds no log under {at!r}: make a backup with `mage-es backup`.")
    write_new(fs, layout.wal(min(tail)), [tail[first] for first in sorted(tail)])
    # FORMAT last: until then the folder is not a log, and a broken restore cannot be mistaken for one.
    write_new(fs, layout.format, backed_up.read(at + FORMAT))
    verdict, questions = verify_log(path, fs, vocabulary=vocabulary), verify_questions(path, fs, vocabulary=vocabulary)
    found = [f"{f.file.name}, events {f.first} to {f.last}: {f.problem}" for f in verdict.findings]
    if problems := "; ".join(found or questions.problems):
        raise LogDamaged(f"{backed_up.place} does not hold an intact log: {problems}. Use another backup.")
    return verdict.head
