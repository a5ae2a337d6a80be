"""A rule that changes while a run is continued day by day: what is served follows, and `verify` sees why in the log."""

from pathlib import Path

import msgspec
import pytest

from mage_es.engine.auditing.theorems.benefit import check_benefit
from mage_es.engine.auditing.verify import verify
from mage_es.engine.benchmarks.tasks.spec import TaskSpec
from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.players.worlds.private.tickets import LABELS, LabelRule
from mage_es.engine.players.worlds.wordmath.dice import Dice
from mage_es.engine.rules.drift import since
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.world import state_of
from mage_es.engine.served.frozen import freeze, question_of
from mage_es.engine.verbs.evolve import evolve
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import BenefitDecided, Event, MemoryAppended, Record
from tests.bench.hostile import Hostility, Nearest, Ticket, tickets
from tests.engine.forgery import forged

DAY = 40
RULE = LabelRule(Dice("hostile/2"), LABELS.level(2))
NAME = TaskSpec("tickets", "choice", labels=RULE.labels).name
CONFIG = Config(benchmark=NAME, seed=1, iterations=1, pool=DAY, held_out=1, failure_memories=False)
*TICKETS, LAST = tickets(RULE, 2, Hostility(), 5 * DAY + 1)


def said(ticket: Ticket, day: int) -> str:
    """Return what a ticket's client says: by another rule from the third day on."""
    return RULE.labels[(RULE.labels.index(ticket.said) + (day >= 2)) % len(RULE.labels)]


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    folder, runs = tmp_path_factory.mktemp("days"), list[Run]()
    models = Models(
        execution=Nearest(RULE.labels, {each.text: each.right for each in (*TICKETS, LAST)}),
        guidance=open_model("builtin/reference", "guidance"),
    )
    test = {"id": "test", "question": LAST.text, "answer": LAST.right, "split": "test"}
    for day in range(4):
        rows = [
            {"id": f"ticket-{place}", "question": each.text, "answer": said(each, day), "split": "evolution"}
            for place, each in enumerate(TICKETS[day * DAY : (day + 1) * DAY], day * DAY)
        ]
        from_run = runs[-1] if runs else None
        evolve(CONFIG, tasks=[*rows, test], models=models, from_run=from_run, runs_dir=folder, run_id=f"day-{day}")
        runs.append(find_run(folder, f"day-{day}"))
    return runs


def decisions(run: Run) -> list[BenefitDecided]:
    return [event for event in LogReader(run.log_path).of(BenefitDecided) if event.iteration == int(run.id[-1])]


@pytest.mark.slow
def test_on_the_evening_of_the_change_cases_of_the_old_rule_are_out_of_date_and_the_new_ones_are_served(
    days: list[Run],
) -> None:
    for run, start in zip(days, (0, 0, 2, 2), strict=True):
        memory = state_of(run, LogReader(run.log_path)).memory
        assert since(memory, "task").all_answers == start
    frozen = freeze(days[2], "latest")
    planned = [frozen.planned(question_of(each.text)) for each in TICKETS[4 * DAY :]]
    shown = {hit.memory_id for plan in planned for hit in plan.memories}
    assert shown and all(frozen.state.memory.taught(frozen.state.memory.row(name)) == 2 for name in shown)


@pytest.mark.slow
def test_what_counts_after_a_change_is_checked_from_the_log(days: list[Run], tmp_path: Path) -> None:
    assert not decisions(days[2]), "all answers of this day were given on cases that are out of date by now"
    [found] = decisions(days[3])
    assert 0 < found.pooled.pairs <= DAY and found.pooled.served == "learned"
    assert all(verify(run).ok for run in days)

    def contradicted(record: Record) -> Event:
        """Give the cases of the second day other answers: then the anchors of the first are out of date."""
        event = record.event
        if isinstance(event, MemoryAppended) and event.iteration == 1:
            team = RULE.labels[RULE.labels.index(event.answer) - 1]
            return msgspec.structs.replace(event, answer=team)
        return event

    run = Run(days[1].id, tmp_path)
    forged(days[1].log_path, run.log_path, contradicted)
    assert check_benefit(days[1], LogReader(days[1].log_path), CONFIG).ok
    check = check_benefit(run, LogReader(run.log_path), CONFIG)
    assert not check.ok and "does not decide what" in check.detail
