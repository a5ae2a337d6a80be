"""What is chosen for a question before it is asked: both arms, the bundle, and what the arms bring along.

Rules
    - All choices of one phase read the state as it is at the phase's start, in question-id order; pulls planned
      before in the same phase count. Every draw is keyed by (seed, bandit, iteration, question).
    - A donor (the shuffled control of an exam) gives memories and principles; arms, chain and tool stay the question's.
"""

from __future__ import annotations

from collections import Counter
from typing import Literal, NamedTuple

from mage_es.engine.commands import Asked, PlanAnswers
from mage_es.engine.rules.bandits import Choice, choose, choose_frozen
from mage_es.engine.rules.cascade import Cascade, active_principles, cascade, is_offered
from mage_es.engine.rules.randomness import stream
from mage_es.engine.rules.retrieval import SEARCH_ARMS, Bundle, Query, retrieve
from mage_es.engine.rules.routes import ROUTING_ARMS
from mage_es.engine.rules.setting import Setting
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.embedder import Vector
from mage_es.projections.fold import State

DEFAULT_ARM = {"search": "balanced", "routing": "cot"}
"""What a key that is still in warm-up serves when the bandits are frozen, and every key where there are no bandits."""
LATE_ARMS = frozenset(name for name, arm in SEARCH_ARMS.items() if arm.needs == "recipe") | frozenset(
    name for name, arm in ROUTING_ARMS.items() if arm.needs == "tool"
)
"""Arms that wait for something to be written: a retrieval recipe of the task type, a tool of the skill."""
CHAIN_STEPS = 13  # most steps of a chain; of a longer closure the prerequisites nearest to the skill stay


class Chosen(NamedTuple):
    search: Choice
    routing: Choice
    bundle: Bundle
    principles: tuple[str, ...]
    cascade: Cascade
    recipe_id: str
    chain: tuple[str, ...]
    tool_id: str


class Choosing:
    """The choices of one phase; remembers the pulls planned so far, and the cascade of each skill. [agents, Learner]"""

    def __init__(self, setting: Setting, state: State, command: PlanAnswers) -> None:
        self._setting, self._state, self._command = setting, state, command
        # Without this, every question of an iteration would see the same warm-up, and pull far more than it asks for.
        self._planned: Counter[tuple[str, str, str]] = Counter()
        self._cascades: dict[str, Cascade] = {}
        self._skills = len(state.graph.skills())

    def choose(self, asked: Asked, skill: str) -> Chosen:
        """Return what is chosen for a question of a skill. To be called in question-id order."""
        state, donor = self._state, self._command.donors.get(asked.question.id, asked)
        donor_skill = state.graph.skill_for_task(donor.task_type)
        search = self._arm("search", asked, asked.task_type, search_arms(self._setting, state, asked.task_type))
        routing = self._arm("routing", asked, skill, routing_arms(self._setting, state, skill))
        recipe = state.recipes.retrieval(asked.task_type) if search.arm == "recipe" else None
        tool = state.tools.active(skill) if routing.arm == "tool" else None
        added = self._cascade(donor_skill) if search.arm == "cascade" else Cascade()
        # Of the donor's skill in a control: principles are memories, and those must be another question's.
        own = active_principles(self._setting, state, donor_skill) if routing.arm == "cot_principles" else ()
        return Chosen(
            search=search,
            routing=routing,
            bundle=retrieve(search.arm, self._query(donor, search), state.memory, self._setting.terms, recipe=recipe),
            principles=tuple(dict.fromkeys((*added.principles, *own))),
            cascade=added,
            recipe_id=recipe.memory_id if recipe else "",
            chain=tuple(state.graph.closure(skill)[-CHAIN_STEPS:]) if routing.arm == "chain" else (),
            tool_id=tool.tool_id if tool else "",
        )

    def _arm(self, bandit: Literal["search", "routing"], asked: Asked, key: str, arms: tuple[str, ...]) -> Choice:
        config = self._setting.config
        if not config.bandits:  # a probability of 1: the log can be read like any other
            return Choice(DEFAULT_ARM[bandit], 1.0)
        # A skill that is split makes a new key; task types are fixed when the run opens.
        keys = len(self._setting.task_types) if bandit == "search" else self._skills
        warmup = self._setting.warmup(keys=keys, arms=len(arms))
        posteriors = {arm: self._state.bandits.posterior(bandit, key, arm) for arm in arms}
        if self._command.frozen:
            return choose_frozen(posteriors, warmup=warmup, default=DEFAULT_ARM[bandit], late=LATE_ARMS)
        choice = choose(
            posteriors,
            planned={arm: self._planned[bandit, key, arm] for arm in arms},
            warmup=warmup,
            exploration=config.exploration,
            draw=stream(config.seed, bandit, self._command.iteration, asked.question.id),
        )
        self._planned[bandit, key, choice.arm] += 1
        return choice

    def _query(self, asked: Asked, search: Choice) -> Query:
        vector = asked.recipe_vector if search.arm == "recipe" and asked.recipe_vector is not None else asked.vector
        return query_of(self._setting, asked.question, asked.task_type, vector)

    def _cascade(self, skill: str) -> Cascade:
        # The same for all questions of a skill: the state does not change within a phase.
        if skill not in self._cascades:
            self._cascades[skill] = cascade(self._setting, self._state, skill)
        return self._cascades[skill]


def query_of(setting: Setting, question: Question, task_type: str, vector: Vector) -> Query:
    # With a context, the same question text may be asked of another passage: that is no memory of the question itself.
    whole_text = "" if question.context else question.question
    return Query(vector, task_type, question.id, whole_text, setting.context_length(question))


def search_arms(setting: Setting, state: State, task_type: str) -> tuple[str, ...]:
    """Return the search arms of a task type, in the order that decides ties. [section 3.2, search bandit]"""
    there = {
        "nothing": True,
        "cascade": is_offered(setting.config),
        "recipe": state.recipes.retrieval(task_type) is not None,
    }
    return tuple(name for name, arm in SEARCH_ARMS.items() if there[arm.needs])


def routing_arms(setting: Setting, state: State, skill: str) -> tuple[str, ...]:
    """[section 3.2, routing bandit] The arm `tool` is there only where the skill has a tool."""
    there = {"nothing": True, "principles": setting.config.principles, "tool": state.tools.active(skill) is not None}
    return tuple(name for name, arm in ROUTING_ARMS.items() if there[arm.needs])
