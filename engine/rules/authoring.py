"""What guidance wrote (failure memories, principles, refined prompts) and the outcome of each action, as events.

Rules
    - A reply that cannot be used is recorded as such and never ends an iteration.
    - If an action was not asked for (it is off, or there is nothing to write about), the reason is recorded as well.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from mage_es.engine.briefs import (
    AuthoredFailure,
    AuthoredPrinciple,
    FailureReply,
    PrinciplesReply,
    RefinementReply,
    RetrievalReply,
    SplittingReply,
)
from mage_es.engine.commands import Authored, CheckedTools, Evolve
from mage_es.engine.rules.near_duplicates import normalise
from mage_es.engine.rules.new_memories import Met, capped, new_memory, tells_nothing
from mage_es.engine.rules.phases import phase_drafts
from mage_es.engine.rules.retrieval_recipes import author_recipe
from mage_es.engine.rules.rotation import AUTHORED, FAILED, NOTHING, UNREADABLE, ActionTurn, Written
from mage_es.engine.rules.setting import Setting
from mage_es.engine.rules.splitting import split
from mage_es.engine.rules.tools import author_tools
from mage_es.engine.rules.trajectories import fact_of
from mage_es.engine.rules.writings import CORRECTIONS, STRATEGIES, writings
from mage_es.engine.seams.benchmark import Question, giver_of
from mage_es.engine.seams.embedder import to_bytes
from mage_es.events import vocabulary as v
from mage_es.projections.fold import State

PRINCIPLES_PER_TARGET = 3  # principles asked for at a time; the cap on active ones is the configuration's
LEAST_SUPPORT = 2  # questions that a principle must name: what a single question shows is a memory of that question


def source_of(item: AuthoredFailure, question: Question) -> str:
    """Return the text that represents a failure memory in its embedding: its question and, for a strategy, how to
    recognise its questions."""
    return f"{item.recognise}\n{question.question}" if item.kind == STRATEGIES else question.question


def sources_of(authored: Authored, questions: Mapping[str, Question]) -> list[str]:
    """Return every text that has to be embedded before the authored writings can be recorded."""
    match authored.reply:
        case FailureReply(memories=memories):
            return [source_of(item, questions[item.question_id]) for item in memories if item.question_id in questions]
        case PrinciplesReply(principles=principles):
            return [text for text, _ in principles_of(principles)]
        case _:
            return []


def principles_of(authored: Iterable[AuthoredPrinciple]) -> list[tuple[str, frozenset[str]]]:
    """Return the non-empty principles as texts, each with the ids of the questions that it rests on."""
    trimmed = ((" ".join(each.when.split()).rstrip(".,: "), each.do.strip(), each.cases) for each in authored)
    return [
        (f"When {when.removeprefix('When ').removeprefix('when ')}, {do}" if when else do, frozenset(cases))
        for when, do, cases in trimmed
        if do
    ]


def evolve(setting: Setting, state: State, command: Evolve) -> list[v.Draft]:
    """[appendix, failure memories] There are two kinds: specific memories and type strategies. Guidance writes about
    the same question or type again after five iterations at the earliest; then the newer memory supersedes the older
    one.

    [section 3.3, principles] At most three are written at a time, and the same words are kept only once.
    """
    # These types were first seen in this iteration: the round-robin counts them from here on.
    observed = {verdict.task_type for verdict in state.progress.verdicts("evaluate")}
    selected = v.TargetsSelected(
        iteration=command.iteration,
        targets=tuple(v.Target(**target._asdict()) for target in command.targets),
        newly_observed=tuple(sorted(observed - set(state.coverage.observed()))),
    )
    written = _Writing(setting, state, command).events()
    return phase_drafts(command.iteration, "evolve", (selected, *written), is_numbered=True)


class _Writing:
    """The writings of one EVOLVE. It remembers what it has written, because the state only knows what came before."""

    def __init__(self, setting: Setting, state: State, command: Evolve) -> None:
        self.setting, self.state, self.command = setting, state, command
        self.verdicts = {each.question_id: each for each in state.progress.verdicts("evaluate")}
        self.met = Met(state.memory)
        # Names of skills that an earlier split of the same EVOLVE took, which the state does not have yet.
        self.created: list[str] = []
        self.ordinal = 0

    def events(self) -> Iterable[v.Event]:
        for authored in self.command.authored:
            written = self._written(authored)
            yield from written.events
            self.created += [event.skill for event in written.events if isinstance(event, v.SkillCreated)]
            yield v.ActionTaken(
                iteration=self.command.iteration,
                action=authored.action,
                task_type=authored.task_type,
                outcome=_outcome(authored, written),
                authored=written.authored,
                doubtful=tuple(
                    sorted(self._questions_of(authored.task_type) & {*getattr(authored.reply, "doubtful", ())})
                ),
            )

    def _questions_of(self, task_type: str) -> set[str]:
        return {name for name, verdict in self.verdicts.items() if verdict.task_type == task_type}

    def _written(self, authored: Authored) -> Written:
        task_type, skill = authored.task_type, self.state.graph.skill_for_task(authored.task_type)
        turn = ActionTurn(self.state, self.command.iteration, task_type, skill, self._taught(authored.call))
        match authored.reply:
            case None:  # not asked, or no reply that could be read: `_outcome` says which
                return Written()
            case FailureReply(memories=memories):
                return self._failures(task_type, memories, authored.call)
            case PrinciplesReply(principles=principles):
                return self._principles(task_type, skill, principles, authored)
            case CheckedTools(tools=tools):
                return author_tools(turn, tools)
            case RetrievalReply(recipe=recipe):
                self.ordinal += 1
                return author_recipe(turn, recipe, ordinal=self.ordinal - 1, bundle=self.setting.config.bundle)
            case RefinementReply() as reply:
                return refine(turn, reply)
            case SplittingReply() as reply:
                return split(turn, reply, taken=self.created, guarded=self.setting.guarded)

    def _failures(self, task_type: str, items: Sequence[AuthoredFailure], call: str) -> Written:
        # One for each question: a second memory about it would only supersede the first at once. A strategy is about no
        # question, and counts separately.
        wanted = writings(self.setting, types=len(self.state.graph.task_types()))
        usable: dict[str, AuthoredFailure] = {}
        for item in items:
            verdict = self.verdicts.get(item.question_id)
            if item.kind in wanted and _is_usable(item, verdict, task_type):
                usable.setdefault("" if item.kind == STRATEGIES else item.question_id, item)
        strategy = [usable.pop("")] if "" in usable else []
        kept = [*strategy, *list(usable.values())[: self.setting.config.failure_memories_per_target]]
        return Written([event for item in kept for event in self._failure(task_type, item, call)], len(kept))

    def _principles(
        self, task_type: str, skill: str, replied: Sequence[AuthoredPrinciple], authored: Authored
    ) -> Written:
        """Return the first principles that rest on enough questions; if the skill already has one, reinforce it."""
        asked = self._questions_of(task_type)
        found = [(text, cases & asked) for text, cases in principles_of(replied) if len(cases & asked) >= LEAST_SUPPORT]
        if replied and not found:
            return Written(refused=f"refused: no principle names {LEAST_SUPPORT} questions that show it")
        # Models repeat themselves with different spacing and case; the same words are one principle met twice.
        said = {normalise(row.reasoning): row.memory_id for row in self.state.memory.principles(skill)}
        events: list[v.Event] = []
        for text, cases in found[:PRINCIPLES_PER_TARGET]:
            known = said.get(normalise(text))
            event = self.met.reinforced(known) if known else self._principle(task_type, text, authored, cases)
            if isinstance(event, v.MemoryAppended):
                said[normalise(text)] = event.memory_id
            events.append(event)
        return Written(events, len(events))

    def _failure(self, task_type: str, item: AuthoredFailure, call: str) -> Iterable[v.Event]:
        question = self.command.questions[item.question_id]
        verdict = self.verdicts[item.question_id]
        is_strategy = item.kind == STRATEGIES
        # If the teacher may not see right answers, its own belief must not be corrected by one either.
        answer = item.answer if self.setting.config.teacher_sees == "errors" else question.gold
        lesson = "" if tells_nothing(item.reasoning, verdict.answer, answer) else item.reasoning
        # A type strategy is about the type and not a question, so it takes the place of the type's last one.
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
            reasoning=capped(lesson, self.setting.config.reasoning_cap),
            answer=answer,
            wrong_answer=verdict.answer,
            origin=self._taught(fact_of("evaluate", verdict), call, by=giver_of(question)),
            source=source_of(item, question),
        )
        event = self._append(memory)
        yield event
        # Only a new memory takes an older one's place: one that is met again may itself be superseded by now.
        if older is not None and older.status != "superseded" and isinstance(event, v.MemoryAppended):
            yield v.MemorySuperseded(memory_id=older.memory_id, by=memory.memory_id)

    def _principle(self, task_type: str, text: str, authored: Authored, cases: Collection[str]) -> v.Event:
        givers = {giver_of(self.command.questions[name]) for name in cases}
        memory = self._memory(
            outcome="principle",
            task_type=task_type,
            # What a single question taught is not shown to it; a lesson from several belongs to none (rules/own.py).
            question_id=authored.cases[0] if len(authored.cases) == 1 else "",
            reasoning=capped(text, self.setting.config.reasoning_cap),
            origin=self._taught(authored.call, by=givers.pop() if len(givers) == 1 else ""),
            source=text,
        )
        return self._append(memory)

    def _taught(self, *facts: str, by: str = "") -> v.Origin:
        config = self.setting.config
        return v.Origin(facts=facts, writer=config.guidance, saw=config.teacher_sees, by=by)

    def _append(self, memory: v.MemoryAppended) -> v.Event:
        # Ordinals count new memories only, since birth is an order among what is stored.
        event = self.met.again(memory)
        self.ordinal += isinstance(event, v.MemoryAppended)
        return event

    def _memory(self, *, outcome: v.Outcome, source: str, **fields: Any) -> v.MemoryAppended:
        return new_memory(
            salt=self.setting.salt,
            outcome=outcome,
            skill=self.state.graph.skill_for_task(fields["task_type"]),
            steps=(),
            iteration=self.command.iteration,
            phase="evolve",
            ordinal=self.ordinal,
            embedding=to_bytes(self.command.vectors[source]),
            **fields,
        )


def _is_usable(item: AuthoredFailure, verdict: v.AnswerJudged | None, task_type: str) -> bool:
    is_wrong = verdict is not None and not verdict.correct and verdict.task_type == task_type
    is_told = item.kind == CORRECTIONS or not tells_nothing(item.reasoning)
    return is_wrong and is_told and bool(item.reasoning.strip())


def _outcome(authored: Authored, written: Written) -> str:
    # An action that failed and one never asked for are different outcomes, and reports count both.
    if authored.idle:
        return authored.idle
    if authored.reply is None:
        return UNREADABLE if authored.call else FAILED
    return written.refused or (AUTHORED if written.authored else NOTHING)


SLOT_LENGTH = 1200
"""How many characters each of the two slots may have; they are cut at a line border. Every prompt of the skill has
both.
"""


def refine(turn: ActionTurn, reply: RefinementReply) -> Written:
    """Return the refinement; an empty slot in the reply keeps the skill's own, and no change means no event.

    [section 3.3, prompt refinement] The event holds both slots before and after.
    """
    slots, skill = turn.state.slots, turn.skill
    template_before, strategy_before = slots.prompt_template(skill), slots.strategy(skill)
    # An empty slot in a reply means "keep it": no model is asked to repeat what is good.
    template = capped(reply.prompt_template.strip(), SLOT_LENGTH) or template_before
    strategy = capped(reply.strategy.strip(), SLOT_LENGTH) or strategy_before
    if (template, strategy) == (template_before, strategy_before):
        return Written()
    # With the values before: a log can be read backwards without folding it.
    refined = v.SkillRefined(
        iteration=turn.iteration,
        skill=skill,
        prompt_template=template,
        strategy=strategy,
        prompt_template_before=template_before,
        strategy_before=strategy_before,
        origin=turn.origin,
    )
    return Written([refined], 1)
