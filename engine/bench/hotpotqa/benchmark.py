"""Reading HotpotQA: the official JSON files (distractor, fullwiki) and the Hugging Face form of the same records.

Rules
    - The test split is the dev set (distractor setting, as in the paper): the official test set has no answers.
    - A supporting fact may name a sentence that its paragraph lacks. That is noise in the data; it is kept separately.
"""

import json
from functools import partial
from pathlib import Path

import msgspec

from mage_es.engine.bench.dataset import DataFile, Definition
from mage_es.engine.bench.hotpotqa.scoring import measure, total, verdict
from mage_es.engine.benchmarks.files import most_bytes
from mage_es.engine.benchmarks.records import Records, read_records
from mage_es.engine.seams.benchmark import Question, Split, everywhere

_KINDS = ("bridge", "comparison")

Paragraph = tuple[str, list[str]]
SupportingFact = tuple[str, int]


class _Paragraphs(msgspec.Struct, frozen=True):
    title: list[str]
    sentences: list[list[str]]


class _Facts(msgspec.Struct, frozen=True):
    title: list[str]
    sent_id: list[int]


class _Row(msgspec.Struct, frozen=True):
    """`_id` is the official name, `id` that of Hugging Face."""

    question: str
    answer: str
    type: str
    context: list[Paragraph] | _Paragraphs
    supporting_facts: list[SupportingFact] | _Facts
    level: str = ""
    official_id: str | int = msgspec.field(default="", name="_id")
    id: str | int = ""


def read(path: Path, split: Split, *, name: str = "hotpotqa", has_levels: bool = False) -> Records[Question]:
    """[section 4, HotpotQA, task types] The type comes from the metadata, never from the gold answer.

    `has_levels` makes the level part of it (`bridge_hard`).
    """
    return read_records(path, _Row, partial(_question, name, split, has_levels), most=most_bytes(1024))


def rendered(paragraphs: list[Paragraph]) -> str:
    """Return one line for each paragraph, `[k] Title: sentences`, counted from 1.

    [section 4, HotpotQA, the setting] The distractor setting; dev is the test split, and the question comes after its
    paragraphs.
    """
    return "\n".join(
        f"[{number}] {title}: {' '.join(' '.join(sentences).split())}"
        for number, (title, sentences) in enumerate(paragraphs, start=1)
    )


def _question(benchmark: str, split: Split, has_levels: bool, position: int, row: _Row) -> Question:
    name = str(row.official_id) or str(row.id)
    for field, text in (("_id", name), ("question", row.question), ("answer", row.answer)):
        if not text.strip():
            raise ValueError(f"{field}: it is empty or missing")
    if row.type not in _KINDS:
        raise ValueError(f"type: expected bridge or comparison, found {row.type!r}")
    if has_levels and not row.level:
        raise ValueError("level: it is empty or missing, but task types need it")
    paragraphs, facts = _paragraphs(row), _facts(row)
    sentences = dict(paragraphs)
    beyond = [fact for fact in facts if fact[0] in sentences and fact[1] >= len(sentences[fact[0]])]
    shown = [
        sentences[title][place].strip() for title, place in facts if 0 <= place < len(sentences.get(title, []))
    ]  # fmt: skip
    return Question(
        id=name,
        benchmark=benchmark,
        split=split,
        task_type=f"{row.type}_{row.level}" if has_levels else row.type,
        question=row.question,
        context=rendered(paragraphs),
        gold=row.answer,
        solution="\n".join([*shown, f"Answer: {row.answer}"]),
        titles=tuple(title for title, _ in paragraphs),
        meta={
            "type": row.type,
            "level": row.level,
            "supporting_facts": json.dumps(facts, ensure_ascii=False),
            "facts_beyond": json.dumps(beyond, ensure_ascii=False),
        },
    )


def _paragraphs(row: _Row) -> list[Paragraph]:
    if not isinstance(row.context, _Paragraphs):
        return row.context
    if len(row.context.title) != len(row.context.sentences):
        titles, others = len(row.context.title), len(row.context.sentences)
        raise ValueError(f"context: {titles} titles, but sentences of {others} paragraphs")
    return list(zip(row.context.title, row.context.sentences, strict=True))


def _facts(row: _Row) -> list[SupportingFact]:
    facts = row.supporting_facts
    if not isinstance(facts, _Facts):
        return facts
    if len(facts.title) != len(facts.sent_id):
        raise ValueError(f"supporting_facts: {len(facts.title)} titles, but {len(facts.sent_id)} sentence numbers")
    return list(zip(facts.title, facts.sent_id, strict=True))


HOTPOTQA = Definition(
    name="hotpotqa",
    licence="CC BY-SA 4.0 (hotpotqa.github.io)",
    task_type_source="metadata",
    answer_format='Finish with a line such as "Answer: <Mount Erebus>", in as few words as the text uses for it.',
    instruction="Name the facts that lead to the answer, one after another.",
    parts={
        "evolution": (
            DataFile(
                ("hotpot_train_v1.1.json", "distractor/train-00000-of-00002.parquet", "hotpot_train_v1.1.subset.json")
            ),
            DataFile(("distractor/train-00001-of-00002.parquet",), optional=True, is_missed=False),
            DataFile(("hotpot_dev_distractor_v1.evolve.json",), optional=True, is_missed=False),
            DataFile(("hotpot_dev_fullwiki_v1.subset.json",), optional=True, is_missed=False),
        ),
        "test": (
            DataFile(
                (
                    "hotpot_dev_distractor_v1.json",
                    "distractor/validation-00000-of-00001.parquet",
                    "hotpot_dev_distractor_v1.test.json",
                )
            ),
        ),
    },
    read=read,
    verdict=verdict,
    measure=measure,
    total=total,
    is_cross_checked=everywhere,
)
"""Multi-hop questions in English: 90,447 training and 7,405 dev questions upstream."""
LEVELS = HOTPOTQA._replace(
    name="hotpotqa-levels", folder="hotpotqa", read=partial(read, name="hotpotqa-levels", has_levels=True)
)
"""The same, with the level of a question as a part of its task type. [section 4, HotpotQA, task types]"""
FULLWIKI = HOTPOTQA._replace(
    name="hotpotqa-fullwiki",
    folder="hotpotqa",
    read=partial(read, name="hotpotqa-fullwiki"),
    parts={
        "evolution": HOTPOTQA.parts["evolution"][:3],
        "test": (
            DataFile(
                (
                    "hotpot_dev_fullwiki_v1.json",
                    "fullwiki/validation-00000-of-00001.parquet",
                    "hotpot_dev_fullwiki_v1.subset.json",
                )
            ),
        ),
    },
)
"""The same questions with retrieved paragraphs, which may lack the gold ones."""
