"""What is chosen for a question before it is asked: the search arm, the route, the memories, and what the arms add.

Rules
    - An arm is offered only if it gives something that no earlier arm in the table gives; a different order of the same
      memories does not count. The route is drawn after the search arm, because the memories that were found can leave a
      route with nothing to do.
    - An answer is credited only to the arm that was named. Another arm that gives the same here has not been tried
      where the two differ. If only one arm was offered, nothing was chosen: its probability is 1, and nothing is
      credited.
    - A question never sees what was made from it (rules/own.py), except with `revisit_self = include`.
    - While a client is in doubt, a principle that rests on its cases alone is not shown to any other client.
    - All choices of a phase read the state at the phase's start, in the order of question ids. Pulls that were planned
      earlier in the same phase count. Every draw is keyed by (seed, bandit, iteration, question).
    - In the shuffled control of an exam a donor, another question, gives its memories and principles, except those from
      a case that the question itself would have got. Arms, chain and tool remain the question's own.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple

from mage_es.engine.commands import Asked, PlanAnswers
from mage_es.engine.rules.bandits import Choice, choose, choose_frozen, posterior_of
from mage_es.engine.rules.cascade import Cascade, active_principles, cascade, is_offered
from mage_es.engine.rules.doubt import why_doubted
from mage_es.engine.rules.forms import WORKED, form_of
from mage_es.engine.rules.own import examples_of_others, is_own_principle
from mage_es.engine.rules.randomness import stream
from mage_es.engine.rules.retrieval import (
    NEAREST,
    SEARCH_ARMS,
    Bundle,
    Candidates,
    Query,
    Terms,
    retrieve,
    within_reach,
)
from mage_es.engine.rules.routes import ROUTING_ARMS
from mage_es.engine.rules.setting import Setting
from mage_es.engine.rules.tools import active_tool
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.embedder import Vector
from mage_es.events.vocabulary import RetrievalRecipeAuthored, ToolAuthored
from mage_es.projections.fold import State

CHAIN_STEPS = 13  # most steps of a chain; a longer closure keeps the prerequisites nearest to the skill


def default_arm(setting: Setting, bandit: Literal["search", "routing"]) -> str:
    """Return the default arms: every key serves them without bandits, a frozen key until an arm has enough pulls."""
    if bandit == "routing":
        return setting.route
    return "balanced" if setting.config.retrieval == "quotas" else NEAREST


class Given(NamedTuple):
    """What a search arm gives a question: memories, and what the cascade adds to them."""

    bundle: Bundle
    cascade: Cascade


class Chosen(NamedTuple):
    search: Choice
    routing: Choice
    bundle: Bundle
    principles: tuple[str, ...]
    cascade: Cascade
    recipe_id: str
    chain: tuple[str, ...]
    tool_id: str
    is_bare: bool = False


class Choosing:
    """The choices of one phase. It remembers the pulls planned so far, and the cascade of each skill. [agents, Learner]

    `cascades`, by skill, may be shared with other commands on the same setting and state.
    """

    def __init__(
        self, setting: Setting, state: State, command: PlanAnswers, cascades: dict[str, Cascade] | None = None
    ) -> None:
        self._setting, self._state, self._command = setting, state, command
        self._terms = setting.terms._replace(is_reasoned=form_of(setting, state, command.phase) == WORKED)
        # Without this, every question of an iteration would see the same warm-up, and pull far more than it needs.
        self._planned = defaultdict[tuple[str, str, str], int](int)
        self._cascades = {} if cascades is None else cascades
        self._looked_up: tuple[Asked, Candidates] | None = None

    def choose(self, asked: Asked, skill: str) -> Chosen:
        """Return what is chosen for a question of a skill. Call it in question-id order."""
        state = self._state
        search, given = self.search(asked, skill)
        routing = self._arm("routing", asked, skill, self.routes(asked, skill, given.cascade))
        recipe = state.recipes.retrieval(asked.task_type) if search.arm == "recipe" else None
        if donor := self._command.donors.get(asked.question.id):
            given = self._from_donor(search.arm, donor, given, recipe)
        # In a control, principles come from the donor's skill: they are memories too, and must be another question's.
        giver = donor or asked
        own = self._principles(giver) if routing.arm == "cot_principles" else ()
        tool = self._tool(asked.question, skill) if routing.arm == "tool" else None
        return Chosen(
            search=search,
            routing=routing,
            bundle=given.bundle,
            principles=tuple(dict.fromkeys((*given.cascade.principles, *own))),
            cascade=given.cascade,
            recipe_id=recipe.memory_id if recipe else "",
            chain=tuple(state.graph.closure(skill)[-CHAIN_STEPS:]) if routing.arm == "chain" else (),
            tool_id=tool.tool_id if tool else "",
        )

    def bare(self) -> Chosen:
        """Return the choice for a prompt that shows nothing learned, as at a run's start."""
        nothing, routing = Choice("none", 1.0), Choice(default_arm(self._setting, "routing"), 1.0)
        return Chosen(nothing, routing, Bundle([], []), (), Cascade(), "", (), "", is_bare=True)

    def choose_served(self, asked: Asked, skill: str) -> Chosen:
        """Return the choice when the client's own prompt says how to work: no route, and no skill text."""
        search, given = self.search(asked, skill)
        recipe = self._state.recipes.retrieval(asked.task_type) if search.arm == "recipe" else None
        if donor := self._command.donors.get(asked.question.id):
            given = self._from_donor(search.arm, donor, given, recipe)
        return Chosen(
            search=search,
            routing=Choice(default_arm(self._setting, "routing"), 1.0),
            bundle=given.bundle,
            principles=given.cascade.principles,
            cascade=Cascade(),
            recipe_id=recipe.memory_id if recipe else "",
            chain=(),
            tool_id="",
        )

    def candidates(self, asked: Asked) -> Candidates:
        """Return what the memory has for a question. The last result is cached."""
        if self._looked_up is None or self._looked_up[0] is not asked:
            self._looked_up = asked, Candidates(self._query(asked), self._state.memory, self._terms_of(asked))
        return self._looked_up[1]

    def search(self, asked: Asked, skill: str, candidates: Candidates | None = None) -> tuple[Choice, Given]:
        """Return the search arm that is chosen for a question, and what it gives."""
        # Without bandits nothing is compared, so only the default is looked up.
        default = default_arm(self._setting, "search")
        # Arms by quotas are the paper's; `nearest` is not among them unless it was chosen.
        arms = [each for each in SEARCH_ARMS if (self._setting.config.bandits and each != NEAREST) or each == default]
        offered = self.offered(asked, skill, arms, candidates)
        choice = self._arm("search", asked, asked.task_type, list(offered))
        return choice, offered[choice.arm]

    def offered(
        self, asked: Asked, skill: str, arms: Sequence[str], candidates: Candidates | None = None
    ) -> Mapping[str, Given]:
        """Return the search arms that differ for a question, with what each gives it, in the order by which ties are
        broken.

        [section 3.2, search bandit]
        """
        candidates = candidates or self.candidates(asked)
        recipe = self._state.recipes.retrieval(asked.task_type)
        there = {"nothing": True, "cascade": is_offered(self._setting.config), "recipe": recipe is not None}
        found: dict[str, Given] = {}
        met: set[object] = set()
        for arm in arms:
            if not there[SEARCH_ARMS[arm].needs]:
                continue
            given = self._given(arm, asked, skill, recipe if arm == "recipe" else None, candidates)
            if (difference := self._difference(arm, asked, skill, given)) not in met:
                met.add(difference)
                found[arm] = given
        return found

    def routes(self, asked: Asked, skill: str, added: Cascade) -> list[str]:
        """Return the routes that differ for a question, given what the cascade adds.

        [section 3.2, routing bandit] The arm `tool` exists only if the skill has a tool.
        """
        # In an episode a chain is only a plan, and no tool is run.
        there = {
            "nothing": True,
            "prerequisites": len(self._state.graph.closure(skill)) > 1 and not (asked.is_episode and added.planning),
            "principles": self._setting.config.principles and bool({*self._principles(asked)} - {*added.principles}),
            "tool": not asked.is_episode and self._tool(asked.question, skill) is not None,
        }
        return [name for name, arm in ROUTING_ARMS.items() if there[arm.needs]]

    def _from_donor(self, arm: str, donor: Asked, own: Given, recipe: RetrievalRecipeAuthored | None) -> Given:
        query = self._query(donor)._replace(apart=own.bundle.ids)
        candidates = Candidates(query, self._state.memory, self._terms_of(donor))
        return self._given(arm, donor, self._state.graph.skill_for_task(donor.task_type), recipe, candidates)

    def _given(
        self,
        arm: str,
        asked: Asked,
        skill: str,
        recipe: RetrievalRecipeAuthored | None,
        candidates: Candidates | None = None,
    ) -> Given:
        query = candidates.query if candidates else self._query(asked)
        if recipe and asked.recipe_vector is not None:
            query = query._replace(vector=asked.recipe_vector)
        bundle = retrieve(arm, query, self._state.memory, self._terms_of(asked), recipe=recipe, candidates=candidates)
        return Given(bundle, self._cascade(asked.question, skill) if arm == "cascade" else Cascade())

    def _difference(self, arm: str, asked: Asked, skill: str, given: Given) -> object:
        """Return what distinguishes an arm: arms with equal values are the same for this question."""
        bundle, added, graph, slots = given.bundle, given.cascade, self._state.graph, self._state.slots
        seen: object = frozenset(hit.memory_id for hit in (*bundle.success, *bundle.failure))
        if asked.is_episode:
            # Every step retrieves anew, by what is observed then, and a recipe by its own words; `none` hides the
            # world.
            reach = within_reach(arm, self._query(asked), self._state.memory, self._terms)
            is_blind = arm == "none" and (self._state.patterns.of(asked.task_type) or "relation" in graph.edge_counts())
            seen = (arm if arm == "recipe" else reach, bool(is_blind))
        # Another skill guides by its approach, not by its name, the first field; the rest is in the other fields.
        return seen, added[1:], slots.strategy(added.guiding_skill or skill)

    def _arm(self, bandit: Literal["search", "routing"], asked: Asked, key: str, arms: Collection[str]) -> Choice:
        config, default = self._setting.config, default_arm(self._setting, bandit)
        if not config.bandits:  # a probability of 1: the log can be read like any other
            return Choice(default, 1.0)
        if len(arms) == 1:
            return Choice(next(iter(arms)), 1.0)
        # A skill that is split makes a new key; task types are fixed when the run opens.
        graph = self._state.graph
        keys = len(graph.task_types() if bandit == "search" else graph.skills())
        warmup = self._setting.warmup(keys=keys, arms=len(arms))
        posteriors = {arm: posterior_of(self._setting.config, self._state, bandit, key, arm) for arm in arms}
        if self._command.frozen:
            # An arm that is not offered here equals an earlier one under another name.
            return choose_frozen(posteriors, warmup=warmup, default=default if default in arms else next(iter(arms)))
        choice = choose(
            posteriors,
            planned={arm: self._planned[bandit, key, arm] for arm in arms},
            warmup=warmup,
            exploration=config.exploration,
            draw=stream(config.seed, bandit, self._command.iteration, asked.question.id),
        )
        self._planned[bandit, key, choice.arm] += 1
        return choice

    def _terms_of(self, asked: Asked) -> Terms:
        floor = self._setting.floors.of(asked.task_type)
        return self._terms._replace(floor=floor) if floor else self._terms

    def _query(self, asked: Asked) -> Query:
        query = query_of(self._setting, self._state, asked.question, asked.task_type, asked.vector)
        query = query._replace(client=self._command.client)
        return query._replace(others=()) if asked.is_episode else query

    def _principles(self, asked: Asked) -> tuple[str, ...]:
        skill = self._state.graph.skill_for_task(asked.task_type)
        return self._others(asked.question, active_principles(self._setting, self._state, skill))

    def _tool(self, question: Question, skill: str) -> ToolAuthored | None:
        tool = active_tool(self._state, skill)
        if tool is None or not tool.examples or not self._terms.exclude_self:
            return tool
        # A tool that was tried on no other question may contain little more than this question's answer.
        return tool if examples_of_others(tool, question.id) else None

    def _cascade(self, question: Question, skill: str) -> Cascade:
        # The same for all questions of a skill, except for what is their own: the state does not change within a phase.
        if skill not in self._cascades:
            self._cascades[skill] = cascade(self._setting, self._state, skill)
        added = self._cascades[skill]
        recipes = (name for name in added.action_recipes if not self._is_own_recipe(question, name))
        return added._replace(principles=self._others(question, added.principles), action_recipes=tuple(recipes))

    def _others(self, question: Question, principles: Collection[str]) -> tuple[str, ...]:
        """Return the principles, without the question's own and without those from another client that is in doubt."""
        memory, client = self._state.memory, self._command.client
        rows = [row for row in map(memory.row, principles) if row.origin.by == client or not why_doubted(memory, row)]
        if self._terms.exclude_self:
            rows = [row for row in rows if not is_own_principle(row, question.id, question.question)]
        return tuple(row.memory_id for row in rows)

    def _is_own_recipe(self, question: Question, name: str) -> bool:
        return self._terms.exclude_self and self._state.recipes.action_recipe(name).question_id == question.id


def query_of(setting: Setting, state: State, question: Question, task_type: str, vector: Vector) -> Query:
    # With a context, the same text may ask about another passage: then it is not a memory of the question itself.
    whole_text = "" if question.context else question.question
    merged = tuple(state.graph.merged_types(task_type))
    others = tuple(name for name in state.memory.task_types() if name not in (task_type, *merged))
    length, is_anchor = setting.context_length(question), question.id in setting.anchors
    return Query(vector, task_type, question.id, whole_text, length, merged, others, is_anchor=is_anchor)
