"""The loop: same facts for any number of workers, for any crash and resume, and for a replay."""

import asyncio
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.auditing.verify import verify
from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.faults import Fault, ModelFault
from mage_es.engine.seams.model import Completion, Model, Request
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.resume import resume
from mage_es.engine.verbs.runs import summarise
from mage_es.events import vocabulary as v
from mage_es.events.errors import Interrupted, PrerequisiteError
from mage_es.events.log import LogReader
from tests.engine.killing import kill_again_and_again
from tests.kit.models import Saying
from tests.paper_parts import PAPER_PARTS

CONFIG = Config(benchmark="wordmath", seed=7, iterations=2, pool=24, held_out=20, anchors=12, gate="off", **PAPER_PARTS)


class Shuffling:
    """The analogist behind a line that returns replies in a different order each time."""

    def __init__(self, model: Model, seed: int) -> None:
        self.name, self._model, self._random = model.name, model, random.Random(seed)

    async def complete(self, request: Request) -> Completion:
        for _ in range(self._random.randrange(20)):
            await asyncio.sleep(0)
        return await self._model.complete(request)


GARBLING = Saying("scripted/garbling", '{"memories": 7')
"""A guidance model that never replies what it was asked for."""


class Refusing:
    """A guidance model that no prompt is short enough for."""

    name = "scripted/refusing"

    async def complete(self, request: Request) -> Completion:
        raise ModelFault(Fault("too_long", "maximum context length is 10 tokens", 400))


def run_with(
    folder: Path,
    *,
    workers: int,
    execution: Model,
    guidance: Model | None = None,
    config: Config = CONFIG,
    stop: Callable[[], bool] = lambda: False,
) -> Run:
    evolve(
        config,
        runs_dir=folder,
        data_dir=None,
        runtime=Runtime(workers=workers, stop=stop),
        run_id="r",
        models=Models(execution, guidance or open_model("builtin/reference", "guidance")),
    )
    return Run("r", folder / "r")


def final_digests(run: Run) -> dict[str, str]:
    closed = list(LogReader(run.log_path).of(v.IterationClosed))[-1]
    return {digest.projection: digest.value for digest in closed.digests}


def analogist() -> Model:
    return open_model("builtin/analogist", "execution")


@pytest.mark.slow
@pytest.mark.paper("beyond the paper, concurrency")
def test_one_eight_and_sixty_four_workers_give_the_same_digests(tmp_path: Path) -> None:
    runs = [
        run_with(tmp_path / str(workers), workers=workers, execution=Shuffling(analogist(), seed=workers))
        for workers in (1, 8, 64)
    ]
    orders = [[r.event.question_id for r in LogReader(run.log_path).records({v.AnswerJudged})] for run in runs]
    assert orders[0] != orders[1] != orders[2]
    assert final_digests(runs[0]) == final_digests(runs[1]) == final_digests(runs[2])


@pytest.mark.paper("beyond the paper, order of asking")
def test_questions_are_asked_in_the_order_of_their_prompts_so_that_a_servers_cache_has_their_beginning(
    tmp_path: Path,
) -> None:
    heard: list[str] = []

    class Listening(Shuffling):
        async def complete(self, request: Request) -> Completion:
            heard.append(request.prompt)
            return await super().complete(request)

    config = msgspec.structs.replace(CONFIG, bandits=False)  # one call for each question
    run = run_with(tmp_path, workers=1, execution=Listening(analogist(), seed=1), config=config)
    asked = [(r.iteration, r.phase) for r in LogReader(run.log_path).records({v.AnswerJudged})]
    assert len(asked) == len(heard)
    for phase in {place for place in asked if place[1] == "evaluate"}:  # anchors are asked in parts
        prompts = [prompt for prompt, where in zip(heard, asked, strict=True) if where == phase]
        assert prompts == sorted(prompts) and len(prompts) > 10


def test_the_first_events_commit_to_configuration_and_three_disjoint_splits(small_run: Run) -> None:
    events = [record.event for record in LogReader(small_run.log_path).records(until=4)]
    assert isinstance(events[0], v.RunStarted)
    splits = [event for event in events[1:] if isinstance(event, v.SplitCommitted)]
    assert {split.split: split.size for split in splits}.keys() == {"evolution", "anchors", "held_out"}
    hashes = [value for split in splits for value in split.question_hashes]
    assert len(hashes) == len(set(hashes))


@pytest.mark.paper("Algorithm 1")
def test_an_iteration_has_its_phases_in_the_order_of_algorithm_1(small_run: Run) -> None:
    phases = [r.event.phase for r in LogReader(small_run.log_path).records({v.PhaseCompleted}) if r.iteration == 1]
    assert phases == ["plan", "evaluate", "update", "evolve", "snapshot"]


@pytest.mark.paper("Algorithm 1, line 3")
def test_earlier_failures_are_asked_again_and_take_at_most_half_of_the_pool(small_run: Run) -> None:
    reader = LogReader(small_run.log_path)
    first, second = reader.of(v.IterationPlanned)
    wrong = {
        r.event.question_id
        for r in reader.records({v.AnswerJudged})
        if r.iteration == 0 and r.event.purpose == "fresh" and not r.event.correct
    }
    assert first.revisits == ()
    assert set(second.revisits) <= wrong
    assert len(second.revisits) == min(12, len(wrong))
    assert len(second.fresh) + len(second.revisits) == 24


def test_nothing_is_ever_harvested_from_an_anchor(small_run: Run) -> None:
    reader = LogReader(small_run.log_path)
    anchors = {r.event.question_id for r in reader.records({v.QuestionPlanned}) if r.event.purpose == "anchor"}
    learned = {r.event.question_id for r in reader.records({v.MemoryAppended})}
    assert anchors and learned
    assert not anchors & learned


def test_no_call_is_made_twice_and_each_answer_follows_its_plan(small_run: Run) -> None:
    calls = Counter(
        (r.iteration, r.phase, r.event.tier, r.event.about, r.event.purpose)
        for r in LogReader(small_run.log_path).records({v.ModelCalled})
    )
    assert set(calls.values()) == {1}
    plans = {}
    for record in LogReader(small_run.log_path).records({v.QuestionPlanned, v.AnswerJudged}):
        if isinstance(record.event, v.QuestionPlanned):
            plans[record.seq] = record.event.question_id
        else:
            assert plans[record.causation] == record.event.question_id


def test_guidance_that_cannot_be_read_pauses_a_run_at_the_third_time_and_resumed_it_goes_on_without(
    tmp_path: Path,
) -> None:
    with pytest.raises(PrerequisiteError, match="3 times in a row and no reply could be read") as paused:
        run_with(tmp_path, workers=4, execution=analogist(), guidance=GARBLING)
    assert paused.value.exit_code == 4
    run, told = Run("r", tmp_path / "r"), list[str]()
    replies = len(list(LogReader(run.log_path).of(v.ModelCalled)))
    runtime = Runtime(workers=4, observer=lambda note: told.append(note.message))
    resume(run, models=Models(analogist(), GARBLING), data_dir=None, runtime=runtime)
    assert any(note.startswith("WARNING: scripted/garbling was asked 3 times in a row") for note in told)
    called = [(e.iteration, e.purpose, e.about, e.attempt) for e in LogReader(run.log_path).of(v.ModelCalled)]
    assert len(called) == len(set(called)) > replies
    outcomes = {r.event.outcome for r in LogReader(run.log_path).records({v.ActionTaken}) if r.iteration == 0}
    # Of a type with a single answer no principle is asked for.
    assert outcomes - {"nothing to author"} == {"the reply could not be read"}
    assert len(list(LogReader(run.log_path).records({v.IterationClosed}))) == 3
    assert (lost := summarise(run).unguided) is not None
    assert (lost.unreadable, lost.failed) == (lost.asked, {}) and lost.asked > 3


def test_guidance_whose_prompts_are_refused_ends_nothing_and_is_told_apart_from_replies_of_no_form(
    tmp_path: Path, small_run: Run
) -> None:
    run = run_with(tmp_path, workers=4, execution=analogist(), guidance=Refusing())
    outcomes = {r.event.outcome for r in LogReader(run.log_path).records({v.ActionTaken}) if r.iteration == 0}
    assert outcomes - {"nothing to author"} == {"the call failed"}
    assert (lost := summarise(run).unguided) is not None
    assert (lost.unreadable, lost.failed) == (0, {"too_long": lost.asked}) and lost.asked > 3
    assert summarise(small_run).unguided is None


@pytest.mark.slow
@pytest.mark.parametrize("after", [0, 13, 40])
def test_a_run_stopped_after_any_number_of_answers_resumes_to_the_same_digests(
    tmp_path: Path, small_run: Run, after: int
) -> None:
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > after

    with pytest.raises(Interrupted, match=r"mage-es resume .*/r`"):
        run_with(tmp_path, workers=4, execution=analogist(), stop=stop)
    run = Run("r", tmp_path / "r")
    resume(run, config=None, data_dir=None, runtime=Runtime(workers=8))
    assert final_digests(run) == final_digests(small_run)


@pytest.mark.slow
def test_switches_turn_off_exactly_what_they_name(tmp_path: Path) -> None:
    def outcomes(**switches: bool) -> set[str]:
        config = msgspec.structs.replace(CONFIG, iterations=1, **switches)
        run = run_with(tmp_path / "-".join(switches), workers=4, execution=analogist(), config=config)
        return {record.event.outcome for record in LogReader(run.log_path).records({v.MemoryAppended})}

    everything = {"success_memory", "failure_memory", "principle"}
    assert outcomes(success_memories=False) == everything - {"success_memory"}
    assert outcomes(failure_memories=False) == everything - {"failure_memory"}
    assert outcomes(principles=False) == everything - {"principle"}


@pytest.mark.slow
@pytest.mark.paper("beyond the paper, concurrency")
def test_killed_at_random_moments_a_run_still_ends_with_the_same_digests(tmp_path: Path) -> None:
    """A real process, a real kill -9, many times; no call that was recorded is made again."""
    script = str(Path(__file__).with_name("slow_run.py"))
    command = [sys.executable, script, str(tmp_path), msgspec.json.encode(CONFIG).decode()]
    run = Run("r", tmp_path / "r")
    assert kill_again_and_again(command, run.log_path, times=4, most=60, random=random.Random(5)) >= 2
    subprocess.run(command, check=True)
    assert final_digests(run) == final_digests(run_with(tmp_path / "undisturbed", workers=4, execution=analogist()))
    calls = Counter(
        (r.iteration, r.phase, r.event.tier, r.event.about, r.event.purpose)
        for r in LogReader(run.log_path).records({v.ModelCalled})
    )
    assert set(calls.values()) == {1}


class Adding:
    """Adds rightly, but for sums above `limit`."""

    name = "scripted/adding"

    def __init__(self, limit: int) -> None:
        self.limit = limit

    async def complete(self, request: Request) -> Completion:
        total = sum(map(int, re.findall(r"(\d+) plus (\d+)", request.text)[-1]))
        return Completion(text=str(total if total <= self.limit else 0), input_tokens=1, output_tokens=1)


@pytest.mark.slow
@pytest.mark.parametrize(("limit", "early_stopping", "closed"), [(99, True, 1), (99, False, 3), (15, True, 3)])
def test_a_run_ends_when_all_anchors_were_right_twice_and_says_so(
    tmp_path: Path, limit: int, *, early_stopping: bool, closed: int
) -> None:
    tasks = [{"question": f"How much is {a} plus {b}?", "answer": a + b} for a in range(1, 20) for b in range(1, 14)]
    said = list[str]()
    evolve(
        Config(benchmark="sums", iterations=3, pool=10, anchors=20, early_stopping=early_stopping),
        tasks=tasks,
        scorer="number",
        runs_dir=tmp_path,
        run_id="r",
        runtime=Runtime(observer=lambda note: said.append(note.message)),
        models=Models(Adding(limit), open_model("builtin/reference", "guidance")),
    )
    run = Run("r", tmp_path / "r")
    reader = LogReader(run.log_path)
    iterations = [event.iteration for event in reader.of(v.IterationClosed) if event.iteration >= 0]
    [finished] = reader.of(v.RunFinished)
    assert len(iterations) == finished.iterations == closed
    assert any("All 20 anchors were right at two iterations in a row" in words for words in said) == (closed < 3)
    assert resume(run, models=Models(Adding(limit), None)).iterations_done == closed and verify(run).ok
