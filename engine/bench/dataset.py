"""Benchmarks that are read from files: what defines one, and the benchmark made from its files.

The test split takes precedence: a question whose id is in it is left out of evolution. Of equal records in a split, the
first counts; two questions with one id are an error.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from mage_es.engine.bench.entries import from_files
from mage_es.engine.benchmarks.measuring import Measured, Prediction, PredictionForm, means
from mage_es.engine.benchmarks.records import Records, listed
from mage_es.engine.benchmarks.registry import BenchmarkEntry
from mage_es.engine.seams.benchmark import (
    SPLITS,
    ContextRole,
    Question,
    Split,
    TaskTypeSource,
    Traits,
    Verdict,
    is_test,
    nowhere,
)
from mage_es.engine.seams.extraction import plain_answer
from mage_es.engine.seams.plugins import plugins
from mage_es.events.errors import PrerequisiteError


class DataFile(NamedTuple):
    """One file of a split: its names in order of preference, each also with `.gz`; an optional one may be missing.

    `is_missed` is False for a file that only some forms of the data have: its absence is not reported.
    """

    names: tuple[str, ...]
    optional: bool = False
    is_missed: bool = True


class Definition(NamedTuple):
    """What defines a benchmark that is read from files.

    Without `test` in `parts` there is a single split, which is divided; `verdict` and `measure` never raise.
    """

    name: str
    licence: str
    task_type_source: TaskTypeSource
    answer_format: str
    parts: Mapping[Split, tuple[DataFile, ...]]
    read: Callable[[Path, Split], Records[Question]]
    verdict: Callable[[Question, str], Verdict]
    measure: Callable[[Question, Prediction, bool], Measured]
    """(question, prediction, strict) -> metrics."""
    total: Callable[[Sequence[tuple[Question, Measured]]], Mapping[str, float]] = means
    extract: Callable[[str], str] = plain_answer
    """Reads the final answer from a reply to any question, including a user's."""
    judge_template: str = "judge_v1"
    """The prompt for the judge."""
    is_cross_checked: Callable[[Question], bool] = nowhere
    """Whether a judge is also asked about a question's wrong answers, not only about undecided ones."""
    context_role: ContextRole = "material"
    is_type_asked: bool = False
    instruction: str = Traits().instruction
    """How to work, in one sentence."""
    predictions: PredictionForm = "text"
    """The form of predictions made elsewhere."""
    folder: str = ""
    """The folder of its files, below that of all data sets; "" stands for its name."""

    def entry(self) -> BenchmarkEntry:
        """Return the registry entry for it."""
        return from_files(lambda: self)


class Dataset:
    def __init__(
        self,
        definition: Definition,
        data_dir: Path | None,
        *,
        file: Path | None = None,
        stored: tuple[Sequence[Question], str] | None = None,
    ) -> None:
        """`file` is one upstream file to read instead: its questions are the test split. `stored` are a run's own
        questions, with the hash of their data; nothing is read then. Raises `PrerequisiteError`.
        """
        self.definition = definition
        self.name, self.licence = definition.name, definition.licence
        self.task_type_source, self.answer_format = definition.task_type_source, definition.answer_format
        self.missing: list[str] = []
        """Optional files that are missing, by their upstream names."""
        self.judge_template, self.context_role = definition.judge_template, definition.context_role
        self.is_type_asked = definition.is_type_asked
        self.instruction, self.predictions = definition.instruction, definition.predictions
        self.extract, self.is_cross_checked, self.total = (
            definition.extract,
            definition.is_cross_checked,
            definition.total,
        )
        self.data_sha256, self._questions = self._opened(data_dir, file) if stored is None else _as_stored(*stored)

    def questions(self, split: Split) -> Sequence[Question]:
        return self._questions[split]

    def score(self, question: Question, reply: str) -> Verdict:
        return self.definition.verdict(question, reply)

    def measure(self, question: Question, prediction: Prediction, *, strict: bool) -> Measured:
        return self.definition.measure(question, prediction, strict)

    def _opened(self, data_dir: Path | None, file: Path | None) -> tuple[str, Mapping[Split, tuple[Question, ...]]]:
        hashes: list[str] = []
        if file is None:
            read = {split: self._read(split, data_dir, hashes) for split in self.definition.parts}
            tests = {question.id: question for question in read.get("test", ())}
            _add(tests, read["evolution"], f"{self.name}, evolution")
        else:
            records, found = self.definition.read(file, "test"), dict[str, Question]()
            _add(found, records.items, file)
            read = {"evolution": [], "test": list(found.values())}
            hashes.append(f"{file.name} {records.sha256}")
        return hashlib.sha256("\n".join(hashes).encode()).hexdigest(), divided(read)

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
            _add(found, records.items, path)
        if not found:
            files = [part.names[0] for part in self.definition.parts[split]]
            raise PrerequisiteError(
                f"{name} is not in {data_dir}: all {len(files)} files are missing, such as {folder}/{files[0]}. "
                f"{_remedy(name, data_dir)}"
            )
        return list(found.values())


def _as_stored(questions: Sequence[Question], sha256: str) -> tuple[str, Mapping[Split, tuple[Question, ...]]]:
    return sha256, {split: tuple(question for question in questions if question.split == split) for split in SPLITS}


def _add(found: dict[str, Question], questions: Sequence[Question], where: Path | str) -> None:
    """Raises `PrerequisiteError` for an id that two questions share."""
    problems: list[str] = []
    for number, question in enumerate(questions, start=1):
        first = found.setdefault(question.id, question)
        if (first.question, first.gold) != (question.question, question.gold):
            problems.append(f"{where}, record {number}: the id {question.id!r} is that of another question before it")
    if problems:
        raise PrerequisiteError(
            f"{listed(problems, 'such records')}\nNothing was loaded: give each question its own id."
        )


def divided(read: Mapping[Split, Sequence[Question]]) -> dict[Split, tuple[Question, ...]]:
    tests = (
        read["test"]
        if "test" in read
        else [msgspec.structs.replace(q, split="test") for q in read["evolution"] if is_test(q.id)]
    )
    held = {question.id for question in tests}
    return {
        "evolution": tuple(question for question in read["evolution"] if question.id not in held),
        "test": tuple(tests),
    }


def missing_files(benchmark: object) -> str:
    missing = benchmark.missing if isinstance(benchmark, Dataset) else []
    return f"not there: {', '.join(missing)}" if missing else ""


def is_elsewhere(name: str) -> bool:
    """Another package provides it, so only its author knows where the data is."""
    offered = plugins("mage_es.benchmarks").get(name) or plugins("mage_es.environments").get(name)
    return offered is not None and not offered.is_ours


def _remedy(name: str, data_dir: Path | None) -> str:
    if is_elsewhere(name):
        return f"The package that offers {name} says where its data is: name the folder that holds it with --data-dir."
    return f"Run: mage-es fetch {name} --data-dir {data_dir}"


def find(part: DataFile, name: str, data_dir: Path | None, *, folder: str) -> Path | None:
    """Return the file's path, plain or gzipped; None if it is optional and missing. Raises `PrerequisiteError`."""
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
        f"{name} is not in {data_dir}: neither {folder}/{wanted} nor {folder}/{wanted}.gz exists. "
        f"{_remedy(name, data_dir)}"
    )
