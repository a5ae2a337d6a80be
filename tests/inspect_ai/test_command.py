"""Memories in a task from Inspect's own command line: `inspect eval --solver mage_es/with_memory`."""

import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log

from mage_es import Run, open_run
from tests.engine.providers.provider import Provider, provider

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # Inspect's own

TASK = """
from inspect_ai import Task, task
from inspect_ai.dataset import Sample
from inspect_ai.scorer import match
from inspect_ai.solver import generate

@task
def sums():
    return Task(dataset=[Sample(input={asked!r}, target="192")], solver=generate(), scorer=match(numeric=True))
"""


def evaluated(folder: Path, server: Provider, asked: str, options: str) -> EvalLog:
    """Evaluate a task in a process of its own, and return its log."""
    folder.mkdir()
    (folder / "sums.py").write_text(TASK.format(asked=asked))
    model = f"--model openai/exec --model-base-url {server.openai_url} -M responses_api=false --max-retries 0"
    command = f"eval sums.py {model} --display none {options}"
    done = subprocess.run(
        [str(Path(sys.executable).parent / "inspect"), *shlex.split(command)],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "OPENAI_API_KEY": "none"},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    [info] = list_eval_logs(str(folder / "logs"))
    log = read_eval_log(info)
    assert log.status == "success", log.error
    return log


def said(body: dict[str, Any]) -> str:
    return "192" if len(body["messages"]) > 1 else "I do not know."


def test_the_command_puts_memories_before_the_question_and_asks_the_model(run: Run, tmp_path: Path) -> None:
    opened = open_run(run)
    texts = [row.question for row in opened.state.memory.rows()]
    asked = next(text for text in texts if text and opened.retrieved(text).memories)
    with provider(answer=said) as server:
        bare = evaluated(tmp_path / "bare", server, asked, "")
        options = f"--solver mage_es/with_memory -S run={run.path} -S generates=true"
        shown = evaluated(tmp_path / "shown", server, asked, options)
    assert bare.results and shown.results and bare.samples and shown.samples
    assert [log.results.scores[0].metrics["accuracy"].value for log in (bare, shown)] == [0, 1]  # type: ignore[union-attr]
    told = shown.samples[0].metadata["mage_es"]
    assert (told["run"], told["marker"]) == (run.id, "latest") and told["memories"]
    assert set(told["memories"]) <= {row.memory_id for row in opened.state.memory.rows()}
    assert shown.eval.solver == "mage_es/with_memory" and len(server.asked) == 2
