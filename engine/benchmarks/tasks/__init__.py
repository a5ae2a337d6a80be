"""Own tasks: questions of the user's, from a file or a hub, with no code at all."""

OWN_TASKS = "tasks/"
"""What the recorded name of a benchmark of own tasks begins with."""
HUB = "hf:"
_ENDINGS = (".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".parquet")


def names_tasks(name: str) -> bool:
    """Return whether a name is that of own tasks: `my.jsonl?scorer=number`, `hf:owner/quiz`, `tasks/FILE`."""
    source = name.partition("?")[0].removesuffix(".gz")
    return name.startswith((OWN_TASKS, HUB)) or source.casefold().endswith(_ENDINGS)
