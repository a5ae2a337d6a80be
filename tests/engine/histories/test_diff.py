"""What changed between two moments, or two runs, according to their logs alone."""

import shutil
from collections import Counter
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.histories.diff import diff
from mage_es.engine.run.directory import Run, moment_of
from mage_es.engine.run.world import state_of
from mage_es.engine.upkeep.memory import curate, memories
from mage_es.engine.verbs.exam import examine
from mage_es.events.errors import UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import MemorySuperseded
from tests.engine.conftest import SMALL, begin
from tests.engine.histories.test_merge import evolved, rows
from tests.golden.generate import golden


@pytest.fixture
def run(small_run: Run, tmp_path: Path) -> Run:
    """A copy of the small run that may be written to."""
    return Run(small_run.id, shutil.copytree(small_run.path, tmp_path / small_run.id))


@pytest.mark.slow
def test_a_moment_does_not_differ_from_itself(small_run: Run) -> None:
    report = diff(small_run, small_run, at=("iter-0", "iter-0"))
    assert not (*report.settings, *report.learned, *report.names, *report.edges, *report.arms)
    assert all(each.before == each.after and not (*each.won, *each.lost) for each in report.answers)


def test_all_that_was_learned_in_between_is_new_and_the_other_way_round_it_is_gone(small_run: Run) -> None:
    there = {item.memory_id for item in memories(small_run, at="latest").items}
    before = {item.memory_id for item in memories(small_run, at="iter-0").items}
    forth, back = (diff(small_run, small_run, at=at) for at in (("iter-0", "latest"), ("latest", "iter-0")))
    assert {each.item.memory_id for each in forth.learned if each.fate == "new"} == there - before
    assert {each.item.memory_id for each in back.learned if each.fate == "gone"} == there - before
    assert [(each.name, not each.is_new) for each in forth.names] == [(each.name, each.is_new) for each in back.names]
    assert {(each.kind, each.after, each.before) for each in forth.edges} == {
        (each.kind, each.before, each.after) for each in back.edges
    }


def test_as_many_as_are_wanted_of_each_fate_kind_and_task_type_are_listed_and_all_counted(small_run: Run) -> None:
    for at in (("start", "latest"), ("latest", "start")):
        whole = diff(small_run, small_run, at=at, top=1000)
        assert sum(each.number for each in whole.counts) == len(whole.learned) > 0
        for top in (0, 1, 3):
            listed, expected = Counter[object](), []
            for each in whole.learned:
                listed[sort := (each.fate, each.item.kind, each.item.task_type)] += 1
                expected += [each] * (listed[sort] <= top)
            report = diff(small_run, small_run, at=at, top=top)
            assert report.counts == whole.counts and list(report.learned) == expected


def test_arms_are_sorted_by_how_far_they_moved(small_run: Run) -> None:
    report = diff(small_run, small_run, at=("start", "latest"))
    moves = [abs(arm.after - arm.before) for arm in report.arms]
    assert moves == sorted(moves, reverse=True) and moves[0] > 0
    reader = LogReader(small_run.log_path)
    bandits = state_of(small_run, reader, until=reader.head.seq).bandits
    for arm in report.arms:
        posterior = bandits.posterior(arm.bandit, arm.key, arm.arm)
        assert arm.after == posterior.alpha / (posterior.alpha + posterior.beta)
        assert (arm.before, arm.pulls_before, arm.pulls_after) == (0.5, 0, posterior.pulls)


def test_what_went_out_of_use_comes_back_into_use(run: Run) -> None:
    name = memories(run, at="latest").items[0].memory_id
    until = LogReader(run.log_path).head.seq
    curate(run, name, action="quarantine", reason="it misleads", by="alice")
    [out] = diff(run, run, at=(f"seq:{until}", "latest")).learned
    assert (out.item.memory_id, out.fate, out.was, out.now) == (name, "out of use", "active", "quarantined")
    quarantined = LogReader(run.log_path).head.seq
    curate(run, name, action="release", reason="it does not", by="alice")
    [back] = diff(run, run, at=(f"seq:{quarantined}", "latest")).learned
    assert (back.item.memory_id, back.fate, back.now) == (name, "back in use", "active")


def test_what_was_learned_in_between_and_is_out_of_use_by_now_is_not_merely_new(run: Run) -> None:
    at_start, learned = ({item.memory_id for item in memories(run, at=at).items} for at in ("start", "latest"))
    learned -= at_start
    out = min(learned)
    curate(run, out, action="quarantine", reason="it misleads", by="alice")
    report = diff(run, run, at=("start", "latest"))
    [found] = [each for each in report.learned if each.item.memory_id == out]
    assert (found.fate, found.was, found.now) == ("new and out of use", "", "quarantined")
    assert {each.item.memory_id for each in report.learned if each.fate.startswith("new")} >= learned
    assert sum(each.number for each in report.counts if each.fate == "new and out of use") >= 1


def test_what_a_newer_memory_replaced_is_superseded(tmp_path: Path) -> None:
    run = Run("golden", tmp_path / "golden")
    shutil.copytree(golden()[-1] / "run", run.log_path)
    replaced = next(iter(LogReader(run.log_path).records({MemorySuperseded})))
    [found] = diff(run, run, at=(f"seq:{replaced.seq - 1}", f"seq:{replaced.seq}")).learned
    assert (found.fate, found.was, found.now) == ("superseded", "active", "superseded")


@pytest.mark.slow
def test_answers_are_paired_by_question_and_exams_by_the_state_that_was_examined(run: Run) -> None:
    assert [each.what for each in diff(run, run, at=("start", "latest")).answers] == ["anchors"]
    first, last = (examine(run, at=at, questions=12, data_dir=None) for at in ("start", "latest"))
    examine(run, at="latest", questions=12, control="shuffled", data_dir=None)
    examine(run, at="latest", questions=3, data_dir=None)  # a smaller one takes no answer away
    exam = next(each for each in diff(run, run, at=("start", "latest")).answers if each.what == "exam")
    was, now = dict(first.answers), dict(last.answers)
    assert (exam.total, exam.before, exam.after) == (12, sum(was.values()), sum(now.values()))
    assert set(exam.won) == {name for name in was if now[name] and not was[name]}
    assert set(exam.lost) == {name for name in was if was[name] and not now[name]}
    assert 100 * (exam.after - exam.before) / 12 == pytest.approx(100 * (len(exam.won) - len(exam.lost)) / 12)
    assert (exam.numbers.pairs, exam.numbers.low) == (12, None) and exam.numbers.p is not None
    assert exam.numbers.interval_in_words() == "too few: 12 of 30"
    assert "exam" not in {each.what for each in diff(run, run, at=("iter-0", "latest")).answers}


@pytest.mark.slow
def test_the_prompt_is_the_same_but_for_the_cases_that_were_learned(small_run: Run) -> None:
    question = next(iter(dict(examine(small_run, at="latest", questions=3, data_dir=None).answers)))
    report = diff(small_run, small_run, at=("start", "latest"), question=question)
    head, changed = report.prompt[:2], report.prompt[2:]
    assert head == ("--- small@start", "+++ small@latest")
    assert {line[0] for line in changed if line} == {" ", "+"}, "at the start there are no cases to lose"
    assert " System:" in changed
    assert diff(small_run, small_run, question=question).prompt == ()
    with pytest.raises(UsageError, match="small has no question 'wordmath-test-x'"):
        diff(small_run, small_run, question="wordmath-test-x")


@pytest.mark.slow
def test_two_runs_differ_in_settings_and_share_what_says_the_same(small_run: Run, tmp_path: Path) -> None:
    other = begin(tmp_path / "runs", msgspec.structs.replace(SMALL, guard="off"), run_id="other")
    report = diff(small_run, other)
    assert [(each.name, each.before, each.after) for each in report.settings] == [("guard", "paired", "off")]
    assert (str(report.before), str(report.after)) == ("small@latest", "other@latest")
    one, two = ({item.memory_id for item in memories(run, at="latest").items} for run in (small_run, other))
    assert one & two
    assert {each.item.memory_id for each in report.learned if each.fate in ("new", "gone")} == one ^ two


@pytest.mark.slow
def test_of_two_runs_with_an_id_for_different_questions_it_pairs_nothing(tmp_path: Path) -> None:
    one, two = (evolved(tmp_path, name, rows(first, first + 20)) for name, first in (("one", 0), ("two", 20)))
    anchors = [{*state_of(run, LogReader(run.log_path)).scores.anchors()} for run in (one, two)]
    assert anchors[0] & anchors[1], "rows are named by their place in either file"
    assert (diff(one, two).answers, diff(one, two).anchors) == ((), 0)
    with pytest.raises(UsageError, match="row-1 is not the same question in one and two"):
        diff(one, two, question="row-1")


def test_a_moment_is_a_run_and_a_marker(run: Run) -> None:
    runs_dir = run.path.parent
    assert [moment_of(text, runs_dir)[1] for text in ("small", "small@iter-0", "@start", "")] == [
        *("latest", "iter-0", "start", "latest")
    ]
    assert moment_of("@start", runs_dir)[0].path == run.path
    with pytest.raises(UsageError, match="'iter' is not a marker"):
        moment_of("small@iter", runs_dir)
    with pytest.raises(UsageError, match="smal"):
        moment_of("smal@iter-0", runs_dir)
