"""The verb `export_inspect`: the exams of a run as logs of Inspect (inspect_ai), one `.eval` for each.

Rules
    - Log, samples and metrics are Inspect's own classes, and its own `write_eval_log` writes them.
    - A sample is a question. Its messages are the last conversation with the answering model. Its transcript and its
      usage include every call, the judge's too, and its metadata has the ids of the memories shown.
    - Each log is a separate task: if two logs belong to one task, Inspect takes the earlier for a failed attempt and
      hides it.
    - The score `correct` is C or I, or N if there is no answer. An undecided answer is unscored and enters no metric.
      Graded scores, such as F1, are in `score`. If an exam was scored again, the later verdicts are exported.
    - The target is the gold answer, unless this copy of the run lacks it.
    - No text of a subject is exported, even if the keys are there: erasing the subject would not reach the export. The
      sample says so, and keeps the verdict.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from mage_es import __version__
from mage_es.engine.askings.requests import Requests
from mage_es.engine.benchmarks.evals import require_inspect
from mage_es.engine.exports.event_files import new_folder
from mage_es.engine.exports.hf_card import named
from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.run.exams import ExamRecord, RecordedExam, exam_records, read_exam
from mage_es.engine.run.questions import stored_questions
from mage_es.engine.run.world import baseline_of, first_event
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.model import chat_of
from mage_es.engine.verbs.decorators import in_thread, typed
from mage_es.events import vocabulary as v
from mage_es.events.digests import sha256_text
from mage_es.events.errors import UsageError
from mage_es.events.facts.private import quotes_erased
from mage_es.events.log import LogReader

if TYPE_CHECKING:  # the extra need not be installed
    from inspect_ai.event import ModelEvent
    from inspect_ai.log import EvalLog, EvalSample, EvalScore
    from inspect_ai.model import ModelOutput, ModelUsage
    from inspect_ai.scorer import Score

WITHHELD = "(The text of a subject, which no export has.)"
_READ: frozenset[type[v.Event]] = frozenset({
    *(v.QuestionPlanned, v.ModelCalled, v.BundleTrimmed, v.AnswerJudged, v.AnswerUnanswered, v.AnswerUndecided),
})  # fmt: skip
_STOPPED: Mapping[str, Any] = {"end": "stop", "length": "max_tokens", "loop": "max_tokens", "refused": "content_filter"}


class InspectLog(msgspec.Struct, frozen=True, kw_only=True):
    """An exam's log: how many samples it has, how many were decided, and how many of those were right."""

    exam: str
    file: str
    samples: int
    correct: int
    decided: int


class InspectReport(msgspec.Struct, frozen=True, kw_only=True):
    """The logs of the exams that a run finished by event `until`, in the folder `to`."""

    run: str
    to: str
    until: int
    logs: tuple[InspectLog, ...]


class _Asked(NamedTuple):
    """A question of an exam, and what followed from its plan."""

    plan: v.QuestionPlanned
    begin_us: int
    facts: list[tuple[int, v.Event]]


class _Exam(NamedTuple):
    """An exam, its log as recorded (subjects' texts stay encrypted), and what is known about its questions."""

    run: Run
    started: Any
    record: ExamRecord | None
    log: LogReader
    found: RecordedExam
    questions: Mapping[str, Question]
    requests: Requests

    @property
    def name(self) -> str:
        return self.found.name or self.run.id


@typed
def export_inspect(run: Run | Path | str, to: Path, *, until: str = "latest") -> InspectReport:
    """Export the finished exams of a run, or a baseline, as logs of Inspect, into a folder, which is created.

    Raises:
        UsageError: The folder is not empty, the run had no finished exam by then, or there is no such marker.
        PrerequisiteError: The extra `inspect` is missing.
        LogDamaged: A log fails its checksums.
    """
    require_inspect()
    from inspect_ai.log import write_eval_log

    found = as_run(run)
    reader = LogReader(found.log_path, opened=False)
    end = reader.resolve(until)
    exams = list(_exams(found, reader, end))
    if not exams:
        raise UsageError(f"{found.id} has no finished exam by event {end}: `mage-es exam {found.id}` makes one.")
    logs = list[InspectLog]()
    with new_folder(to):
        for exam in exams:
            log, file = _log_of(exam), f"{exam.name}.eval"
            write_eval_log(log, to / file)
            right, count = exam.found.answers["correct"], len(log.samples or ())
            logs.append(
                InspectLog(exam=exam.name, file=file, samples=count, correct=int(right.sum()), decided=len(right))
            )
    return InspectReport(run=found.id, to=str(to), until=end, logs=tuple(logs))


aexport_inspect = in_thread(export_inspect)


def _exams(run: Run, reader: LogReader, until: int) -> Iterator[_Exam]:
    started = first_event(reader)
    questions = {question.id: question for question in stored_questions(reader, started.benchmark)[0]}
    if baseline_of(reader):
        if (found := read_exam(reader)).closed:
            yield _Exam(run, started, None, reader, found, questions, Requests(reader))
        return
    for record in exam_records(reader):
        if record.closed and record.seq <= until and record.is_there(run):
            log = record.log(run, opened=False)
            requests = Requests(log, run=reader, head_seq=record.opened.head_seq)
            yield _Exam(run, started, record, log, read_exam(log, record), questions, requests)


def _asked(log: LogReader) -> list[_Asked]:
    """Return the questions of an exam in the order of their plans."""
    asked = dict[int, _Asked]()
    for record in log.records(_READ):
        if isinstance(record.event, v.QuestionPlanned):
            if record.event.purpose == "exam":
                asked[record.seq] = _Asked(record.event, record.ts_us, [])
        elif record.causation in asked:
            asked[record.causation].facts.append((record.ts_us, record.event))
    return [each for each in asked.values() if each.facts]


def _log_of(exam: _Exam) -> EvalLog:
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalResults, EvalSpec, EvalStats

    answers = exam.found.answers
    verdicts = {row["question_id"]: row for row in answers.iter_rows(named=True)}
    undecided = {row["question_id"]: str(row["problem"]) for row in exam.found.undecided.iter_rows(named=True)}
    is_graded = bool((answers["score"] != answers["correct"].cast(float)).any())
    asked = _asked(exam.log)
    samples = [_sample(exam, each, verdicts, undecided, is_graded=is_graded) for each in asked]
    times = [at for each in asked for at in (each.begin_us, *(us for us, _ in each.facts))]
    opened = exam.record.opened if exam.record else None
    said = {name: getattr(opened, name) for name in ("marker", "control", "judge", "head_seq")} if opened else {}
    benchmark = named(exam.started.benchmark)
    names = [model for sample in samples for model in sample.model_usage]
    return EvalLog(
        status="success",
        eval=EvalSpec(
            created=_moment(min(times)),
            run_id=_name("run", exam.started.run_id),
            eval_id=_name("exam", exam.log.log_id),
            task_id=_name("task", exam.log.log_id),
            task=benchmark,
            tags=[exam.name],
            dataset=EvalDataset(name=benchmark, samples=len(samples), sample_ids=[each.id for each in samples]),
            model=named((opened.execution if opened else "") or next(iter(names), "none")),
            config=EvalConfig(epochs=1),
            packages={"mage-es": __version__},
            metadata={"run": exam.run.id, "exam": exam.name, **said},
        ),
        samples=samples,
        results=EvalResults(
            total_samples=len(samples),
            completed_samples=len(samples),
            scores=[_measured(name, samples) for name in ("correct", *(("score",) if is_graded else ()))],
        ),
        stats=EvalStats(
            started_at=_moment(min(times)),
            completed_at=_moment(max(times)),
            model_usage=_added(used for sample in samples for used in sample.model_usage.items()),
        ),
    )


def _sample(
    exam: _Exam,
    asked: _Asked,
    verdicts: Mapping[str, Mapping[str, Any]],
    undecided: Mapping[str, str],
    *,
    is_graded: bool,
) -> EvalSample:
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ModelOutput

    plan, facts = asked.plan, [fact for _, fact in asked.facts]
    question, name = exam.questions[plan.question_id], plan.question_id
    calls = [fact for fact in facts if isinstance(fact, v.ModelCalled)]
    answering = [call for call in calls if call.tier == "execution"]
    trimmed = {fact.memory_id for fact in facts if isinstance(fact, v.BundleTrimmed)}
    answer = next((fact.answer for fact in facts if isinstance(fact, v.AnswerJudged | v.AnswerUndecided)), "")
    texts = (question.question, question.context, question.gold, answer)
    is_withheld = bool(question.subject) or any(map(quotes_erased, texts))
    chat = [] if is_withheld else _chat(answering[-1:], exam.requests)
    output = ModelOutput(model=named(answering[-1].model)) if answering else ModelOutput()
    if answering and chat:
        output = _output(answering[-1], f"{name}/reply")
    end_us = max(us for us, _ in asked.facts)
    shown = [*(each.memory_id for each in plan.memories), *plan.principles, *plan.action_recipes]
    return EvalSample(
        id=name,
        epoch=1,
        uuid=_name("sample", f"{exam.log.log_id}/{name}"),
        input=WITHHELD if is_withheld else "\n\n".join(filter(None, (question.context, question.question))),
        target="" if is_withheld else question.gold,
        messages=[*_messages(name, chat), *(choice.message for choice in output.choices)],
        output=output,
        scores=_scores(
            verdicts.get(name),
            "" if is_withheld else answer,
            undecided.get(name, ""),
            is_unanswered=any(isinstance(fact, v.AnswerUnanswered) for fact in facts),
            is_graded=is_graded,
        ),
        metadata={
            "task_type": plan.task_type,
            "skill": plan.skill,
            "route": plan.routing_arm,
            "search_arm": plan.search_arm,
            "memories": [each for each in shown if each not in trimmed],
            **({"tool": plan.tool_id} if plan.tool_id else {}),
            "calls": len(calls),
        },
        events=[] if is_withheld else [*_events(name, asked, exam.requests)],
        model_usage=_added((named(call.model), _usage(call)) for call in calls),
        started_at=_moment(asked.begin_us),
        completed_at=_moment(end_us),
        total_time=(end_us - asked.begin_us) / 1e6,
        working_time=sum(call.latency_us for call in calls) / 1e6,
    )


def _output(call: v.ModelCalled, name: str) -> ModelOutput:
    from inspect_ai.model import ModelOutput

    stop = _STOPPED.get(call.stop_reason, "unknown")
    output = ModelOutput.from_content(named(call.model), call.text, stop_reason=stop)
    output.choices[0].message.id = name
    output.usage = _usage(call)
    return output


def _events(name: str, asked: _Asked, requests: Requests) -> Iterator[ModelEvent]:
    """Yield every call of a question that may be exported, as the transcript has it."""
    from inspect_ai.event import ModelEvent
    from inspect_ai.model import GenerateConfig

    worked_us = 0
    for place, (us, call) in enumerate(asked.facts):
        if isinstance(call, v.ModelCalled):
            if chat := _chat([call], requests):
                yield ModelEvent(
                    uuid=_name("call", f"{name}/{place}/{us}"),
                    span_id="",
                    timestamp=_at(us - call.latency_us),
                    completed=_at(us),
                    working_start=worked_us / 1e6,
                    working_time=call.latency_us / 1e6,
                    model=named(call.model),
                    role="grader" if call.tier == "judge" else None,
                    input=_messages(f"{name}/{place}", chat),
                    tools=[],
                    tool_choice="none",
                    config=GenerateConfig(),
                    output=_output(call, f"{name}/{place}/reply"),
                )
            worked_us += call.latency_us


def _chat(calls: Sequence[v.ModelCalled], requests: Requests) -> list[dict[str, str]]:
    """Return the messages that were sent with a call, or none if one of them or the reply must not be exported."""
    for call in calls:
        request = requests.request(call.sent)
        if request and not any(map(quotes_erased, (request.text, call.text))):
            return chat_of(request, joined=False)
    return []


def _messages(name: str, chat: Sequence[Mapping[str, str]]) -> list[Any]:
    from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

    kinds = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}
    return [
        kinds[said["role"]](id=f"{name}/{place}", content=said["content"]) for place, said in enumerate(chat, start=1)
    ]


def _scores(
    verdict: Mapping[str, Any] | None, answer: str, why: str, *, is_unanswered: bool, is_graded: bool
) -> dict[str, Score]:
    """Return the scores of a question: those of its verdict or, without one, why it is undecided."""
    from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, Score

    said = _clear(str(verdict["problem"]) if verdict else why)
    if verdict is None:
        unscored = Score.unscored(answer=answer or None, explanation=said)
        return {"correct": unscored, **({"score": unscored} if is_graded else {})}
    value = CORRECT if verdict["correct"] else NOANSWER if is_unanswered else INCORRECT
    by = {"strict": bool(verdict["strict"]), "judge": named(str(verdict["judge"]))}
    found = {"correct": Score(value=value, answer=answer or None, explanation=said, metadata=by)}
    if is_graded:
        found["score"] = Score(value=float(verdict["score"]), answer=answer or None)
    return found


def _clear(text: str) -> str | None:
    """Return a text if it is not blank and quotes no subject."""
    return text if text and not quotes_erased(text) else None


def _measured(name: str, samples: Sequence[EvalSample]) -> EvalScore:
    """Return the metrics of a score, as Inspect's own functions compute them."""
    from inspect_ai.log import EvalMetric, EvalScore
    from inspect_ai.scorer import SampleScore, accuracy, mean, stderr

    scores = [(each.scores or {})[name] for each in samples]
    decided = [
        SampleScore(score=score, sample_id=each.id)
        for each, score in zip(samples, scores, strict=True)
        if score.value == score.value  # an undecided one is NaN
    ]
    if name == "correct":
        metrics = {"accuracy": accuracy()(decided), "stderr": stderr()(decided)}
    else:
        metrics = {"mean": mean()(decided), "stderr": stderr()(decided)}
    return EvalScore(
        name=name,
        scorer=name,
        scored_samples=len(decided),
        unscored_samples=len(scores) - len(decided),
        metrics={metric: EvalMetric(name=metric, value=value) for metric, value in metrics.items()},
    )


def _usage(call: v.ModelCalled) -> ModelUsage:
    from inspect_ai.model import ModelUsage

    return ModelUsage(
        input_tokens=call.input_tokens - call.cached_tokens - call.cache_write_tokens,
        output_tokens=call.output_tokens,
        total_tokens=call.input_tokens + call.output_tokens,
        input_tokens_cache_read=call.cached_tokens,
        input_tokens_cache_write=call.cache_write_tokens,
        reasoning_tokens=call.thinking_tokens,
    )


def _added(used: Iterable[tuple[str, ModelUsage]]) -> dict[str, ModelUsage]:
    """Return the usage of each model, added up."""
    found: dict[str, ModelUsage] = {}
    for model, usage in used:
        found[model] = found[model] + usage if model in found else usage
    return found


def _at(us: int) -> datetime:
    return datetime.fromtimestamp(us / 1e6, UTC)


def _moment(us: int) -> str:
    return _at(us).isoformat(timespec="milliseconds")


def _name(*of: str) -> str:
    """Return an id as long as Inspect's own, the same each time for the same log."""
    return sha256_text("\x00".join(of))[:22]
