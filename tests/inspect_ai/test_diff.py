"""Two logs that Inspect itself wrote, compared by their samples."""

import json
from pathlib import Path

import pytest
from inspect_ai import Task
from inspect_ai.dataset import Sample
from inspect_ai.model import ChatMessage, ModelOutput
from inspect_ai.scorer import match
from inspect_ai.solver import generate

from mage_es import Run, UsageError, diff, diff_inspect
from tests.cli.conftest import Command, mage
from tests.inspect_ai.evaluating import evaluated, reply

__all__ = ["mage"]
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # Inspect's own


def logged(folder: Path, right: set[int], *, count: int = 12, first: int = 1) -> Path:
    """Write the log of sums of which a mock model gets some right."""
    asked = range(first, first + count)
    samples = [Sample(id=f"sum-{k}", input=f"What is {k} + {k}?", target=str(2 * k)) for k in asked]

    def replied(said: list[ChatMessage], *_: object) -> ModelOutput:
        k = int(said[-1].text.split()[2])
        return reply(str(2 * k if k in right else 0))

    return evaluated(folder, Task(dataset=samples, solver=generate(), scorer=match(numeric=True), name="sums"), replied)


def test_the_same_samples_are_paired_with_the_exact_sign_test(tmp_path: Path) -> None:
    before = logged(tmp_path / "a", {1, 2, 3})
    after = logged(tmp_path / "b", {2, 3, 4, 5, 6, 7, 8, 9, 20}, count=14, first=2)
    report = diff_inspect(before, after)
    [found] = report.answers
    assert (found.what, found.total, found.before, found.after) == ("match", 11, 2, 8)
    assert found.won == tuple(f"sum-{k}" for k in range(4, 10)) and found.lost == ()
    assert found.numbers.p == 2 / 2**6
    assert (report.only_before, report.only_after) == (("sum-1",), ("sum-13", "sum-14", "sum-15"))


def test_two_exams_of_a_run_give_the_numbers_of_the_runs_own_diff(run: Run, logs: Path) -> None:
    [found] = diff_inspect(logs / "0001-start.eval", logs / "0002-latest.eval").answers
    own = next(each for each in diff(run, run, at=("start", "latest")).answers if each.what == "exam")
    assert (found.total, found.before, found.after) == (own.total, own.before, own.after)
    assert ({*found.won}, {*found.lost}) == ({*own.won}, {*own.lost})
    assert found.numbers == own.numbers and found.won


def test_samples_of_one_id_that_ask_something_else_are_not_compared(tmp_path: Path, logs: Path) -> None:
    before, after = logged(tmp_path / "a", {1}), logged(tmp_path / "b", {1}, first=5)
    assert diff_inspect(before, after).answers[0].total == 8
    with pytest.raises(UsageError, match="no sample in common"):
        diff_inspect(before, logs / "0001-start.eval")


def test_the_screen_and_what_is_refused(mage: Command, tmp_path: Path) -> None:
    before, after = logged(tmp_path / "a", {1}), logged(tmp_path / "b", {1, 2, 3})
    outcome = mage("diff", str(before), str(after))
    assert outcome.code == 0 and "The same samples" in outcome.out
    assert "match" in outcome.out and "+16.7" in outcome.out
    assert json.loads(mage("diff", str(before), str(after), "--json").out)["answers"][0]["won"] == ["sum-2", "sum-3"]
    alone = mage("diff", str(before))
    assert (alone.code, "mage-es diff A.eval B.eval" in alone.err) == (2, True)
    (tmp_path / "odd.eval").write_text("no log")
    odd = mage("diff", str(before), str(tmp_path / "odd.eval"))
    assert (odd.code, "is not an Inspect log" in odd.err) == (4, True)
