"""A rule that changes from one run to the next: the memory follows it, and so does the gate, whose anchors do not."""

from pathlib import Path

import pytest

import mage_es
from mage_es.engine.auditing.verify import verify
from mage_es.engine.benchmarks.tasks.spec import TaskSpec
from mage_es.engine.config import Config
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.viewing.ask import ask
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, BenefitDecided
from tests.engine.copier import Copier, guided

pytestmark = pytest.mark.slow

TEAMS = ("Alder", "Basalt", "Cedar", "Dune")
THINGS = ("kettle", "lantern", "saddle", "violin")
PLACES = ("attic", "barn", "cellar", "garden", "hall", "kitchen", "library", "office", "porch", "shed")
PEOPLE = ("Ada", "Ben", "Cleo", "Dan")


def tickets(day: int, *, moved: int) -> list[dict[str, str]]:
    """Return forty tickets: each thing belongs to a team, `moved` places down the list."""
    return [
        {
            "question": f"{who}, {place}, day {day}: {thing} {thing} {thing} {thing}",
            "answer": TEAMS[(at + moved) % len(TEAMS)],
            "split": "evolution",
        }
        for place, who in zip(PLACES, PEOPLE * 3, strict=False)
        for at, thing in enumerate(THINGS)
    ]


def on(folder: Path, day: int, run: Run | None, *, moved: int) -> Run:
    spec = TaskSpec("tickets", "choice", labels=TEAMS)
    test = {"question": "Where is the harp?", "answer": TEAMS[0], "split": "test"}
    config = Config(benchmark=spec.name, iterations=1, pool=40, held_out=1, failure_memories=False)
    models, name = guided(Copier(TEAMS)), f"day-{day}"
    tasks = [*tickets(day, moved=moved), test]
    evolve(config, tasks=tasks, models=models, from_run=run, runs_dir=folder, run_id=name)
    return find_run(folder, name)


def test_after_a_change_the_gate_goes_by_the_last_questions_and_the_memory_by_the_new_rule(tmp_path: Path) -> None:
    run: Run | None = None
    for day, moved in enumerate((0, 0, 1, 1)):
        run = on(tmp_path, day, run, moved=moved)
    assert run is not None and verify(run).ok
    reader = LogReader(run.log_path)
    [*_, told] = reader.of(BenefitDecided)
    bare = [event for event in reader.of(AnswerJudged) if event.purpose == "bare"]
    assert told.pooled.served == "learned" and told.pooled.pairs < len(bare)
    answer = ask(run, "Eva, loft, day 9: kettle kettle kettle kettle", execution=Copier(TEAMS))
    assert answer.answer == TEAMS[1] and isinstance(answer, mage_es.AskReport)
