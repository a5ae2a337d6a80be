"""Coverage gaps against their bound, on logs where the bound binds, where it breaks, and where it says nothing."""

from pathlib import Path

import msgspec

from mage_es.engine.auditing.theorems.coverage import check_coverage
from mage_es.engine.config import Config
from mage_es.engine.run.directory import Run
from mage_es.engine.seams.check import Check
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import AnswerJudged, Draft, Event, Target, TargetsSelected
from tests.engine.conftest import SMALL
from tests.kit.plain_events import plain

CONFIG = Config(benchmark="wordmath", recency_weight="1", targets=1, failure_signal="window")


def judged(k: int, task_type: str, number: int, *, correct: bool) -> AnswerJudged:
    return plain(
        AnswerJudged, iteration=k, question_id=f"{task_type}-{k}-{number}", task_type=task_type, correct=correct
    )


def selected(k: int, task_type: str, new: tuple[str, ...] = ()) -> TargetsSelected:
    target = Target(task_type=task_type, failures=0, attempts=0, last_selected=0)
    return TargetsSelected(iteration=k, targets=(target,), newly_observed=new)


def checked(folder: Path, choices: str, *, failing: str = "", failures: int = 0, config: Config = CONFIG) -> Check:
    """Return the finding on a log in which iteration k selects `choices[k]`; one type fails in every iteration."""
    types = tuple(sorted(set(choices)))
    with Log.create(folder / "log", run="r", clock=lambda: 0) as log:
        for k, choice in enumerate(choices):
            events: list[Event] = [judged(k, name, 0, correct=True) for name in types]
            events += [judged(k, failing, 1 + number, correct=False) for number in range(failures)]
            events.append(selected(k, choice, types if k == 0 else ()))
            log.append([Draft(event=e, iteration=k, phase="evolve", ordinal=n) for n, e in enumerate(events)])
    return check_coverage(LogReader(folder / "log"), config)


def test_a_true_run_keeps_the_bound_and_a_short_one_says_that_it_could_not_break_it(small_run: Run) -> None:
    check = check_coverage(LogReader(small_run.log_path), SMALL)
    assert check.ok and check.seq == 0 and check.measured.startswith("longest wait ")
    assert check.detail.startswith("VACUOUS: no wait in 2 iterations could exceed the bound")


def test_on_a_log_where_the_bound_binds_the_least_slack_is_zero(tmp_path: Path) -> None:
    """Without failures the bound is N / M: three types, one at a time, each waits for exactly three iterations."""
    check = checked(tmp_path, "abcabcabc")
    assert check.ok and "VACUOUS" not in check.detail and "least slack 0" in check.detail
    assert (check.measured, check.bound) == ("longest wait 3", "at most 3")


def test_a_bound_as_long_as_the_run_could_not_be_broken_and_one_iteration_more_could(tmp_path: Path) -> None:
    assert "VACUOUS" in checked(tmp_path / "three", "abc").detail
    assert "VACUOUS" not in checked(tmp_path / "four", "abca").detail


def test_a_type_that_waited_longer_than_its_bound_is_found_at_the_selection_that_came_too_late(tmp_path: Path) -> None:
    check = checked(tmp_path, "abcabacab")
    late = [r for r in LogReader(tmp_path / "log").records({TargetsSelected}) if r.seq == check.seq]
    assert not check.ok and isinstance(late[0].event, TargetsSelected) and late[0].event.iteration == 6
    assert (check.measured, check.bound) == ("waited 4", "at most 3") and "c was not selected" in check.detail


def test_a_type_that_is_never_selected_again_is_found_at_the_end(tmp_path: Path) -> None:
    check = checked(tmp_path, "abcababab")
    assert not check.ok and "c was not selected from iteration 2 to 8" in check.detail


def test_failures_of_another_type_explain_a_longer_wait(tmp_path: Path) -> None:
    check = checked(tmp_path, "abcababab", failing="a", failures=4)
    assert check.ok and check.bound == "at most 7"


def test_the_signal_decides_what_counts(tmp_path: Path) -> None:
    rate = msgspec.structs.replace(CONFIG, failure_signal="rate")
    assert not checked(tmp_path / "rate", "abcababab", failing="a", failures=4, config=rate).ok
    starving = msgspec.structs.replace(CONFIG, failure_signal="cumulative")
    found = checked(tmp_path / "cumulative", "abcababab", failing="a", failures=4, config=starving)
    assert found.ok and found.detail.startswith("VACUOUS: nothing is claimed") and found.bound == "none"


def test_a_log_without_selections_has_nothing_to_break(tmp_path: Path) -> None:
    Log.create(tmp_path / "log", run="r", clock=lambda: 0).close()
    assert check_coverage(LogReader(tmp_path / "log"), CONFIG).ok
