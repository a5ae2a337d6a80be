"""The card of a data set that holds a run: the front matter that the Hugging Face Hub reads, and a page for people."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from mage_es.engine.benchmarks.registry import title
from mage_es.engine.benchmarks.tasks import names_tasks
from mage_es.engine.run.exams import ExamRecord
from mage_es.events.log import Head
from mage_es.events.vocabulary import RunStarted

SPLITS = ("evolution", "anchors", "held_out")
_LICENCES = {"Apache-2.0": "apache-2.0", "CC BY 4.0": "cc-by-4.0", "CC BY-SA 4.0": "cc-by-sa-4.0", "MIT": "mit"}
"""The Hub's ids of licences, keyed by the beginning of the licence that a benchmark states."""
Feature = str | list["Feature"] | dict[str, "Feature"]
"""A type of the Hub: the name of a plain one, a list of one, or a struct."""
_MEMORY_TEXTS = ("text", "question_id", "question", "recognise", "reasoning", "answer", "wrong_answer", "details")
_COUNTS = ("prompts", "right", "coin_in", "coin_in_right", "coin_out", "coin_out_right")
QUESTIONS: Mapping[str, Feature] = dict.fromkeys(("id", "task_type", "question", "context"), "string")
GOLD: Mapping[str, Feature] = dict.fromkeys(("answer", "solution"), "string")
MEMORIES: Mapping[str, Feature] = {
    **dict.fromkeys(("id", "kind", "task_type", "skill", "status"), "string"),
    **dict.fromkeys(("iteration", "met"), "int64"),
    **dict.fromkeys(_MEMORY_TEXTS, "string"),
    "origin": {"writer": "string", "saw": "string", "by": "string", "facts": ["string"]},
    **dict.fromkeys(_COUNTS, "int64"),
}
ANSWERS: Mapping[str, Feature] = {
    **dict.fromkeys(("id", "question_id", "task_type", "skill", "place", "purpose"), "string"),
    "iteration": "int64",
    **dict.fromkeys(("search_arm", "routing_arm"), "string"),
    "memories": [{"id": "string", "similarity": "float64"}],
    **dict.fromkeys(("model", "answer"), "string"),
    **{"correct": "bool", "score": "float64", "judge": "string", "problem": "string"},
    **dict.fromkeys(("calls", "input_tokens", "output_tokens"), "int64"),
    "messages": [{"role": "string", "content": "string"}],
}
_TABLES = {
    "questions": "the questions, in the three disjoint splits that the run committed to before it began",
    "memories": "what was learned: its texts, the model that wrote it, the facts it was made from, its status; how "
    "many `prompts` showed it, and how many of these were answered `right`; how often a coin let it in or left it out, "
    "and how many of those were right",
    "answers": "every time a question was asked: the memories shown with their cosines, the conversation, the answer, "
    "the verdict and what decided it",
    "traces": "the same conversations as sessions, in the "
    "[format](https://huggingface.co/docs/hub/session-traces-format) that the Hub's viewer shows",
}
_COLUMNS = {"questions": QUESTIONS, "memories": MEMORIES, "answers": ANSWERS}


class Contents(NamedTuple):
    """The part of a run that a data set contains: events 1 to `until` and its `exams`, the number of rows by file, and
    of `traces`. `left_out` are rows with texts of subjects; `gold` is whether questions have their right answers."""

    begun: RunStarted
    head: Head
    until: int
    exams: Sequence[ExamRecord]
    rows: Mapping[str, int]
    traces: int
    left_out: int
    gold: bool


def licence_of(begun: RunStarted) -> str:
    """Return the Hub's id of the licence of a run's questions, `unknown` for an unusual one."""
    return next((ident for name, ident in _LICENCES.items() if begun.licence.startswith(name)), "unknown")


def named(model: str) -> str:
    """Return the name of a model without its options, which say where its server is."""
    return model.partition("?")[0]


def card(of: Contents) -> str:
    """Return the file README.md of a data set."""
    return "\n".join((*_front_matter(of), "", *_page(of), "", *_replay(of), ""))


def _front_matter(of: Contents) -> Iterator[str]:
    yield from ("---", f"license: {licence_of(of.begun)}")
    yield f"pretty_name: {msgspec.json.encode(f'{of.begun.run_id}: what a frozen model learned').decode()}"
    yield from ("tags:", "- mage-es", "- agent-traces", "configs:")
    configs = _configs(of.rows)
    for table, files in configs.items():
        yield f"- config_name: {table}"
        yield from ("  default: true", "  data_files:") if table == "questions" else ("  data_files:",)
        for split, path in files.items():
            yield from (f"  - split: {split}", f"    path: {path}")
    yield "dataset_info:"
    for table in (name for name in configs if name in _COLUMNS):
        columns = {**_COLUMNS[table], **(GOLD if of.gold and table == "questions" else {})}
        yield from (f"- config_name: {table}", "  features:", *_fields(columns, "  "))
    yield "---"


def _fields(columns: Mapping[str, Feature], margin: str) -> Iterator[str]:
    for name, kind in columns.items():
        yield f"{margin}- name: {name}"
        yield from _kind(kind, f"{margin}  ")


def _kind(kind: Feature, margin: str) -> Iterator[str]:
    match kind:
        case str():
            yield f"{margin}dtype: {kind}"
        case [str(each)]:
            yield f"{margin}list: {each}"
        case [dict(fields)]:
            yield from (f"{margin}list:", *_fields(fields, margin))
        case dict(fields):
            yield from (f"{margin}struct:", *_fields(fields, margin))


def _configs(rows: Mapping[str, int]) -> dict[str, dict[str, str]]:
    """Return the path of each split of each table that has rows."""
    found = {
        table: {split: path for split in SPLITS if (path := f"{table}/{split}.jsonl") in rows}
        for table in ("questions", "answers")
    }
    memories = {"train": "memories.jsonl"} if "memories.jsonl" in rows else {}
    traces = {split: f"traces/{split}/*/*.jsonl" for split in found["answers"]}
    tables = {"questions": found["questions"], "memories": memories, "answers": found["answers"], "traces": traces}
    return {table: files for table, files in tables.items() if files}


def _page(of: Contents) -> Iterator[str]:
    begun = of.begun
    yield from (f"# {begun.run_id}", "")
    yield f"What a frozen model learned from {title(begun.benchmark)}: events 1 to {of.until} of the log of a run of"
    yield f"mage-es {begun.package_version}, written by `mage-es export {begun.run_id} --format hf`."
    yield from ("", "| | |", "|---|---|")
    yield f"| answers questions | {named(begun.execution_model)} |"
    if begun.guidance_model:
        yield f"| guides learning, and is never asked in an exam | {named(begun.guidance_model)} |"
    yield f"| embedder | {named(begun.embedder)} |"
    yield f"| scorer | {_scorer(begun)} |"
    yield f"| seed | {begun.seed} |"
    yield f"| SHA-256 of the questions' data | {begun.data_sha256} |"
    yield from ("", "| table | rows | |", "|---|---|---|")
    for table, files in _configs(of.rows).items():
        counts = ", ".join(f"{split} {of.rows[path]}" for split, path in files.items() if path in of.rows)
        yield f"| {table} | {counts or f'{of.traces} sessions'} | {_TABLES[table]} |"
    if of.left_out:
        yield from ("", f"{of.left_out} rows with texts of subjects (persons, customers) are left out.")
    yield from ("", "```python", "from datasets import load_dataset", "")
    yield from ('load_dataset("PATH OR NAME", "questions")', "```", "")
    yield "`traces` needs `pip install teich` beside `datasets`; with `parse_agent_traces=False` each line is a row."
    yield "Calls of guidance and of a judge, and failed attempts, are in the log only."
    if of.exams:
        yield from ("", "## Exams", "", "| exam | state | control | model | right |", "|---|---|---|---|---|")
    for exam in of.exams:
        opened, result = exam.opened, exam.rejudged or exam.closed
        right = f"{result.correct}/{result.total}" if result else ""
        yield f"| {opened.exam} | {opened.marker} | {opened.control} | {named(opened.execution)} | {right} |"
    yield from ("", "## Licence", "", f"Of the questions, as their source states it: {begun.licence}.")
    if licence_of(begun) == "unknown":
        yield "Put it into `license:` above before you publish this folder."
    yield "Replies and memories were written by the models above, under their terms."


def _replay(of: Contents) -> Iterator[str]:
    run = of.begun.run_id
    yield from (
        "## Replay",
        "",
        "These tables were read off a log of events, which is not in this folder. Who has the folder of the run can",
        f"check that its log still holds what it held then (its head was event {of.head.seq}), and rebuild every",
        "state, without a model or a network:",
        "",
        "```",
        f"python -m pip install mage-es=={of.begun.package_version}",
        f"mage-es verify {run} --head {of.head.chain}",
        f"mage-es replay {run} --until seq:{of.until}",
        f"mage-es show QUESTION_ID {run}",
        f"mage-es export {run} --format hf --until seq:{of.until} --to again      # the same tables",
        "```",
    )


def _scorer(begun: RunStarted) -> str:
    if not names_tasks(begun.benchmark):
        return f"the rule of {title(begun.benchmark)} in mage-es {begun.package_version}"
    from mage_es.engine.benchmarks.tasks.spec import parse

    return parse(begun.benchmark).scorer
