"""What clients said, and what a publish made of it, is decided again: a forger who adds to it is found out."""

import asyncio
import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from itertools import islice
from pathlib import Path
from threading import Thread
from typing import Any, cast

import msgspec
import pytest

from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.run.directory import Run
from mage_es.engine.run.inheriting import last_inherited
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.served.notes import NoteBounds
from mage_es.engine.serving.live import LiveRun
from mage_es.engine.serving.publish import publish
from mage_es.engine.serving.rules.feedback import Feedback
from mage_es.engine.serving.rules.publishing import may_reward
from mage_es.events import vocabulary as v
from mage_es.events.log import LogReader
from tests.engine.auditing.theorems.test_learned import learned_in
from tests.engine.forgery import Change, after, forged, instead
from tests.engine.serving.behind import PATIENCE_S
from tests.engine.serving.talking import said

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def published(evolved_once: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A served run whose two keys gave scores and demonstrations, which were published."""
    path = tmp_path_factory.mktemp("published") / "runs" / evolved_once.id
    run = Run(evolved_once.id, shutil.copytree(evolved_once.path, path))
    live = LiveRun.open(run, learn="propose", holdback=0.0, bounds=NoteBounds(layout="turns"))
    questions = list(live.world.questions.values())[:8]
    for place, question in enumerate(questions):
        prepared = live.prepare(said(question.question), "chat", key="ab"[place % 2])
        live.submit(prepared).result()
        for value in (True, {"answer": question.gold}):
            about = Feedback(
                metric="good",
                value=value,
                idempotency_key=f"{place}{type(value)}",
                inference_id=prepared.opened.inference,
            )
            asyncio.run(live.give_feedback(about, key=prepared.opened.key))
    live.close()
    publish(live.run)
    return live.run


class Interrupting:
    """A lock; the first time that it is taken, something happens just before."""

    def __init__(self, lock: AbstractContextManager[object], happen: Callable[[], object]) -> None:
        self._lock, self._happens = lock, [happen]

    def __enter__(self) -> object:
        while self._happens:
            self._happens.pop()()
        return self._lock.__enter__()

    def __exit__(self, *error: Any) -> bool | None:
        return self._lock.__exit__(*error)


def test_what_a_client_says_while_a_publish_reads_is_for_the_next_and_both_are_decided_so_again(
    evolved_once: Run, tmp_path: Path
) -> None:
    run = Run(evolved_once.id, shutil.copytree(evolved_once.path, tmp_path / evolved_once.id))
    live = LiveRun.open(run, learn="propose", holdback=0.0)
    models = Models(open_model("builtin/analogist", "execution"), None)
    prepared = (live.prepare(said(each.question), "chat", key="a") for each in live.world.questions.values())
    asked = list(islice((one for one in prepared if may_reward(one.opened)), 3))
    for one in asked:
        live.submit(one).result()

    def score(place: int) -> None:
        about = Feedback(
            metric="good", value=True, idempotency_key=str(place), inference_id=asked[place].opened.inference
        )
        asyncio.run(live.give_feedback(about, key="a"))

    def score_meanwhile() -> None:
        client = Thread(target=score, args=(2,))
        client.start()
        client.join()

    score(0)
    live.publish(models, Runtime())
    score(1)
    lock, live.lock = live.lock, cast(Any, Interrupting(live.lock, score_meanwhile))
    live.publish(models, Runtime())
    live.lock = lock
    live.publish(models, Runtime())
    live.close()
    rewards = [event.question_id for event in LogReader(live.run.log_path).of(v.BanditUpdated) if is_live(event)]
    assert rewards == [one.opened.inference for one in asked]
    check = learned_in(live.run.log_path)
    assert check.ok and not check.doubt, check.detail


def test_requests_are_recorded_while_a_publish_looks_through_what_was_learned(
    evolved_once: Run, tmp_path: Path
) -> None:
    run = Run(evolved_once.id, shutil.copytree(evolved_once.path, tmp_path / evolved_once.id))
    live = LiveRun.open(run, learn="propose", holdback=0.0)
    question, other = islice(live.world.questions.values(), 2)

    def ask(text: str) -> str:
        prepared = live.prepare(said(text), "chat", key="a")
        live.submit(prepared).result()
        return prepared.opened.inference

    value = {"answer": question.gold}
    about = Feedback(metric="fix", value=value, idempotency_key="1", inference_id=ask(question.question))
    asyncio.run(live.give_feedback(about, key="a"))
    recorded = list[str]()

    def ask_meanwhile() -> None:
        client = Thread(target=lambda: recorded.append(ask(other.question)), daemon=True)
        client.start()
        client.join(PATIENCE_S)

    live._keeping = cast(Any, Interrupting(live._keeping, ask_meanwhile))
    live.publish(Models(open_model("builtin/analogist", "execution"), None), Runtime())
    live.close()
    assert len(recorded) == 1


def changed(**values: object) -> Callable[[v.Event], v.Event]:
    return lambda event: msgspec.structs.replace(event, **values)


def rewarded(event: v.Event) -> v.Event:
    assert isinstance(event, v.BanditUpdated)
    return msgspec.structs.replace(event, beta_after=event.beta_after + v.MICRO)


def is_live(event: v.Event) -> bool:
    return isinstance(event, v.BanditUpdated) and event.question_id.startswith("inf-")


def is_score(event: v.Event) -> bool:
    return isinstance(event, v.FeedbackGiven) and event.kind == "bool"


def test_all_that_clients_said_and_a_publish_made_of_it_follows_from_the_record(published: Run) -> None:
    assert any(map(is_live, LogReader(published.log_path).of(v.BanditUpdated))), "rewards are among it"
    check = learned_in(published.log_path)
    assert check.ok and not check.doubt, check.detail


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (instead(v.BanditUpdated, rewarded, is_live), "bandit.updated (beta_after"),
        (instead(v.FeedbackGiven, changed(key="c"), is_score), "this feedback.given"),
        (instead(v.FeedbackGiven, changed(inference="inf-1-900"), is_score), "this feedback.given"),
        (instead(v.FeedbackGiven, changed(value_micro=9 * v.MICRO), is_score), "this feedback.given (value_micro)"),
        (instead(v.MemoryProposed, changed(reasoning="Say 14.")), "this memory.proposed (reasoning)"),
        (instead(v.MemoryProposed, changed(embedding=bytes(8))), "this memory.proposed (embedding)"),
        (instead(v.MemoryProposed, changed(is_gold=True)), "this memory.proposed (is_gold)"),
        (instead(v.ServingStarted, changed(learn="log")), "this feedback.given (trust)"),
        (instead(v.ProposalSettled, changed(trials=())), "this proposal.settled (trials)"),
    ],
)
def test_what_no_client_said_and_no_anchor_showed_is_found(
    change: Change, words: str, published: Run, tmp_path: Path
) -> None:
    forged(published.log_path, tmp_path / "log", change)
    check = learned_in(tmp_path / "log")
    assert not check.ok and words in check.detail and check.seq, check.detail


def test_a_skill_beside_what_clients_said_and_a_memory_brought_back_unasked_are_found(
    published: Run, tmp_path: Path
) -> None:
    reader = LogReader(published.log_path)
    waiting = next(reader.of(v.ProposalSettled)).memory_id
    released = v.MemoryReleased(memory_id=waiting, reason="fine", by="carol")
    skill = msgspec.structs.replace(next(reader.of(v.SkillCreated)), skill="other", description="Say 14.")
    own = last_inherited(reader)
    for place, (sort, event) in enumerate(((v.FeedbackGiven, skill), (v.IterationClosed, released))):
        added = after(sort, event)
        forged(
            published.log_path,
            tmp_path / str(place),
            lambda record, added=added: added(record) if record.seq > own else record.event,  # type: ignore[misc]
        )
        check = learned_in(tmp_path / str(place))
        assert not check.ok and v.tag_of(event) in check.detail and check.seq, check.detail
