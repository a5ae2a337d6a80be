"""Publishing what clients said: an iteration for each key, judged by the guard, and gone on with after any crash."""

import asyncio
import contextlib
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec
import pytest

from mage_es.engine.agents.learner import course_of
from mage_es.engine.auditing.verify import verify
from mage_es.engine.courses import Ask
from mage_es.engine.courses import begin as begin_course
from mage_es.engine.rules.prompt import QUESTION as HEADING
from mage_es.engine.rules.prompt import headed
from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Limits, Runtime
from mage_es.engine.run.world import state_of
from mage_es.engine.served.notes import NoteBounds, in_order, note_of
from mage_es.engine.serving.checks import check_injections
from mage_es.engine.serving.live import LiveRun
from mage_es.engine.serving.open_run import open_run
from mage_es.engine.serving.publish import PublishReport, publish, publish_price
from mage_es.engine.serving.rules.feedback import Feedback
from mage_es.engine.upkeep.memory import curate
from mage_es.engine.upkeep.review import review
from mage_es.engine.verbs.evolve import evolve_price
from mage_es.engine.verbs.exam import examine
from mage_es.events import vocabulary as v
from mage_es.events.errors import BudgetReached, UsageError
from mage_es.events.log import Appended, Log, LogReader
from tests.engine.conftest import SMALL, begin
from tests.engine.forgery import forged, instead
from tests.engine.serving.conftest import LABELS
from tests.engine.serving.talking import said
from tests.engine.serving.test_feedback import models
from tests.engine.serving.test_live import QUESTION

RIGHT = True
Say = Callable[..., None]


@pytest.fixture
def live(serve: Callable[..., LiveRun], request: pytest.FixtureRequest) -> LiveRun:
    """A served run with one inference of each of two keys, in its parent's layout or the one that a test names."""
    live = serve(learn="propose", holdback=0, bounds=NoteBounds(layout=getattr(request, "param", "")))
    for key in ("a", "b"):
        live.submit(live.prepare(said(QUESTION), "chat", key=key)).result()
    return live


@pytest.fixture
def say(live: LiveRun) -> Say:
    """Gives feedback on the inference of a key."""
    names = {one.key: one.inference for one in LogReader(live.run.log_path).of(v.InferenceOpened)}

    def give(value: Any, *, key: str, once: str = "1", live: LiveRun = live) -> None:
        about = Feedback(metric=f"good {once}", value=value, idempotency_key=once, inference_id=names[key])
        asyncio.run(live.give_feedback(about, key=key))

    return give


def published(live: LiveRun) -> PublishReport:
    """Publish what was said, once no process serves the run."""
    live.close()
    return publish(live.run)


def digests(run: Run) -> list[tuple[int, Any]]:
    return [(event.iteration, event.digests) for event in LogReader(run.log_path).of(v.IterationClosed)]


@pytest.mark.slow
def test_each_key_has_an_iteration_and_what_it_said_is_in_the_next_marker(live: LiveRun, say: Say) -> None:
    before = live.marker
    say({"answer": "37", "reasoning": "72 - 35 = 37"}, key="b")
    say(RIGHT, key="a")
    report = published(live)
    assert [(each.key, each.verdict) for each in report.keys] == [("a", "accepted"), ("b", "accepted")]
    assert [(each.rewards, each.published, each.waiting) for each in report.keys] == [(1, 0, 0), (0, 0, 1)]
    assert report.marker == f"iter-{before + 3}"  # the first answers the anchors as they were
    approve(live.run)
    [again] = publish(live.run).keys
    assert (again.key, again.published, again.iteration) == ("b", 1, before + 4)
    reader = LogReader(live.run.log_path)
    [row] = [row for row in state_of(live.run, reader).memory.rows() if row.phase == "serve"]
    assert (row.answer, row.status, row.iteration) == ("37", "active", before + 3)
    assert not [check for check in verify(live.run).checks if not check.ok]


def test_a_run_without_anchors_is_not_published_nor_priced_and_keeps_what_clients_said(tmp_path: Path) -> None:
    config = msgspec.structs.replace(SMALL, anchors=0, guard="off", iterations=1)
    with contextlib.closing(LiveRun.open(begin(tmp_path / "runs", config), learn="propose", holdback=0)) as live:
        live.submit(live.prepare(said(QUESTION), "chat", key="a")).result()
        name = next(LogReader(live.run.log_path).of(v.InferenceOpened)).inference
        told = Feedback(metric="good", value=RIGHT, idempotency_key="1", inference_id=name)
        asyncio.run(live.give_feedback(told, key="a"))
    before = LogReader(live.run.log_path).head
    for verb in (publish, publish_price):
        with pytest.raises(UsageError, match=r"has no anchors, so nothing could judge .* evolve BENCHMARK --from"):
            verb(live.run)
    assert LogReader(live.run.log_path).head == before


def approve(run: Run) -> None:
    """Approve all that waits."""
    for each in review(run).proposals:
        curate(run, each.memory_id, action="approve", reason="read", by="alice")


@pytest.mark.slow
def test_anchors_are_asked_as_clients_questions_are_and_by_one_model_for_good(live: LiveRun, say: Say) -> None:
    say({"answer": "37"}, key="a")
    live.close()
    other = "builtin/copier"
    publish(live.run, execution=other)
    plans = [record.event for record in LogReader(live.run.log_path).records({v.QuestionPlanned})]
    assert {plan.iteration for plan in plans} >= {live.marker + 1}
    # No skill's instruction, no route, nothing but what a note has.
    assert {(plan.skill, plan.routing_arm, plan.chain, plan.tool_id) for plan in plans} == {("", "cot", (), "")}
    assert any(plan.memories for plan in plans)
    with pytest.raises(UsageError, match="were answered by builtin/copier, and answers of builtin/analogist cannot"):
        publish(live.run)


@pytest.mark.slow
@pytest.mark.parametrize("live", ["sections", "turns"], indirect=True)
def test_an_anchor_and_an_exam_of_a_served_run_read_what_a_clients_question_reads_to_the_byte(
    live: LiveRun, say: Say
) -> None:
    say({"answer": "37"}, key="a")
    published(live)
    reader = LogReader(live.run.log_path)
    setting, questions = live.world.setting, live.world.questions
    asked = [(seq, plan) for seq, plan in reader.numbered(v.QuestionPlanned) if plan.iteration > live.marker]
    examine(live.run, questions=3)
    [exam] = live.run.exams()
    examined = LogReader(exam.log_path).of(v.QuestionPlanned)
    for seq, plan in [*asked, *((reader.head.seq + 1, plan) for plan in examined)]:
        state = state_of(live.run, reader, until=seq - 1)
        hits = in_order(state, plan.memories, live.layout)
        note = note_of(state, [hit.memory_id for hit in hits], live.layout)
        first = begin_course(course_of(setting, state, plan, questions[plan.question_id]))
        assert isinstance(first, Ask) and bool(note.said) == bool(plan.memories)
        *turns, last = first.request.messages
        assert turns == [said for turn in note.turns for said in turn]
        assert last == (note.text or ("" if turns else headed(HEADING))) + questions[plan.question_id].question
    assert any(plan.memories and plan.form == live.layout.form for _, plan in asked)


@pytest.mark.parametrize("live", ["sections", "turns"], indirect=True)
def test_an_anchor_that_was_asked_in_another_layout_than_is_served_is_found_in_the_log(
    live: LiveRun, say: Say, tmp_path: Path
) -> None:
    say({"answer": "37"}, key="a")
    published(live)

    def moved(event: v.Event) -> v.Event:
        assert isinstance(event, v.QuestionPlanned)
        spans = tuple(msgspec.structs.replace(span, offset=span.offset + 100) for span in event.spans)
        return msgspec.structs.replace(event, spans=spans)

    def is_ours(event: v.Event) -> bool:
        return isinstance(event, v.QuestionPlanned) and event.iteration > live.marker and bool(event.spans)

    forged(live.run.log_path, tmp_path / "log", instead(v.QuestionPlanned, moved, is_ours))
    [check] = check_injections(LogReader(tmp_path / "log"))
    assert not check.ok and "was not asked in the layout that is served" in check.detail


def test_the_price_is_not_less_than_what_the_first_publish_asks(labelled: Run, tmp_path: Path) -> None:
    live = LiveRun.open(labelled, runs_dir=tmp_path, name="priced", learn="propose", holdback=0)
    live.submit(asked := live.prepare(said(QUESTION), "chat")).result()
    about = Feedback(metric="good", value={"answer": "4"}, idempotency_key="1", inference_id=asked.opened.inference)
    asyncio.run(live.give_feedback(about))
    live.close()
    price = publish_price(live.run)
    paid = publish_price(live.run, execution="anthropic/claude-sonnet-4-6")
    assert (price.usd, price.questions) == (0.0, paid.questions)
    assert paid.execution == "anthropic/claude-sonnet-4-6" and paid.usd, "at the rate of the model that will answer"
    publish(live.run)
    assert evolve_price(LABELS, from_run=live.run) == evolve_price(LABELS, from_run=labelled), (
        "to publish is no learning"
    )
    began = next(seq for seq, _ in LogReader(live.run.log_path).numbered(v.ServingStarted))
    planned = list(LogReader(live.run.log_path).of(v.QuestionPlanned, since=began))
    assert {each.purpose for each in planned} == {"anchor", "bare"} and len(planned) <= price.questions


def test_what_was_published_is_not_published_again(live: LiveRun, say: Say) -> None:
    say(RIGHT, key="a")
    assert len(published(live).keys) == 1 and publish(live.run).keys == ()


def test_a_run_that_was_never_served_is_refused_with_what_to_do(parent: Run) -> None:
    with pytest.raises(UsageError, match="mage-es serve"):
        publish(parent)


@pytest.mark.slow
def test_what_the_guard_refuses_is_in_no_prompt_and_takes_no_other_key_with_it(live: LiveRun, say: Say) -> None:
    say({"answer": "99"}, key="a")
    say(RIGHT, key="a", once="2")
    say({"answer": "37"}, key="b")
    with refusing(first=1):
        report = published(live)
    assert [each.verdict for each in report.keys] == ["soft_rollback", "accepted"]
    reader = LogReader(live.run.log_path)
    assert [event.verdict for event in reader.of(v.ProposalSettled)] == ["refused", "waiting"]
    quarantined, _ = list(reader.of(v.MemoryQuarantined))
    answers = {event.memory_id: event.answer for event in reader.of(v.MemoryAppended)}
    assert quarantined.by == "guard" and answers[quarantined.memory_id] == "99"
    given, taken = [each for each in reader.of(v.BanditUpdated) if each.question_id.startswith("inf-")]
    assert (taken.alpha_after, taken.beta_after) == (given.alpha_before, given.beta_before)
    with refusing(first=1):
        assert not [check for check in verify(live.run).checks if not check.ok]


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
def test_a_publish_killed_at_any_commit_goes_on_to_the_same_state(live: LiveRun, say: Say, tmp_path: Path) -> None:
    say({"answer": "36"}, key="b")
    live.publish(models(), Runtime())
    live.close()
    approve(live.run)
    live = LiveRun.open(live.run, learn="propose")
    say({"answer": "99"}, key="a", live=live)
    say({"answer": "37"}, key="b", once="3", live=live)
    say(RIGHT, key="b", once="2", live=live)
    live.close()
    served, whole = live.run, Run(live.run.id, shutil.copytree(live.run.path, tmp_path / "whole" / live.run.id))
    publish(whole)
    # One run, killed in each of its lives, so that every stretch of a publish is gone on with from what a kill left.
    for life in range(100):
        with suppress(Killed), killing(after=life % 4):
            publish(served)
            break
    assert life and digests(served) == digests(whole)


@pytest.mark.slow
def test_what_no_closed_iteration_has_is_in_no_state_that_can_be_asked(live: LiveRun, say: Say) -> None:
    say({"answer": "37"}, key="a")
    live.close()
    publish(live.run)
    approve(live.run)
    [born] = [proposed.memory_id for proposed in LogReader(live.run.log_path).of(v.MemoryProposed)]
    is_closed = False
    for _ in range(40):
        with suppress(Killed), killing(after=0):
            publish(live.run)
        reader = LogReader(live.run.log_path)
        added = [seq for seq, event in reader.numbered(v.MemoryAppended) if event.memory_id == born]
        is_closed = bool(added) and any(seq > added[0] for seq, _ in reader.numbered(v.IterationClosed))
        assert bool(open_run(live.run).state.memory.count_of(born)) == is_closed
        if is_closed:
            break
    assert is_closed


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


@pytest.mark.parametrize("rounds", [0.5, 1.5])
def test_what_a_stopped_publish_has_asked_is_not_in_the_price_of_going_on(
    labelled: Run, tmp_path: Path, rounds: float
) -> None:
    live = LiveRun.open(labelled, runs_dir=tmp_path, name="stopped", learn="propose", holdback=0)
    live.submit(asked := live.prepare(said(QUESTION), "chat")).result()
    about = Feedback(metric="good", value={"answer": "4"}, idempotency_key="1", inference_id=asked.opened.inference)
    asyncio.run(live.give_feedback(about))
    live.close()
    whole, began = publish_price(live.run), next(s for s, _ in LogReader(live.run.log_path).numbered(v.ServingStarted))
    half = Limits(max_calls=round(rounds * LABELS.anchors))
    with pytest.raises(BudgetReached):
        publish(live.run, runtime=Runtime(workers=1, limits=half))
    own = LogReader(live.run.log_path).of(v.AnswerJudged, since=began)
    done = sum(each.purpose in ("anchor", "bare") for each in own)
    left = publish_price(live.run)
    assert done > 0 and left.questions == whole.questions - done == 3 * LABELS.anchors - done
    before = LogReader(live.run.log_path).head.seq
    publish(live.run, runtime=Runtime(limits=Limits(max_calls=999)))
    now = [each for each in LogReader(live.run.log_path).of(v.AnswerJudged, since=before) if each.purpose != "exam"]
    assert len(now) <= left.questions and publish_price(live.run).questions == 0
