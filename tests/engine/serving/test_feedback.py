"""Feedback to a served run: durable, once, of what there is; and published while requests go on."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from mage_es.engine.auditing.verify import verify
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.serving.cli.gain import _mishaps
from mage_es.engine.serving.gain import gain
from mage_es.engine.serving.live import LiveRun
from mage_es.engine.serving.rules.feedback import Feedback
from mage_es.events.errors import Conflict, NotFound, UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import FeedbackGiven, MemoryProposed
from tests.engine.serving.talking import closed, said
from tests.engine.serving.test_live import QUESTION

Serve = Callable[..., LiveRun]


def asked(live: LiveRun, question: str = QUESTION, *, session: str = "s", key: str = "") -> str:
    prepared = live.prepare(said(question), "chat", session=session, key=key)
    live.submit(prepared).result()
    return prepared.opened.inference


def give(live: LiveRun, value: Any, *, once: str = "1", key: str = "", **about: str) -> FeedbackGiven:
    feedback = Feedback(metric="good", value=value, idempotency_key=once, **about)
    return asyncio.run(live.give_feedback(feedback, key=key))


def test_feedback_is_on_record_when_it_returns_and_the_same_again_is_the_same_fact(serve: Serve) -> None:
    live = serve(learn="propose")
    name = asked(live)
    first = give(live, 0.5, inference_id=name)
    assert give(live, 0.5, inference_id=name) == first
    with pytest.raises(Conflict):
        give(live, 0.6, inference_id=name)
    assert list(LogReader(live.run.log_path).of(FeedbackGiven)) == [first] and first.trust == "full"
    assert give(live, 0.6, once="2", session_id="s").inference == ""


def test_a_client_learns_that_its_demonstration_is_like_a_question_kept_for_exams(serve: Serve) -> None:
    live = serve(learn="propose")
    kept = live.world.questions[live.world.setting.held_out[0]].question
    name = asked(live, kept)
    given = give(live, {"answer": "4"}, inference_id=name)
    assert not given.memory_id and "keeps for its exams" in given.unused
    assert give(live, {"answer": "4"}, inference_id=name) == given
    assert live.inference(name).feedback == (given,) and not list(LogReader(live.run.log_path).of(MemoryProposed))


def test_of_many_at_once_under_one_idempotency_key_one_is_recorded(serve: Serve) -> None:
    live = serve(learn="propose")
    name = asked(live)

    async def all_at_once() -> list[object]:
        given = (Feedback(metric="m", value=n / 9, idempotency_key="1", inference_id=name) for n in range(9))
        return list(await asyncio.gather(*(live.give_feedback(each) for each in given), return_exceptions=True))

    found = asyncio.run(all_at_once())
    assert sum(isinstance(each, FeedbackGiven) for each in found) == 1
    assert sum(isinstance(each, Conflict) for each in found) == 8


@pytest.mark.slow
@pytest.mark.parametrize("remembered", [1, 1000])
def test_what_there_is_not_and_what_is_anothers_is_not_found(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, remembered: int
) -> None:
    monkeypatch.setattr("mage_es.engine.serving.sessions.MOST", remembered)
    live = serve(learn="propose")
    name = asked(live, key="ours")
    for about in ({"inference_id": name}, {"inference_id": "inf-1-99"}, {"session_id": "s"}, {"session_id": "t"}):
        with pytest.raises(NotFound, match="came with this key"):
            give(live, 0.5, key="theirs", **about)
    own = give(live, 0.5, key="ours", inference_id=name), give(live, 1.0, once="2", key="ours", session_id="s")
    assert [each.session for each in own] == ["s", "s"]
    with pytest.raises(UsageError, match="one thing"):
        give(live, 0.5)


@pytest.mark.slow
def test_after_a_restart_and_a_publish_feedback_is_still_of_its_inference(serve: Serve) -> None:
    live = serve(learn="propose")
    name = asked(live)
    first = give(live, 0.5, inference_id=name)
    live.publish(models(), Runtime())
    live.close()
    live = serve(learn="propose")
    assert give(live, 0.5, inference_id=name) == first
    with pytest.raises(Conflict):
        give(live, 0.7, inference_id=name)


@pytest.mark.slow
@pytest.mark.parametrize(("learn", "trust"), [("log", "none"), ("propose", "full")])
def test_feedback_may_only_do_what_the_server_lets_it(serve: Serve, learn: str, trust: str) -> None:
    live = serve(learn=learn)
    given = give(live, {"answer": "37"}, inference_id=asked(live))
    assert given.trust == trust and bool(given.memory_id) == (trust == "full")


def test_a_server_that_takes_no_feedback_says_so(serve: Serve) -> None:
    live = serve(learn="off")
    with pytest.raises(UsageError, match="--learn off"):
        give(live, 0.5, inference_id=asked(live))


@pytest.mark.slow
def test_an_edited_reply_proposes_its_answer_and_what_leads_to_it(serve: Serve) -> None:
    live = serve(learn="propose")
    edited = Feedback(
        metric="fix",
        value="6 times 12 is 72, less 35 is 37.\n#### 37",
        kind="demonstration",
        idempotency_key="1",
        inference_id=asked(live),
    )
    asyncio.run(live.give_feedback(edited))
    [proposed] = LogReader(live.run.log_path).of(MemoryProposed)
    with pytest.raises(UsageError, match=r"is not in the memory of .* It was proposed; `mage-es publish"):
        asyncio.run(live.curate(proposed.memory_id[:12], action="approve", reason="right", by="alice"))
    assert (proposed.answer, proposed.reasoning) == ("37", "6 times 12 is 72, less 35 is 37.")
    assert proposed.question == QUESTION


@pytest.mark.slow
def test_what_is_published_while_requests_go_on_is_seen_by_new_sessions_only(serve: Serve) -> None:
    live = serve(learn="propose", holdback=0)
    name = asked(live)
    marker = live.marker
    given = give(live, {"answer": "37", "reasoning": "72 - 35 = 37"}, inference_id=name)
    give(live, 1.0, once="2", inference_id=name)
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(live.publish, models(), Runtime())
        during = [asked(live, f"{QUESTION} Case {n}.", session=f"during-{n}") for n in range(5)]
        [published] = done.result()
    # The iteration before it has the anchors answered as things were.
    assert published.waiting == 1 and live.marker == marker + 2 and len(during) == 5
    asyncio.run(live.curate(given.memory_id, action="approve", reason="it is right", by="alice"))
    assert live.prepare(said(QUESTION), "chat", session="not yet").opened.memories.count(given.memory_id) == 0
    live.publish(models(), Runtime())
    marker += 1
    fresh = live.prepare(said(QUESTION), "chat", session="fresh").opened
    assert fresh.marker == marker + 2 and given.memory_id in fresh.memories
    assert live.prepare(said(QUESTION, "And now?"), "chat", session="s").opened.marker == marker - 1
    live.close()
    report = verify(live.run)
    assert report.ok, [check for check in report.checks if not check.ok]
    assert gain(live.run).sessions == 0, "nothing was held back, so there is nothing to compare"


def test_the_gain_says_which_requests_went_without_memories_and_which_a_kill_cut(serve: Serve) -> None:
    live = serve(holdback=0.5)
    for text in (QUESTION, "How much is 3 + 4?"):
        asked(live, text)
    late = asked(live, f"{QUESTION} Please.")
    live.close_inference(closed(late, "bypassed"))
    live.close()  # which ends the log as it is, as a kill does
    serve(run=live.run, holdback=0.5).close()
    report = gain(live.run)
    assert (report.requests, report.bypassed, report.cut) == (3, 1, 2)
    told = list(_mishaps(report))
    assert told[0].startswith("1 of 3 requests were sent without memories") and told[1].startswith("2 of 3 requests")


def models() -> Models:
    return Models(open_model("builtin/analogist", "execution"), None)
