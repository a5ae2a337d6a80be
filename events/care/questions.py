"""Verifying and backing up the files of questions beside a log; each file is named by its hash."""

import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from mage_es.events.care.objects import Objects
from mage_es.events.disk.filesystem import FileSystem, LocalFileSystem
from mage_es.events.disk.layout import Layout
from mage_es.events.errors import LogDamaged, SequenceConflict
from mage_es.events.facts import QuestionTypes, Vocabulary
from mage_es.events.log import LogReader
from mage_es.events.segments.questions import files_of, golds_of, texts_of

_FILE = re.compile(r"(questions|golds)/([0-9a-f]{64})\.parquet")


class QuestionsVerdict(NamedTuple):
    """How many questions are stored, how many of them have gold answers, and what has changed since."""

    questions: int
    golds: int
    problems: tuple[str, ...]


def verify_questions(
    path: Path, fs: FileSystem | None = None, *, vocabulary: Vocabulary | None = None
) -> QuestionsVerdict:
    """Compare every byte beside the log in the folder `path` with what the log says. Gold answers may be missing."""
    fs, layout = fs or LocalFileSystem(), Layout(path)
    problems, known = list[str](), set[Path]()
    questions = golds = 0
    reader = LogReader(path, fs, vocabulary=vocabulary, opened=False)
    for stored, types in _stored(reader):
        known.update(files_of(layout, stored))
        questions += len(stored.ids)
        try:
            texts_of(fs, layout, stored, types.text)
        except LogDamaged as error:
            problems.append(str(error))
        try:
            golds += len(golds_of(fs, layout, stored, types.gold) or ())
        except LogDamaged as error:
            problems.append(str(error))
    foreign = [file for file in _files(fs, layout) if known and file not in known]
    problems += [f"{file} is not the log's: take it away" for file in foreign]
    return QuestionsVerdict(questions, golds, tuple(problems))


def damaged_golds(fs: FileSystem, layout: Layout) -> Iterator[Path]:
    """Yield the files of gold answers that do not match their names; a log can do without them."""
    for file in _files(fs, layout):
        if file.parent == layout.golds and _FILE.fullmatch(_name(file)) and not _is_whole(fs.read(file), _name(file)):
            yield file


def back_up_questions(
    reader: LogReader,
    fs: FileSystem,
    layout: Layout,
    objects: Objects,
    *,
    at: str,
    store: Callable[[str, bytes], None],
    gold: bool,
) -> None:
    """Store the files of a log's questions, without `gold` only the texts.

    Raises `LogDamaged` for one that is not what was stored, `SequenceConflict` if the place already has the gold
    answers.
    """
    if not gold and any(name.startswith(f"{at}golds/") for name in objects.names()):
        raise SequenceConflict(
            f"{objects.place} already holds the gold answers, from an earlier backup, and nothing there is deleted. "
            "Back up without them to another place."
        )
    for stored, _ in _stored(reader):
        texts, golds = files_of(layout, stored)
        for file in (texts, golds) if gold and fs.exists(golds) else (texts,):
            if not fs.exists(file) or not _is_whole(data := fs.read(file), _name(file)):
                raise LogDamaged(f"{file} is missing or not the file that was stored: `mage-es verify RUN` names it.")
            store(_name(file), data)


def _stored(reader: LogReader) -> Iterator[tuple[Any, QuestionTypes]]:
    if types := reader.vocabulary.questions:
        yield from ((event, types) for event in reader.of(types.stored, since=1))


def _files(fs: FileSystem, layout: Layout) -> list[Path]:
    folders = [folder for folder in (layout.questions, layout.golds) if fs.exists(folder)]
    return [folder / name for folder in folders for name in fs.names(folder)]


def _name(file: Path) -> str:
    return f"{file.parent.name}/{file.name}"


def _is_whole(data: bytes, name: str) -> bool:
    match = _FILE.fullmatch(name)
    return match is not None and hashlib.sha256(data).hexdigest() == match[2]
