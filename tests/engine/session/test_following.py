"""Every move of a course is recorded as it comes; whatever goes wrong, nothing that arrived is lost."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

import pytest

from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.courses import Ask, Course, Finish, Move, begin, fact_of
from mage_es.engine.seams.model import Request
from mage_es.engine.session.following import CompletedMove, PendingCourse, answer_all, in_prefix_order
from mage_es.events.errors import PrerequisiteError
from mage_es.events.vocabulary import Draft, ModelCalled
from tests.kit.plain_events import plain

follow_all = partial(answer_all, benchmark=open_benchmark("wordmath", seed=7))


class Scripted:
    """Replies with the prompt; fails on the prompts it is told to; counts how many calls are in flight."""

    def __init__(self, failing: str = "") -> None:
        self.failing, self.in_flight, self.most = failing, 0, 0
        self.asked: list[str] = []

    async def perform(self, pending: PendingCourse, move: Move) -> Sequence[Draft]:
        assert isinstance(move, Ask)
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        self.asked.append(move.about)
        await asyncio.sleep(0.001)
        self.in_flight -= 1
        if move.request.prompt == self.failing:
            raise PrerequisiteError("the server is gone: start it again.")
        return [Draft(event=called(move), iteration=0, phase="evaluate")]


def called(move: Ask) -> ModelCalled:
    return plain(
        ModelCalled, about=move.about, request_sha256=move.request.sha256, text=move.request.prompt, stop_reason="end"
    )


def course(name: str, calls: int) -> Course:
    for call in range(1, calls):
        yield from fact_of(Ask(f"{name}/{call}", Request(prompt=f"{name}/{call}")), ModelCalled)
    return Finish((yield from fact_of(Ask(name, Request(prompt=name)), ModelCalled)).text)


def pending(count: int, calls: int = 1) -> list[PendingCourse]:
    courses = [course(str(i), calls) for i in range(count)]
    return [PendingCourse(None, None, each, begin(each), 0) for each in courses]  # type: ignore[arg-type]


def ask(
    model: Scripted, count: int, *, workers: int, calls: int = 1, stop: Callable[[], bool] = lambda: False
) -> tuple[list[str], list[int], BaseException | None]:
    recorded: list[str] = []
    batches: list[int] = []

    def record(batch: Sequence[CompletedMove]) -> None:
        recorded.extend(draft.event.text for moved in batch for draft in moved.drafts)  # type: ignore[attr-defined]
        batches.append(len(batch))

    try:
        asyncio.run(follow_all(pending(count, calls), perform=model.perform, workers=workers, record=record, stop=stop))
    except BaseException as error:
        return recorded, batches, error
    return recorded, batches, None


@pytest.mark.parametrize("workers", [1, 3, 64])
def test_every_answer_is_recorded_once_with_at_most_so_many_in_flight(workers: int) -> None:
    model = Scripted()
    recorded, _, error = ask(model, 50, workers=workers)
    assert error is None
    assert sorted(recorded, key=int) == [str(i) for i in range(50)]
    assert model.most <= workers


def test_answers_that_complete_together_are_recorded_together() -> None:
    _, batches, _ = ask(Scripted(), 64, workers=16)
    assert max(batches) > 1


def test_a_failing_call_is_raised_after_what_had_arrived_was_recorded() -> None:
    recorded, _, error = ask(Scripted(failing="30"), 50, workers=1)
    assert isinstance(error, PrerequisiteError)
    assert recorded == [str(i) for i in range(30)]


def test_after_a_stop_nothing_new_is_asked_and_what_is_in_flight_is_kept() -> None:
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 10

    recorded, _, error = ask(Scripted(), 50, workers=4, stop=stop)
    assert error is None
    assert len(recorded) == 10


def test_a_failing_log_ends_the_asking_and_is_not_written_to_again() -> None:
    calls = 0

    def record(batch: Sequence[CompletedMove]) -> None:
        nonlocal calls
        calls += 1
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        asyncio.run(follow_all(pending(50), perform=Scripted().perform, workers=4, record=record, stop=lambda: False))
    assert calls == 1


@pytest.mark.parametrize("workers", [1, 4, 64])
def test_a_course_makes_its_next_call_only_after_the_last_reply_is_recorded(workers: int) -> None:
    model, recorded = Scripted(), set()

    def record(batch: Sequence[CompletedMove]) -> None:
        recorded.update(move.about for moved in batch if isinstance(move := moved_from(moved), ModelCalled))

    async def perform(item: PendingCourse, move: Move) -> Sequence[Draft]:
        assert isinstance(move, Ask)
        name, _, call = move.about.partition("/")
        before = {f"{name}/{n}" for n in range(1, int(call or 3))}
        assert before <= recorded
        return await model.perform(item, move)

    asyncio.run(follow_all(pending(20, 3), perform=perform, workers=workers, record=record, stop=lambda: False))
    assert len(recorded) == 60
    assert model.most <= workers


def moved_from(moved: CompletedMove) -> object:
    return moved.drafts[0].event


def test_a_stop_in_the_middle_of_courses_lets_none_of_them_call_again() -> None:
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 7

    model = Scripted()
    recorded, _, error = ask(model, 10, workers=2, calls=4, stop=stop)
    assert error is None
    assert len(recorded) == len(model.asked) == 7


def test_a_course_that_had_ended_is_recorded_without_a_call() -> None:
    ended = PendingCourse(None, None, course("1", 1), Finish("1"), 0)  # type: ignore[arg-type]
    seen: list[CompletedMove] = []
    model = Scripted()
    asyncio.run(follow_all([ended], perform=model.perform, workers=2, record=seen.extend, stop=lambda: False))
    assert [(moved.drafts, moved.finish) for moved in seen] == [((), Finish("1"))]
    assert model.asked == []


def test_no_question_is_no_work() -> None:
    assert ask(Scripted(), 0, workers=8) == ([], [], None)


def test_courses_whose_prompts_begin_alike_follow_one_another_and_those_at_their_end_come_first() -> None:
    waiting = [of("b two"), of("a"), of("b one"), at_its_end()]
    assert [item.move.request.prompt if isinstance(item.move, Ask) else "" for item in in_prefix_order(waiting)] == [
        "", "a", "b one", "b two",
    ]  # fmt: skip


def of(prompt: str) -> PendingCourse:
    each = course(prompt, 1)
    return PendingCourse(None, None, each, begin(each), 0)  # type: ignore[arg-type]


def at_its_end() -> PendingCourse:
    return PendingCourse(None, None, course("x", 1), Finish("42"), 0)  # type: ignore[arg-type]
