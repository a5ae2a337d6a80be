"""Inspect's own evaluations, with its mock model and without a network."""

import gc
from collections.abc import Callable
from pathlib import Path

from inspect_ai import Task, eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model


def reply(text: str) -> ModelOutput:
    """Return a reply with its usage: without one the mock model would fetch a tokeniser."""
    output = ModelOutput.from_content("mockllm/model", text)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def evaluated(folder: Path, task: Task, replied: Callable[..., ModelOutput]) -> Path:
    """Evaluate a task and return its log, which a folder gets."""
    model = get_model("mockllm/model", custom_outputs=replied, memoize=False)
    [log] = eval(task, model=model, log_dir=str(folder), display="none")
    assert log.status == "success", log.error
    gc.collect()  # Inspect leaves streams open: not at the end of all tests, where each would be an error
    return Path(log.location.removeprefix("file://"))
