"""`show` renders a question exactly as it was asked."""

import pytest

from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.verbs.exam import examine
from mage_es.engine.viewing.show import show
from mage_es.engine.viewing.transcript import CallReport, ToolReport
from mage_es.events.errors import UsageError
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, ModelCalled, QuestionPlanned, ToolRan


def test_questions_of_a_run_render_to_the_prompts_whose_hashes_were_recorded(small_run: Run) -> None:
    plans = [r for r in LogReader(small_run.log_path).records({QuestionPlanned}) if r.event.purpose != "anchor"]
    for record in plans[::8]:
        report = show(small_run, record.event.question_id, iteration=record.event.iteration, data_dir=None)
        assert report.prompt_verified, record.event.question_id
        assert len(report.bundle) == len(record.event.memories)


def test_reply_and_verdict_are_those_of_the_log(small_run: Run) -> None:
    reader = LogReader(small_run.log_path)
    verdict = [event for event in reader.of(AnswerJudged) if event.purpose == "fresh"][-1]
    call = next(
        r.event
        for r in reader.records({ModelCalled})
        if r.event.about == verdict.question_id and r.event.iteration == verdict.iteration
    )
    report = show(small_run, verdict.question_id, iteration=verdict.iteration, data_dir=None)
    assert (report.reply, report.answer, report.correct) == (call.text, verdict.answer, verdict.correct)


def test_a_memory_in_a_bundle_says_where_it_came_from(small_run: Run) -> None:
    plans = [event for event in LogReader(small_run.log_path).of(QuestionPlanned) if event.memories]
    report = show(small_run, plans[-1].question_id, iteration=plans[-1].iteration, data_dir=None)
    assert report.bundle[0].origin.startswith("iter-")
    assert report.bundle[0].question in report.prompt


def test_a_question_that_took_several_calls_is_shown_call_by_call(course_run: Run) -> None:
    plan = next(
        r.event for r in LogReader(course_run.log_path).records({QuestionPlanned}) if r.event.routing_arm == "chain"
    )
    report = show(course_run, plan.question_id, iteration=plan.iteration, data_dir=None)
    calls = [move for move in report.moves if isinstance(move, CallReport)]
    places = [f"{plan.question_id}/{place}" for place in range(1, 1 + len(plan.chain))]
    assert [call.about for call in calls] == [*places, plan.question_id]
    assert report.prompt_verified and all(call.verified and call.reply for call in calls)
    assert (report.prompt, report.reply) == (calls[-1].prompt, calls[-1].reply)
    for call in calls:
        quotes = [call.prompt[s.offset : s.offset + s.length] for s in call.sources]
        assert all(line.startswith("> ") for quote in quotes for line in quote.splitlines())
    assert {s.source for s in calls[-1].sources} >= {f"call/{place}" for place in places}


def test_a_run_of_a_tool_is_shown_with_arguments_and_result(course_run: Run) -> None:
    record = next(LogReader(course_run.log_path).records({ToolRan}))
    report = show(course_run, record.event.question_id, iteration=record.iteration, data_dir=None)
    first, ran, last = report.moves
    assert isinstance(first, CallReport) and isinstance(ran, ToolReport) and isinstance(last, CallReport)
    assert (ran.tool_id, ran.arguments) == (record.event.tool_id, record.event.arguments)
    assert (ran.result, ran.problem) == (record.event.result, record.event.problem)
    assert report.prompt_verified and ran.name in first.prompt and ran.arguments in last.prompt


def test_a_call_whose_prompt_renders_differently_now_is_shown_as_it_was_sent(
    course_run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = next(
        r.event for r in LogReader(course_run.log_path).records({QuestionPlanned}) if r.event.routing_arm == "chain"
    )
    before = show(course_run, plan.question_id, iteration=plan.iteration, data_dir=None)
    monkeypatch.setattr("mage_es.engine.rules.routes.AFTER_STEPS", "answer_cot")
    report = show(course_run, plan.question_id, iteration=plan.iteration, data_dir=None)
    assert report == before and report.prompt_verified


def test_a_question_of_an_exam_is_shown_too(small_run: Run) -> None:
    exam = examine(small_run, at="iter-0", questions=3, control="none", data_dir=None, runtime=Runtime(workers=1))
    report = show(small_run, exam.answers[0][0], iteration=None, data_dir=None)
    assert report.prompt_verified
    assert report.purpose == "exam"


def test_a_question_that_was_never_asked_lists_one_that_was(small_run: Run) -> None:
    with pytest.raises(UsageError, match=r"'nonsense' was not asked in small\..*wordmath-"):
        show(small_run, "nonsense", iteration=None, data_dir=None)


def test_a_question_not_asked_in_that_iteration_says_so(small_run: Run) -> None:
    asked = next(LogReader(small_run.log_path).of(QuestionPlanned)).question_id
    with pytest.raises(UsageError, match=r"was not asked in iteration 77 in small, but in: start/snapshot, iter-0/"):
        show(small_run, asked, iteration=77, data_dir=None)
