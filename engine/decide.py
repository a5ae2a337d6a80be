"""`decide(setting, state, command) -> drafts`: the one place where domain events come from.

Pure: the same setting, state and command give the same events. Whatever a model, a clock or a file had to say
is in the command already.
"""

from __future__ import annotations

from typing import assert_never

from mage_es.engine.agents.critic import record_verdict
from mage_es.engine.agents.curator import learn
from mage_es.engine.agents.explorer import learn_from_episodes
from mage_es.engine.agents.learner import plan_answers
from mage_es.engine.agents.navigator import plan
from mage_es.engine.commands import (
    Call,
    CloseIteration,
    Command,
    CompletePhase,
    Curate,
    Evolve,
    FinishRun,
    InduceOntology,
    LearnFromAnswers,
    LearnFromEpisodes,
    OpenRun,
    PlanAnswers,
    PlanIteration,
    RecordAct,
    RecordBatch,
    RecordCall,
    RecordEmbedding,
    RecordFailure,
    RecordSearch,
    RecordToolRun,
    RecordTrimming,
    RecordUnanswered,
    RecordVerdict,
    TakeSnapshot,
)
from mage_es.engine.rules.authoring import evolve
from mage_es.engine.rules.leaks import without_leaks
from mage_es.engine.rules.ontology import induce_ontology
from mage_es.engine.rules.quarantine import curate
from mage_es.engine.rules.snapshot import take_snapshot
from mage_es.engine.setting import Setting
from mage_es.events.envelope import Draft
from mage_es.events.vocabulary import (
    AnswerUnanswered,
    BatchedCall,
    BatchSubmitted,
    BundleTrimmed,
    CallFailed,
    EmbeddingCalled,
    EpisodeStepped,
    Event,
    IterationClosed,
    ModelCalled,
    Phase,
    PhaseCompleted,
    ReplyRejected,
    RunFinished,
    SearchAnswered,
    ToolRan,
)
from mage_es.projections.fold import State


def decide(setting: Setting, state: State, command: Command) -> list[Draft]:
    """Return the events that a command leads to on this state; what would leak is refused, whoever wrote it."""
    return without_leaks(setting.guarded, _decided(setting, state, command))


def _decided(setting: Setting, state: State, command: Command) -> list[Draft]:
    match command:
        case OpenRun():
            return [Draft(event=event, iteration=-1, phase="open") for event in (command.started, *command.splits)]
        case InduceOntology():
            return induce_ontology(setting, state, command)
        case PlanIteration():
            return [*plan(setting, state, command), *_completed(command.iteration, "plan")]
        case PlanAnswers():
            return plan_answers(setting, state, command)
        case RecordCall():
            return _record_call(command)
        case RecordFailure():
            return _record_failure(state, command)
        case RecordBatch():
            return _record_batch(state, command)
        case RecordEmbedding():
            return _record_embedding(state, command)
        case RecordTrimming():
            return _record_trimming(state, command)
        case RecordToolRun():
            return _record_tool_run(command)
        case RecordSearch():
            return _record_search(command)
        case RecordAct():
            return _record_act(command)
        case RecordVerdict():
            return record_verdict(setting, state, command)
        case RecordUnanswered():
            return _record_unanswered(command)
        case CompletePhase():
            return _completed(command.iteration, command.phase)
        case LearnFromEpisodes():
            return learn_from_episodes(setting, state, command)
        case LearnFromAnswers():
            return learn(setting, state, command)
        case Evolve():
            return evolve(setting, state, command)
        case TakeSnapshot():
            return take_snapshot(setting, state, command)
        case Curate():
            return curate(state, command)
        case CloseIteration():
            closed = IterationClosed(iteration=command.iteration, digests=tuple(command.digests))
            return [Draft(event=closed, iteration=command.iteration, phase="close")]
        case FinishRun():
            last = setting.config.iterations
            return [Draft(event=RunFinished(iterations=last), iteration=last - 1, phase="close")]
        case _:
            assert_never(command)


def _completed(iteration: int, phase: Phase) -> list[Draft]:
    return [Draft(event=PhaseCompleted(iteration=iteration, phase=phase), iteration=iteration, phase=phase)]


def _record_call(command: RecordCall) -> list[Draft]:
    call, completion = command.call, command.completion
    called = ModelCalled(
        iteration=call.iteration,
        tier=call.tier,
        agent=call.agent,
        purpose=call.purpose,
        about=call.about,
        attempt=call.attempt,
        request_sha256=call.request_sha256,
        model=call.model,
        text=completion.text,
        stop_reason=completion.stop_reason,
        input_tokens=completion.input_tokens,
        output_tokens=completion.output_tokens,
        cached_tokens=completion.cached_tokens,
        thinking_tokens=completion.thinking_tokens,
        latency_us=command.latency_us,
        provider_id=completion.provider_id,
        cache_write_tokens=completion.cache_write_tokens,
        batched=completion.batched,
        served_by=completion.served_by,
    )
    if not command.problem:
        return [_of_call(call, called)]
    rejected = ReplyRejected(
        iteration=call.iteration,
        tier=call.tier,
        agent=call.agent,
        purpose=call.purpose,
        about=call.about,
        attempt=call.attempt,
        problem=command.problem,
    )
    return [_of_call(call, called), _of_call(call, rejected)]


def _record_failure(state: State, command: RecordFailure) -> list[Draft]:
    call, (fault, latency_us, is_lost) = command.call, command.failed
    # Counted over every process that worked on the run, so that the failures of each are facts of their own.
    before = state.progress.failures(call.tier, call.purpose, call.about, call.attempt)
    failed = CallFailed(
        iteration=call.iteration,
        tier=call.tier,
        agent=call.agent,
        purpose=call.purpose,
        about=call.about,
        attempt=call.attempt,
        tries=before + 1,
        request_sha256=call.request_sha256,
        model=call.model,
        fault=fault.kind,
        status=fault.status,
        problem=fault.message,
        final=is_lost,
        latency_us=latency_us,
    )
    return [_of_call(call, failed, ordinal=before)]


def _record_trimming(state: State, command: RecordTrimming) -> list[Draft]:
    """Return what was left out, which the course is told, and the attempt that failed, which another one follows."""
    call, planned = command.call, command.planned
    trimmed = BundleTrimmed(
        iteration=planned.iteration,
        purpose=planned.purpose,
        question_id=planned.question_id,
        about=call.about,
        request_sha256=call.request_sha256,
        memory_id=command.memory_id,
        problem=command.failed.fault.message,
    )
    before = len(state.progress.trimmings(call.phase, planned.question_id))
    failed = RecordFailure(call, command.failed._replace(is_lost=False))
    return [_of_call(call, trimmed, ordinal=before), *_record_failure(state, failed)]


def _record_batch(state: State, command: RecordBatch) -> list[Draft]:
    first = next(iter(command.calls.values()))
    calls = tuple(
        BatchedCall(
            custom_id=name,
            purpose=call.purpose,
            about=call.about,
            attempt=call.attempt,
            request_sha256=call.request_sha256,
            tries=state.progress.failures(call.tier, call.purpose, call.about, call.attempt),
        )
        for name, call in command.calls.items()
    )
    submitted = BatchSubmitted(
        iteration=first.iteration, tier=first.tier, model=command.model, batch_id=command.batch_id, calls=calls
    )
    return [Draft(event=submitted, iteration=first.iteration, phase=first.phase)]


def _record_embedding(state: State, command: RecordEmbedding) -> list[Draft]:
    """Number the calls of the embedder by those that the log has, so that each process goes on where one stopped."""
    attempt, number = command.attempt, state.ledger.total("embedder").calls + 1
    call = Call(
        iteration=command.iteration,
        phase=command.phase,
        tier="embedder",
        agent="",
        purpose=attempt.purpose,
        about=f"embedding/{number}",
        attempt=0,
        request_sha256=attempt.request_sha256,
        model=command.model,
    )
    if attempt.failed:
        return _record_failure(state, RecordFailure(call, attempt.failed))
    called = EmbeddingCalled(
        iteration=call.iteration,
        purpose=call.purpose,
        number=number,
        texts=attempt.texts,
        tries=state.progress.failures(call.tier, call.purpose, call.about, call.attempt),
        request_sha256=call.request_sha256,
        model=call.model,
        input_tokens=attempt.input_tokens,
        latency_us=attempt.latency_us,
    )
    return [_of_call(call, called)]


def _of_call(call: Call, event: Event, *, ordinal: int = 0) -> Draft:
    return Draft(
        event=event,
        iteration=call.iteration,
        phase=call.phase,
        ordinal=ordinal,
        causation=call.causation,
        correlation=call.about,
    )


def _of_question(command: RecordToolRun | RecordSearch | RecordUnanswered, event: Event, *, ordinal: int = 0) -> Draft:
    planned = command.planned
    return Draft(
        event=event,
        iteration=planned.iteration,
        phase=command.phase,
        ordinal=ordinal,
        causation=command.causation,
        correlation=planned.question_id,
    )


def _record_tool_run(command: RecordToolRun) -> list[Draft]:
    planned = command.planned
    ran = ToolRan(
        iteration=planned.iteration,
        purpose=planned.purpose,
        question_id=planned.question_id,
        tool_id=command.tool_id,
        arguments=command.arguments,
        result=command.result,
        problem=command.problem,
    )
    return [_of_question(command, ran)]


def _record_search(command: RecordSearch) -> list[Draft]:
    planned, look = command.planned, command.look
    answered = SearchAnswered(
        iteration=planned.iteration,
        purpose=planned.purpose,
        question_id=planned.question_id,
        place=look.place,
        search=command.search,
        wanted="passages" if look.passages else "page",
        query=look.query,
        titles=tuple(page.title for page in command.pages) or tuple(command.similar),
        texts=tuple(page.text for page in command.pages),
    )
    return [_of_question(command, answered, ordinal=look.place)]


def _record_unanswered(command: RecordUnanswered) -> list[Draft]:
    planned = command.planned
    unanswered = AnswerUnanswered(
        iteration=planned.iteration,
        purpose=planned.purpose,
        question_id=planned.question_id,
        task_type=planned.task_type,
        skill=planned.skill,
        problem=command.problem,
    )
    return [_of_question(command, unanswered)]


def _record_act(command: RecordAct) -> list[Draft]:
    fact = command.fact
    draft = Draft(
        event=fact,
        iteration=fact.iteration,
        phase=command.phase,
        ordinal=fact.step if isinstance(fact, EpisodeStepped) else 0,
        causation=command.causation,
        correlation=fact.episode_id,
    )
    return [draft]
