"""`decide(setting, state, command) -> drafts`: the only source of what a run learns.

Verbs append the events that the loop does not decide: a run was started or resumed, an exam, a baseline, an erasure, a
served request.

The function is pure: the same setting, state and command give the same events. The command holds everything that comes
from a model, a clock or a file. An agent or a rule, named below, decides most commands. Facts that the shell knows
completely (`RecordFacts`) only pass through, so that they are searched for leaks as well.
"""

from typing import Any, assert_never

import msgspec

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
    RecordBatch,
    RecordCall,
    RecordEmbedding,
    RecordFacts,
    RecordFailure,
    RecordTrimming,
    TakeSnapshot,
    shared,
)
from mage_es.engine.rules.authoring import evolve
from mage_es.engine.rules.leaks import without_leaks
from mage_es.engine.rules.ontology import induce_ontology
from mage_es.engine.rules.phases import phase_drafts
from mage_es.engine.rules.quarantine import curate
from mage_es.engine.rules.setting import Setting
from mage_es.engine.rules.snapshot import take_snapshot
from mage_es.engine.rules.subjects import private
from mage_es.events import vocabulary as v
from mage_es.projections.fold import State
from mage_es.projections.progress import trial_of


def decide(setting: Setting, state: State, command: Command) -> list[v.Draft]:
    """Return the events that a command leads to in this state; anything that would leak is refused, no matter what
    wrote it."""
    drafts = without_leaks(setting.guarded, _decided(setting, state, command))
    return private(setting, state, command, drafts) if setting.subjects else drafts


def _decided(setting: Setting, state: State, command: Command) -> list[v.Draft]:
    match command:
        case OpenRun():
            begun = (command.started, *command.parent)
            committed = (*command.registered, *command.commitments, *command.budget)
            before, after = (
                [v.Draft(event=e, iteration=-1, phase="open") for e in each] for each in (begun, committed)
            )
            return [*before, *command.inherited, *after]
        case InduceOntology():
            return induce_ontology(setting, state, command)
        case PlanIteration():
            return plan(setting, state, command)
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
        case RecordFacts():
            return list(command.drafts)
        case CompletePhase():
            return phase_drafts(command.iteration, command.phase, ())
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
            closed = v.IterationClosed(iteration=command.iteration, digests=tuple(command.digests))
            return [v.Draft(event=closed, iteration=command.iteration, phase="close")]
        case FinishRun():
            last = state.progress.closed
            finished = v.RunFinished(iterations=last + 1 - setting.first)
            return [v.Draft(event=finished, iteration=last, phase="close")]
        case _:
            assert_never(command)


def _record_call(command: RecordCall) -> list[v.Draft]:
    call, completion = command.call, command.completion
    called = v.ModelCalled(
        **_about_call(call),
        request_sha256=call.request_sha256,
        model=call.model,
        latency_us=command.latency_us,
        sent=call.pieces.sent,
        **msgspec.structs.asdict(completion),
    )
    if not command.problem:
        return [_of_call(call, called)]
    rejected = v.ReplyRejected(**_about_call(call), problem=command.problem)
    return [_of_call(call, called), _of_call(call, rejected)]


def _record_failure(state: State, command: RecordFailure) -> list[v.Draft]:
    call, (fault, latency_us, is_lost, wait_s) = command.call, command.failed
    # Counted over all processes that worked on the run, so that each process's failures are separate facts.
    before = state.progress.failures(call.tier, call.purpose, call.about, call.attempt)
    failed = v.CallFailed(
        **_about_call(call),
        tries=before + 1,
        request_sha256=call.request_sha256,
        model=call.model,
        fault=fault.kind,
        status=fault.status,
        problem=fault.message,
        final=is_lost,
        latency_us=latency_us,
        wait_us=round(wait_s * 1e6),
        sent=call.pieces.sent,
    )
    return [_of_call(call, failed, ordinal=before)]


def _record_trimming(state: State, command: RecordTrimming) -> list[v.Draft]:
    call, planned = command.call, command.planned
    trimmed = v.BundleTrimmed(
        **shared(planned, v.BundleTrimmed),
        about=call.about,
        request_sha256=call.request_sha256,
        memory_id=command.memory_id,
        problem=command.failed.fault.message,
    )
    before = len(state.progress.trimmings(call.phase, planned.question_id, trial_of(planned)))
    failed = RecordFailure(call, command.failed._replace(is_lost=False))
    return [_of_call(call, trimmed, ordinal=before), *_record_failure(state, failed)]


def _record_batch(state: State, command: RecordBatch) -> list[v.Draft]:
    first = next(iter(command.calls.values()))
    calls = tuple(
        v.BatchedCall(
            custom_id=name,
            purpose=call.purpose,
            about=call.about,
            attempt=call.attempt,
            request_sha256=call.request_sha256,
            tries=state.progress.failures(call.tier, call.purpose, call.about, call.attempt),
        )
        for name, call in command.calls.items()
    )
    submitted = v.BatchSubmitted(
        iteration=first.iteration, tier=first.tier, model=command.model, batch_id=command.batch_id, calls=calls
    )
    return [v.Draft(event=submitted, iteration=first.iteration, phase=first.phase)]


def _record_embedding(state: State, command: RecordEmbedding) -> list[v.Draft]:
    """Number the embedder's calls from those in the log, so that each process continues where the last one stopped."""
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
    called = v.EmbeddingCalled(
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


def _about_call(call: Call) -> dict[str, Any]:
    return {name: getattr(call, name) for name in v.AboutCall.__struct_fields__}


def _of_call(call: Call, event: v.Event, *, ordinal: int = 0) -> v.Draft:
    return v.Draft(
        event=event,
        iteration=call.iteration,
        phase=call.phase,
        ordinal=ordinal,
        causation=call.causation,
        correlation=call.about,
    )
