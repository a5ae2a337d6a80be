"""A served run puts the same bytes before the same turns, on record, whatever happens in between."""

import asyncio
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from mage_es.engine.auditing.verify import verify
from mage_es.engine.commands import Curation
from mage_es.engine.run.directory import Run
from mage_es.engine.seams.tokens import estimated_tokens
from mage_es.engine.served.frozen import freeze
from mage_es.engine.served.inferences import has_session
from mage_es.engine.served.notes import NoteBounds
from mage_es.engine.serving.checks import check_injections
from mage_es.engine.serving.journal import NotRecorded
from mage_es.engine.serving.live import LiveRun, Prepared
from mage_es.engine.serving.rules.feedback import Feedback
from mage_es.engine.serving.serve import far_words
from mage_es.engine.upkeep.memory import curate
from mage_es.engine.verbs.runs import summarise
from mage_es.engine.viewing.cli.show import inference_table, put_in
from mage_es.engine.viewing.show import show_inference
from mage_es.events import vocabulary as v
from mage_es.events.digests import sha256_text
from mage_es.events.errors import LogError, NotFound, RunLocked, UsageError
from mage_es.events.log import LogReader
from tests.engine.serving.talking import closed, said
from tests.events.disks import RefusingDisk

QUESTION = (
    "A baker brings six boxes of rolls to the market, with 12 rolls in every box. By noon 35 rolls have been sold. "
    "How many rolls are still unsold?"
)
OTHER = (
    "Maria brings five boxes of pears to the market, with 14 pears in every box. By noon 22 pears have been sold. "
    "How many pears are still unsold?"
)
Serve = Callable[..., LiveRun]


def test_a_question_gets_a_note_that_is_on_record_when_the_request_goes_on(serve: Serve) -> None:
    live = serve(holdback=0)
    prepared = live.prepare(said(QUESTION), "chat")
    live.submit(prepared).result()
    [recorded] = LogReader(live.run.log_path).of(v.InferenceOpened)
    assert recorded == prepared.opened and recorded.treatment == "memory" and recorded.memories
    assert len(recorded.similarities) == len(recorded.memories) and max(recorded.similarities) == recorded.nearest > 0
    assert sha256_text(prepared.notes[0].text) == recorded.note_sha256
    assert prepared.notes[0].text.endswith("\n\n## Question\n\n") and not prepared.notes[0].turns


@pytest.mark.slow
def test_cases_are_turns_before_the_first_turn_alone_and_the_next_ones_get_notes(serve: Serve) -> None:
    live = serve(holdback=0, bounds=NoteBounds(layout="turns"))
    first = asyncio.run(asked(live, QUESTION))
    second = asyncio.run(asked(live, QUESTION, OTHER))
    assert (first.opened.layout, second.opened.layout) == ("turns", "sections")
    rows = {row.memory_id: row for row in live.state.memory.rows()}
    cases = [rows[name] for name in first.opened.memories if rows[name].kind != "type_strategy"]
    shown = first.notes[0].turns
    assert cases and [question for question, _ in shown] == [row.question for row in cases]
    for (_, reply), row in zip(shown, cases, strict=True):  # as a reply in free text says it: no mark of the run's
        assert reply == f"{row.reasoning}\n{row.answer}".lstrip() and "####" not in reply
    [vector] = live.world.embedder.encode([QUESTION])
    near = [np.frombuffer(row.embedding, dtype="<f4") @ vector for row in cases]
    assert near == sorted(near), "the nearest is the last"
    assert second.notes[0] == first.notes[0] and not second.notes[1].turns and "> " in second.notes[1].text
    live.close_inference(closed(first.opened.inference))
    live.close()
    report = show_inference(live.run, first.opened.inference)
    assert report.turns == shown and report.note_verified
    again = asyncio.run(asked(serve(holdback=0, run=live.run), QUESTION, OTHER, QUESTION))
    assert {place: again.notes[place] for place in (0, 1)} == second.notes


@pytest.mark.slow
def test_the_layout_is_that_of_the_served_run_from_its_begin_on(serve: Serve, parent: Run) -> None:
    live = serve(name="as-turns", bounds=NoteBounds(layout="turns"))
    own = serve()
    assert live.world.setting.config.form == "turns" and own.world.setting.config.form == "sections"
    live.close(), own.close()
    assert [event.layout for event in LogReader(live.run.log_path).of(v.ServingStarted)] == ["turns"]
    assert serve(name="as-turns").layout.form == "turns"
    with pytest.raises(UsageError, match=r"has shown cases as sections since it began.* omit --layout"):
        serve(run=parent, bounds=NoteBounds(layout="turns"))


def test_a_served_run_begins_without_a_call_and_passes_every_check(serve: Serve, parent: Run) -> None:
    live = serve()
    reader = LogReader(live.run.log_path)
    assert not list(reader.of(v.ModelCalled)) and live.run.id == f"{parent.id}-served"
    [start] = reader.of(v.IterationClosed)
    assert start.iteration == live.marker == 1
    live.close()
    report = verify(live.run)
    assert report.ok, [check for check in report.checks if not check.ok]


def test_what_a_client_sends_fills_no_memory_and_the_end_of_a_long_turn_is_looked_up_as_well(serve: Serve) -> None:
    live = serve(holdback=0)
    with pytest.raises(UsageError, match="X-Session-Id has 129 characters"):
        live.prepare(said(QUESTION), "chat", session="x" * 129)
    short = live.prepare(said(QUESTION), "chat").opened
    turn = said("." * 100_000 + QUESTION)._replace(model="m" * 10_000)
    long = live.prepare(turn, "chat", task_type=short.task_type).opened
    assert long.memories == short.memories != () and len(long.model) == 128


@pytest.mark.slow
@pytest.mark.parametrize(("before", "unused"), [("", ""), ("." * 8_000, "The question is not known")])
def test_the_question_of_a_demonstration_is_known_unless_it_is_long(serve: Serve, before: str, unused: str) -> None:
    live = serve(learn="propose")
    name = asyncio.run(asked(live, before + QUESTION)).opened.inference
    right = Feedback(metric="right", value={"answer": "37"}, idempotency_key="1", inference_id=name)
    said_of_it = asyncio.run(live.give_feedback(right))
    assert said_of_it.unused.startswith(unused) and bool(said_of_it.memory_id) == (not unused)


def test_a_conversation_is_known_as_long_as_it_is_used_and_forgotten_after_many_others(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mage_es.engine.serving.sessions.MOST", 20)
    live = serve(holdback=0)
    used, left = (asyncio.run(asked(live, QUESTION, session=name)) for name in ("used", "left"))
    for number in range(60):
        again = live.prepare(said(QUESTION, f"And {number}?"), "chat", session="used")
        assert again.notes[0] == used.notes[0] and again.opened.session == "used"
        live.prepare(said(f"{OTHER} {number}"), "chat")
    known = live.earlier_notes(said(QUESTION, "And?"), session="left")
    assert left.notes and not known


@pytest.mark.slow
def test_a_first_turn_that_is_sent_again_stays_in_its_session_and_on_its_side_of_the_coin(serve: Serve) -> None:
    live = serve(holdback=0.5)
    firsts = [asyncio.run(asked(live, f"{QUESTION} Box {number}.")).opened for number in range(8)]
    assert {first.treatment for first in firsts} == {"memory", "holdback"}
    for number, first in enumerate(firsts):
        again = asyncio.run(asked(live, f"{QUESTION} Box {number}.", is_retry=True)).opened
        assert (again.session, again.treatment) == (first.session, first.treatment)
    assert asyncio.run(asked(live, f"{QUESTION} Box 0.")).opened.session != firsts[0].session


async def asked(live: LiveRun, *turns: str, session: str = "", **options: Any) -> Prepared:
    prepared = live.prepare(said(*turns), "chat", session=session, **options)
    await asyncio.wrap_future(live.submit(prepared))
    return prepared


@pytest.mark.slow
def test_earlier_turns_get_their_bytes_again_and_also_in_another_process(serve: Serve) -> None:
    live = serve(holdback=0)
    first = asyncio.run(asked(live, QUESTION))
    second = asyncio.run(asked(live, QUESTION, OTHER))
    assert second.opened.session == first.opened.inference and second.notes[0] == first.notes[0]
    assert second.opened.turns == 1 and 1 in second.notes
    live.close()
    again = asyncio.run(asked(serve(holdback=0, run=live.run), QUESTION, OTHER, QUESTION))
    assert {place: again.notes[place] for place in (0, 1)} == second.notes
    assert (again.opened.inference, again.opened.session) == ("inf-2-1", first.opened.session)


def test_a_turn_that_comes_again_gets_what_it_got_whatever_was_learned_since(serve: Serve) -> None:
    live = serve(holdback=0, learn="propose")
    first = asyncio.run(asked(live, QUESTION, session="s"))
    for _ in range(5):  # each would draw an arm of its own
        again = asyncio.run(asked(live, QUESTION, session="s"))
        assert again.notes == first.notes and again.opened.memories == first.opened.memories
        told = live.inference(again.opened.inference).memories
        assert told and all(math.isnan(each.similarity) for each in told), "it was not looked up again"
    follow_up = live.prepare(said(QUESTION, is_new=False), "chat", session="s")
    assert follow_up.notes == first.notes and follow_up.opened.treatment == "none"


@pytest.mark.slow
def test_a_session_goes_on_from_a_reply_that_it_names(serve: Serve) -> None:
    live = serve(holdback=0)
    first = live.prepare(said(QUESTION), "responses", key="a")
    live.submit(first).result()
    live.close_inference(closed(first.opened.inference, reply_id="resp_1"))
    for key, session in (("a", first.opened.session), ("b", "inf-1-3")):
        following = live.prepare(said(OTHER, previous="resp_1"), "responses", key=key)
        assert following.opened.session == session


def test_what_a_client_wishes_is_kept_for_the_turn(serve: Serve) -> None:
    live = serve(holdback=0)
    off = asyncio.run(asked(live, QUESTION, session="s", memory="off"))
    assert (off.opened.treatment, off.notes, off.opened.memories) == ("off", {}, ())
    shadow = asyncio.run(asked(live, QUESTION, OTHER, session="s", memory="shadow"))
    assert shadow.opened.treatment == "shadow" and shadow.opened.memories and shadow.notes == {}
    on = asyncio.run(asked(live, QUESTION, OTHER, QUESTION, session="s"))
    assert set(on.notes) == {2}, "what went without a note goes without it for good"


@pytest.mark.slow
def test_a_share_of_sessions_is_held_back_and_stays_so_in_another_process(serve: Serve) -> None:
    live = serve(holdback=0.5)
    names = [f"s{number}" for number in range(40)]
    sides = {name: asyncio.run(asked(live, QUESTION, session=name)).opened.treatment for name in names}
    assert set(sides.values()) == {"memory", "holdback"}
    live.close()
    again = serve(run=live.run, holdback=0)  # of new sessions none is held back, of those that go on the same
    assert {name: asyncio.run(asked(again, QUESTION, OTHER, session=name)).opened.treatment for name in names} == sides
    again.close()
    reader = LogReader(live.run.log_path)
    assert [has_session(reader, key, name) for key, name in (("", "s7"), ("", "s40"), ("other", "s7"))] == [
        True,
        False,
        False,
    ]
    [check] = check_injections(reader)
    assert check.ok, check.detail


@pytest.mark.slow
def test_a_task_type_that_a_client_names_is_used_and_an_unknown_one_refused(serve: Serve) -> None:
    live = serve(holdback=0)
    opened = live.prepare(said(QUESTION), "chat", task_type="wordmath_average").opened
    assert (opened.task_type, opened.is_typed) == ("wordmath_average", True)
    with pytest.raises(UsageError, match="no task type 'wordmath_averag'"):
        live.prepare(said(QUESTION), "chat", task_type="wordmath_averag")


def test_a_question_about_something_else_gets_no_memories_and_says_why(serve: Serve) -> None:
    live = serve(holdback=0.5, bounds=NoteBounds(min_similarity=0.4))
    far = [asyncio.run(asked(live, "How do I reset my router?", session=f"s{place}")) for place in range(10)]
    known = next(row for row in live.state.memory.rows() if row.outcome == "success_memory")
    near = [asyncio.run(asked(live, known.question, session=f"s{place}")) for place in range(10)]
    assert all(each.opened.treatment == "far" and not each.notes and not each.opened.arm for each in far)
    assert all(each.opened.nearest < each.opened.floor == 0.4 for each in far) and far[0].opened.task_type
    assert {each.opened.treatment for each in near} == {"memory", "holdback"}
    live.close()
    [check] = check_injections(LogReader(live.run.log_path))
    assert check.ok, check.detail
    again = serve(run=live.run, holdback=0, bounds=NoteBounds(min_similarity=0))
    assert again.prepare(said("How do I reset my router?"), "chat", task_type=known.task_type).opened.memories


def test_a_question_with_other_words_around_it_gets_its_memories_and_what_was_read_of_it_is_on_record(
    serve: Serve,
) -> None:
    live = serve(holdback=0)
    known = next(row for row in live.state.memory.rows() if row.outcome == "success_memory" and row.status == "active")
    mail = f"Dear team,\n\nI hope this finds you well in the rain.\n\n{known.question}\n\nBest,\nAnna"
    for text in (known.question, f"{known.question} Thanks!", mail):
        found = asyncio.run(asked(live, text)).opened
        assert found.treatment != "far" and known.question in text[found.read_from : found.read_to]
    assert text[found.read_from : found.read_to] == known.question and found.nearest > 0.999
    desk = "You are the desk of the bakery at the river, polite and never wrong: {} Say no more than that, please."
    others = [question.question for question in live.world.questions.values()][:4]
    for text in (*others, known.question):
        found = asyncio.run(asked(live, desk.format(text))).opened
    assert found.read_from > 60 and found.read_to <= desk.index("{}") + len(known.question) and found.nearest > 0.9
    assert asyncio.run(asked(live, desk.format(known.question), key="other")).opened.read_from == 0


@pytest.mark.slow
def test_where_most_traffic_is_about_something_else_it_is_told_once_there_is_enough_of_it(serve: Serve) -> None:
    live = serve(bounds=NoteBounds(min_similarity=0.9))
    for number in range(50):
        assert not live.health.is_mostly_far
        live.prepare(said(f"How do I reset router {number}?"), "chat")
    health = live.health
    assert health.is_mostly_far and (health.looked_up, health.far) == (50, 50)
    assert "50 of 50 questions" in far_words(health, "hash") and "--embedder sentence-tr" in far_words(health, "hash")
    assert "--embedder" not in far_words(health, "sentence-transformers/x")


def test_each_memory_must_be_near_enough_and_not_the_nearest_alone(serve: Serve) -> None:
    any_live, picky = serve(name="any", bounds=NoteBounds(0)), serve(name="picky", bounds=NoteBounds(0.99))
    known = [row for row in any_live.state.memory.rows() if row.outcome == "success_memory"]
    questions = {row.memory_id: (row.question, row.task_type) for row in known if row.status == "active"}
    shown = 0
    for question, task_type in questions.values():
        [vector] = picky.world.embedder.encode([question])
        found, without = (
            live.prepare(said(question), "chat", task_type=task_type).opened.memories for live in (picky, any_live)
        )
        near = {name: np.frombuffer(picky.state.memory.row(name).embedding, dtype="<f4") @ vector for name in found}
        assert all(cosine >= 0.99 for cosine in near.values())
        shown += bool(found) and len(without) > len(found)
    assert shown, "the case itself is shown, and what only comes with it is not"


@pytest.mark.slow
def test_only_named_task_types_get_notes_and_no_note_is_longer_than_it_may_be(serve: Serve) -> None:
    whole = asyncio.run(asked(serve(holdback=0), QUESTION))
    task_type, size = whole.opened.task_type, estimated_tokens(whole.notes[0].text)
    other = serve(name="other", bounds=NoteBounds(task_types=("wordmath_average",)))
    assert task_type != "wordmath_average" and other.prepare(said(QUESTION), "chat").opened.treatment == "none"
    short = serve(name="short", holdback=0, bounds=NoteBounds(task_types=(task_type,), max_tokens=size - 1))
    cut = short.prepare(said(QUESTION), "chat")
    assert {*cut.opened.memories} < {*whole.opened.memories} and estimated_tokens(cut.notes[0].text) < size
    [vector], rows = short.world.embedder.encode([QUESTION]), short.state.memory
    near = {name: np.frombuffer(rows.row(name).embedding, dtype="<f4") @ vector for name in whole.opened.memories}
    left_out = {*near} - {*cut.opened.memories}
    assert max(near[name] for name in left_out) <= min(near[name] for name in cut.opened.memories)
    assert (
        serve(name="none", bounds=NoteBounds(max_tokens=1)).prepare(said(QUESTION), "chat").opened.treatment == "none"
    )
    with pytest.raises(UsageError, match="no task type 'wordmath_averag'"):
        serve(name="typo", bounds=NoteBounds(task_types=("wordmath_averag",)))


@pytest.mark.slow
def test_texts_are_recorded_only_where_that_was_asked_for(serve: Serve) -> None:
    for has_texts, question, reply in ((False, "", ""), (True, QUESTION, "97")):
        live = serve(name=f"texts-{has_texts}", record_texts=has_texts)
        name = asyncio.run(asked(live, QUESTION)).opened.inference
        live.close_inference(closed(name, reply="97"))
        live.close()
        reader = LogReader(live.run.log_path)
        assert [event.question for event in reader.of(v.InferenceOpened)] == [question]
        assert [event.reply for event in reader.of(v.InferenceClosed)] == [reply]
        shown = [*inference_table(show_inference(live.run, name)).rows]
        assert [row for row in shown if row[0] in ("question", "reply")] == [
            pair for pair in (("question", question), ("reply", reply)) if pair[1]
        ]


@pytest.mark.slow
def test_an_inference_is_explained_and_what_is_quarantined_since_is_put_in_no_more(serve: Serve) -> None:
    live = serve(holdback=0)
    prepared = asyncio.run(asked(live, QUESTION))
    live.close_inference(closed(prepared.opened.inference))
    live.close()
    report = show_inference(live.run, prepared.opened.inference)
    assert report.note == prepared.notes[0].text and report.note_verified and report.was_seen
    assert report.closed is not None and [each.memory_id for each in report.memories] == [*prepared.opened.memories]
    assert put_in(report) == [f"Note:\n{report.note}"]
    assert put_in(replace(report, note="")) == ["Note: none"]
    assert put_in(replace(report, note="", turns=(("How many?", "3"),))) == ["User:\nHow many?\n\nAssistant:\n3"]
    with pytest.raises(NotFound, match="no inference 'inf-1-2'"):
        show_inference(live.run, "inf-1-2")
    for name in prepared.opened.memories:
        curate(live.run, name, action="quarantine", reason="wrong", by="me")
    again = serve(run=live.run, holdback=0)
    assert again.inference(prepared.opened.inference) == report
    assert not {*again.prepare(said(QUESTION), "chat").opened.memories} & {*prepared.opened.memories}
    assert again.memory(prepared.opened.memories[0]).item.memory_id == prepared.opened.memories[0]


@pytest.mark.slow
def test_what_is_taken_out_of_use_while_a_run_is_served_goes_into_no_new_turn(serve: Serve) -> None:
    live = serve(holdback=0)
    first = asyncio.run(asked(live, QUESTION))
    for name in first.opened.memories:
        asyncio.run(live.curate(name, action="quarantine", reason="wrong", by="me"))
    assert live.memory(first.opened.memories[0]).item.status == "quarantined"
    after = asyncio.run(asked(live, QUESTION, QUESTION))
    assert after.notes[0] == first.notes[0] and not {*after.opened.memories} & {*first.opened.memories}
    assert after.opened.memories, "the next nearest take their places"
    asyncio.run(live.curate(first.opened.memories[0], action="release", reason="", by="me"))
    assert first.opened.memories[0] in live.prepare(said(QUESTION), "chat").opened.memories
    with pytest.raises(UsageError, match="nothing with the id"):
        asyncio.run(live.curate("0000", action="release", reason="", by="me"))
    with pytest.raises(RunLocked, match=r"Its proxy takes this: POST .* to /v1/memories/abcd"):
        curate(live.run, "abcd", action="quarantine", reason="wrong", by="me")
    live.close()
    assert verify(live.run).ok


@pytest.mark.slow
def test_what_is_taken_out_of_use_while_a_run_is_served_teaches_no_more_what_is_near(
    serve: Serve, labelled: Run, tmp_path: Path
) -> None:
    live = serve(run=labelled, runs_dir=tmp_path, holdback=0)
    question = next(live.world.questions[name].question for name in live.world.setting.held_out)
    before = live.prepare(said(question), "chat").opened
    others = [row.memory_id for row in live.state.memory.rows() if row.memory_id not in before.memories][:8]

    async def decide(action: Curation) -> None:
        await asyncio.gather(*(live.curate(name, action=action, reason="wrong", by="me") for name in others))

    asyncio.run(decide("quarantine"))
    after, now = live.prepare(said(question), "chat").opened, freeze(live.run, "latest").retrieved(question)
    assert (after.marker, after.memories, after.similarities) == (before.marker, now.memories, now.similarities)
    assert {*after.similarities}.isdisjoint(before.similarities), "another metric ranks them"
    asyncio.run(decide("release"))
    again = live.prepare(said(question), "chat").opened
    assert (again.memories, again.similarities) == (before.memories, before.similarities)
    live.close()
    assert verify(live.run).ok


def test_a_request_whose_process_was_killed_is_cut_on_record_once_the_run_is_served_again(serve: Serve) -> None:
    live = serve(holdback=0)
    ended, killed = (asyncio.run(asked(live, text)).opened.inference for text in (QUESTION, OTHER))
    live.close_inference(closed(ended))
    assert dict(inference_table(show_inference(live.run, killed)).rows)["outcome"].startswith("none yet")
    live.close()  # which ends the log as it is, as a kill does
    for _ in range(2):
        serve(run=live.run).close()
    ends = {event.inference: event.outcome for event in LogReader(live.run.log_path).of(v.InferenceClosed)}
    assert ends == {ended: "answered", killed: "cut"}
    told = dict(inference_table(show_inference(live.run, killed)).rows)
    assert told["outcome"] == "cut: the process ended before it did" and verify(live.run).ok


def test_requests_at_once_are_each_on_record_once_and_of_one_turn_all_get_one_note(serve: Serve) -> None:
    live = serve(holdback=0, learn="propose")

    async def all_at_once() -> list[Prepared]:
        with ThreadPoolExecutor(8) as threads:
            loop = asyncio.get_running_loop()
            coming = [loop.run_in_executor(threads, live.prepare, said(QUESTION), "chat") for _ in range(20)]
            coming += [
                loop.run_in_executor(threads, partial(live.prepare, said(QUESTION), "chat", session="one"))
                for _ in range(20)
            ]
            prepared = await asyncio.gather(*coming)
        await asyncio.gather(*(asyncio.wrap_future(live.submit(each)) for each in prepared))
        return list(prepared)

    prepared = asyncio.run(all_at_once())
    for each in prepared:
        live.close_inference(closed(each.opened.inference))
        live.close_inference(closed(each.opened.inference))  # a second word is none
    assert len({each.opened.note_sha256 for each in prepared[20:]}) == 1
    live.close()
    reader = LogReader(live.run.log_path)
    names = [each.opened.inference for each in prepared]
    assert sorted(event.inference for event in reader.of(v.InferenceOpened)) == sorted(names)
    assert sorted(event.inference for event in reader.of(v.InferenceClosed)) == sorted(names)
    assert verify(live.run).ok


def test_on_a_full_disk_requests_go_on_without_notes_and_what_was_acknowledged_stays(serve: Serve) -> None:
    disk = RefusingDisk()
    live = serve(holdback=0, fs=disk)
    kept = asyncio.run(asked(live, QUESTION, session="s"))
    disk.refuse = "write"
    refused = live.prepare(said(QUESTION, OTHER), "chat", session="s")
    for _ in range(2):
        with pytest.raises(NotRecorded, match="make room"):
            live.submit(refused).result()
    live.close_inference(closed(kept.opened.inference))
    assert "disk is full" in live.health.problem and live.journal.lost == 3
    with suppress(LogError):
        live.close()
    assert [event.inference for event in LogReader(live.run.log_path).of(v.InferenceOpened)] == [kept.opened.inference]
    again = serve(run=live.run, holdback=0).prepare(said(QUESTION, OTHER, QUESTION), "chat", session="s")
    assert again.notes[0] == kept.notes[0] and 1 not in again.notes


@pytest.mark.slow
@pytest.mark.parametrize("refused", ["write", "sync"])
def test_a_log_that_refused_is_opened_again_by_itself_and_the_log_and_the_console_say_so(
    serve: Serve, refused: str
) -> None:
    disk, lines, is_over = RefusingDisk(), list[str](), threading.Event()

    def say(line: str) -> None:
        lines.append(line)
        if "Recording again" in line:
            is_over.set()

    live = serve(holdback=0, fs=disk, say=say, retry_s=0.05)
    before = asyncio.run(asked(live, QUESTION, session="s"))
    disk.refuse = refused
    lost = live.prepare(said(QUESTION, OTHER), "chat", session="s")
    with pytest.raises(NotRecorded):
        live.submit(lost).result()
    assert live.health.problem and "Recording stopped" in lines[0]
    disk.refuse = None
    assert is_over.wait(30)
    after = asyncio.run(asked(live, QUESTION, OTHER, QUESTION, session="s"))
    assert not live.health.problem and "Not on record since it stopped: 1." in lines[1] and len(lines) == 2
    # The request that was refused went on without its note, and its turn gets none later.
    assert after.notes[0] == before.notes[0] and 1 not in after.notes
    live.close()
    reader = LogReader(live.run.log_path)
    assert [(event.interruption, event.lost) for event in reader.of(v.RecordingResumed)] == [(1, 1)]
    # What was written and could not be synced is in the log, as a request that went on without its note.
    known = {event.inference for event in reader.of(v.InferenceOpened)}
    assert {before.opened.inference, after.opened.inference} <= known
    bypassed = {event.inference for event in reader.of(v.InferenceClosed) if event.outcome == "bypassed"}
    assert bypassed == known & {lost.opened.inference}
    assert verify(live.run).ok
    assert 1 not in serve(run=live.run).prepare(said(QUESTION, OTHER, QUESTION), "chat", session="s").notes


@pytest.mark.slow
def test_while_the_disk_still_refuses_nothing_is_said_twice(serve: Serve) -> None:
    disk, lines = RefusingDisk(), list[str]()
    live = serve(holdback=0, fs=disk, say=lines.append, retry_s=0.01)
    disk.refuse = "write"
    for n in range(3):
        with pytest.raises(NotRecorded):
            live.submit(live.prepare(said(QUESTION), "chat", session=str(n))).result()
        time.sleep(0.05)
    assert len(lines) == 1 and live.health.problem


def test_a_request_may_go_on_once_it_is_written_and_hears_later_whether_it_is_durable(serve: Serve) -> None:
    disk = RefusingDisk()
    live = serve(holdback=0, fs=disk)
    disk.syncs.clear()
    slow = live.submit(live.prepare(said(QUESTION), "chat", session="s"))
    assert slow.written.result() and not slow.done()
    disk.syncs.set()
    assert len(slow.result()) == 1
    disk.refuse = "sync"
    lost = live.submit(live.prepare(said(OTHER), "chat", session="t"))
    assert lost.written.result() and isinstance(lost.exception(), NotRecorded)
    never = live.submit(live.prepare(said(OTHER), "chat", session="t"))
    assert not never.written.result() and isinstance(never.exception(), NotRecorded)


def test_a_request_that_went_on_before_its_note_was_ready_has_none_later(serve: Serve) -> None:
    live = serve(holdback=0)
    late = asyncio.run(asked(live, QUESTION, session="s"))
    live.close_inference(closed(late.opened.inference, "bypassed"))
    assert 0 not in live.prepare(said(QUESTION, OTHER), "chat", session="s").notes
    live.close()
    assert any("inferences: 1 (bypassed 1)" in line for line in summarise(live.run).traffic)
    assert 0 not in serve(run=live.run).prepare(said(QUESTION, OTHER), "chat", session="s").notes
