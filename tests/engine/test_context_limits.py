"""Models with a small context: prompts shrink memory by memory, on record, the same way again after a stop."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.faults import Fault, ModelFault
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.upkeep.memory import memory
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.resume import resume
from mage_es.engine.viewing.ask import ask
from mage_es.engine.viewing.show import show
from mage_es.engine.viewing.transcript import CallReport, TrimReport
from mage_es.events import vocabulary as v
from mage_es.events.errors import Interrupted
from mage_es.events.log import LogReader
from tests.engine.conftest import COURSES, never

pytestmark = pytest.mark.slow

EPISODES = Config(benchmark="workshop", seed=7, iterations=2, pool=6, held_out=6, anchors=4, explore_episodes=4)


class Short:
    """An embedded model that refuses prompts of more than `limit` characters."""

    def __init__(self, limit: int, name: str = "builtin/analogist") -> None:
        self._model = open_model(name, "execution")
        self.name, self.limit, self.refused, self.shown = self._model.name, limit, 0, dict[str, str]()

    async def complete(self, request: Request) -> Completion:
        await asyncio.sleep(0)
        if len(request.prompt) > self.limit:
            self.refused += 1
            raise ModelFault(Fault("too_long", f"{len(request.prompt)} characters, {self.limit} are allowed", 400))
        self.shown[request.sha256] = request.prompt
        return await self._model.complete(request)


def begin(
    folder: Path, model: Short, *, workers: int = 4, stop: Callable[[], bool] = never, config: Config = COURSES
) -> Run:
    guide = open_model("builtin/reference", "guidance")
    evolve(
        config,
        runs_dir=folder,
        data_dir=None,
        runtime=Runtime(workers=workers, stop=stop),
        run_id="r",
        models=Models(model, guide),
    )
    return find_run(folder, "r")


def go_on(run: Run, model: Short, *, stop: Callable[[], bool] = never) -> None:
    models = Models(model, open_model("builtin/reference", "guidance"))
    resume(run, config=None, data_dir=None, runtime=Runtime(workers=3, stop=stop), models=models)


def events(run: Run, *types: type) -> list:  # type: ignore[type-arg]
    return list(LogReader(run.log_path).of(*types))


def digests(run: Run) -> dict[str, str]:
    return {digest.projection: digest.value for digest in events(run, v.IterationClosed)[-1].digests}


def trimmings(run: Run) -> set[tuple[object, ...]]:
    found = [(e.iteration, e.purpose, e.about, e.request_sha256, e.memory_id) for e in events(run, v.BundleTrimmed)]
    assert len(set(found)) == len(found)
    return set(found)


LIMIT = 1200


@pytest.fixture(scope="module")
def short_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, Short]:
    model = Short(LIMIT)
    return begin(tmp_path_factory.mktemp("short"), model), model


@pytest.mark.paper("Eq. 4, context limits")
def test_a_prompt_that_does_not_fit_is_asked_again_with_one_memory_fewer_and_each_drop_is_on_record(
    short_run: tuple[Run, Short],
) -> None:
    run, model = short_run
    trimmed, failed = events(run, v.BundleTrimmed), events(run, v.CallFailed)
    lost = events(run, v.AnswerUnanswered)
    assert trimmed and len(failed) == len(trimmed) + len(lost) == model.refused
    assert {e.fault for e in failed} == {"too_long"}
    assert sum(e.final for e in failed) == len(lost)
    plans = {(e.iteration, e.purpose, e.question_id): e for e in events(run, v.QuestionPlanned)}
    for each in trimmed:
        plan = plans[each.iteration, each.purpose, each.question_id]
        assert each.memory_id in {*(hit.memory_id for hit in plan.memories), *plan.principles}
    calls = [e for e in events(run, v.ModelCalled) if e.tier == "execution"]
    assert all(len(model.shown[call.request_sha256]) <= LIMIT for call in calls)
    # What was left out stands in no prompt that was answered after it.
    for call in calls:
        key = (call.iteration, call.purpose, call.about)
        gone = [e.request_sha256 for e in trimmed if (e.iteration, e.purpose, e.about) == key]
        assert call.request_sha256 not in gone


def test_a_question_that_fits_with_nothing_left_to_drop_alone_stays_unanswered(tmp_path: Path) -> None:
    run = begin(tmp_path, Short(250), config=COURSES)
    lost = events(run, v.AnswerUnanswered)
    assert lost and all(e.problem.startswith("too_long: ") for e in lost)


def test_any_number_of_workers_drops_the_same_and_comes_to_the_same_state(
    tmp_path: Path, short_run: tuple[Run, Short]
) -> None:
    run = begin(tmp_path, Short(LIMIT), workers=64)
    assert digests(run) == digests(short_run[0])
    assert trimmings(run) == trimmings(short_run[0])


@pytest.mark.paper("Eq. 4, context limits")
@pytest.mark.parametrize("after", [180])
def test_a_resumed_run_finds_what_was_dropped_and_asks_no_prompt_again_that_did_not_fit(
    tmp_path: Path, short_run: tuple[Run, Short], after: int
) -> None:
    moves = 0

    def stop() -> bool:
        nonlocal moves
        moves += 1
        return moves > after

    first, second = Short(LIMIT), Short(LIMIT)
    with pytest.raises(Interrupted):
        begin(tmp_path, first, stop=stop)
    run = find_run(tmp_path, "r")
    go_on(run, second)
    assert digests(run) == digests(short_run[0])
    assert trimmings(run) == trimmings(short_run[0])
    assert first.refused + second.refused == short_run[1].refused


@pytest.mark.paper("Eq. 4, context limits")
def test_the_arms_that_were_pulled_are_rewarded_whatever_had_to_be_left_out(short_run: tuple[Run, Short]) -> None:
    run, _ = short_run
    reader = LogReader(run.log_path)
    plans = {
        (r.iteration, r.event.question_id): r.event
        for r in reader.records({v.QuestionPlanned})
        if isinstance(r.event, v.QuestionPlanned) and r.phase == "evaluate"
    }
    pulled = {
        (r.iteration, r.event.question_id): r.event.arm
        for r in reader.records({v.BanditUpdated})
        if isinstance(r.event, v.BanditUpdated) and r.event.bandit == "search"
    }
    trimmed = {(e.iteration, e.question_id) for e in events(run, v.BundleTrimmed) if e.purpose in ("fresh", "revisit")}
    answered = trimmed & set(pulled)
    assert answered and all(pulled[each] == plans[each].search_arm != "none" for each in answered)


def test_show_has_the_prompt_as_it_was_sent_and_says_what_was_left_out(short_run: tuple[Run, Short]) -> None:
    run, model = short_run
    answered = {(e.iteration, e.about): e for e in events(run, v.ModelCalled) if e.tier == "execution"}
    each = next(e for e in events(run, v.BundleTrimmed) if (e.iteration, e.about) in answered and e.purpose == "fresh")
    report = show(run, each.question_id, iteration=each.iteration, data_dir=None)
    dropped = [move for move in report.moves if isinstance(move, TrimReport)]
    assert report.prompt_verified and all(move.verified for move in dropped)
    assert each.memory_id in {move.memory_id for move in dropped}
    assert "characters" in dropped[0].problem
    assert not {member.memory_id for member in report.bundle} & {move.memory_id for move in dropped}
    calls = [move for move in report.moves if isinstance(move, CallReport)]
    for call in calls:
        assert call.prompt == model.shown[answered[each.iteration, call.about].request_sha256]


def test_a_memory_counts_as_shown_only_where_it_was(short_run: tuple[Run, Short]) -> None:
    run, _ = short_run
    gone = {(e.iteration, e.purpose, e.question_id, e.memory_id) for e in events(run, v.BundleTrimmed)}
    name = next(iter(sorted(gone)))[3]
    chosen = sum(
        (e.iteration, e.purpose, e.question_id, name) not in gone
        for e in events(run, v.QuestionPlanned)
        if name in {*(hit.memory_id for hit in e.memories), *e.principles}
    )
    assert memory(run, name, at="latest").prompts == chosen


def test_an_exam_and_a_question_of_ones_own_drop_as_well(short_run: tuple[Run, Short]) -> None:
    run, _ = short_run
    model = Short(LIMIT)
    report = examine(
        run, at="latest", questions=20, control="none", data_dir=None, runtime=Runtime(workers=4), execution=model
    )
    assert model.refused and report.total == 20
    texts = dict.fromkeys(e.question for e in events(run, v.MemoryAppended) if e.question)
    told = (ask(run, text, at="latest", data_dir=None, execution=Short(10**9)) for text in texts)
    text, whole = next(pair for pair in zip(texts, told, strict=True) if pair[1].bundle)
    cut = ask(run, text, at="latest", data_dir=None, execution=Short(len(whole.prompt) - 1))
    dropped = {move.memory_id for move in cut.moves if isinstance(move, TrimReport)}
    left = {member.memory_id for member in cut.bundle}
    assert dropped and left | dropped == {member.memory_id for member in whole.bundle} and not left & dropped


def test_a_step_of_an_episode_drops_too_and_records_what_it_did_show(tmp_path: Path) -> None:
    whole = Short(10**9, "builtin/copier")
    begin(tmp_path / "whole", whole, config=EPISODES)
    limit = sorted(map(len, whole.shown.values()))[-len(whole.shown) // 10]
    model = Short(limit, "builtin/copier")
    run = begin(tmp_path / "short", model, config=EPISODES)
    trimmed = events(run, v.BundleTrimmed)
    steps = {(e.iteration, e.purpose, e.episode_id, e.step): e for e in events(run, v.EpisodeStepped)}
    met = [e for e in trimmed if (e.iteration, e.purpose, e.question_id, int(e.about.rpartition("/")[2])) in steps]
    assert met
    for each in met:
        step = steps[each.iteration, each.purpose, each.question_id, int(each.about.rpartition("/")[2])]
        assert each.memory_id not in step.memories
