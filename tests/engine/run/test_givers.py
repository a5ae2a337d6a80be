"""Tasks that say by whom their answers are: what one client gave against all others reaches no prompt."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mage_es.engine.auditing.verify import verify
from mage_es.engine.benchmarks.tasks.spec import TaskSpec
from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.players.worlds.private.tickets import LABELS, LabelRule
from mage_es.engine.players.worlds.wordmath.dice import Dice
from mage_es.engine.rules.doubt import doubted
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.served.frozen import FrozenRun, freeze, question_of
from mage_es.engine.upkeep.memory import memory
from mage_es.engine.verbs.evolve import evolve
from tests.bench.hostile import Hostility, Nearest, Ticket, tickets

RULE = LabelRule(Dice("hostile/2"), LABELS.level(2))
*LEARNED, LAST = tickets(RULE, 2, Hostility(poisoned=0.2), 221)
LEARNED, ASKED = LEARNED[:200], LEARNED[200:]
EVIL = "evil-0"


def learned(folder: Path, by: Callable[[Ticket], str]) -> Run:
    """Return a run that learned from tickets with what their clients said."""
    learner = Nearest(RULE.labels, {each.text: each.right for each in (*LEARNED, *ASKED, LAST)})
    models = Models(execution=learner, guidance=open_model("builtin/reference", "guidance"))
    name = TaskSpec("tickets", "choice", labels=RULE.labels).name
    config = Config(benchmark=name, seed=1, iterations=2, pool=80, held_out=1, failure_memories=False)
    tasks = [{"question": one.text, "answer": one.said, "split": "evolution", "by": by(one)} for one in LEARNED]
    test = {"question": LAST.text, "answer": LAST.right, "split": "test"}
    evolve(config, tasks=[*tasks, test], models=models, runs_dir=folder, run_id="run")
    return find_run(folder, "run")


def shown(frozen: FrozenRun) -> Sequence[Sequence[str]]:
    """Return what the questions of others are shown."""
    return [[hit.memory_id for hit in frozen.planned(question_of(each.text)).memories] for each in ASKED]


@pytest.mark.slow
def test_cases_of_right_and_of_missed_answers_alike_remember_who_gave_them(tmp_path: Path) -> None:
    run = learned(tmp_path, lambda one: one.client)
    frozen = freeze(run, "latest")
    client = {each.text: each.client for each in LEARNED}
    rows = list(frozen.state.memory.rows())
    assert {row.outcome for row in rows} == {"success_memory", "failure_memory"}
    assert all(row.origin.by == client[row.question] for row in rows)
    [task_type] = frozen.state.memory.task_types()
    assert doubted(frozen.state.memory, task_type).keys() == {EVIL}
    givers = {frozen.state.memory.row(name).origin.by for names in shown(frozen) for name in names}
    assert EVIL not in givers and len(givers) > 2
    named = next(row.memory_id for row in rows if row.origin.by == EVIL)
    assert memory(run, named, at="latest").fields["doubt"].startswith(f"Its client, {EVIL}, is in doubt: of its ")
    assert not [check for check in verify(run).checks if not check.ok]


@pytest.mark.slow
def test_with_a_single_client_or_none_every_prompt_is_the_same(tmp_path: Path) -> None:
    single, nameless = (
        freeze(learned(tmp_path / name, lambda one, name=name: name), "latest") for name in ("acme", "")
    )
    assert shown(single) == shown(nameless)
