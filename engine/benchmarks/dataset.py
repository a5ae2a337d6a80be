"""Benchmarks that are read from files: what defines one, and the benchmark that its files make.

Rules
    - A file may stand under its upstream name or another of its part's names, plain or gzipped.
    - The test split wins: a question whose id stands in it is left out of evolution; within a split the first of an id
      stands.
    - A benchmark without official splits is divided by the hashes of its ids, the same on every machine and whatever
      else is in the files: three tenths are the test split.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from mage_es.engine.benchmarks.extraction import plain_answer
from mage_es.engine.benchmarks.measuring import Measured, Prediction, means
from mage_es.engine.benchmarks.protocol import Question, Split, TaskTypeSource, Verdict, nowhere
from mage_es.engine.benchmarks.records import Records
from mage_es.engine.plugins import plugins
from mage_es.events.errors import PrerequisiteError

TEST_SHARE = 0.3
"""The part of a benchmark with one split that is never learned from."""


class Part(NamedTuple):
    """One file of a split: its names in order of preference, each also with `.gz`; an optional one may be missing.

    One that is not `is_missed` completes a form of the data that others do without, and nobody is told of it.
    """

    names: tuple[str, ...]
    optional: bool = False
    is_missed: bool = True


class Definition(NamedTuple):
    """What defines a benchmark that is read from files.

    `parts` without `test` say that there is one split only. `read` returns all questions of one file, for the split
    that it is to serve, and raises `PrerequisiteError`; `verdict` and `measure` never raise.
    """

    name: str
    licence: str
    task_type_source: TaskTypeSource
    answer_format: str
    parts: Mapping[Split, tuple[Part, ...]]
    read: Callable[[Path, Split], Records[Question]]
    verdict: Callable[[Question, str], Verdict]
    measure: Callable[[Question, Prediction, bool], Measured]
    """(question, prediction, strict) -> metrics."""
    total: Callable[[Sequence[tuple[Question, Measured]]], Mapping[str, float]] = means
    extract: Callable[[str], str] = plain_answer
    """Reads the final answer off a reply to any question, one of the user's own included."""
    judge_template: str = "judge_v1"
    """What a judge is asked with."""
    is_cross_checked: Callable[[Question], bool] = nowhere
    """Whether a judge, where there is one, is asked about a wrong answer to a question, too, not only where the rule
    leaves it undecided."""
    folder: str = ""
    """Where its files lie, below the folder of all data sets; "" is its name."""


class Dataset:
    """A benchmark that is read from the files of `data_dir/<folder>`."""

    def __init__(self, definition: Definition, data_dir: Path | None, *, file: Path | None = None) -> None:
        """Read every file of the benchmark.

        Args:
            definition: What is read and how it is scored.
            data_dir: Folder of all data sets.
            file: One upstream file to read in place of them, all of whose questions are the test split.

        Raises:
            PrerequisiteError: A file is missing or malformed; ends with the command that fetches them.
        """
        self.definition = definition
        self.name, self.licence = definition.name, definition.licence
        self.task_type_source, self.answer_format = definition.task_type_source, definition.answer_format
        self.missing: list[str] = []
        """The optional files that are not there, by their upstream names."""
        self.judge_template = definition.judge_template
        hashes: list[str] = []
        if file is None:
            read = {split: self._read(split, data_dir, hashes) for split in definition.parts}
        else:
            records = definition.read(file, "test")
            read = {"evolution": [], "test": records.items}
            hashes.append(f"{file.name} {records.sha256}")
        self.data_sha256 = hashlib.sha256("\n".join(hashes).encode()).hexdigest()
        self._questions = divided(read)

    def questions(self, split: Split) -> Sequence[Question]:
        """Return all questions of an upstream split, in upstream order."""
        return self._questions[split]

    def extract(self, reply: str) -> str:
        """Return the final answer in a reply."""
        return self.definition.extract(reply)

    def score(self, question: Question, reply: str) -> Verdict:
        """Judge a reply by rule."""
        return self.definition.verdict(question, reply)

    def is_cross_checked(self, question: Question) -> bool:
        """Return whether a wrong answer to a question is put to a judge, too."""
        return self.definition.is_cross_checked(question)

    def measure(self, question: Question, prediction: Prediction, *, strict: bool) -> Measured:
        """Return the metrics of a prediction."""
        return self.definition.measure(question, prediction, strict)

    def total(self, measured: Sequence[tuple[Question, Measured]]) -> Mapping[str, float]:
        """Return the metrics of a whole set of predictions."""
        return self.definition.total(measured)

    def _read(self, split: Split, data_dir: Path | None, hashes: list[str]) -> Sequence[Question]:
        name, found = self.definition.name, dict[str, Question]()
        folder = self.definition.folder or name
        for part in self.definition.parts[split]:
            path = find(part, name, data_dir, folder=folder)
            if path is None:
                self.missing += part.names[:1] if part.is_missed else ()
                continue
            try:
                records = self.definition.read(path, split)
            except PrerequisiteError as error:
                assert data_dir is not None
                broken = "" if is_elsewhere(name) else f" Delete {data_dir / folder}."
                raise PrerequisiteError(f"{error}{broken} {_remedy(name, data_dir)}") from error
            hashes.append(f"{part.names[0]} {records.sha256}")
            for question in records.items:
                found.setdefault(question.id, question)
        if not found:
            files = [part.names[0] for part in self.definition.parts[split]]
            raise PrerequisiteError(
                f"{name} is not in {data_dir}: none of its {len(files)} files is there, such as {folder}/{files[0]}. "
                f"{_remedy(name, data_dir)}"
            )
        return list(found.values())


def divided(read: Mapping[Split, Sequence[Question]]) -> dict[Split, tuple[Question, ...]]:
    """Return the two splits of what was read; without a test split three tenths are set aside for it."""
    tests = read["test"] if "test" in read else [_as_test(q) for q in read["evolution"] if is_test(q.id)]
    held = {question.id for question in tests}
    return {
        "evolution": tuple(question for question in read["evolution"] if question.id not in held),
        "test": tuple(tests),
    }


def missing_files(benchmark: object) -> str:
    """Return in words which optional files of a benchmark are not there, "" if none is missing or it has none."""
    missing = benchmark.missing if isinstance(benchmark, Dataset) else []
    return f"not there: {', '.join(missing)}" if missing else ""


def is_elsewhere(name: str) -> bool:
    """Return whether another package offers a benchmark: this one knows no address of its data then."""
    return name in plugins("mage_es.benchmarks") or name in plugins("mage_es.environments")


def _remedy(name: str, data_dir: Path | None) -> str:
    if is_elsewhere(name):
        return f"The package that offers {name} says where its data is: name the folder that holds it with --data-dir."
    return f"Run: mage-es data fetch {name} --data-dir {data_dir}"


def is_test(question_id: str) -> bool:
    """Return whether a question of a benchmark with one split belongs to what is never learned from."""
    first = int.from_bytes(hashlib.sha256(question_id.encode()).digest()[:8], "big")
    return first < TEST_SHARE * 2**64


def find(part: Part, name: str, data_dir: Path | None, *, folder: str) -> Path | None:
    """Return where a part of a benchmark lies, None for an optional one that is missing. Raises `PrerequisiteError`."""
    if data_dir is None:
        raise PrerequisiteError(
            f"{name} is read from files and no data directory was given. {_remedy(name, Path('data'))}"
        )
    for file in part.names:
        for candidate in (data_dir / folder / file, data_dir / folder / f"{file}.gz"):
            if candidate.is_file():
                return candidate
    if part.optional:
        return None
    wanted = part.names[0]
    raise PrerequisiteError(
        f"{name} is not in {data_dir}: neither {folder}/{wanted} nor {folder}/{wanted}.gz is there. "
        f"{_remedy(name, data_dir)}"
    )


def _as_test(question: Question) -> Question:
    return msgspec.structs.replace(question, split="test")
