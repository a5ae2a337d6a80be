"""The spans of a log: one for each call, below the question or the phase that it is of, and always the same."""

from collections import Counter
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.exports.otel.spans import RECORDS, SEARCH_MEMORY, TraceSpan, TraceVerdict, traced
from mage_es.engine.run.directory import Run
from mage_es.events import vocabulary as v
from mage_es.events.log import Log, LogReader
from tests.golden.generate import golden

LOGS = [folder / kind for folder in golden() for kind in ("log", "run")]
SECOND = 1_000_000
PLAN = v.QuestionPlanned(
    iteration=0,
    purpose="fresh",
    question_id="q1",
    task_type="ages",
    skill="adding",
    search_arm="nearest",
    search_probability=1.0,
    routing_arm="cot",
    routing_probability=1.0,
    memories=(v.Retrieved(memory_id="m1", similarity=0.9), v.Retrieved(memory_id="m2", similarity=0.5)),
    principles=("p1",),
    template="answer_cot",
    prompt_sha256="",
    spans=(),
)
CALL = {
    "iteration": 0,
    "tier": "execution",
    "agent": "Learner",
    "purpose": "fresh",
    "about": "q1",
    "attempt": 0,
    "request_sha256": "",
    "model": "openai/org/small?base_url=http://localhost:8000/v1&thinking=off",
}
REPLY = v.ModelCalled(
    **CALL, text="7", stop_reason="end", input_tokens=11, output_tokens=4, cached_tokens=8, latency_us=SECOND
)
FAULT = v.CallFailed(
    **CALL, tries=0, fault="busy", status=429, problem="slow down, Ann", final=False, latency_us=SECOND
)
VERDICT = v.AnswerJudged(
    iteration=0,
    purpose="fresh",
    question_id="q1",
    task_type="ages",
    skill="adding",
    answer="7",
    score_micro=500_000,
    correct=False,
    strict=True,
    judge="rule",
)


def spans_of(folder: Path, *events: v.Event, begun: int = 99) -> list[TraceSpan | TraceVerdict]:
    """Return the spans of a log that was begun at a second, and has an event in each that follows; the first is the
    cause of all others."""
    now = iter(range(begun * SECOND, 10_000 * SECOND, SECOND))
    with Log.create(folder / "log", run="mine", clock=lambda: next(now)) as log:
        for place, event in enumerate(events):
            log.append([v.Draft(event=event, iteration=0, phase="evaluate", ordinal=place, causation=min(place, 1))])
    reader = LogReader(folder / "log")
    return list(traced(reader.log_id, reader.run, reader.records()))


def only(found: list[TraceSpan | TraceVerdict], beginning: str) -> TraceSpan:
    [span] = [each for each in found if isinstance(each, TraceSpan) and each.name.startswith(beginning)]
    return span


@pytest.mark.parametrize("path", LOGS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_each_call_has_one_span_and_each_span_is_below_one_of_its_trace(path: Path) -> None:
    reader = LogReader(path)
    found = list(traced(reader.log_id, reader.run, reader.records()))
    spans = [each for each in found if isinstance(each, TraceSpan)]
    calls = [call for call in reader.of(v.ModelCalled, v.CallFailed) if isinstance(call, v.ModelCalled) or call.final]
    assert sum("mage_es.tier" in span.attributes for span in spans) == len(calls)
    places = Counter((span.trace_id, span.span_id) for span in spans)
    assert set(places.values()) <= {1}
    assert not [span for span in spans if span.parent_id and (span.trace_id, span.parent_id) not in places]
    assert all(len(span.trace_id) == 16 and len(span.span_id) == 8 for span in spans)


def test_the_same_log_gives_the_same_spans_and_another_log_of_the_same_events_others(tmp_path: Path) -> None:
    found = spans_of(tmp_path, PLAN, REPLY, VERDICT)
    reader = LogReader(tmp_path / "log")
    assert found == list(traced(reader.log_id, reader.run, reader.records()))
    others = spans_of(tmp_path / "other", PLAN, REPLY, VERDICT, begun=98)
    assert not {each.trace_id for each in others} & {each.trace_id for each in found}


def test_a_question_is_a_trace_with_its_search_its_calls_and_its_verdict(tmp_path: Path) -> None:
    found = spans_of(tmp_path, PLAN, REPLY, VERDICT)
    question, search, chat = only(found, "invoke_agent"), only(found, "search_memory"), only(found, "chat")
    assert {each.trace_id for each in found} == {question.trace_id} and not question.parent_id
    assert search.parent_id == chat.parent_id == question.span_id
    assert (question.begin_us, question.end_us) == (100 * SECOND, 102 * SECOND)
    assert search.attributes["gen_ai.operation.name"] == SEARCH_MEMORY
    assert search.attributes[RECORDS] == [
        {"id": "m1", "content": None, "score": 0.9},
        {"id": "m2", "content": None, "score": 0.5},
        {"id": "p1", "content": None},
    ]
    [verdict] = [each for each in found if isinstance(each, TraceVerdict)]
    assert (verdict.span_id, verdict.at_us) == (question.span_id, 102 * SECOND)
    for said in (verdict.attributes, question.attributes):  # some tools take no events
        assert said["gen_ai.evaluation.score.value"] == 0.5
        assert said["gen_ai.evaluation.score.label"] == "incorrect"


def test_a_call_says_whom_it_asked_and_what_that_used(tmp_path: Path) -> None:
    chat = only(spans_of(tmp_path, PLAN, REPLY, VERDICT), "chat")
    assert (chat.name, chat.kind) == ("chat org/small", "client")
    assert (chat.begin_us, chat.end_us) == (100 * SECOND, 101 * SECOND)
    expected = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "org/small",
        "server.address": "localhost",
        "server.port": 8000,
        "gen_ai.response.finish_reasons": ["stop"],
        "gen_ai.usage.input_tokens": 11,
        "gen_ai.usage.output_tokens": 4,
        "gen_ai.usage.cache_read.input_tokens": 8,
    }
    assert {name: chat.attributes[name] for name in expected} == expected


def test_a_call_that_was_retried_is_one_span_from_its_first_attempt_on(tmp_path: Path) -> None:
    chat = only(spans_of(tmp_path, PLAN, FAULT, FAULT, REPLY, VERDICT), "chat")
    assert (chat.begin_us, chat.end_us, chat.error) == (100 * SECOND, 103 * SECOND, "")
    assert chat.attributes["mage_es.failed_attempts"] == 2


def test_a_call_that_failed_for_good_is_an_error_and_so_is_its_question(tmp_path: Path) -> None:
    final = v.CallFailed(**{**CALL, "attempt": 0}, tries=0, fault="timeout", status=0, problem="Ann", final=True)
    lost = v.AnswerUnanswered(
        iteration=0, purpose="fresh", question_id="q1", task_type="ages", skill="adding", problem="Ann"
    )
    found = spans_of(tmp_path, PLAN, final, lost)
    assert only(found, "chat").error == only(found, "chat").attributes["error.type"] == "timeout"
    assert only(found, "invoke_agent").error == "unanswered"
    assert not [each for each in found if isinstance(each, TraceVerdict)]


def test_a_tool_is_below_its_question_and_its_fault_is_an_error(tmp_path: Path) -> None:
    ran = v.ToolRan(
        iteration=0, purpose="fresh", question_id="q1", tool_id="t", arguments="{}", result="", problem="no a"
    )
    found = spans_of(tmp_path, PLAN, ran, REPLY, VERDICT)
    tool = only(found, "execute_tool t")
    assert (tool.parent_id, tool.error) == (only(found, "invoke_agent").span_id, "tool_failed")


def test_a_question_that_was_cut_off_keeps_its_calls_and_one_that_was_not_asked_has_no_span(tmp_path: Path) -> None:
    assert only(spans_of(tmp_path, PLAN, REPLY), "invoke_agent").end_us == 101 * SECOND
    done = v.PhaseCompleted(iteration=0, phase="evaluate")
    assert not spans_of(tmp_path / "unasked", PLAN) and not spans_of(tmp_path / "passed", PLAN, done)


def test_a_call_about_no_question_is_below_its_phase(small_run: Run) -> None:
    reader = LogReader(small_run.log_path)
    spans = [each for each in traced(reader.log_id, "r", reader.records()) if isinstance(each, TraceSpan)]
    phases = {span.span_id: span for span in spans if span.name.startswith("invoke_workflow")}
    guided = [span for span in spans if span.attributes.get("mage_es.tier") == "guidance"]
    assert guided and all(span.parent_id in phases for span in guided)
    assert all(span.begin_us <= span.end_us for span in spans)
    for span in guided:
        phase = phases[span.parent_id]
        assert phase.begin_us <= span.begin_us and span.end_us <= phase.end_us


OPENED = v.InferenceOpened(
    inference="inf-1-1",
    session="s",
    key="ann",
    shape="messages",
    model="claude",
    treatment="memory",
    marker=1,
    task_type="ages",
    is_typed=False,
    arm="nearest",
    probability=1.0,
    memories=("m1", "p1"),
    similarities=(0.75, 0.0),
    note_sha256="",
    turn_sha256="",
    turns=0,
    question="Ann?",
)
CLOSED = v.InferenceClosed(
    inference="inf-1-1",
    outcome="answered",
    status=529,
    problem="Ann",
    input_tokens=11,
    cached_tokens=-1,
    output_tokens=4,
    latency_us=SECOND,
    overhead_us=1000,
    reply="Ann!",
    reply_id="msg_1",
)


def test_a_request_that_was_cut_has_no_end_but_says_that_it_is_unknown(tmp_path: Path) -> None:
    cut = msgspec.structs.replace(CLOSED, outcome="cut", status=0, latency_us=0, overhead_us=0)
    found = spans_of(tmp_path, OPENED, *[PLAN] * 60, cut)  # a minute until the next process began
    spans = [each for each in found if isinstance(each, TraceSpan)]
    assert {span.name for span in spans} == {"POST /v1/messages", SEARCH_MEMORY, "chat claude"}
    assert {(span.begin_us, span.end_us) for span in spans} == {(100 * SECOND, 100 * SECOND)}
    for span in (only(found, "POST"), only(found, "chat")):
        assert (span.error, span.attributes["mage_es.end_unknown"]) == ("cut", True)
    assert "mage_es.overhead_us" not in only(found, "POST").attributes


def test_a_request_to_a_served_run_is_a_trace_and_feedback_its_verdict(tmp_path: Path) -> None:
    said = v.FeedbackGiven(
        feedback="f",
        inference="inf-1-1",
        session="s",
        metric="solved",
        kind="bool",
        value_micro=SECOND,
        text="",
        key="ann",
    )
    found = spans_of(tmp_path, OPENED, CLOSED, said)
    request, search, chat = only(found, "POST /v1/messages"), only(found, SEARCH_MEMORY), only(found, "chat claude")
    assert search.parent_id == chat.parent_id == request.span_id and request.kind == "server"
    assert (request.begin_us, chat.begin_us) == (100 * SECOND, 100 * SECOND + 1000)
    assert chat.attributes["gen_ai.provider.name"] == "anthropic" and chat.error == "529"
    assert "gen_ai.usage.cache_read.input_tokens" not in chat.attributes
    assert search.attributes[RECORDS] == [{"id": "m1", "content": None, "score": 0.75}, {"id": "p1", "content": None}]
    [verdict] = [each for each in found if isinstance(each, TraceVerdict)]
    assert (verdict.span_id, verdict.attributes["gen_ai.evaluation.score.value"]) == (chat.span_id, 1.0)
    assert "Ann" not in repr([each.attributes for each in found])
    # An agent's search calls no model, so what is said of it is said of the call itself.
    asked = msgspec.structs.replace(OPENED, shape="search", treatment="searched", arm="", model="")
    found = spans_of(tmp_path / "search", asked, CLOSED, said)
    request, search = only(found, "POST /mcp"), only(found, SEARCH_MEMORY)
    assert search.parent_id == request.span_id and len(found) == 3
    [verdict] = [each for each in found if isinstance(each, TraceVerdict)]
    assert verdict.span_id == request.span_id
