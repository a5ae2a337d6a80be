"""Logs of Inspect (inspect_ai), read by its own reader: their samples as rows, for tasks and for predictions.

Rules
    - A row has the sample's metadata as columns, and over them `id`, `question` (the last thing that the user says),
      `answer` (the target), `options` (the choices) and `prediction` (what the model said).
    - Only the first epoch of a sample becomes a row.
    - A column `subject` is dropped: in Inspect's data sets it is a field of knowledge, here the person that a task is
      about.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mage_es.engine.benchmarks.files import most_bytes, too_much
from mage_es.events.errors import PrerequisiteError

if TYPE_CHECKING:  # the extra need not be installed
    from inspect_ai.log import EvalLog, EvalSample

ENDING = ".eval"
INSTALL = "python -m pip install 'mage-es[inspect]'"


def require_inspect() -> None:
    """Raises `PrerequisiteError` without the extra."""
    try:
        import inspect_ai.log  # noqa: F401
    except ImportError as error:
        raise PrerequisiteError(f"Logs of Inspect need the package {error.name}: {INSTALL}") from error


def read_eval(path: Path, most: int = 0) -> EvalLog:
    """Return a log. Raises `PrerequisiteError` if it is unreadable, holds more than `most` bytes, unpacked, or has no
    samples."""
    require_inspect()
    from inspect_ai.log import read_eval_log

    most = most or most_bytes()
    try:
        with zipfile.ZipFile(path) as packed:
            held = sum(each.file_size for each in packed.infolist())
    except (OSError, zipfile.BadZipFile) as error:
        raise PrerequisiteError(f"{path} is not an Inspect log: {error}. Nothing was loaded.") from error
    if held > most:
        raise too_much(path, f"{held:,} bytes, unpacked", most)
    try:
        log = read_eval_log(str(path), resolve_attachments=True)
    except Exception as error:  # any error that unpacking or validation raises
        reason = f"{type(error).__name__}: {error}"
        raise PrerequisiteError(
            f"{path} cannot be read as a log of Inspect: {reason:.300}. Nothing was loaded."
        ) from error
    if not log.samples:
        raise PrerequisiteError(f"{path} has no samples (its status: {log.status}). Nothing was loaded.")
    return log


def rows_of(log: EvalLog) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each sample's name and row."""
    for sample in log.samples or ():
        if sample.epoch == 1:
            yield f"sample {sample.id}", _row(sample)


def said_to(sample: EvalSample) -> str:
    """Return what a sample asks: its input or, for a conversation, the text of the user's last message."""
    if isinstance(sample.input, str):
        return sample.input
    return next((each.text for each in reversed(sample.input) if each.role == "user"), "")


def _row(sample: EvalSample) -> dict[str, Any]:
    row = {name: value for name, value in sample.metadata.items() if name != "subject"}
    row |= {"id": str(sample.id), "question": said_to(sample), "answer": sample.target}
    if sample.choices:
        row["options"] = sample.choices
    row["prediction"] = sample.output.completion if sample.output.choices else None
    return row
