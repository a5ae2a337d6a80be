"""Tasks of the user's own: questions from a file or a hub, without any code."""

from collections.abc import Mapping
from pathlib import Path

OWN_TASKS = "tasks/"
"""The prefix of the recorded name of a benchmark of the user's own tasks."""
HUB = "hf:"
ROLES: Mapping[str, tuple[str, ...]] = {
    "question": ("question", "prompt", "input", "problem", "query"),
    "answer": ("answer", "answers", "target", "label", "gold", "output"),
    "context": ("context", "passage", "text"),
    "options": ("options", "choices"),
    "task_type": ("task_type", "type", "category"),
    "solution": ("solution", "rationale", "explanation"),
    "schema": ("schema",),
    "id": ("id", "_id"),
    "split": ("split",),
    "subject": ("subject",),
    "by": ("by",),
}
"""Each role with its default column names."""
_ENDINGS = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet", ".eval")


def names_tasks(name: str) -> bool:
    """Return whether a name refers to the user's own tasks: `my.jsonl?scorer=number`, `hf:owner/quiz`, `tasks/FILE`."""
    source = name.partition("?")[0].removesuffix(".gz")
    return name.startswith((OWN_TASKS, HUB)) or source.casefold().endswith(_ENDINGS)


def why_not_tasks(name: str) -> str:
    """Return why an existing file cannot be read as tasks, by its ending; "" if there is no such file."""
    if names_tasks(name) or not Path(name).is_file():
        return ""
    return f"{name} ends in none of {', '.join(_ENDINGS)}: export the table as one of these, such as CSV."
