"""The user's own tasks as a benchmark: from a file, the Hugging Face hub or Python, divided, and scored by a named
scorer.

Rules
    - A second file or a `split` column marks tasks for exams only; without either a run divides the tasks.
    - A row that repeats another's question and answer is skipped and reported. Two answers to one question are an
      error.
    - If rows ask the same about different contexts, the context is part of the question, since nothing else
      distinguishes them.
"""

import hashlib
import importlib.util
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Required, TypedDict

import msgspec

from mage_es.engine.benchmarks.records import listed, read_records
from mage_es.engine.benchmarks.tasks import HUB
from mage_es.engine.benchmarks.tasks.columns import columns_of, question_of
from mage_es.engine.benchmarks.tasks.scorers import OwnFunction, Scoring, function_of, require_scorer, scorer_of
from mage_es.engine.benchmarks.tasks.spec import TaskSpec, parse
from mage_es.engine.seams.benchmark import ONE_TYPE, Question, Repeat, Split, TaskTypeSource, Verdict
from mage_es.events.errors import PrerequisiteError, UsageError

INSTALL = "python -m pip install datasets"
_Taken = defaultdict[str, dict[str, None]]
"""For each role, the columns that had it in any row; JSON rows may differ."""


def read_hub(name: str, *, subset: str) -> tuple[Mapping[str, Sequence[Mapping[str, Any]]], str]:
    """Return the rows of each split of a data set (or a local folder of one), and a hash of them all.

    Raises `PrerequisiteError` if the library is not installed or cannot load the data set.
    """
    if importlib.util.find_spec("datasets") is None:
        raise PrerequisiteError(f"hf:{name} needs the library `datasets`, which is not installed: {INSTALL}")
    import datasets

    try:
        loaded = datasets.load_dataset(name, subset or None)
    except Exception as error:  # the library raises whatever its many back ends raise
        raise PrerequisiteError(
            f"hf:{name} cannot be loaded: {type(error).__name__}: {error}. Check the name, whether it needs "
            "a subset (--subset), and the network; or download the data set and give the file."
        ) from error
    splits = {split: [dict(row) for row in rows] for split, rows in loaded.items()}
    return splits, hashlib.sha256(msgspec.json.encode(splits, enc_hook=str)).hexdigest()


_TRAIN, _TEST = "train", "test"
"""The default splits of a hub's data set: to learn from, and to examine."""


class Tasks:
    licence = "the user's own"

    def __init__(
        self,
        spec: TaskSpec,
        questions: Sequence[Question],
        data_sha256: str,
        *,
        repeats: tuple[Repeat, ...] = (),
        columns: Mapping[str, str] | None = None,
    ) -> None:
        self.name, self.data_sha256, self.repeats = spec.name, data_sha256, repeats
        self.column_roles: Mapping[str, str] = columns or {}
        """The column for each role, or ""; empty if the tasks were read from a run."""
        self._needed, self._scorer = spec.scorer, scorer_of(spec.scorer, spec.labels)
        self.answer_format = self._scorer.answer_format
        self.task, self.instruction = spec.instruction, self._scorer.instruction
        self.labels = len(spec.labels)
        self._questions: dict[Split, list[Question]] = {"evolution": [], "test": []}
        for question in questions:
            self._questions[question.split].append(msgspec.structs.replace(question, benchmark=self.name))
        has_types = any(question.task_type != ONE_TYPE for question in questions)
        self.task_type_source: TaskTypeSource = "metadata" if has_types else "none"

    def questions(self, split: Split) -> Sequence[Question]:
        return self._questions[split]

    def extract(self, reply: str) -> str:
        return self._scorer.extract(reply)

    def require_scorer(self) -> None:
        """Raise `MageError` if the scorer is unavailable: without it a run can only be read and asked."""
        require_scorer(self._needed)

    def score(self, question: Question, reply: str) -> Verdict:
        return self._scorer.verdict(question, reply)

    @property
    def own_scorer(self) -> Scoring | None:
        """The user's scoring function, None for a named scorer. Raises `UsageError` if it does not exist."""
        return function_of(self._needed) if self.is_scored_apart else None

    @property
    def is_scored_apart(self) -> bool:
        """Whether `score` waits for another process, so that it should be called in a thread."""
        return isinstance(self._scorer.verdict, OwnFunction)

    def limit_scorer(self, seconds: float) -> None:
        """Limit a user's function to a number of seconds per reply."""
        if isinstance(self._scorer.verdict, OwnFunction):
            self._scorer.verdict.seconds = seconds


class TaskRow(TypedDict, total=False):
    """A task from Python; a dictionary with other column names also works if the benchmark's name maps them.

    `subject` names the person or customer whose texts these are: everything derived from them is encrypted and can be
    erased. `by` names who gave the answer, such as a client: if its answers contradict those of the others, it is in
    doubt (rules/doubt.py). `answer` is text, a number, or a list of valid answers. `split` "test" marks a task for
    exams only.
    """

    question: Required[str]
    answer: Required[object]
    context: str
    options: Sequence[str] | Mapping[str, str]
    task_type: str
    solution: str
    id: str
    split: str
    subject: str
    by: str


def given_tasks(name: str, rows: Sequence[Mapping[str, Any]]) -> Tasks:
    """Return tasks given as rows under a name such as `support?labels=a,b`. Raises what `open_tasks` raises."""
    spec = parse(name)
    if isinstance(rows, str | Path):
        raise UsageError(
            f"tasks is {str(rows)!r}, a text: to use a file, name it in the configuration, Config(benchmark=...)."
        )
    rows = [rows] if isinstance(rows, Mapping) else list(rows)
    if odd := [row for row in rows if not isinstance(row, Mapping)]:
        raise UsageError(f"A task is a dictionary with a question and an answer, not a {type(odd[0]).__name__}.")
    taken = _Taken(dict)
    questions = _all(spec, taken, "evolution", rows, f"{spec.title} as given")
    sha256 = hashlib.sha256(msgspec.json.encode([dict(row) for row in rows], enc_hook=str)).hexdigest()
    return _divisible(spec, questions, sha256, taken)


def open_tasks(name: str) -> Tasks:
    """Raises `UsageError` for a malformed spec, `PrerequisiteError` for a missing or malformed file or library."""
    spec, taken = parse(name), _Taken(dict)
    if spec.source.startswith(HUB):
        questions, sha256 = _from_hub(spec, taken)
    else:
        questions, hashes = list[Question](), list[str]()
        splits: dict[Split, str] = {"evolution": spec.source, "test": spec.test}
        for split, file in splits.items():
            if file:
                records = read_records(_find(file), dict[str, Any], _reader(spec, taken, split))
                questions += records.items
                hashes.append(records.sha256)
        sha256 = hashes[0] if len(hashes) == 1 else hashlib.sha256("\n".join(hashes).encode()).hexdigest()
    return _divisible(spec, questions, sha256, taken)


def _divisible(spec: TaskSpec, questions: Sequence[Question], sha256: str, taken: _Taken) -> Tasks:
    kept, repeats = _once(_told_apart(questions))
    if any(question.subject for question in kept):
        # A hash of all texts would help to guess an erased one.
        sha256 = hashlib.sha256("\n".join(question.id for question in kept).encode()).hexdigest()
    columns = {role: " or ".join(names) for role, names in taken.items()}
    return Tasks(spec, kept, sha256, repeats=repeats, columns=columns)


def reopen_tasks(name: str, questions: Sequence[Question], data_sha256: str) -> Tasks:
    return Tasks(parse(name), questions, data_sha256)


def _told_apart(questions: Sequence[Question]) -> list[Question]:
    contexts = defaultdict[str, set[str]](set)
    for question in questions:
        contexts[question.question].add(question.context)
    return [
        msgspec.structs.replace(question, question=f"{question.question}\n\n{question.context}".strip(), context="")
        if len(contexts[question.question]) > 1
        else question
        for question in questions
    ]


def _once(questions: Sequence[Question]) -> tuple[list[Question], tuple[Repeat, ...]]:
    """Return each question once, and the repeats; if two splits share a question, the one in evolution is the repeat.
    Raises `PrerequisiteError` for two answers to one question and for two questions with one id."""
    first: dict[tuple[str, str], Question] = {}
    ids: dict[str, Question] = {}
    repeats, problems = list[Repeat](), list[str]()
    for question in sorted(questions, key=lambda question: question.split == "evolution"):
        asked = (" ".join(question.question.split()), " ".join(question.context.split()))
        other = first.setdefault(asked, question)
        if question.meta["answers"].casefold() != other.meta["answers"].casefold():
            problems.append(
                f"{other.id} and {question.id} ask the same, {asked[0][:80]!r}, "
                f"and have two answers: {other.gold[:80]!r} and {question.gold[:80]!r}"
            )
        elif other is not question:
            repeats.append(Repeat(question.id, other.id, nearly=False))
        elif ids.setdefault(question.id, question) is not question:
            problems.append(f"{question.id} is the id of two questions, one of them to be examined: {asked[0][:80]!r}")
    if problems:
        raise PrerequisiteError(
            f"{listed(problems, 'such tasks')}\nCorrect or delete one of each pair; if both answers are right, give "
            "them in one row as a list."
        )
    return list(first.values()), tuple(repeats)


def _reader(spec: TaskSpec, taken: _Taken, split: Split) -> Callable[[int, Mapping[str, Any]], Question]:
    """Return a reader that refuses rows which the scorer cannot check, and duplicate ids."""
    seen: dict[str, int] = {}
    require_scorer(spec.scorer)
    scorer = scorer_of(spec.scorer, spec.labels)

    def read(position: int, row: Mapping[str, Any]) -> Question:
        question = question_of(row, spec.columns, position=position, split=split, is_json=spec.scorer == "json")
        if problem := scorer.problem(question):
            raise ValueError(problem)
        for role, column in columns_of(row, spec.columns).items():
            taken[role].update({column: None} if column else {})
        if question.id in seen:
            raise ValueError(
                f"id: {question.id!r} is already the id of row {seen[question.id] + 1}; `--columns id=` "
                "numbers the rows instead"
            )
        seen[question.id] = position
        return question

    return read


def _from_hub(spec: TaskSpec, taken: _Taken) -> tuple[list[Question], str]:
    splits, sha256 = read_hub(spec.source.removeprefix(HUB), subset=spec.subset)
    learned = _TRAIN if _TRAIN in splits else next(iter(splits))
    examined = spec.test or (_TEST if _TEST in splits else "")
    if examined and examined not in splits:
        raise PrerequisiteError(f"{spec.source} has no split {examined!r}; it has: {', '.join(splits)}.")
    used: dict[Split, str] = {"evolution": learned, "test": examined}
    questions = list[Question]()
    for split, upstream in used.items():
        if upstream:
            questions += _all(spec, taken, split, splits[upstream], f"{spec.source}, {upstream}")
    return questions, sha256


def _all(spec: TaskSpec, taken: _Taken, split: Split, rows: Sequence[Mapping[str, Any]], place: str) -> list[Question]:
    read, questions, problems = _reader(spec, taken, split), list[Question](), list[str]()
    for position, row in enumerate(rows):
        try:
            questions.append(read(position, row))
        except (ValueError, RecursionError) as error:
            problems.append(f"{place}, row {position + 1}: {error}")
    if problems:
        raise PrerequisiteError(f"{listed(problems)}\nNothing was loaded.")
    return questions


def _find(file: str) -> Path:
    path = Path(file).expanduser()
    if path.is_file():
        return path
    is_name = file.count("/") == 1 and not Path(file).suffix
    hint = f" For a data set of the Hugging Face hub write hf:{file}." if is_name else ""
    raise PrerequisiteError(f"There is no file {file}: give its path.{hint}")
