"""What is seen while a run works."""

import re
import sys
from collections.abc import Iterator

import msgspec
import pytest

from mage_es.cli.output import clean
from mage_es.cli.progress import ENOUGH, EVERY, ProgressDisplay, TimeLeft, describe, duration
from mage_es.engine.run.runtime import ProgressNote
from tests.cli.conftest import Command

NOTE = ProgressNote(
    run_id="r1",
    iteration=3,
    iterations=10,
    phase="evaluate",
    done=50,
    total=100,
    measure="accuracy",
    level=0.545,
    execution_calls=412,
    guidance_calls=9,
)


def replaced(**changes: object) -> ProgressNote:
    return msgspec.structs.replace(NOTE, **changes)


def test_a_note_is_one_line_with_phase_accuracy_calls_and_time_left() -> None:
    line = describe(NOTE, 65.0)
    assert line == "iter-3 of 10: evaluate 50/100, accuracy 54.5 %, calls 412 and 9 for guidance, 1 min 5 s left"


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"revisits": (3, 20)}, "iter-3 of 10: evaluate 50/100, accuracy 54.5 %, revisits 3/20, calls"),
        ({"measure": "mean score"}, "iter-3 of 10: evaluate 50/100, mean score 54.5 %, calls"),
        ({"phase": "snapshot", "anchors": 66}, "iter-3 of 10: snapshot 50/100, anchor accuracy 54.5 % of 66, calls"),
        ({"phase": "evolve", "level": None}, "iter-3 of 10: evolve 50/100, calls"),
        ({"iterations": 1}, "iter-3: evaluate 50/100, accuracy 54.5 %, calls"),
        ({"phase": "open", "iteration": -1, "total": 0, "level": None}, "start: open, calls"),
    ],
)
def test_a_line_says_what_the_questions_of_its_phase_came_to_and_what_that_is(
    changes: dict[str, object], said: str
) -> None:
    assert describe(replaced(**changes), None).startswith(said)


def test_a_message_is_cleaned() -> None:
    assert describe(replaced(message="\x1b[31mrolled back"), None).endswith("rolled back")


def test_the_time_left_is_in_proportion_to_what_this_process_did() -> None:
    estimate = TimeLeft()
    resumed = replaced(iteration=5, phase="plan", done=0, total=0)
    assert estimate.seconds_left(resumed, now=100.0) is None
    assert estimate.seconds_left(replaced(iteration=6, done=100), now=180.0) == pytest.approx(120.0)


def test_nothing_is_said_of_the_time_left_in_the_first_minute_nor_in_the_first_iteration() -> None:
    estimate = TimeLeft()
    assert estimate.seconds_left(replaced(iteration=-1, phase="snapshot", done=100), now=0.0) is None
    assert estimate.seconds_left(replaced(iteration=0, done=0), now=600.0) is None
    assert estimate.seconds_left(replaced(iteration=0, done=100), now=900.0) is None, "of how many, with the anchors?"
    assert estimate.seconds_left(replaced(iteration=0, phase="snapshot", done=100), now=1000.0) is None
    assert estimate.seconds_left(replaced(iteration=1, phase="plan", done=0, total=0), now=1000.0) == pytest.approx(
        9 * 400.0
    ), "the opening, which took ten minutes, comes once"
    quick = TimeLeft()
    for done, now in ((0, 0.0), (50, 10.0), (80, ENOUGH - 1)):
        assert quick.seconds_left(replaced(iteration=-1, phase="exam", done=done), now=now) is None


def test_a_run_of_one_iteration_says_how_long_its_questions_and_then_all_anchors_take() -> None:
    one, estimate = {"iteration": 0, "iterations": 1}, TimeLeft()
    assert estimate.seconds_left(replaced(iteration=-1, iterations=1, phase="snapshot", done=50), now=0.0) is None
    assert estimate.seconds_left(replaced(**one, done=0), now=100.0) is None
    assert estimate.seconds_left(replaced(**one, done=20), now=100.0 + ENOUGH - 1) is None
    assert estimate.seconds_left(replaced(**one, done=50), now=200.0) == pytest.approx(300.0)
    anchors = replaced(**one, phase="snapshot", done=10, total=25)
    assert estimate.seconds_left(anchors, now=320.0) == pytest.approx(180.0), "the guard's come first"
    resumed = TimeLeft()
    for done, now in ((0, 0.0), (50, 100.0)):
        assert resumed.seconds_left(replaced(**one, done=done), now=now) is None, "of how many, with the anchors?"


def test_anchors_are_work_as_well() -> None:
    estimate = TimeLeft()
    assert estimate.seconds_left(replaced(iteration=0, phase="plan", done=0, total=0), now=60.0) is None
    assert estimate.seconds_left(replaced(iteration=0, done=100), now=70.0) is None
    last = replaced(iteration=9, phase="snapshot", done=50)
    assert estimate.seconds_left(last, now=450.0) == pytest.approx(10.0)
    assert estimate.seconds_left(msgspec.structs.replace(last, done=100), now=460.0) is None


def test_the_time_left_is_that_of_the_run_at_work_of_several() -> None:
    estimate = TimeLeft()
    exam = replaced(iteration=-1, phase="exam", done=0)
    assert estimate.seconds_left(exam, now=0.0) is None
    assert estimate.seconds_left(msgspec.structs.replace(exam, done=99), now=990.0) == pytest.approx(10.0)
    other = replaced(run_id="r2", iteration=0, phase="plan", done=0, total=0)
    assert estimate.seconds_left(other, now=1000.0) is None
    half = replaced(run_id="r2", iteration=5, phase="plan", done=0)
    assert estimate.seconds_left(half, now=1100.0) == pytest.approx(100.0)


def test_the_next_of_several_runs_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressDisplay(clock=iter(range(100)).__next__) as display:
        for run_id in ("r1", "r1", "r2"):
            display.observe(replaced(run_id=run_id))
    assert [line for line in capsys.readouterr().err.splitlines() if line.startswith("Now")] == ["Now r2"]


def test_what_is_said_when_several_runs_begin_is_said_once_and_what_is_said_later_each_time(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with ProgressDisplay(clock=iter(range(100)).__next__) as display:
        for run_id in ("r1", "r2"):
            display.observe(replaced(run_id=run_id, message="Nine questions are left out.", is_announcement=True))
            display.observe(replaced(run_id=run_id))
            display.observe(replaced(run_id=run_id, message="The provider is busy.", is_announcement=True))
    said = capsys.readouterr().err.splitlines()
    assert (said.count("Nine questions are left out."), said.count("The provider is busy.")) == (1, 2)


def test_an_exam_is_the_whole_of_its_own_work() -> None:
    estimate = TimeLeft()
    exam = replaced(iteration=-1, phase="exam", done=0)
    assert estimate.seconds_left(exam, now=0.0) is None
    assert estimate.seconds_left(replaced(iteration=-1, phase="exam", done=25), now=75.0) == pytest.approx(225.0)
    assert describe(exam, None).startswith("exam 0/100")


@pytest.mark.parametrize("phase", ["asked again", "judged again"])
def test_what_is_asked_again_beside_a_run_is_named_has_a_line_and_says_how_long_it_takes(
    capsys: pytest.CaptureFixture[str], phase: str
) -> None:
    estimate, begun = TimeLeft(), replaced(iteration=-1, iterations=0, phase=phase, done=0, level=None)
    assert estimate.seconds_left(begun, now=0.0) is None
    assert estimate.seconds_left(msgspec.structs.replace(begun, done=25), now=75.0) == pytest.approx(225.0)
    with ProgressDisplay() as display:
        display.observe(msgspec.structs.replace(begun, done=100))
    assert capsys.readouterr().err.startswith(f"{phase} 100/100, calls ")


@pytest.mark.parametrize(("seconds", "words"), [(0.4, "0 s"), (59.6, "1 min 0 s"), (7500, "2 h 5 min")])
def test_durations_read_like_durations(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def clock(*times: float) -> Iterator[float]:
    yield from times


def test_without_a_terminal_there_is_a_line_for_each_phase_and_one_now_and_then(
    capsys: pytest.CaptureFixture[str],
) -> None:
    times = clock(0, 1, 2, 2 + EVERY, 3 + EVERY, 4 + EVERY)
    with ProgressDisplay(clock=lambda: next(times)) as progress:
        progress.observe(replaced(done=1))
        progress.observe(replaced(done=2))
        progress.observe(replaced(done=99))
        progress.observe(replaced(done=100))
        progress.observe(replaced(done=100))
    written = capsys.readouterr()
    assert written.out == ""
    assert [line.split(",")[0] for line in written.err.splitlines()] == [
        "iter-3 of 10: evaluate 99/100",
        "iter-3 of 10: evaluate 100/100",
    ]
    assert progress.run_id == "r1"


@pytest.mark.parametrize("coloured", [True, False])
def test_on_a_terminal_there_is_a_live_line_below_those_that_stay_and_no_color_is_honoured(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, coloured: bool
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")
    if coloured:
        monkeypatch.delenv("NO_COLOR", raising=False)
    else:
        monkeypatch.setenv("NO_COLOR", "1")
    with ProgressDisplay() as progress:
        progress.observe(replaced(done=100))
        progress.observe(NOTE)
    shown = capsys.readouterr().err
    assert "evaluate 50/100, accuracy 54.5 %" in shown and "━" in shown
    assert "evaluate 100/100, accuracy 54.5 %, calls 412 and 9 for guidance" in shown.split("\n")[0]
    assert bool(re.search(r"\x1b\[(3\d|38;)", shown)) == coloured


def test_what_is_said_aloud_is_shown_at_once_between_the_lines(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressDisplay() as progress:
        progress.observe(replaced(done=100))
        progress.observe(replaced(done=1, message="it waits for \x1b[31mthe provider", is_announcement=True))
        progress.observe(replaced(done=2, message="nobody hears this"))
    lines = capsys.readouterr().err.splitlines()
    assert lines[-1] == "it waits for the provider"


def test_a_phase_without_questions_has_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressDisplay() as progress:
        progress.observe(replaced(phase="snapshot", done=0, total=0, level=None))
    assert capsys.readouterr().err == ""


@pytest.mark.slow
def test_where_questions_are_episodes_the_mean_score_is_told_and_no_accuracy(mage: Command) -> None:
    sizes = ("--iterations", "1", "--pool", "4", "--held-out", "2", "--anchors", "2", "--explore-episodes", "2")
    said = mage("evolve", "workshop", *sizes, "--run-id", "w").err
    told = re.findall(r"(start|iter-0 of 1): (\w+) \d/\d, ([a-z ]+) \d", said)
    assert told == [
        ("start", "snapshot", "anchor mean score"),
        ("iter-0 of 1", "explore", "mean score"),
        ("iter-0 of 1", "evaluate", "mean score"),
        ("iter-0 of 1", "snapshot", "anchor mean score"),
    ]
    assert "mean score" in mage("exam", "w").err.splitlines()[0]


def test_on_a_narrow_terminal_the_live_line_fits_without_a_bar(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "80")
    times = clock(0, 0, 3472)
    with ProgressDisplay(clock=lambda: next(times)) as progress:
        for iteration in (10, 12):
            note = {"iterations": 20, "phase": "snapshot", "measure": "mean score", "anchors": 50}
            progress.observe(replaced(iteration=iteration, **note))
    shown = clean(capsys.readouterr().err)
    assert "iter-12 of 20: snapshot 50/100, anchor mean score 54.5 % of 50, 3 h 37 min left" in shown
    assert "━" not in shown and "…" not in shown
