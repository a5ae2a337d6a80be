"""RealMath's records: any subset of the upstream columns, with or without ids, and golds in machine-readable form.

Rules
    - The theorem contains the answer, so the learner never sees it.
    - A task type is the subset and the kind of answer that the question asks for, from its text alone.
    - A file `<subset>.sympy_answers.json` beside the records is read with them and is part of their hash.
"""

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from mage_es.engine.bench.realmath.machine import MachineAnswer
from mage_es.engine.benchmarks.records import Records, read_mapping, read_records
from mage_es.engine.seams.benchmark import Question, Split

_RULES = (
    ("count", r"how many|number of|cardinality"),
    ("limit_asymptotic", r"\blimits?\b|\\lim\b|tends? to|asymptotic"),
    ("extremum", r"maxim(?:um|al)|minim(?:um|al)|smallest|largest"),
    ("condition", r"for which|necessary and sufficient"),
    ("value", r"values? of|compute|evaluate|equal to"),
)
_KINDS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _RULES)


def kind_of(question: str) -> str:
    """Return the first kind whose words occur in a question, `expression` if none do.

    [section 4, RealMath, task types] Subset and kind, from the question's words alone; the theorem, which holds the
    answer, is never read.
    """
    return next((kind for kind, pattern in _KINDS if pattern.search(question)), "expression")


SUBSETS: Mapping[str, str] = {"Math_arXiv": "math", "CS_arXiv": "cs", "Math_StackExchange": "qa"}
"""Upstream's splits, which are subsets by origin, and what task types call them."""
_WORD = re.compile(r"[^0-9a-z]+")


class _Row(msgspec.Struct, frozen=True):
    question: str
    answer: str
    id: str | int | None = None
    context: str | None = None
    paper_link: str | None = None


def read(path: Path, split: Split) -> Records[Question]:
    subset = _subset(path)
    machine, extra = _machine_answers(path, subset)

    def question(position: int, row: _Row) -> Question:
        for field, text in (("question", row.question), ("answer", row.answer)):
            if not text.strip():
                raise ValueError(f"{field}: the {field} is empty")
        name = str(row.id) if row.id is not None else f"realmath-{subset}-{position}"
        meta = {"paper_link": row.paper_link} if row.paper_link else {}
        if name in machine:
            meta["machine_readable"] = msgspec.json.encode(machine[name]).decode()
        return Question(
            id=name,
            benchmark="realmath",
            split=split,
            task_type=f"realmath_{subset}_{kind_of(row.question)}",
            question=row.question,
            context=(row.context or "").strip(),
            gold=row.answer,
            meta=meta,
        )

    records = read_records(path, _Row, question)
    if not machine:
        return records
    return records._replace(sha256=hashlib.sha256(f"{records.sha256} {extra}".encode()).hexdigest())


def _subset(path: Path) -> str:
    for upstream, short in SUBSETS.items():
        if any(part.startswith(upstream) for part in path.parts[-2:]):
            return short
    return _WORD.sub("_", path.name.partition(".")[0].lower()).strip("_") or "own"


def _machine_answers(path: Path, subset: str) -> tuple[Mapping[str, MachineAnswer], str]:
    """Return the golds by id and the SHA-256 of their file; both empty without that file."""
    upstream = next((name for name, short in SUBSETS.items() if short == subset), path.name.partition(".")[0])
    for side in (path.with_name(f"{upstream}.sympy_answers.json{end}") for end in ("", ".gz")):
        if side.is_file():
            return read_mapping(side, MachineAnswer)
    return {}, ""
