"""Answers are recorded as they come; whatever goes wrong, none that arrived is lost."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import pytest

from mage_es.engine.answering import Answered, Pending, answer_all
from mage_es.engine.models.seam import Completion, Request
from mage_es.events.errors import PrerequisiteError


class Scripted:
    """Replies with its prompt; fails on the prompts it is told to; counts how many calls are in flight."""

    name = "scripted"

    def __init__(self, failing: str = "") -> None:
        self.failing, self.in_flight, self.most = failing, 0, 0

    async def complete(self, request: Request) -> Completion:
        self.in_flight += 1
        self.most = max(self.most, self.in_flight)
        await asyncio.sleep(0.001)
        self.in_flight -= 1
        if request.prompt == self.failing:
            raise PrerequisiteError("the server is gone: start it again.")
        return Completion(text=request.prompt, input_tokens=1, output_tokens=1)


def pending(count: int) -> list[Pending]:
    return [Pending(None, None, Request(prompt=str(i)), 0) for i in range(count)]  # type: ignore[arg-type]


def ask(
    model: Scripted, count: int, *, workers: int, stop: Callable[[], bool] = lambda: False
) -> tuple[list[str], list[int], BaseException | None]:
    recorded: list[str] = []
    batches: list[int] = []

    def record(batch: Sequence[Answered]) -> None:
        recorded.extend(answered.completion.text for answered in batch)
        batches.append(len(batch))

    try:
        asyncio.run(answer_all(pending(count), model=model, workers=workers, record=record, stop=stop))
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

    def record(batch: Sequence[Answered]) -> None:
        nonlocal calls
        calls += 1
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        asyncio.run(answer_all(pending(50), model=Scripted(), workers=4, record=record, stop=lambda: False))
    assert calls == 1


def test_no_question_is_no_work() -> None:
    assert ask(Scripted(), 0, workers=8) == ([], [], None)
