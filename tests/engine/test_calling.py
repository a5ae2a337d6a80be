"""Calls that fail: on record before they are made again, never learned from, and never taken for wrong answers."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from mage_es.engine.asking import ask
from mage_es.engine.calling import read_reply
from mage_es.engine.config import Config
from mage_es.engine.evolution import evolve, resume
from mage_es.engine.exam import examine
from mage_es.engine.judging import JudgeReply
from mage_es.engine.models.faults import Fault, ModelFault
from mage_es.engine.models.line import Patience, ProviderDown
from mage_es.engine.models.registry import open_model
from mage_es.engine.models.seam import Completion, Model, Request
from mage_es.engine.notes import Note
from mage_es.engine.runs import Run, find_run
from mage_es.engine.runtime import Runtime
from mage_es.engine.session import Models
from mage_es.engine.summary import summarise
from mage_es.events.errors import Interrupted, PrerequisiteError
from mage_es.events.reader import LogReader
from mage_es.events.vocabulary import (
    AnswerJudged,
    AnswerUnanswered,
    BanditUpdated,
    CallFailed,
    EpisodeClosed,
    MasteryUpdated,
    ModelCalled,
    QuestionPlanned,
)
from tests.engine.conftest import SMALL, silent

QUICK = Patience(attempts=3, first_wait_s=0.001, longest_wait_s=0.002, pause_after=40, pause_s=0.01, give_up_after=80)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"score": 1, "reason": "\ud800"}', "surrogates not allowed"),
        ('{"a":' * 50_000 + "1" + "}" * 50_000, "recursion"),
        ('{"score": NaN, "reason": ""}', "malformed"),
        ('{"score": 2, "reason": ""}', "<= 1"),
        ("no { object", "holds no JSON object"),
    ],
)
def test_a_reply_that_cannot_be_read_has_a_problem_and_ends_nothing(text: str, problem: str) -> None:
    found, told = read_reply(text, JudgeReply, stop_reason="length")
    assert found is None and problem in told and "stopped because of: length" in told


class Failing:
    """An embedded model, some of whose calls fail: `fault` gives the fault for the n-th call, or None."""

    def __init__(self, name: str, tier: str, fault: Callable[[int, Request], Fault | None]) -> None:
        self._model: Model = open_model(name, "execution" if tier == "execution" else "guidance")
        self.name, self._fault, self.calls = name, fault, 0

    async def complete(self, request: Request) -> Completion:
        self.calls += 1
        fault = self._fault(self.calls, request)
        await asyncio.sleep(0)
        if fault:
            raise ModelFault(fault)
        return await self._model.complete(request)


def models(
    execution: Callable[[int, Request], Fault | None], guidance: Callable[[int, Request], Fault | None]
) -> Models:
    return Models(
        Failing("builtin/analogist", "execution", execution), Failing("builtin/reference", "guidance", guidance)
    )


def fine(number: int, request: Request) -> Fault | None:
    return None


def begin(folder: Path, both: Models, *, workers: int = 4, observer: Callable[[Note], None] = silent) -> Run:
    evolve(
        SMALL,
        runs_dir=folder,
        data_dir=None,
        runtime=Runtime(workers=workers, observer=observer, patience=QUICK),
        run_id="r",
        models=both,
    )
    return find_run(folder, "r")


def events(run: Run, *types: type) -> list:  # type: ignore[type-arg]
    return [record.event for record in LogReader(run.log_path).records(set(types))]


def poison(request: Request) -> bool:
    """Some questions, whichever way they are asked."""
    return "?" in request.prompt and hash_of(request.prompt) % 7 == 0


def hash_of(prompt: str) -> int:
    question = prompt[prompt.rindex("Question:") if "Question:" in prompt else -120 :][:60]
    return sum(map(ord, question))


def test_a_question_whose_call_fails_for_good_is_settled_apart_and_nothing_is_learned_from_it(tmp_path: Path) -> None:
    def filtered(number: int, request: Request) -> Fault | None:
        return Fault("filtered", "withheld") if poison(request) else None

    run = begin(tmp_path, models(filtered, fine))
    planned = {(e.iteration, e.purpose, e.question_id) for e in events(run, QuestionPlanned)}
    judged = {(e.iteration, e.purpose, e.question_id) for e in events(run, AnswerJudged)}
    lost = {(e.iteration, e.purpose, e.question_id) for e in events(run, AnswerUnanswered)}
    assert lost and not lost & judged and lost | judged == planned
    counted = {(e.question_id) for e in events(run, BanditUpdated)}
    assert not {name for k, purpose, name in lost if purpose == "fresh"} & counted
    fresh = sum(purpose == "fresh" for _, purpose, _ in judged)
    assert sum(e.successes + e.failures for e in events(run, MasteryUpdated)) == fresh
    rows = summarise(run).rows
    assert sum(row.unanswered for row in rows) == len(lost)
    assert sum(row.fresh_total for row in rows) == fresh


def test_every_failed_attempt_is_on_record_before_the_next_and_none_twice(tmp_path: Path) -> None:
    fallen: list[str] = []

    def once(number: int, request: Request) -> Fault | None:
        # Never the same request twice: which calls stand side by side is chance, and three failures would be its last.
        if number % 10 or request.prompt in fallen:
            return None
        fallen.append(request.prompt)
        return Fault("server", "fell over", 500)

    both = models(once, once)
    run = begin(tmp_path, both)
    failed, called = events(run, CallFailed), events(run, ModelCalled)
    assert isinstance(both.execution, Failing) and isinstance(both.guidance, Failing)
    assert fallen and len(failed) == len(fallen)
    assert len(failed) + len(called) == both.execution.calls + both.guidance.calls
    assert {(e.fault, e.status, e.problem, e.final) for e in failed} == {("server", 500, "fell over", False)}
    seen = {(e.iteration, e.purpose, e.about, e.attempt, e.tier, e.tries) for e in failed}
    assert len(seen) == len(failed)
    assert not events(run, AnswerUnanswered)


def test_a_guidance_call_that_fails_for_good_is_recorded_and_the_run_goes_on(tmp_path: Path) -> None:
    run = begin(tmp_path, models(fine, lambda number, request: Fault("filtered", "no") if number > 2 else None))
    failed = events(run, CallFailed)
    assert {(e.tier, e.final) for e in failed} == {("guidance", True)}
    assert summarise(run).state == "finished"


def test_a_provider_that_goes_down_stops_the_run_which_resumes_with_nothing_lost(tmp_path: Path) -> None:
    down = models(lambda number, request: Fault("connection", "refused") if number > 30 else None, fine)
    said: list[str] = []
    with pytest.raises(ProviderDown, match="80 times in a row"):
        begin(tmp_path, down, observer=lambda note: said.append(note.message) if note.aloud else None)
    run = find_run(tmp_path, "r")
    assert [words for words in said if "failed 40 times in a row" in words]
    before = len(events(run, CallFailed))
    # Those in flight beside the 40th, when a pause begins, and beside the last one may fail, too: three each time.
    assert 80 <= before <= 86 and not events(run, AnswerUnanswered)
    again = models(lambda number, request: Fault("connection", "refused") if number < 3 else None, fine)
    resume(run, config=None, data_dir=None, runtime=Runtime(workers=4, patience=QUICK), models=again)
    assert isinstance(again.execution, Failing) and isinstance(down.execution, Failing)
    answered = Counter((e.tier, e.purpose, e.about, e.iteration, e.request_sha256) for e in events(run, ModelCalled))
    assert set(answered.values()) == {1}
    assert summarise(run).state == "finished" and not events(run, AnswerUnanswered)
    failed = events(run, CallFailed)
    assert len({(e.iteration, e.purpose, e.about, e.attempt, e.tries) for e in failed}) == len(failed) == before + 2


def test_an_exam_counts_unanswered_questions_neither_way(tmp_path: Path, small_run: Run) -> None:
    def filtered(number: int, request: Request) -> Fault | None:
        return Fault("filtered", "withheld") if number in (2, 5) else None

    model = Failing("builtin/analogist", "execution", filtered)
    report = examine(
        small_run, at="latest", questions=10, control="none", data_dir=None, runtime=Runtime(workers=1), execution=model
    )
    assert (report.total, report.unanswered) == (8, 2)
    assert report.total == len(report.answers)


def test_a_question_of_ones_own_that_gets_no_answer_is_an_error_that_says_why(small_run: Run) -> None:
    model = Failing("builtin/analogist", "execution", lambda number, request: Fault("filtered", "withheld"))
    with pytest.raises(PrerequisiteError, match="filtered: withheld"):
        ask(small_run, "How many are 3 and 4?", at="latest", data_dir=None, execution=model)


def test_a_question_given_up_is_not_asked_again_by_a_resumed_run(tmp_path: Path) -> None:
    asked: list[str] = []

    def filtered(number: int, request: Request) -> Fault | None:
        asked.append(request.sha256)
        return Fault("filtered", "withheld") if number in (3, 20, 21) else None

    with pytest.raises(Interrupted):
        evolve(
            SMALL,
            runs_dir=tmp_path,
            data_dir=None,
            runtime=Runtime(workers=1, stop=lambda: len(asked) > 24, patience=QUICK),
            run_id="r",
            models=models(filtered, fine),
        )
    run = find_run(tmp_path, "r")
    lost = {(e.iteration, e.question_id) for e in events(run, AnswerUnanswered)}
    assert len(lost) == 3
    resume(run, config=None, data_dir=None, runtime=Runtime(workers=4, patience=QUICK), models=models(fine, fine))
    answered = {(e.iteration, e.question_id) for e in events(run, AnswerJudged)}
    assert not lost & answered
    assert {(e.iteration, e.question_id) for e in events(run, AnswerUnanswered)} == lost


def test_an_episode_whose_call_fails_for_good_is_left_out_of_what_is_explored(tmp_path: Path) -> None:
    config = Config(benchmark="workshop", seed=7, iterations=2, pool=6, held_out=6, anchors=4, explore_episodes=4)
    both = Models(
        Failing("builtin/apprentice", "execution", lambda n, request: Fault("filtered", "no") if n % 60 == 0 else None),
        open_model("builtin/reference", "guidance"),
    )
    evolve(
        config, runs_dir=tmp_path, data_dir=None, runtime=Runtime(workers=4, patience=QUICK), run_id="r", models=both
    )
    run = find_run(tmp_path, "r")
    lost = {(e.iteration, e.purpose, e.question_id) for e in events(run, AnswerUnanswered)}
    assert any(purpose == "explore" for _, purpose, _ in lost)
    assert not lost & {(e.iteration, e.purpose, e.episode_id) for e in events(run, EpisodeClosed)}
    assert summarise(run).state == "finished"


def test_a_judge_that_fails_for_good_leaves_the_question_unanswered_and_not_wrong(tmp_path: Path) -> None:
    class NoJudge:
        name = "scripted/judge"

        async def complete(self, request: Request) -> Completion:
            raise ModelFault(Fault("rejected", "no"))

    config = Config(benchmark="truthworld", seed=7, iterations=1, pool=24, held_out=20, anchors=12)
    own = Models(open_model("builtin/truthworld", "execution"), open_model("builtin/truthguide", "guidance"), NoJudge())
    evolve(config, runs_dir=tmp_path, data_dir=None, runtime=Runtime(workers=4), run_id="r", models=own)
    run = find_run(tmp_path, "r")
    judged = {e.about for e in events(run, CallFailed) if e.tier == "judge"}
    assert judged == {e.question_id for e in events(run, AnswerUnanswered)} != set()
    assert {e.judge for e in events(run, AnswerJudged)} == {"rule"}
