"""A run that goes on from another has what that one had learned, needs it no longer, and keeps its questions apart."""

import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.auditing.theorems.replay import check_replay
from mage_es.engine.auditing.verify import verify
from mage_es.engine.config import Config
from mage_es.engine.histories.upgrade import upgrade_price
from mage_es.engine.run.directory import Run, clock
from mage_es.engine.run.inheriting import OWN_ACCOUNTS, inheritance, last_inherited, taken_types
from mage_es.engine.run.runtime import Limits, Runtime
from mage_es.engine.upkeep.backup import backup, restore
from mage_es.engine.upkeep.memory import memories, memory
from mage_es.engine.verbs.evolve import evolve, evolve_price
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.replay import replay
from mage_es.engine.verbs.resume import resume
from mage_es.engine.verbs.runs import summarise
from mage_es.engine.viewing.show import show
from mage_es.events import vocabulary as v
from mage_es.events.disk import Layout
from mage_es.events.disk.documents import Past
from mage_es.events.errors import Interrupted, PrerequisiteError, UsageError
from mage_es.events.log import Log, LogReader
from mage_es.projections.fold import fold
from tests.engine.conftest import SMALL
from tests.engine.forgery import forged, instead
from tests.events.disks import ForgetfulDisk
from tests.events.samples import clock as ticking
from tests.kit.stages import Stage, drafts_of
from tests.kit.strategies import histories

ONE = Limits(max_iterations=1)


def learned(digests: tuple[v.Digest, ...]) -> dict[str, str]:
    return {each.projection: each.value for each in digests if each.projection not in OWN_ACCOUNTS}


def closed(run: Run, k: int) -> v.IterationClosed:
    return next(event for event in LogReader(run.log_path).of(v.IterationClosed) if event.iteration == k)


def rows(first: int, last: int) -> list[dict[str, str]]:
    return [
        {
            "question": f"Person {n} has {n + 3} apples and buys {n * 2} more in street {n * 7}. How many apples?",
            "answer": str(3 * n + 3),
        }
        for n in range(first, last)
    ]


SOLUTION = "What somebody has and what is bought are added; the number of a street or of a person is neither of them."
OWN = Config(
    benchmark="apples?scorer=number", execution="builtin/analogist", pool=10, iterations=2, held_out=6, anchors=4
)


def solved() -> list[dict[str, str]]:
    """Tasks with a solution each, without which nothing is written but cases."""
    return [{**row, "solution": SOLUTION} for row in rows(0, 40)]


@pytest.fixture(scope="module")
def apples(tmp_path_factory: pytest.TempPathFactory) -> Run:
    runs_dir = tmp_path_factory.mktemp("apples") / "runs"
    evolve(OWN, tasks=solved(), runs_dir=runs_dir, run_id="apples")
    return Run("apples", runs_dir / "apples")


AGAIN = msgspec.structs.replace(OWN, benchmark="tasks/apples?scorer=number")
"""The same tasks, which the parent has stored."""


def goes_on(parent: Run, runs_dir: Path, **how: object) -> Run:
    """Begin a run from another and take it through one iteration."""
    with pytest.raises(Interrupted):
        evolve(AGAIN, from_run=parent, runs_dir=runs_dir, run_id="child", runtime=Runtime(limits=ONE), **how)  # type: ignore[arg-type]
    return Run("child", runs_dir / "child")


@pytest.fixture(scope="module")
def child(apples: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that goes on from iter-0 of another, whose folder is gone. Only copy it."""
    runs_dir = tmp_path_factory.mktemp("child") / "runs"
    parent = Run("apples", shutil.copytree(apples.path, runs_dir / "apples"))
    made = goes_on(parent, runs_dir, at="iter-0")
    shutil.rmtree(parent.path)
    return made


@pytest.mark.slow
@settings(deadline=None, max_examples=8)
@given(histories(most_iterations=3), st.randoms(use_true_random=False))
def test_what_is_inherited_folds_to_what_the_parent_had_learned(stages: list[Stage], random: Random) -> None:
    disk, path, other = ForgetfulDisk(random), Path("/run/log"), Path("/other/log")
    with Log.create(path, run="parent", clock=ticking(), fs=disk) as log:
        for batch in drafts_of(stages):
            log.append(batch)
    reader = LogReader(path, disk)
    seq, _ = random.choice(list(reader.numbered(v.IterationClosed)))
    reader.link(Layout(other).past)
    Log.create(other, run="child", clock=ticking(), fs=disk, past=Past(seq=seq, head=reader.head, takes=taken_types()))
    assert learned(fold(LogReader(other, disk)).digests()) == learned(fold(reader, until=seq).digests())


def test_at_the_fork_every_digest_of_what_was_learned_is_the_parents(child: Run, apples: Run) -> None:
    reader = LogReader(child.log_path)
    begun = inheritance(reader)
    assert begun and begun.digests == closed(apples, 0).digests
    assert learned(fold(reader, until=last_inherited(reader)).digests()) == learned(begun.digests)
    assert (begun.parent, begun.path, begun.iteration) == ("apples", "apples", 0)
    assert begun.head_chain == LogReader(apples.log_path).head.chain


def test_with_the_same_settings_it_learns_what_the_parent_learned_next(child: Run, tmp_path: Path) -> None:
    # Not the parent itself: its iteration 1 was its last, in which the gate asks more, and the child goes on.
    evolve(msgspec.structs.replace(OWN, iterations=3), tasks=solved(), runs_dir=tmp_path, run_id="apples")
    assert learned(closed(child, 1).digests) == learned(closed(Run("apples", tmp_path / "apples"), 1).digests)


def test_it_verifies_replays_and_is_restored_without_its_parent(child: Run, tmp_path: Path) -> None:
    place = f"{tmp_path}/backup"
    backup(child, place)
    restore(place, runs_dir=tmp_path, name="again")
    run = Run("again", tmp_path / "again")
    assert verify(run).ok, verify(run)
    for marker in ("start", "iter-0", "iter-1"):
        checks = replay(run, until=marker).checks
        assert checks and all(check.equal for check in checks)
    assert replay(run, until="start").seq == replay(run, until="iter-0").seq


def test_its_ledger_counts_its_own_calls_and_its_summary_names_the_parents(child: Run, apples: Run) -> None:
    own, before = summarise(child), summarise(apples)
    state = fold(LogReader(apples.log_path), until=LogReader(apples.log_path).resolve("iter-0"))
    assert sum(row.calls for row in own.ledger) == sum(1 for _ in LogReader(child.log_path).of(v.ModelCalled))
    assert own.parent and own.parent.run_id == "apples" and own.parent.usd == 0
    assert own.parent.calls == sum(use.calls for _, use in state.ledger.accounts())
    assert [row.iteration for row in own.rows] == [0, 1] and own.iterations_done == 1
    start = own.rows[0]
    assert start.fresh_total == start.revisit_total == 0 < start.anchor_total
    assert start.failure_memories == before.rows[1].failure_memories > 0


def test_an_inherited_memory_tells_the_run_that_learned_it(child: Run) -> None:
    born = {item.iteration: item.memory_id for item in memories(child, at="latest").items}
    assert "Learned in the run apples" in memory(child, born[0], at="latest").origin[0]
    assert any("answer.judged" in line for line in memory(child, born[0], at="latest").origin)
    assert not any("apples" in line for line in memory(child, born[1], at="latest").origin)


def test_a_question_that_the_parent_asked_is_shown_there(child: Run, apples: Run) -> None:
    own = {plan.question_id for plan in LogReader(child.log_path).of(v.QuestionPlanned)}
    asked = [plan.question_id for plan in LogReader(apples.log_path).of(v.QuestionPlanned) if plan.iteration == 0]
    with pytest.raises(UsageError, match="was asked by apples, from which child goes on"):
        show(child, next(name for name in asked if name not in own))
    assert show(child, max(own)).prompt_verified


@pytest.mark.slow
def test_its_score_before_is_that_of_what_the_parent_had_learned(child: Run, apples: Run, tmp_path: Path) -> None:
    run = Run("child", shutil.copytree(child.path, tmp_path / "child"))
    before, then = (
        examine(run, at="start"),
        examine(Run("p", shutil.copytree(apples.path, tmp_path / "p")), at="iter-0"),
    )
    assert sorted(before.answers) == sorted(then.answers)
    after = examine(run)
    assert after.before and after.before.correct == before.correct
    assert verify(run).ok


@pytest.mark.slow
def test_ended_at_its_very_start_it_is_resumed_without_its_parent(apples: Run, child: Run, tmp_path: Path) -> None:
    parent = Run("apples", shutil.copytree(apples.path, tmp_path / "apples"))
    (tmp_path / "child").mkdir()
    Log.create(tmp_path / "child" / "log", run="child", clock=clock).close()  # killed before its first event
    with pytest.raises(Interrupted):
        evolve(
            AGAIN, from_run=parent, at="iter-0", runs_dir=tmp_path, run_id="child", runtime=Runtime(stop=lambda: True)
        )
    shutil.rmtree(parent.path)
    run = Run("child", tmp_path / "child")
    assert not list(LogReader(run.log_path).of(v.IterationClosed))
    with pytest.raises(Interrupted):
        resume(run, runtime=Runtime(limits=ONE))
    assert closed(run, 1).digests == closed(child, 1).digests


def test_what_a_person_quarantined_after_the_last_iteration_stays_in_quarantine(apples: Run, tmp_path: Path) -> None:
    from mage_es.engine.upkeep.memory import curate

    parent = Run("apples", shutil.copytree(apples.path, tmp_path / "apples"))
    name = memories(parent, at="latest").items[0].memory_id
    curate(parent, name, action="quarantine", reason="wrong", by="me")
    run = goes_on(parent, tmp_path)
    assert memory(run, name, at="start").item.status == "quarantined"


def test_an_inherited_event_that_was_changed_is_found(child: Run, tmp_path: Path) -> None:
    def bent(event: v.Event) -> v.Event:
        assert isinstance(event, v.RunInherited)
        return msgspec.structs.replace(event, digests=(v.Digest(projection="memory", value="0" * 64),))

    forged(child.log_path, tmp_path / "log", instead(v.RunInherited, bent))
    check = check_replay(LogReader(tmp_path / "log"), tmp_path / "snapshots")
    assert not check.ok and check.detail == "memory differs from what apples had learned"


@pytest.mark.parametrize(
    ("change", "how", "error", "message"),
    [
        ({"benchmark": "wordmath"}, {}, UsageError, "learned from apples, and what it learned is of no use"),
        ({}, {"at": "iter-0/evaluate"}, UsageError, "continues from a closed iteration"),
        ({}, {"at": "iter-7"}, UsageError, "no marker iter-7. Closed so far: start to iter-1"),
        ({"task_types": "input"}, {}, PrerequisiteError, "task_type_source"),
    ],
)
def test_what_does_not_go_with_the_parent_is_refused_before_a_folder_is_made(
    apples: Run, tmp_path: Path, change: dict[str, str], how: dict[str, str], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        evolve(msgspec.structs.replace(AGAIN, **change), from_run=apples, runs_dir=tmp_path / "runs", **how)  # type: ignore[arg-type]
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_another_seed_of_a_generated_benchmark_brings_other_questions(small_run: Run, tmp_path: Path) -> None:
    notes: list[str] = []
    config = msgspec.structs.replace(SMALL, seed=8, iterations=1)
    evolve(
        config,
        from_run=small_run,
        runs_dir=tmp_path,
        run_id="other",
        runtime=Runtime(observer=lambda note: notes.append(note.message)),
    )
    run = Run("other", tmp_path / "other")
    assert any(told.startswith("Continues small with its ") for told in notes)
    assert verify(run).ok, verify(run)
    fresh = [plan.question_id for plan in LogReader(run.log_path).of(v.QuestionPlanned) if plan.purpose == "fresh"]
    assert any(name.endswith("+") for name in fresh)


def sides(run: Run) -> dict[str, set[str]]:
    return {event.split: set(event.question_hashes) for event in LogReader(run.log_path).of(v.SplitCommitted)}


def test_more_tasks_leave_every_question_on_its_side(apples: Run, tmp_path: Path) -> None:
    evolve(OWN, tasks=rows(30, 80), from_run=apples, runs_dir=tmp_path, run_id="more")
    more = Run("more", tmp_path / "more")
    before, now = sides(apples), sides(more)
    assert before["evolution"] <= now["evolution"] and len(now["evolution"]) > len(before["evolution"])
    assert not before["evolution"] & (now["held_out"] | now["anchors"])
    assert not (before["held_out"] | before["anchors"]) & now["evolution"]
    assert before["held_out"] == now["held_out"], "the exam stays the same while it has room for no more"
    assert verify(more).ok, verify(more)
    asked = [plan.question_id for plan in LogReader(more.log_path).of(v.QuestionPlanned) if plan.purpose == "fresh"]
    assert len(asked) >= 5
    summary = summarise(more)
    assert summary.parent and summary.parent.run_id == "apples"


def test_a_task_that_resembles_what_the_parent_wrote_is_in_no_exam(apples: Run, tmp_path: Path) -> None:
    written = next(event for event in LogReader(apples.log_path).of(v.MemoryAppended) if event.reasoning)
    copied = [{"question": f"{written.reasoning}", "answer": "1", "split": "test"}]
    filler = [{**row, "split": "test"} for row in rows(200, 203)]
    evolve(
        msgspec.structs.replace(OWN, held_out=20),
        tasks=[*copied, *filler],
        from_run=apples,
        runs_dir=tmp_path,
        run_id="more",
    )
    begun = inheritance(LogReader(tmp_path / "more" / "log"))
    assert begun and len(begun.resembling) == 1
    assert verify(Run("more", tmp_path / "more")).ok


def test_another_answer_to_a_question_of_the_parents_is_refused(apples: Run, tmp_path: Path) -> None:
    changed = [{**row, "answer": "0"} for row in rows(3, 5)]
    with pytest.raises(
        UsageError, match=r"2 questions that apples learned from now have another answer: .*row-4, row-5"
    ):
        evolve(OWN, tasks=changed, from_run=apples, runs_dir=tmp_path / "runs")


def test_without_more_tasks_it_goes_on_with_those_that_the_parent_stored(apples: Run, tmp_path: Path) -> None:
    begun = Config(**{**msgspec.structs.asdict(OWN), "benchmark": summarise(apples).benchmark})
    evolve(begun, from_run=apples, runs_dir=tmp_path, run_id="on")
    assert sides(Run("on", tmp_path / "on")) == sides(apples)


def test_a_copy_without_gold_answers_is_not_gone_on_from_and_has_no_price(apples: Run, tmp_path: Path) -> None:
    copy = Run("copy", shutil.copytree(apples.path, tmp_path / "copy"))
    shutil.rmtree(copy.log_path / "golds")
    verbs: tuple[Callable[[], object], ...] = (
        lambda: evolve(OWN, tasks=rows(40, 50), from_run=copy, runs_dir=tmp_path / "runs"),
        lambda: evolve_price(OWN, from_run=copy),
        lambda: upgrade_price(copy, execution="builtin/copier"),
    )
    for verb in verbs:
        with pytest.raises(PrerequisiteError, match="This copy of copy has no gold answers"):
            verb()


def test_a_run_whose_subjects_can_be_erased_is_not_gone_on_from_and_has_no_price(tmp_path: Path) -> None:
    mine = [{**row, "subject": "ann"} for row in rows(0, 2)]
    config = msgspec.structs.replace(OWN, iterations=1)
    evolve(config, tasks=[*mine, *rows(2, 20)], runs_dir=tmp_path, run_id="apples")
    run = tmp_path / "apples"
    verbs: tuple[Callable[[], object], ...] = (
        lambda: evolve(OWN, tasks=rows(20, 30), from_run=run, runs_dir=tmp_path, run_id="more"),
        lambda: evolve_price(OWN, from_run=run),
        lambda: upgrade_price(run, execution="builtin/copier"),
    )
    for verb in verbs:
        with pytest.raises(UsageError, match="apples has tasks with a subject, which can be erased there"):
            verb()
