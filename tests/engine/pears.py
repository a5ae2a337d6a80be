"""A run over tasks of four customers and of none, and what of them the bytes of a folder tell."""

import json
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.verbs.evolve import evolve
from mage_es.events.errors import Interrupted

CANARIES = {f"customer-{number}": f"zaphod{number}quux" for number in range(4)}
SHARED = "How many pears are there?"
TASKS = [
    {
        "id": f"row-{number}",
        "question": f"{CANARIES.get(who, 'neighbour')} has {number} pears and buys {7 * number} at shop {number}."
        f"\n{SHARED}",
        "answer": f"{8 * number} of {CANARIES.get(who, 'neighbour')}",
        "subject": who,
    }
    for number in range(1, 49)
    for who in [f"customer-{number % 8}" if number % 8 < 4 else ""]
]
SUBJECTS = {str(task["id"]): task["subject"] for task in TASKS}


class Echo:
    """Answers every other question rightly, and repeats all that it was shown."""

    name = "echo"
    made = 0

    async def complete(self, request: Request) -> Completion:
        self.made += 1
        who, rest = request.prompt.rpartition(" has ")[::2]
        number = int(rest.split()[0])
        right = number if number % 2 else 0
        told = request.prompt.replace("Answer", "")
        answer = f"{told}\nAnswer: {8 * right} of {who.split()[-1]}"
        return Completion(text=answer, input_tokens=1, output_tokens=1, provider_id=f"reply-{self.made}")


def models_with(echo: Echo) -> Models:
    return Models(echo, open_model("builtin/reference", "guidance"), None)


def stopped(runs: Path, echo: Echo) -> Run:
    """Evolve the run until it is stopped in the middle of its first iteration."""
    config = Config(
        benchmark="tasks/pears",
        execution="echo",
        guidance="builtin/reference",
        iterations=3,
        pool=12,
        anchors=4,
        held_out=6,
        teacher_sees="solutions",
    )
    stopping = Runtime(stop=lambda: echo.made >= 20, workers=1)
    with pytest.raises(Interrupted):
        evolve(config, tasks=TASKS, runs_dir=runs, run_id="pears", models=models_with(echo), runtime=stopping)
    return Run("pears", runs / "pears")


def texts_in(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield all that the files of a folder hold, Parquet also as values: its columns are compressed."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path, path.read_bytes().decode(errors="replace").casefold()
            if path.suffix == ".parquet":
                yield path, json.dumps(pq.read_table(path).to_pylist(), default=repr).casefold()


def in_clear(folder: Path) -> set[str]:
    """Return the canaries that a folder holds, and where."""
    return {
        f"{name} in {path.relative_to(folder)}"
        for path, text in texts_in(folder)
        for name in (*CANARIES, *CANARIES.values())
        if name in text and path.name != "keys"
    }
