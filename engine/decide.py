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
    RecordCall,
    RecordToolRun,
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
    EpisodeStepped,
    Event,
    IterationClosed,
    ModelCalled,
    Phase,
    PhaseCompleted,
    ReplyRejected,
    RunFinished,
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
        case RecordToolRun():
            return _record_tool_run(command)
        case RecordAct():
            return _record_act(command)
        case RecordVerdict():
            return record_verdict(setting, state, command)
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
    completion = command.completion
    called = ModelCalled(
        iteration=command.iteration,
        tier=command.tier,
        agent=command.agent,
        purpose=command.purpose,
        about=command.about,
        attempt=command.attempt,
        request_sha256=command.request_sha256,
        model=command.model,
        text=completion.text,
        stop_reason=completion.stop_reason,
        input_tokens=completion.input_tokens,
        output_tokens=completion.output_tokens,
        cached_tokens=completion.cached_tokens,
        thinking_tokens=completion.thinking_tokens,
        latency_us=command.latency_us,
        provider_id=completion.provider_id,
    )
    events: list[Event] = [called]
    if command.problem:
        rejected = ReplyRejected(
            iteration=command.iteration,
            tier=command.tier,
            agent=command.agent,
            purpose=command.purpose,
            about=command.about,
            attempt=command.attempt,
            problem=command.problem,
        )
        events.append(rejected)
    return [
        Draft(
            event=event,
            iteration=command.iteration,
            phase=command.phase,
            causation=command.causation,
            correlation=command.about,
        )
        for event in events
    ]


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
    return [
        Draft(
            event=ran,
            iteration=planned.iteration,
            phase=command.phase,
            causation=command.causation,
            correlation=planned.question_id,
        )
    ]


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
