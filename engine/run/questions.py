"""The questions of a run: stored when it begins, and read from its own folder afterwards.

What else a benchmark has (a shop, a world to play in) is not in the folder. Each process opens it again at its source,
where it must not have changed.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence, Set
from itertools import chain
from pathlib import Path
from typing import Any, cast

import msgspec

from mage_es.engine.benchmarks.registry import open_benchmark, reopening
from mage_es.engine.seams.benchmark import SPLITS, Benchmark, Question, Split
from mage_es.events.errors import PrerequisiteError
from mage_es.events.facts.private import ERASED, is_erased, mapped, marked_private, under_of
from mage_es.events.log import LogReader
from mage_es.events.segments.questions import named
from mage_es.events.vocabulary import QuestionGold, QuestionText, Remark, RunInherited, RunStarted

_NO_GOLD = QuestionGold(id="", gold="", solution="", remarks=())


def rows_of(benchmark: Benchmark) -> tuple[list[QuestionText], list[QuestionGold]]:
    """Return every question of a benchmark as it is stored: what a learner may see, and what only a scorer may."""
    questions = all_questions(benchmark)
    shown = QuestionText.__struct_fields__
    texts = [QuestionText(**{name: getattr(question, name) for name in shown}) for question in questions]
    golds = [
        QuestionGold(
            id=question.id,
            gold=question.gold,
            solution=question.solution,
            remarks=tuple(Remark(name=name, text=text) for name, text in question.meta.items()),
        )
        for question in questions
    ]
    for place, question in enumerate(questions):
        if question.subject:
            under = frozenset({question.subject})
            texts[place], golds[place] = marked_private(texts[place], under), marked_private(golds[place], under)
    return texts, golds


def stored_questions(reader: LogReader, benchmark: str) -> tuple[list[Question], bool]:
    """Return the questions that a run has stored, and whether their gold answers are in this copy of it.

    Without them `gold`, `solution` and `meta` are empty. Raises `LogDamaged`.
    """
    texts, golds = reader.questions()
    known = {gold.id: mapped(gold, str) for gold in golds or ()}
    found = []
    for text in texts:
        gold, shown = known.get(text.id, _NO_GOLD), msgspec.structs.asdict(mapped(text, str))
        right, worked, kept = gold.gold, gold.solution, {remark.name: remark.text for remark in gold.remarks}
        subject = "".join(under_of(text)) or (ERASED if is_erased(text.question) else "")
        found.append(Question(benchmark=benchmark, gold=right, solution=worked, meta=kept, subject=subject, **shown))
    return found, golds is not None


def unlike(one: LogReader, other: LogReader) -> Set[str]:
    """Return the ids that two runs have for different questions, as a file has whose rows were edited in between: what
    is asked, or what is right, differs. What only one copy can tell (an erased subject's texts, gold answers) is no
    difference.

    Raises `LogDamaged`.
    """
    (before, gold), (now, other_gold) = (stored_questions(reader, "") for reader in (one, other))
    asked = {question.id: question for question in before if question.subject != ERASED}
    return {
        question.id
        for question in now
        if question.subject != ERASED
        and (known := asked.get(question.id))
        and _asked(known, gold and other_gold) != _asked(question, gold and other_gold)
    }


def recorded_benchmark(
    reader: LogReader, started: RunStarted, *, data_dir: Path | str | None
) -> tuple[Benchmark, bool]:
    """Return the benchmark of a run with the questions that it has stored, and whether their gold answers are there.

    Raises:
        PrerequisiteError: What the benchmark has besides questions is missing, or has changed since.
        LogDamaged: The stored questions are damaged.
    """
    if reopen := reopening(started.benchmark):
        questions, has_gold = stored_questions(reader, started.benchmark)
        taken = {column.role: column.name for column in started.columns}
        return with_column_roles(reopen(questions, started.data_sha256), taken), has_gold
    benchmark = open_benchmark(started.benchmark, seed=started.seed, data_dir=data_dir)
    if benchmark.data_sha256 != started.data_sha256:
        before, has_gold = stored_questions(reader, benchmark.name)
        changed = changes(before, all_questions(benchmark), gold=has_gold)
        what = (
            f"its questions: {changed}" if changed else "none of its questions, but what they are played or judged with"
        )
        raise PrerequisiteError(
            f"{benchmark.name} is not the same as when the run {started.run_id} began: it changed in {what}. Restore "
            f"its data, or the release of its package, or start a new run."
        )
    if next(reader.of(RunInherited, since=1, until=2), None):
        return with_questions(benchmark, stored_questions(reader, benchmark.name)[0]), True
    return benchmark, True


def with_column_roles(benchmark: Benchmark, columns: Mapping[str, str]) -> Benchmark:
    """Return the user's own tasks with the columns that they were read from; any other benchmark unchanged."""
    from mage_es.engine.benchmarks.tasks.benchmark import Tasks

    if isinstance(benchmark, Tasks):
        benchmark.column_roles = columns
    return benchmark


def grown(benchmark: Benchmark, questions: Sequence[Question]) -> Benchmark:
    """Return a benchmark with these questions; itself if it already has exactly these."""
    own = {question.id for question in all_questions(benchmark)}
    return benchmark if own.issuperset(q.id for q in questions) else with_questions(benchmark, questions)


def with_questions(benchmark: Benchmark, questions: Sequence[Question]) -> Benchmark:
    """Return a benchmark with these questions in place of its own, which are not made."""
    return cast(Benchmark, _Grown(benchmark, questions))


def origin_of(benchmark: Benchmark) -> Benchmark:
    """Return the benchmark whose questions were replaced; itself if none were."""
    return benchmark.origin if isinstance(benchmark, _Grown) else benchmark


class _Grown:
    """A benchmark with other questions than its own; otherwise it behaves as before."""

    def __init__(self, benchmark: Benchmark, questions: Sequence[Question]) -> None:
        self.origin, self._questions = origin_of(benchmark), questions

    def __getattr__(self, name: str) -> object:
        return getattr(self.origin, name)

    def questions(self, split: Split) -> Sequence[Question]:
        return [question for question in self._questions if question.split == split]


def changes(before: Sequence[Question], now: Sequence[Question], *, gold: bool = True) -> str:
    """Return how many questions were added, removed and edited, with the first ids of each, or "".

    A question whose id alone changed has moved: rows without an id are identified by their position.
    """
    old, new = ({question.id: _content(question, gold) for question in some} for some in (before, now))
    left = {name: content for name, content in old.items() if new.get(name) != content}
    came = {name: content for name, content in new.items() if old.get(name) != content}
    places = defaultdict[bytes, list[str]](list)
    for name, content in came.items():
        places[content].append(name)
    moved = {name: places[content].pop(0) for name, content in left.items() if places[content]}
    gone = [name for name in left if name not in moved]
    arrived = [name for name in came if name not in set(moved.values())]
    found = {
        "added": [name for name in arrived if name not in gone],
        "removed": [name for name in gone if name not in arrived],
        "edited": [name for name in gone if name in arrived],
        "moved": list(moved),
    }
    return ", ".join(f"{len(names)} {what} ({named(names)})" for what, names in found.items() if names)


def _content(question: Question, gold: bool) -> bytes:
    hidden = {} if gold else {"gold": "", "solution": "", "meta": {}}
    return msgspec.json.encode(msgspec.structs.replace(question, id="", benchmark="", **hidden), enc_hook=str)


def _asked(question: Question, gold: bool) -> bytes:
    """Return what decides whether an answer is right: not how a question is learned from."""
    learning: Mapping[str, Any] = {"split": "test", "task_type": "", "solution": "", "family": "", "subject": ""}
    return _content(msgspec.structs.replace(question, **learning), gold)


def all_questions(benchmark: Benchmark) -> list[Question]:
    """Return the questions of every upstream split."""
    return list(chain.from_iterable(map(benchmark.questions, SPLITS)))
