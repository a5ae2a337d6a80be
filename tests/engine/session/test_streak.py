"""A scorer that fails: an answer that is undecided teaches nothing, three in a row stop the run, `resume` goes on."""

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from mage_es.engine.auditing.verify import verify
from mage_es.engine.benchmarks.tasks.scorers import Scoring
from mage_es.engine.config import Config, parse
from mage_es.engine.courses import Finish
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.benchmark import Question, Verdict, failed
from mage_es.engine.seams.faults import Fault, ModelFault
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.session.streak import Streak
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.resume import resume
from mage_es.engine.verbs.runs import summarise
from mage_es.engine.viewing.show import show
from mage_es.events import vocabulary as v
from mage_es.events.errors import PrerequisiteError
from mage_es.events.log import LogReader
from mage_es.projections.fold import fold
from tests.paper_parts import PAPER_PARTS

SUMS = Config(
    benchmark="sums", seed=3, iterations=2, pool=20, anchors=8, held_out=12, scorer_seconds=20.0, **PAPER_PARTS
)
TASKS = [
    {
        "question": f"How much is {a} plus {b}?",
        "answer": a + b,
        "solution": f"{a} plus {b} is {a + b}.",
        "id": f"{a}-{b}",
    }
    for a in range(3, 19)
    for b in range(5)
]
HARD = "-2"
"""How the ids of some tasks end, of which no three follow one another when prompts are sorted."""


def is_right(reply: str, task: Question) -> bool:
    return reply.rpartition("Answer: ")[2] == task.gold


class Adder:
    """Is right about even sums; refuses the prompts with `plus 2?` as the last question if it is told to."""

    name = "test/adder"

    def __init__(self, *, refuses: bool = False) -> None:
        self.refuses, self.calls = refuses, 0

    async def complete(self, request: Request) -> Completion:
        self.calls += 1
        words = request.text.rpartition("How much is ")[2].partition("?")[0]
        one, _, other = words.partition(" plus ")
        if self.refuses and other == HARD[1:]:
            raise ModelFault(Fault("filtered", "withheld"))
        total = int(one) + int(other)
        return Completion(
            text=f"{one} and {other} are {total}.\nAnswer: {total if total % 2 == 0 else 0}",
            input_tokens=1,
            output_tokens=1,
        )


def evolved(
    folder: Path, scorer: Scoring, *, refuses: bool = False, workers: int = 1, config: Config = SUMS
) -> tuple[Run, Adder]:
    learner = Adder(refuses=refuses)
    models = Models(learner, open_model("builtin/reference", "guidance"))
    runtime = Runtime(workers=workers)
    evolve(config, tasks=TASKS, scorer=scorer, models=models, runs_dir=folder, runtime=runtime, run_id="r")
    return find_run(folder, "r"), learner


def of(run: Run, *kinds: type[Any]) -> list[Any]:
    return list(LogReader(run.log_path).of(*kinds))


def learned(run: Run) -> dict[str, str]:
    reader = LogReader(run.log_path)
    digests = {view.name: view.digest() for view in fold(reader).digested()}
    # These count calls, and answers by what became of them.
    return {name: digest for name, digest in digests.items() if name not in ("scores", "ledger")}


@pytest.mark.slow
def test_a_run_learns_from_undecided_answers_what_it_learns_without_them(tmp_path: Path) -> None:
    def partly(reply: str, task: Question) -> bool:
        if task.id.endswith(HARD):
            raise ValueError("what is this?")
        return is_right(reply, task)

    undecided, _ = evolved(tmp_path / "undecided", partly)
    absent, _ = evolved(tmp_path / "absent", is_right, refuses=True)
    left = of(undecided, v.AnswerUndecided)
    assert {event.purpose for event in left} >= {"fresh", "anchor"}
    assert {event.problem for event in left} == {"scorer failed: ValueError: what is this?"}
    assert learned(undecided) == learned(absent)
    judged = of(undecided, v.AnswerJudged)
    evolving = Counter(event.question_id for event in judged if event.purpose in ("fresh", "revisit"))
    assert not any(name.endswith(HARD) for name in evolving)
    assert not any(event.question_id.endswith(HARD) for event in of(undecided, v.BanditUpdated, v.MemoryAppended))
    counted = sum(event.successes + event.failures for event in of(undecided, v.MasteryUpdated))
    assert counted == sum(event.purpose == "fresh" for event in judged) > 0
    compared = [
        event for event in (*judged, *of(undecided, v.AnswerCarried)) if getattr(event, "purpose", "anchor") == "anchor"
    ]
    assert sum(event.total for event in of(undecided, v.GuardDecided)) == len(compared)
    guided = [event for event in of(undecided, v.ModelCalled) if event.tier == "guidance"]
    assert guided and not any(f" plus {HARD[1:]}?" in event.text for event in guided)
    rows = summarise(undecided).rows
    assert sum(row.undecided for row in rows) == len(left)
    assert sum(row.fresh_total for row in rows) == sum(event.purpose == "fresh" for event in judged)


@pytest.mark.slow
def test_an_exam_counts_undecided_answers_neither_as_right_nor_as_wrong(tmp_path: Path) -> None:
    def partly(reply: str, task: Question) -> bool:
        return None if task.id.endswith(HARD) else is_right(reply, task)  # type: ignore[return-value]

    run, learner = evolved(tmp_path, partly)
    # One after the other: in the order of their arrival the scorer might fail three times in a row.
    start = examine(run, at="start", execution=learner, runtime=Runtime(workers=1))
    report = examine(run, execution=learner, runtime=Runtime(workers=1))
    asked = 12
    left = report.undecided["scorer failed"]
    assert left > 0 and report.total == len(report.answers) == asked - left
    assert not any(name.endswith(HARD) for name, _ in report.answers)
    assert report.before is not None and report.before.total == start.total == asked - left
    assert verify(run).ok
    [closed, *_] = summarise(run).exams
    assert (closed.total, closed.undecided) == (asked - left, left)
    name = next(event.question_id for event in LogReader(run.exams()[0].log_path).of(v.AnswerUndecided))
    told = show(run, name)
    assert told.correct is None and told.undecided.startswith("scorer failed: TypeError: ")


@pytest.mark.slow
@pytest.mark.parametrize("how", ["raises", "hangs", "exits", "returns nothing", "returns nan", "returns text"])
def test_three_failures_in_a_row_stop_the_run_and_the_mended_scorer_judges_the_recorded_replies(
    tmp_path: Path, how: str
) -> None:
    broken = tmp_path / "broken"

    def sometimes(reply: str, task: Question) -> Any:
        if not broken.exists():
            return is_right(reply, task)
        match how:
            case "raises":
                raise ValueError("first line\nlast line")
            case "hangs":
                import time

                time.sleep(600)
            case "exits":
                import os

                os._exit(3)
            case "returns nothing":
                return None
            case "returns nan":
                return float("nan")
            case _:
                return "yes"

    whole, _ = evolved(tmp_path / "whole", sometimes)
    broken.touch()
    config = SUMS if how != "hangs" else Config(**{**as_dict(SUMS), "scorer_seconds": 0.2})
    with pytest.raises(PrerequisiteError, match="failed on 3 answers in a row") as stopped:
        evolved(tmp_path / "mended", sometimes, config=config)
    assert stopped.value.exit_code == 4
    last = {"raises": "last line", "hangs": "within 0.2 s", "exits": "exited with code 3", "returns nan": "score nan"}
    assert last.get(how, "return True, False, a number from 0 to 1, or a Score") in str(stopped.value)
    run = find_run(tmp_path / "mended", "r")
    replied = [event.about for event in of(run, v.ModelCalled) if event.tier == "execution"]
    settled = {event.question_id for event in of(run, v.AnswerJudged, v.AnswerUndecided)}
    assert len(set(replied) - settled) >= 3
    broken.unlink()
    learner = Adder()
    models = Models(learner, open_model("builtin/reference", "guidance"))
    [started] = of(run, v.RunStarted)
    patient = msgspec.structs.replace(parse(started.config), scorer_seconds=SUMS.scorer_seconds)
    resume(run, config=patient, models=models, runtime=Runtime(workers=4))
    calls = Counter((e.iteration, e.tier, e.purpose, e.about, e.attempt) for e in of(run, v.ModelCalled))
    assert set(calls.values()) == {1}
    made = [event.about for event in of(run, v.ModelCalled) if event.tier == "execution"]
    assert learner.calls == len(made) - len(replied)
    assert not of(run, v.AnswerUndecided)
    assert learned(run) == learned(whole)


def as_dict(config: Config) -> dict[str, Any]:
    return {name: getattr(config, name) for name in Config.__struct_fields__}


def finished(verdict: Verdict) -> Finish:
    return Finish("x", verdict)


GOOD = finished(Verdict(answer="x", score=0.0, strict=False))
UNTOLD = finished(Verdict(answer="x", score=0.0, strict=False, undecided=True))
BAD = finished(failed("x", "ValueError: no"))


def kept(*finishes: Finish) -> tuple[list[int], Streak]:
    streak, drafts = Streak(), []
    for number, finish in enumerate(finishes):
        drafts += [int(draft) for draft in streak.settled(finish, [number])]  # type: ignore[list-item,call-overload]
    return drafts, streak


def test_failures_that_are_not_in_a_row_are_final_with_the_next_verdict() -> None:
    drafts, streak = kept(BAD, BAD, GOOD, BAD, BAD, GOOD)
    assert drafts == [0, 1, 2, 3, 4, 5] and not streak.problem


def test_what_a_rule_cannot_tell_is_no_failure_and_ends_no_row_of_them() -> None:
    drafts, streak = kept(*[UNTOLD] * 5)
    assert drafts == [0, 1, 2, 3, 4] and not streak.problem
    assert kept(BAD, UNTOLD, BAD, UNTOLD, BAD)[1].problem


def test_of_three_failures_in_a_row_none_is_recorded_and_what_is_decided_after_them_is() -> None:
    drafts, streak = kept(BAD, GOOD, BAD, BAD, BAD, BAD, GOOD)
    assert drafts == [0, 1, 6]
    with pytest.raises(PrerequisiteError, match="scorer failed: ValueError: no"):
        streak.check()


def test_at_the_end_of_a_phase_failures_are_final_and_the_row_goes_on() -> None:
    _, streak = kept(BAD, BAD)
    assert list(streak.rest()) == [0, 1]
    assert list(streak.settled(BAD, [])) == [] and streak.problem


def test_an_answer_that_a_judge_decided_is_no_failure() -> None:
    decided = Verdict(answer="x", score=1.0, strict=False, by="some/judge")
    assert kept(BAD, BAD, finished(decided), BAD, BAD)[1].problem == ""
