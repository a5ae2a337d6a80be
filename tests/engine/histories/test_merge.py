"""Two runs become one: memories of both, on probation, and nothing of what either keeps back."""

import itertools
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.askings.requests import Requests
from mage_es.engine.auditing.verify import verify
from mage_es.engine.config import Config
from mage_es.engine.histories.merge import MergeReport, merge
from mage_es.engine.rules.distributions import LEAST
from mage_es.engine.rules.leaks import Guarded, hashes_of, texts_of
from mage_es.engine.rules.near_duplicates import normalise, question_hash
from mage_es.engine.rules.probation import PROBATION
from mage_es.engine.run.directory import Run
from mage_es.engine.run.inheriting import inheritance, last_inherited
from mage_es.engine.run.runtime import Limits, Runtime
from mage_es.engine.run.world import state_of
from mage_es.engine.serving.opening import ready_to_serve
from mage_es.engine.study.baseline import baseline
from mage_es.engine.upkeep.memory import curate, memories, memory
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.replay import replay
from mage_es.engine.verbs.runs import summarise
from mage_es.events import vocabulary as v
from mage_es.events.errors import Interrupted, PrerequisiteError, UsageError
from mage_es.events.log import LogReader
from mage_es.projections.fold import State
from tests.engine.forgery import forged, instead

SOLUTION = "What somebody has and what is bought are added; the number of a street or of a person is neither of them."
OWN = Config(
    benchmark="apples?scorer=number", execution="builtin/analogist", pool=10, iterations=2, held_out=6, anchors=4
)


def rows(first: int, last: int, more: str = "buys") -> list[dict[str, str]]:
    return [
        {
            "question": f"Person {n} has {n + 3} apples and {more} {n * 2} more in street {n * 7}. How many apples?",
            "answer": str(3 * n + 3),
            "solution": SOLUTION,
        }
        for n in range(first, last)
    ]


def evolved(folder: Path, name: str, tasks: list[dict[str, str]], **changes: object) -> Run:
    evolve(msgspec.structs.replace(OWN, **changes), tasks=tasks, runs_dir=folder, run_id=name)
    return Run(name, folder / name)


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    """Two runs over the halves of some tasks, which have no id. Only copy them."""
    folder = tmp_path_factory.mktemp("halves")
    return evolved(folder, "one", rows(0, 40)), evolved(folder, "two", rows(40, 80))


@pytest.fixture(scope="module")
def overlapping(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Run]:
    """Two runs over the same tasks, divided by another seed: anchors of each were learned from in the other."""
    folder = tmp_path_factory.mktemp("overlapping")
    return tuple(evolved(folder, f"seed-{n}", rows(0, 40), seed=n, pool=20) for n in (1, 2))  # type: ignore[return-value]


@pytest.fixture(scope="module")
def merged(halves: tuple[Run, Run], tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run merged of both halves, whose folders are gone. Only copy it."""
    return made(merge(*halves, run_id="merged", runs_dir=tmp_path_factory.mktemp("merged")))


def made(report: MergeReport) -> Run:
    return Run(report.run_id, Path(report.path))


def copied(run: Run, folder: Path, name: str = "") -> Run:
    return Run(name or run.id, Path(shutil.copytree(run.path, folder / (name or run.id))))


def ids(run: Run) -> set[str]:
    return {item.memory_id for item in memories(run, at="latest").items}


def learned(run: Run) -> set[tuple[str, v.Origin, str]]:
    return {(row.memory_id, row.origin, row.status) for row in state(run).memory.rows()}


def reasons(run: Run) -> set[str]:
    marks = LogReader(run.log_path).of(v.RunMerged)
    return {each.reason for mark in marks for each in mark.left_out}


def state(run: Run) -> State:
    return state_of(run, LogReader(run.log_path))


@pytest.mark.slow
def test_it_has_the_memories_of_both_and_says_how_many(halves: tuple[Run, Run], tmp_path: Path) -> None:
    report = merge(*halves, runs_dir=tmp_path)
    assert report.run_id == "one+two" and ids(made(report)) == ids(halves[0]) | ids(halves[1])
    assert [each.taken for each in report.parents] == [len(ids(half)) for half in halves]
    assert [(each.run_id, each.marker, each.left_out) for each in report.parents] == [
        ("one", "iter-1", {}),
        ("two", "iter-1", {}),
    ]
    assert report.memories == sum(len(ids(half)) for half in halves) and report.both == 0
    assert report.evolution + report.anchors + report.held_out <= 80


def test_it_calls_no_model_and_is_finished(merged: Run) -> None:
    summary = summarise(merged)
    assert summary.state == "finished" and not list(LogReader(merged.log_path).of(v.ModelCalled))
    assert summary.parent and summary.parent.run_id == "one + two" and summary.parent.calls > 0


def test_the_order_of_the_runs_makes_no_difference(halves: tuple[Run, Run], merged: Run, tmp_path: Path) -> None:
    other = made(merge(*reversed(halves), runs_dir=tmp_path))
    one, two = (inheritance(LogReader(run.log_path)) for run in (merged, other))
    assert one and two and one.digests == two.digests


@pytest.mark.slow
def test_of_three_runs_any_two_may_be_merged_first_and_one_again(halves: tuple[Run, Run], tmp_path: Path) -> None:
    third = evolved(tmp_path, "three", [*rows(30, 40), *rows(80, 100)])

    names = map(str, itertools.count(1))

    def both(one: Run, other: Run) -> Run:
        return made(merge(one, other, run_id=next(names), runs_dir=tmp_path))

    left, right = both(first := both(*halves), third), both(halves[0], both(halves[1], third))
    assert {reason for each in (left, right) for reason in reasons(each)} == {"question", "origin"}
    assert any(row.kind != "case" for row in state(left).memory.rows()), (
        "what guidance wrote of no such question came along"
    )
    for again in (right, both(left, halves[1]), both(left, first), both(third, left)):
        assert learned(again) == learned(left)
        assert verify(again).ok


def test_a_copy_brings_nothing_new(halves: tuple[Run, Run], tmp_path: Path) -> None:
    copy = copied(halves[0], tmp_path, "copy")
    report = merge(halves[0], copy, runs_dir=tmp_path)
    assert report.both == report.memories == len(ids(halves[0]))
    assert state(made(report)).memory.digest() == digest_without_meetings(halves[0])


def digest_without_meetings(run: Run) -> str:
    """Return the digest of a run's memory if none was met twice, as a merge counts from one."""
    memory = state(run).memory
    assert {row.met for row in memory.rows()} == {1}
    return memory.digest()


def test_it_verifies_and_replays_without_its_parents(merged: Run, tmp_path: Path) -> None:
    run = copied(merged, tmp_path)
    assert verify(run).ok, verify(run)
    checks = replay(run).checks
    assert checks and all(check.equal for check in checks)


def test_it_is_examined_and_served(merged: Run, tmp_path: Path) -> None:
    run = copied(merged, tmp_path)
    report = examine(run)
    assert report.total == 12, "the held-out questions of both"
    assert {hit for plan in exam_plans(run) for hit in shown(plan)} <= ids(run)
    assert any(shown(plan) for plan in exam_plans(run)), "nothing was left out in the exam"
    served = ready_to_serve(run).open()
    served.log.close()
    assert len(served.state.memory) == len(ids(run)) and verify(served.run).ok


def exam_plans(run: Run) -> list[v.QuestionPlanned]:
    [exam] = run.exams()
    return list(LogReader(exam.log_path).of(v.QuestionPlanned))


def shown(plan: v.QuestionPlanned) -> list[str]:
    return [hit.memory_id for hit in plan.memories]


def goes_on(run: Run, folder: Path, iterations: int, **changes: object) -> Run:
    config = msgspec.structs.replace(OWN, benchmark="tasks/apples?scorer=number", iterations=9, pool=20, **changes)
    with pytest.raises(Interrupted):
        evolve(
            config,
            from_run=run,
            runs_dir=folder,
            run_id="on",
            runtime=Runtime(limits=Limits(max_iterations=iterations)),
        )
    return Run("on", folder / "on")


def fresh(run: Run) -> list[v.QuestionPlanned]:
    return [plan for plan in LogReader(run.log_path).of(v.QuestionPlanned) if plan.purpose == "fresh"]


def test_where_learning_goes_on_a_coin_is_tossed_for_what_was_brought(merged: Run, tmp_path: Path) -> None:
    child, brought = goes_on(merged, tmp_path, 1), ids(merged)
    hits = [hit for plan in fresh(child) for hit in (*plan.memories, *plan.left_out)]
    assert {hit.coin for hit in hits} == {PROBATION} and {hit.memory_id for hit in hits} <= brought
    out = [hit for plan in fresh(child) for hit in plan.left_out]
    assert 0 < len(out) < len(hits) / 2
    others = [plan for plan in LogReader(child.log_path).of(v.QuestionPlanned) if plan.purpose in ("anchor", "bare")]
    assert others and not any(plan.left_out for plan in others)
    assert verify(child).ok, verify(child)


def test_the_probation_of_a_run_is_over_when_its_memories_do_no_harm(merged: Run, tmp_path: Path) -> None:
    child = goes_on(merged, tmp_path, 3, bundle=8)  # more memories in a prompt, more tosses
    counts = list(LogReader(child.log_path).of(v.ProbationCounted))
    last = {count.parent: count for count in counts}
    assert last.keys() == {"one", "two"} and any(count.is_over for count in last.values())
    for count in counts:
        is_enough = min(count.shown, count.left_out) >= LEAST
        with_it, without = count.shown_right * count.left_out, count.left_out_right * count.shown
        assert count.is_over == (is_enough and with_it >= without)
    over = {name for name, count in last.items() if count.is_over}
    names = {mark.parent: set(mark.memory_ids) for mark in LogReader(child.log_path).of(v.RunMerged)}
    now = state(child).probation
    assert all((name in now) == (parent not in over) for parent, each in names.items() for name in each)
    ended = {count.parent: count.iteration for count in counts if count.is_over}
    later = [hit for plan in fresh(child) if plan.iteration > max(ended.values()) for hit in plan.memories]
    assert not any(hit.coin for hit in later if any(hit.memory_id in names[name] for name in over))


def test_a_coin_of_the_runs_own_that_leaves_out_more_is_tossed_instead(merged: Run, tmp_path: Path) -> None:
    plans = fresh(goes_on(merged, tmp_path, 1, coin=0.5))
    assert {plan.coin for plan in plans} == {0.5}
    assert {hit.coin for plan in plans for hit in (*plan.memories, *plan.left_out)} == {0.0}


def guarded_of(*runs: Run) -> list[Guarded]:
    return [Guarded(LogReader(run.log_path).of(v.SplitCommitted)) for run in runs]


@pytest.mark.slow
def test_nothing_that_either_keeps_back_comes_along(overlapping: tuple[Run, Run], tmp_path: Path) -> None:
    report = merge(*overlapping, runs_dir=tmp_path)
    run, guards = made(report), guarded_of(*overlapping)
    left = [each.left_out.get("question", 0) for each in report.parents]
    assert sum(left) > 0 and report.memories > 0
    for event in LogReader(run.log_path).of(v.MemoryAppended):
        assert not any(guard.likeness(texts_of(event)).is_leak for guard in guards)
    for parent, told, theirs in zip(overlapping, report.parents, reversed(guards), strict=True):
        learned = LogReader(parent.log_path).of(v.MemoryAppended)
        leaks = {event.memory_id for event in learned if theirs.likeness(texts_of(event)).is_leak}
        assert told.left_out.get("question", 0) >= len(leaks) and not leaks & ids(run)
        assert told.taken + sum(told.left_out.values()) == len(ids(parent))
    splits = {split.split: set(split.question_hashes) for split in LogReader(run.log_path).of(v.SplitCommitted)}
    for parent in overlapping:
        for split in LogReader(parent.log_path).of(v.SplitCommitted):
            if split.split != "evolution":
                assert not splits["evolution"] & set(split.question_hashes)
    assert verify(run).ok, verify(run)


def test_a_memory_that_quotes_what_the_other_holds_out_stays_behind_and_the_question_is_examined(
    halves: tuple[Run, Run], tmp_path: Path
) -> None:
    [held] = [split for split in LogReader(halves[0].log_path).of(v.SplitCommitted) if split.split == "held_out"]
    text = next(row["question"] for row in rows(0, 40) if question_hash(normalise(row["question"])) in hashes_of(held))
    quoting = evolved(tmp_path, "quoting", [{**row, "solution": text} for row in rows(40, 60)], iterations=1)
    report = merge(halves[0], quoting, runs_dir=tmp_path)
    assert report.parents[1].taken == 0 < report.parents[1].left_out["question"]
    [now] = [split for split in LogReader(made(report).log_path).of(v.SplitCommitted) if split.split == "held_out"]
    assert question_hash(normalise(text)) in hashes_of(now) and verify(made(report)).ok


def test_what_was_made_of_an_answer_that_the_other_keeps_back_stays_behind(
    overlapping: tuple[Run, Run], tmp_path: Path
) -> None:
    report = merge(*overlapping, runs_dir=tmp_path)
    marks = {mark.parent: mark for mark in LogReader(made(report).log_path).of(v.RunMerged)}
    assert sum(each.left_out.get("origin", 0) for each in report.parents) > 0
    must = set[str]()
    for run, theirs in zip(overlapping, reversed(guarded_of(*overlapping)), strict=True):
        reader, learned = LogReader(run.log_path), list(state(run).memory.rows())
        kept = [row.question for row in learned if theirs.likeness([row.question]).is_leak]
        requests = Requests(reader)
        briefs = {
            record.fact_id.hex(): requests.request(record.event.sent)
            for record in reader.records({v.ModelCalled})
            if isinstance(record.event, v.ModelCalled) and record.event.tier == "guidance"
        }
        of_kept = {name for name, brief in briefs.items() if brief and any(text in brief.text for text in kept)}
        is_out = (row.question in kept or not of_kept.isdisjoint(row.origin.facts) for row in learned)
        must |= {row.memory_id for row, out in zip(learned, is_out, strict=True) if out}
    assert {each.memory_id for mark in marks.values() for each in mark.left_out} == must


def test_a_memory_tells_who_brought_it(merged: Run, tmp_path: Path) -> None:
    marks = {mark.parent: mark for mark in LogReader(merged.log_path).of(v.RunMerged)}
    report = memory(merged, marks["two"].memory_ids[0], at="latest")
    assert report.origin[0].startswith("Learned in the run two or one that it continues (")
    assert report.history == ("Brought by two (event 4); probation not begun",) or report.history == (
        "Brought by two (event 3); probation not begun",
    )
    child = goes_on(copied(merged, tmp_path), tmp_path, 1)
    report = memory(child, marks["two"].memory_ids[0], at="latest")
    assert "; probation going on: of what two brought, " in report.history[0]


def test_what_was_quarantined_in_one_run_stays_so(halves: tuple[Run, Run], tmp_path: Path) -> None:
    one = copied(halves[0], tmp_path)
    name = min(ids(one))
    curate(one, name, action="quarantine", reason="it misleads", by="ann")
    run = made(merge(one, halves[1], runs_dir=tmp_path))
    assert state(run).memory.status_of(name) == "quarantined"
    assert [event.reason for event in LogReader(run.log_path).of(v.MemoryQuarantined)] == ["it misleads"]


@pytest.mark.slow
def test_either_parent_is_found_again_and_another_run_is_not(
    halves: tuple[Run, Run], merged: Run, tmp_path: Path
) -> None:
    for parent in halves:
        [check] = [each for each in verify(merged, parent=parent).checks if each.name == "parent"]
        assert check.ok and f"{len(ids(parent))} memories are those of {parent.id}" in check.detail
    stranger = evolved(tmp_path, "one", rows(0, 20))
    [check] = [each for each in verify(merged, parent=stranger).checks if each.name == "parent"]
    assert not check.ok and "never had a head" in check.detail


def test_a_memory_that_a_merge_left_out_in_silence_is_missed(
    halves: tuple[Run, Run], merged: Run, tmp_path: Path
) -> None:
    def bent(event: v.Event) -> v.Event:
        assert isinstance(event, v.RunMerged)
        return msgspec.structs.replace(event, memory_ids=event.memory_ids[1:])

    run = copied(merged, tmp_path)
    shutil.rmtree(run.log_path)
    forged(merged.log_path, run.log_path, instead(v.RunMerged, bent))
    parent = next(half for half in halves if half.id == next(LogReader(run.log_path).of(v.RunMerged)).parent)
    [check] = [each for each in verify(run, parent=parent).checks if each.name == "parent"]
    assert not check.ok and "is not on record" in check.detail
    assert last_inherited(LogReader(run.log_path)) == last_inherited(LogReader(merged.log_path))
    [check] = [each for each in verify(run).checks if each.name == "merged"]
    assert not check.ok and "is of none of the runs, so it is on no probation" in check.detail


def is_case(event: v.Event) -> bool:
    return isinstance(event, v.MemoryAppended) and event.kind == "case"


@pytest.mark.parametrize(
    ("values", "words", "is_seen_alone"),
    [
        ({"embedding": bytes(4 * 512)}, "has not the vector of its question", True),
        ({"question_id": "another"}, "as the run has it, with its right answer", True),
        ({"wrong_answer": "14"}, "is not there as it was", False),
    ],
)
def test_a_memory_that_was_changed_on_the_way_is_found(
    values: dict[str, object],
    words: str,
    is_seen_alone: bool,
    halves: tuple[Run, Run],
    merged: Run,
    tmp_path: Path,
) -> None:
    run = copied(merged, tmp_path)
    shutil.rmtree(run.log_path)
    name = next(event.memory_id for event in LogReader(merged.log_path).of(v.MemoryAppended) if is_case(event))
    changed = instead(v.MemoryAppended, lambda event: msgspec.structs.replace(event, **values), is_case)
    forged(merged.log_path, run.log_path, changed)
    marks = {mark.parent: mark.memory_ids for mark in LogReader(merged.log_path).of(v.RunMerged)}
    parent = next(half for half in halves if name in marks[half.id])
    for checks in (verify(run, parent=parent).checks, verify(run).checks if is_seen_alone else ()):
        told = [each.detail for each in checks if not each.ok and each.name in ("parent", "merged")]
        assert any(words in detail for detail in told) or not checks, told


@pytest.mark.parametrize(
    ("changes", "tasks", "why"),
    [
        ({"benchmark": "apples?scorer=exact"}, rows(40, 60), "benchmark own tasks with scorer 'number' and .* 'exact'"),
        ({"form": "sections"}, rows(40, 60), "form usual and sections"),
        ({"execution": "builtin/copier"}, rows(40, 60), "execution builtin/analogist and builtin/copier"),
        ({"recall": False}, rows(40, 60), "recall on and off"),
        ({"form": "turns"}, [*rows(0, 20), *rows(40, 60)], ""),
        ({}, [{**row, "answer": "7"} for row in rows(0, 20)], "20 questions have different answers in"),
        ({}, [{**row, "subject": "ann"} for row in rows(40, 60)], "other has tasks with a subject"),
    ],
)
def test_what_does_not_go_together_is_refused_before_a_folder_is_made(
    halves: tuple[Run, Run], tmp_path: Path, changes: dict[str, object], tasks: list[dict[str, str]], why: str
) -> None:
    other = evolved(tmp_path, "other", tasks, iterations=1, **changes)
    if not why:
        assert merge(halves[0], other, runs_dir=tmp_path / "runs").run_id == "one+other"
        return
    with pytest.raises(UsageError, match=why):
        merge(halves[0], other, runs_dir=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("spoil", "error", "why"),
    [
        (lambda run: None, UsageError, "Both runs are called one"),
        (lambda run: shutil.rmtree(run.log_path / "golds"), PrerequisiteError, "has no gold answers"),
    ],
)
def test_a_run_is_not_merged_with_itself_nor_without_gold(
    halves: tuple[Run, Run], tmp_path: Path, spoil: Callable[[Run], None], error: type[Exception], why: str
) -> None:
    copy = copied(halves[0], tmp_path)
    spoil(copy)
    with pytest.raises(error, match=why):
        merge(copy, halves[0] if error is UsageError else halves[1], runs_dir=tmp_path)


def test_a_baseline_has_no_memories_to_merge(halves: tuple[Run, Run], tmp_path: Path) -> None:
    baseline("zero_shot", OWN, tasks=rows(0, 20), runs_dir=tmp_path, run_id="plain")
    with pytest.raises(UsageError, match="plain is a baseline"):
        merge(halves[0], tmp_path / "plain", runs_dir=tmp_path)


@pytest.mark.slow
def test_a_benchmarks_runs_are_merged_too(small_run: Run, tmp_path: Path) -> None:
    report = merge(small_run, copied(small_run, tmp_path, "copy"), runs_dir=tmp_path)
    assert report.memories == report.both > 0
    assert sum(each.left_out["kind"] for each in report.parents) > 0, "tools, recipes and patterns"
    assert verify(made(report)).ok


def test_a_merge_that_took_from_another_run_than_it_names_is_found(merged: Run, tmp_path: Path) -> None:
    run = copied(merged, tmp_path)
    shutil.rmtree(run.log_path)

    def renamed(event: v.Event) -> v.Event:
        assert isinstance(event, v.RunMerged)
        return msgspec.structs.replace(event, parent="another")

    forged(merged.log_path, run.log_path, instead(v.RunMerged, renamed))
    [check] = [each for each in verify(run).checks if each.name == "merged"]
    assert not check.ok and "not from each of these what it took" in check.detail
