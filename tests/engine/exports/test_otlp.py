"""A run as OpenTelemetry has it: what its log counts, in files and at a collector, and no text unless asked for."""

from collections import Counter
from pathlib import Path

import pytest

from mage_es.engine.exports.otlp import OtlpReport, export_otlp
from mage_es.engine.run.directory import Run
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.resume import resume
from mage_es.events.errors import PrerequisiteError, UsageError
from mage_es.events.facts.private import texts_in
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, MemoryAppended, ModelCalled, QuestionPlanned
from tests.engine.exports.receiver import Received, read_files, receiving, said
from tests.engine.pears import CANARIES, Echo, in_clear, models_with, stopped

LONGEST_NAME = 24
"""Characters of the longest text that may be a name of the run's own: what is longer is a text."""


@pytest.fixture(scope="module")
def run(small_run: Run) -> Run:
    """A run with an exam. Shared: only read it."""
    examine(small_run, questions=6)
    return small_run


@pytest.fixture(scope="module")
def exported(run: Run, tmp_path_factory: pytest.TempPathFactory) -> tuple[OtlpReport, Received]:
    folder = tmp_path_factory.mktemp("otlp") / "out"
    return export_otlp(run, folder), read_files(folder)


def logs_of(run: Run) -> list[LogReader]:
    return [LogReader(each.log_path) for each in (run, *run.exams())]


def test_files_hold_what_the_logs_of_the_run_and_its_exams_count(
    run: Run, exported: tuple[OtlpReport, Received]
) -> None:
    report, found = exported
    calls = [call for log in logs_of(run) for call in log.of(ModelCalled)]
    judged = [verdict for log in logs_of(run) for verdict in log.of(AnswerJudged)]
    assert (report.spans, report.verdicts, report.exams) == (len(found.spans), len(found.logs), 1)
    assert len(found.named("chat ")) == len(calls) and len(found.logs) == len(judged)
    assert len(found.named("invoke_agent ")) == len(judged)
    for field in ("input_tokens", "output_tokens"):
        tokens = sum(said(span)[f"gen_ai.usage.{field}"] for span in found.named("chat "))
        assert tokens == sum(getattr(call, field) for call in calls)
    right = Counter(said(each)["gen_ai.evaluation.score.label"] for each in found.logs)
    assert right == Counter("correct" if each.correct else "incorrect" for each in judged)
    assert {each.event_name for each in found.logs} == {"gen_ai.evaluation.result"}


def test_searches_hold_the_memories_of_the_plans_that_were_asked(
    run: Run, exported: tuple[OtlpReport, Received]
) -> None:
    plans = {(plan.question_id, plan.purpose): plan for log in logs_of(run) for plan in log.of(QuestionPlanned)}
    _, found = exported
    spans = {span.span_id: span for span in found.spans}
    shown = [
        (said(spans[span.parent_span_id]), said(span)["gen_ai.memory.records"]) for span in found.named("search_memory")
    ]
    assert any(records for _, records in shown)
    exam = [(about, records) for about, records in shown if about["mage_es.purpose"] == "exam"]
    for about, records in exam:
        plan = plans[about["mage_es.question.id"], "exam"]
        scores = [(each.memory_id, each.similarity) for each in plan.memories]
        assert [(each["id"], each["score"]) for each in records if "score" in each] == scores
    assert len(exam) == 6


def test_tools_of_openinference_find_kinds_and_what_a_search_found(
    run: Run, exported: tuple[OtlpReport, Received], tmp_path: Path
) -> None:
    _, bare = exported
    kinds = {"invoke_agent ": "AGENT", "invoke_workflow ": "CHAIN", "search_memory": "RETRIEVER"}
    for name, kind in kinds.items():
        assert {said(span)["openinference.span.kind"] for span in bare.named(name)} == {kind}
    assert not [span for span in bare.named("chat ") if "openinference.span.kind" in said(span)]
    export_otlp(run, tmp_path / "full", texts=True)
    for found, has_texts in ((bare, False), (read_files(tmp_path / "full"), True)):
        searches = [said(span) for span in found.named("search_memory")]
        assert any(each["gen_ai.memory.records"] for each in searches)
        for each in searches:
            for place, record in enumerate(each["gen_ai.memory.records"]):
                begins = f"retrieval.documents.{place}.document"
                assert (each[f"{begins}.id"], each.get(f"{begins}.score")) == (record["id"], record.get("score"))
                assert (f"{begins}.content" in each) == has_texts == bool(record["content"])
            assert ("gen_ai.memory.query.text" in each) == has_texts


@pytest.mark.slow
def test_without_texts_none_is_exported_and_with_texts_prompts_replies_and_memories_are(
    run: Run, exported: tuple[OtlpReport, Received], tmp_path: Path
) -> None:
    def is_text(text: str) -> bool:
        return len(text) > LONGEST_NAME and " " in text

    texts = {text for log in logs_of(run) for record in log.records() for text in texts_in(record.event)}
    questions, golds = LogReader(run.log_path).questions()
    texts |= {text for each in (*questions, *(golds or ())) for text in texts_in(each)}
    texts = set(filter(is_text, texts))
    bare, full = b"\n".join(exported[1].bodies).decode(), tmp_path / "full"
    assert len(texts) > 500 and not [text for text in texts if text in bare]

    export_otlp(run, full, texts=True)
    with_texts = read_files(full)
    messages = [said(span) for span in with_texts.named("chat ")]
    replies = Counter(each["gen_ai.output.messages"][0]["parts"][0]["content"] for each in messages)
    assert replies == Counter(call.text for log in logs_of(run) for call in log.of(ModelCalled))
    assert all(each["gen_ai.input.messages"][0]["role"] == "user" for each in messages)
    questions = {each.id: each.question for each in LogReader(run.log_path).questions()[0]}
    judged = {(each.question_id, each.answer) for log in logs_of(run) for each in log.of(AnswerJudged)}
    asked = [said(span) for span in with_texts.named("invoke_agent ")]
    assert {(each["mage_es.question.id"], each["output.value"]) for each in asked if "output.value" in each} == {
        (question, answer) for question, answer in judged if answer
    }
    for each in asked:
        assert each["input.value"] == questions[each["mage_es.question.id"]]
        assert each["gen_ai.input.messages"][0]["parts"][0]["content"] == each["input.value"]
    known = {each.memory_id: each for each in LogReader(run.log_path).of(MemoryAppended)}
    records = [each for span in with_texts.named("search_memory") for each in said(span)["gen_ai.memory.records"]]
    assert records and all(each["content"].get("answer", "") == known[each["id"]].answer for each in records)
    assert {each["content"].get("question", "") for each in records} == {known[each["id"]].question for each in records}


@pytest.mark.slow
def test_the_same_run_gives_the_same_bytes_and_until_a_marker_only_what_there_was(run: Run, tmp_path: Path) -> None:
    for name in ("one", "two"):
        export_otlp(run, tmp_path / name)
    for file in ("traces.jsonl", "logs.jsonl"):
        assert (tmp_path / "one" / file).read_bytes() == (tmp_path / "two" / file).read_bytes()
    export_otlp(run, tmp_path / "start", until="start")
    earlier, whole = read_files(tmp_path / "start").spans, read_files(tmp_path / "one").spans
    assert {each.span_id for each in earlier} < {each.span_id for each in whole}


def test_the_standard_variables_name_what_the_data_is_of(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "openinference.project.name=wordmath")
    export_otlp(run, tmp_path / "out", until="start")
    [resource] = {
        str(each.resource) for m in read_files(tmp_path / "out").messages["traces"] for each in m.resource_spans
    }
    assert all(name in resource for name in ("openinference.project.name", "wordmath", "mage_es.run", "mage-es"))


def test_a_collector_receives_what_files_would_hold(run: Run, exported: tuple[OtlpReport, Received]) -> None:
    with receiving() as received:
        report = export_otlp(run, endpoint=received.url)
    assert report.to == received.url
    assert received.spans == exported[1].spans and received.logs == exported[1].logs


def test_a_tool_that_knows_traces_only_gets_them_and_the_report_names_the_rest(run: Run) -> None:
    with receiving(only="traces") as received:
        report = export_otlp(run, endpoint=received.url)
    assert not report.takes_verdicts and len(received.spans) == report.spans
    assert len(received.messages["logs"]) == 1


def test_a_collector_that_refuses_or_is_away_is_an_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mage_es.engine.exports.otel.otlp.EXPORT_S", 1.0)
    with receiving(status=400) as received, pytest.raises(PrerequisiteError, match="did not accept the data"):
        export_otlp(run, endpoint=received.url)
    with pytest.raises(PrerequisiteError, match="speaks OTLP over HTTP"):
        export_otlp(run, endpoint=received.url)


def test_what_is_refused(run: Run, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="either a folder"):
        export_otlp(run)
    with pytest.raises(UsageError, match="either a folder"):
        export_otlp(run, tmp_path / "out", endpoint="http://localhost:4318")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").write_text("precious")
    with pytest.raises(UsageError, match="not an empty folder"):
        export_otlp(run, tmp_path / "full")


@pytest.mark.slow
def test_no_word_of_a_subject_is_exported_whoever_has_the_keys(tmp_path: Path) -> None:
    echo = Echo()
    run = stopped(tmp_path / "runs", echo)
    resume(run, models=models_with(echo))
    examine(run, execution=echo)
    export_otlp(run, tmp_path / "out", texts=True)
    assert not in_clear(tmp_path / "out") and b"sealed:" not in (tmp_path / "out" / "traces.jsonl").read_bytes()
    found = read_files(tmp_path / "out")
    assert any("gen_ai.input.messages" in said(span) for span in found.named("chat "))
    replies = [call.text for call in LogReader(run.log_path).of(ModelCalled)]
    assert any(canary in reply for canary in CANARIES.values() for reply in replies)
