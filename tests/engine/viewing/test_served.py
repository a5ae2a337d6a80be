"""A served run: its traffic, what was said of it, and what was learned from that."""

import asyncio
from collections.abc import Callable
from itertools import count

from mage_es.engine.serving.live import LiveRun
from mage_es.engine.serving.publish import publish
from mage_es.engine.serving.rules.feedback import Feedback
from mage_es.engine.upkeep.memory import curate
from mage_es.engine.viewing.chunks import Viewed
from mage_es.engine.viewing.server import Viewer
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import InferenceOpened, MemoryAppended, Trust
from tests.engine.serving.conftest import parent, serve
from tests.engine.serving.talking import closed, said
from tests.engine.viewing.conftest import rows_of
from tests.engine.viewing.test_chunks import index_of, table
from tests.engine.viewing.test_server import read, seen, serving

__all__ = ["parent", "serve"]

QUESTION = (
    "Tom had 72 marbles and lost 35. How many are left?\nThink of each of them in turn, and then say it in a word."
)


def test_each_request_has_what_was_put_in_what_came_of_it_and_what_was_said(serve: Callable[..., LiveRun]) -> None:
    live, number = serve(learn="propose", holdback=0, record_texts=True), count()

    def ask(key: str, *, reply: str = "", is_open: bool = False) -> str:
        prepared = live.prepare(said(QUESTION), "chat", key=key, session=f"s{next(number)}")
        live.submit(prepared).result()
        if not is_open:
            live.close_inference(closed(prepared.opened.inference, reply=reply))
        return prepared.opened.inference

    def say(value: object, **about: str) -> None:
        feedback = Feedback(metric="good", value=value, idempotency_key=str(next(number)), **about)
        asyncio.run(live.give_feedback(feedback, key="a"))

    answered, still_open = ask("a", reply="It is <b>37</b>."), ask("b", is_open=True)
    say({"answer": "37", "reasoning": "72 - 35 = 37"}, inference_id=answered)
    say(0.25, session_id="s0")
    live.close()
    publish(live.run)
    *_, made = (event.memory_id for event in LogReader(live.run.log_path).of(MemoryAppended))
    last = table(Viewed(live.run), "overview")[-1]
    assert (last["quarantined"], last["stored"] - last["memories"]) == (1, 1), "no anchor can judge it, so it waits"
    curate(live.run, made, action="approve", reason="it is right", by="me")
    published = publish(live.run)
    viewed = Viewed(live.run)

    index = index_of(viewed)
    marker = rows_of(index["markers"])[-1]
    assert (index["kind"], f"iter-{marker['iteration']}") == ("served", published.marker)
    first, second = table(viewed, "inferences")
    assert [first["inference"], second["inference"]] == [answered, still_open]
    assert (first["question"], first["outcome"]) == (QUESTION.replace("\n", " "), "answered")
    texts = [(one["question"], one["reply"]) for one in table(viewed, "exchanges")]
    assert texts == [(QUESTION, "It is <b>37</b>."), (QUESTION, None)]
    assert (first["input_tokens"], first["cached_tokens"]) == (10, None)
    assert [second[name] for name in ("closed", "outcome", "status", "output_tokens", "latency_us")] == [None] * 5
    reader = LogReader(live.run.log_path)
    names = [row["id"] for row in table(viewed, "memories")]
    put_in = [one.memories for one in reader.of(InferenceOpened)]
    assert [tuple(names[row] for row in one["memories"]) for one in (first, second)] == put_in and put_in[0]
    taught, scored = table(viewed, "feedback")
    assert (taught["inference"], taught["kind"], taught["value_micro"]) == (0, "demonstration", None)
    assert (scored["inference"], scored["value_micro"], scored["text"]) == (None, 250_000, None)
    # What came of it: a memory that was proposed, waited for a review, was published, and is in use.
    states = [one["status"] for one in table(viewed, "memory_states") if one["memory"] == names.index(made)]
    assert states[-1] == "active" and {"waiting", "approved"} <= set(states)
    told = [one["what"] for one in table(viewed, "curations") if one["id"] == made and one["what"] != "quarantined"]
    assert told == ["proposed", "waiting", "approved", "released", "published"]
    assert all(viewed.chunk(name) for name in viewed.names())


def test_what_gold_proposed_is_told_apart(serve: Callable[..., LiveRun]) -> None:
    trusts: tuple[Trust, ...] = ("full", "gold")
    live = serve(learn="propose", holdback=0, record_texts=True)
    for place, trust in enumerate(trusts):
        prepared = live.prepare(said(QUESTION), "chat", session=f"s{place}")
        live.submit(prepared).result()
        live.close_inference(closed(prepared.opened.inference))
        name = prepared.opened.inference
        about = Feedback(metric="good", value={"answer": "37"}, inference_id=name, idempotency_key=trust)
        asyncio.run(live.give_feedback(about, trust=trust))
    live.close()
    told = [one["what"] for one in table(Viewed(live.run), "curations")]
    assert told == ["proposed", "proposed as gold"]


def test_a_run_that_is_being_written_is_shown_as_far_as_it_is_durable(serve: Callable[..., LiveRun]) -> None:
    live = serve(holdback=0)
    with serving(Viewer(lambda: {live.run.id: live.run}, seen)) as viewer:
        before = read(viewer, live.run)
        live.submit(live.prepare(said(QUESTION), "chat")).result()
        after = read(viewer, live.run)
    assert (before["counts"]["inferences"], after["counts"]["inferences"]) == (0, 1)
    assert after["last"] == before["last"] + 1
