"""Publishing what clients said: an iteration for each key, judged by the guard, and gone on with after any crash."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from mage_es.engine.commands import Feedback, GiveFeedback
from mage_es.engine.decide import decide
from mage_es.engine.run.directory import Run, clock
from mage_es.engine.run.world import World, reopen_world, state_of
from mage_es.engine.verbs.publish import publish
from mage_es.engine.verbs.verify import verify
from mage_es.events.errors import UsageError
from mage_es.events.log import Appended, Log, LogReader
from mage_es.events.vocabulary import (
    BanditUpdated,
    Draft,
    InferenceOpened,
    IterationClosed,
    MemoryAppended,
    MemoryQuarantined,
    ProposalSettled,
    ServingStarted,
)
from tests.engine.rules.test_feedback import inference

STARTED = ServingStarted(
    process=1, learn="propose", holdback_micro=50_000, salt="00" * 16, has_texts=False, upstream="http://localhost"
)
RIGHT, WRONG = True, False


@pytest.fixture(scope="module")
def world(small_run: Run) -> World:
    return reopen_world(LogReader(small_run.log_path), data_dir=None)


@pytest.fixture
def served(small_run: Run, tmp_path: Path) -> Run:
    """A run that was served, with one inference of each of two keys about a question of its own."""
    run = Run(small_run.id, shutil.copytree(small_run.path, tmp_path / small_run.id))
    k = state_of(run, LogReader(run.log_path)).progress.closed + 1
    task_type = state_of(run, LogReader(run.log_path)).graph.task_types()[0]
    with Log.open(run.log_path, clock=clock) as log:
        for event in (
            STARTED,
            *(inference(f"inf-1-{n}", key=key, task_type=task_type) for n, key in ((1, "a"), (2, "b"))),
        ):
            log.append([Draft(event=event, iteration=k, phase="serve")])
    return run


def say(
    run: Run, world: World, value: Any, *, key: str, once: str = "1", question: str = "A boy has 3 cats. How many?"
) -> None:
    """Give feedback on the inference of a key."""
    reader = LogReader(run.log_path)
    state = state_of(run, reader)
    about = next(one for one in reader.of(InferenceOpened) if one.key == key)
    vector = world.embedder.encode([question])[0]
    said = Feedback(metric="good", value=value, idempotency_key=once, inference_id=about.inference)
    with Log.open(run.log_path, clock=clock) as log:
        log.append(
            decide(world.setting, state, GiveFeedback(said, key, "full", about, question, vector, about.task_type))
        )


def digests(run: Run) -> list[tuple[int, Any]]:
    return [(event.iteration, event.digests) for event in LogReader(run.log_path).of(IterationClosed)]


def test_each_key_has_an_iteration_and_what_it_said_is_in_the_next_marker(served: Run, world: World) -> None:
    before = digests(served)[-1][0]
    say(served, world, {"answer": "3", "reasoning": "It has 3."}, key="b")
    say(served, world, RIGHT, key="a")
    report = publish(served)
    assert [(each.key, each.verdict) for each in report.keys] == [("a", "accepted"), ("b", "accepted")]
    assert [(each.rewards, each.published) for each in report.keys] == [(1, 0), (0, 1)]
    assert report.marker == f"iter-{before + 2}"
    [row] = [row for row in state_of(served, LogReader(served.log_path)).memory.rows() if row.phase == "serve"]
    assert (row.answer, row.status, row.iteration) == ("3", "active", before + 2)
    assert verify(served).ok, [check.detail for check in verify(served).checks if not check.ok]


def test_nothing_new_publishes_nothing(served: Run, world: World) -> None:
    assert publish(served).keys == ()
    say(served, world, RIGHT, key="a")
    assert len(publish(served).keys) == 1 and publish(served).keys == ()


def test_a_run_that_was_never_served_is_refused_with_what_to_do(small_run: Run) -> None:
    with pytest.raises(UsageError, match="mage-es serve"):
        publish(small_run)


def test_what_the_guard_refuses_is_in_no_prompt_and_takes_no_other_key_with_it(served: Run, world: World) -> None:
    say(served, world, {"answer": "99"}, key="a")
    say(served, world, RIGHT, key="a", once="2")
    say(served, world, {"answer": "3"}, key="b")
    with refusing(first=1):
        report = publish(served)
    assert [each.verdict for each in report.keys] == ["soft_rollback", "accepted"]
    reader = LogReader(served.log_path)
    settled = {event.verdict for event in reader.of(ProposalSettled)}
    assert settled == {"published", "refused"}
    [quarantined] = list(reader.of(MemoryQuarantined))
    answers = {event.memory_id: event.answer for event in reader.of(MemoryAppended)}
    assert quarantined.by == "guard" and answers[quarantined.memory_id] == "99"
    given, taken = [each for each in reader.of(BanditUpdated) if each.question_id == "inf-1-1"]
    assert (taken.alpha_after, taken.beta_after) == (given.alpha_before, given.beta_before)
    assert verify(served).ok


@contextmanager
def refusing(*, first: int) -> Iterator[None]:
    """Let the guard refuse the first so many snapshots."""
    import mage_es.engine.rules.snapshot as rule

    left, decided = [first], rule.decide_guard

    def decide_guard(*args: Any, **kwargs: Any) -> Any:
        found = decided(*args, **kwargs)
        if not left[0]:
            return found
        left[0] -= 1
        return found._replace(verdict="soft_rollback", restore=kwargs["previous"].iteration)

    with patch.object(rule, "decide_guard", decide_guard):
        yield


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.slow
def test_a_publish_killed_at_any_commit_goes_on_to_the_same_state(served: Run, world: World, tmp_path: Path) -> None:
    say(served, world, {"answer": "99"}, key="a")
    say(served, world, {"answer": "3"}, key="b")
    say(served, world, RIGHT, key="b", once="2")
    whole = Run(served.id, shutil.copytree(served.path, tmp_path / "whole" / served.id))
    publish(whole)
    expected, commits = digests(whole), commits_of(whole, served)
    for place in range(commits):
        killed = Run(served.id, shutil.copytree(served.path, tmp_path / str(place) / served.id))
        with suppress(Killed), killing(after=place):
            publish(killed)
        publish(killed)
        assert digests(killed) == expected, f"killed after commit {place}"


def commits_of(run: Run, before: Run) -> int:
    since = LogReader(before.log_path).head.seq + 1
    return len({record.commit for record in LogReader(run.log_path).records(since=since)})


@contextmanager
def killing(*, after: int) -> Iterator[None]:
    """Kill the process once so many commits are durable, before the state knows of the last."""
    left, append = [after], Log.append

    def appended(log: Log, drafts: Any, **kwargs: Any) -> Appended:
        found = append(log, drafts, **kwargs)
        left[0] -= 1
        if left[0] < 0:
            raise Killed
        return found

    with patch.object(Log, "append", appended):
        yield
