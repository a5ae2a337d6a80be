"""What the guidance tier wrote, as events: failure memories, principles, and the outcome of the turn's action.

Rules
    - A newer memory about the same question, or a newer strategy of the same type, supersedes the older one,
      which stays stored.
    - A reply that cannot be used is recorded as such and never ends an iteration.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from mage_es.engine.agents.briefs import AuthoredFailure
from mage_es.engine.benchmarks.protocol import Question
from mage_es.engine.commands import Authored, Evolve
from mage_es.engine.embedders.protocol import to_bytes
from mage_es.engine.rules.harvest import Met, capped, memory_id
from mage_es.engine.rules.rotation import EXTRACT_PRINCIPLES, WRITE_FAILURES
from mage_es.engine.setting import Setting
from mage_es.events.envelope import Draft, fact_id
from mage_es.events.vocabulary import (
    ActionTaken,
    Event,
    MemoryAppended,
    MemorySuperseded,
    Outcome,
    PhaseCompleted,
    Target,
    TargetsSelected,
)
from mage_es.projections.fold import State

PRINCIPLES_PER_TARGET = 3
"""Principles asked for at a time; the cap on active ones is the configuration's."""


def source_of(item: AuthoredFailure, question: Question) -> str:
    """Return the text that a failure memory is embedded by: its question, and what a strategy is recognised by."""
    return f"{item.recognise}\n{question.question}" if item.kind == "type_strategy" else question.question


def sources_of(authored: Authored, questions: Mapping[str, Question]) -> list[str]:
    """Return every text that has to be embedded before what was authored can be written."""
    failures = [item for item in authored.failures or () if item.question_id in questions]
    return [source_of(item, questions[item.question_id]) for item in failures] + list(authored.principles or ())


def evolve(setting: Setting, state: State, command: Evolve) -> list[Draft]:
    """Return everything that EVOLVE writes: targets, memories, the action's outcome, the phase mark."""
    observed = {verdict.task_type for verdict in state.progress.verdicts("evaluate")}
    selected = TargetsSelected(
        iteration=command.iteration,
        targets=tuple(Target(**authored.target._asdict()) for authored in command.authored),
        newly_observed=tuple(sorted(observed - set(state.coverage.observed()))),
    )
    events: list[Event] = [selected, *_Writing(setting, state, command).events()]
    drafts = [
        Draft(event=event, iteration=command.iteration, phase="evolve", ordinal=ordinal)
        for ordinal, event in enumerate(events)
    ]
    mark = PhaseCompleted(iteration=command.iteration, phase="evolve")
    return [*drafts, Draft(event=mark, iteration=command.iteration, phase="evolve")]


class _Writing:
    """The memories of one EVOLVE; keeps what it has written so far, since the state only knows what came before."""

    def __init__(self, setting: Setting, state: State, command: Evolve) -> None:
        self.setting, self.state, self.command = setting, state, command
        self.verdicts = {v.question_id: v for v in state.progress.verdicts("evaluate")}
        self.met = Met(state.memory)
        self.ordinal = 0

    def events(self) -> Iterable[Event]:
        """Return the memories and outcomes, target by target."""
        for authored in self.command.authored:
            task_type = authored.target.task_type
            usable = [item for item in authored.failures or () if self._is_usable(item)]
            usable = usable[: self.setting.config.failure_memories_per_target]
            for item in usable:
                yield from self._failure(task_type, item)
            yield self._taken(WRITE_FAILURES, task_type, authored.failures, len(usable))
            principles = (authored.principles or ())[:PRINCIPLES_PER_TARGET]
            for text in principles:
                yield self._principle(task_type, text, authored.principles_call)
            yield self._taken(self.command.action, task_type, authored.principles, len(principles))

    def _is_usable(self, item: AuthoredFailure) -> bool:
        return item.question_id in self.verdicts and item.kind in ("specific", "type_strategy")

    def _failure(self, task_type: str, item: AuthoredFailure) -> Iterable[Event]:
        question = self.command.questions[item.question_id]
        verdict = self.verdicts[item.question_id]
        origin = fact_id(self.command.iteration, "evaluate", verdict.subject, "answer.judged", 0)
        is_strategy = item.kind == "type_strategy"
        older = (
            self.state.memory.latest_strategy(task_type)
            if is_strategy
            else self.state.memory.latest_failure(item.question_id)
        )
        memory = self._memory(
            outcome="failure_memory",
            kind=item.kind,
            task_type=task_type,
            question_id=item.question_id,
            question=question.question,
            recognise=item.recognise,
            reasoning=capped(item.reasoning, self.setting.config.reasoning_cap),
            answer=verdict.expected,
            wrong_answer=verdict.answer,
            derived_from=origin.hex(),
            source=source_of(item, question),
        )
        event = self._append(memory)
        yield event
        # Only a new memory takes an older one's place: one that is met again may itself be superseded by now.
        if older is not None and isinstance(event, MemoryAppended):
            yield MemorySuperseded(memory_id=older.memory_id, by=memory.memory_id)

    def _principle(self, task_type: str, text: str, call: str) -> Event:
        memory = self._memory(
            outcome="principle",
            kind="",
            task_type=task_type,
            question_id="",
            question="",
            recognise="",
            reasoning=text,
            answer="",
            wrong_answer="",
            derived_from=call,
            source=text,
        )
        return self._append(memory)

    def _taken(self, action: str, task_type: str, reply: Sequence[object] | None, written: int) -> ActionTaken:
        if action not in (WRITE_FAILURES, EXTRACT_PRINCIPLES):
            outcome = "not available in this version"
        elif reply is None:
            outcome = "the reply could not be read"
        else:
            outcome = "authored" if written else "nothing to author"
        return ActionTaken(
            iteration=self.command.iteration, action=action, task_type=task_type, outcome=outcome, authored=written
        )

    def _append(self, memory: MemoryAppended) -> Event:
        event = self.met.again(memory)
        self.ordinal += isinstance(event, MemoryAppended)
        return event

    def _memory(self, *, outcome: Outcome, source: str, **fields: str) -> MemoryAppended:
        identity = {name: fields[name] for name in ("kind", "task_type", "question", "answer", "reasoning")}
        return MemoryAppended(
            memory_id=memory_id(outcome=outcome, **identity),
            outcome=outcome,
            skill=self.state.graph.skill_for_task(fields["task_type"]),
            steps=(),
            iteration=self.command.iteration,
            phase="evolve",
            ordinal=self.ordinal,
            embedding=to_bytes(self.command.vectors[source]),
            **fields,
        )
