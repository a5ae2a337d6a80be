"""Episodes as courses: ask for an action, play it, record the outcome, until the environment or the limit ends it.

Rules
    - The environment is simulated inside the course. A resumed run and `show` replay the recorded actions. If the
      environment then answers differently, it has changed, which is an error.
    - Every step retrieves again, with the task's statement and the current observation as the query, from the state on
      which the plan was made.
    - If a memory had to be dropped because a step's prompt was too long, later steps leave it out as well.
    - A reply without an action also counts as a step, and is recorded as one without an action.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Sequence
from typing import NamedTuple

import msgspec

from mage_es.engine.courses import Act, Ask, Course, Fact, Finish, Move, reply_to
from mage_es.engine.rules.choice import query_of
from mage_es.engine.rules.ingredients import droppable, without
from mage_es.engine.rules.prompt import Quote
from mage_es.engine.rules.retrieval import Bundle, recipe_query, retrieve
from mage_es.engine.rules.setting import Setting
from mage_es.engine.rules.step_prompt import EXPLORING, Consulted, retrieval_text, step_prompt
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.embedder import Vector
from mage_es.engine.seams.environment import (
    Environment,
    Moment,
    Observation,
    SequentialBenchmark,
    StepOutcome,
    action_in,
    transcript_line,
)
from mage_es.engine.seams.extraction import without_reasoning
from mage_es.engine.seams.model import RAISE, Request
from mage_es.engine.seams.playing import verdict_of
from mage_es.events import vocabulary as v
from mage_es.events.errors import LogError
from mage_es.projections.fold import State

MOST_SAID = 1_000
"""How many characters of an earlier reply, or of its reasoning, the next prompts show."""


class EpisodeContext(NamedTuple):
    setting: Setting
    state: State
    benchmark: SequentialBenchmark
    embed: Callable[[str], Vector]


class Donor(NamedTuple):
    """Another task, whose memories a control condition retrieves throughout the episode."""

    question: Question
    task_type: str


def episode_of(
    context: EpisodeContext,
    planned: v.QuestionPlanned,
    question: Question,
    donor: Donor | None,
    *,
    mode: str = "",
    solved: Sequence[Quote] = (),
) -> Course:
    """Return the course of a planned episode. With a donor, the graph is queried for the donor's task instead.

    `mode` selects one of the benchmark's ways to show an episode, "" the default; `solved` are earlier episodes, which
    every step shows.
    """
    # The donor's task is never played, so its first observation serves every step.
    instead = None if donor is None else context.benchmark.environment(donor.question).reset()
    # Passed only if given: the `environment` of a plug-in need not know of modes.
    shown = {"mode": mode} if mode else {}
    environment: Environment = context.benchmark.environment(question, **shown)
    return _play(_Episode(context, planned, question, donor, instead, solved), environment)


def _play(episode: _Episode, environment: Environment) -> Course:
    observation = environment.reset()
    lines: list[str] = []
    history: list[str] = []
    achieved: list[str] = []
    dropped: set[str] = set()
    reasoning, unparsed = "", 0
    for step in range(1, episode.context.setting.config.episode_steps + 1):
        moment = Moment(observation.text, environment.valid_actions(), _with_reasoning(history, reasoning))
        planned = without(episode.consulting(observation), dropped)
        most = RAISE * episode.context.setting.config.max_tokens
        while isinstance(
            fact := (yield from reply_to(episode.ask(step, planned, moment, observation), most=most)), v.BundleTrimmed
        ):
            dropped.add(fact.memory_id)
            planned, episode = without(planned, dropped), episode.without_solved(dropped)
        action = action_in(environment, fact.text)
        # Played before it is recorded, as the fact holds its outcome. For a recorded step this is the replay.
        outcome = environment.step(action)
        yield from _recorded(episode.stepped(step, planned, action, outcome))
        # `lines` is the transcript, from which memories are made; `history` is what the next prompts show of it, which
        # may repeat whole observations.
        lines.append(transcript_line(action, outcome.effect))
        history.append(_remembered(observation, action, fact.text) if observation.recalled else lines[-1])
        reasoning = _reasoning_in(fact.text) if observation.recalled else ""
        achieved += outcome.achievements
        unparsed += action is None
        observation = outcome.observation
        if outcome.done:
            break
    verdict = verdict_of(environment, achieved)
    closed = v.EpisodeClosed(
        iteration=episode.planned.iteration,
        purpose=episode.planned.purpose,
        episode_id=episode.question.id,
        context_id=episode.question.id,
        steps=len(lines),
        # Integers, whose sums are the same in any order; with floats a digest would depend on the order.
        score_micro=round(verdict.score * v.MICRO),
        achievements=tuple(achieved),
        unparsed=unparsed,
    )
    yield from _recorded(closed)
    # With a verdict, so that neither the benchmark's rule nor a judge decides: the environment's score is final.
    return Finish("\n".join(lines), verdict)


def _remembered(observation: Observation, action: str | None, reply: str) -> str:
    """Return a step as later prompts show it: the observation before it, and the action (or the reply without one)."""
    said = _in_one_line(reply) if action is None else transcript_line(action, "")
    return f"Observation:\n{observation.recalled}\nAction: {said}"


def _with_reasoning(history: list[str], reasoning: str) -> list[str]:
    """Return the history with the reasoning of its last step only, which keeps prompts short."""
    return [*history[:-1], f"{history[-1]}\nReasoning: {reasoning}"] if reasoning else history


def _reasoning_in(reply: str) -> str:
    """Return a reply's text before its last line, without a `<think>` block."""
    return _in_one_line(without_reasoning(reply).strip().rpartition("\n")[0])


def _in_one_line(text: str) -> str:
    return " ".join(text.split())[:MOST_SAID]


def _recorded(fact: v.EpisodeStepped | v.EpisodeClosed) -> Generator[Move, Fact, None]:
    """Record a fact of the environment. Raises `LogError` if the log has a different one."""
    recorded = yield Act(fact)
    if recorded != fact:
        raise LogError(
            f"The episode {fact.episode_id} plays differently from its record: the environment or this program "
            "changed within the run. Continue with the version that started it."
        )


class _Episode(NamedTuple):
    context: EpisodeContext
    planned: v.QuestionPlanned
    question: Question
    donor: Donor | None
    instead: Observation | None
    solved: Sequence[Quote] = ()

    def without_solved(self, dropped: Collection[str]) -> _Episode:
        return self._replace(solved=[each for each in self.solved if each.source not in dropped])

    def consulting(self, observation: Observation) -> v.QuestionPlanned:
        bundle = self._bundle(self.question, self.planned.task_type, observation)
        if self.donor and self.instead:
            bundle = self._bundle(*self.donor, self.instead, apart=bundle.ids)
        hits = tuple(v.Retrieved(**hit._asdict()) for hit in (*bundle.success, *bundle.failure))
        return msgspec.structs.replace(self.planned, memories=hits)

    def _bundle(
        self, question: Question, task_type: str, seen: Observation, *, apart: frozenset[str] = frozenset()
    ) -> Bundle:
        state, recipe_id = self.context.state, self.planned.recipe_id
        text = retrieval_text(question.question, seen.text)
        recipe = state.recipes.recipe(recipe_id) if recipe_id else None
        if recipe and (own := state.recipes.retrieval(task_type)):  # a donor's text is worded by its own type's recipe
            text = recipe_query(own, text)
        query = query_of(self.context.setting, self.context.state, question, task_type, self.context.embed(text))
        query = query._replace(apart=apart, others=())
        return retrieve(self.planned.search_arm, query, state.memory, self.context.setting.terms, recipe=recipe)

    def ask(self, step: int, planned: v.QuestionPlanned, moment: Moment, observation: Observation) -> Ask:
        setting = self.context.setting
        task_type = self.donor.task_type if self.donor else planned.task_type
        about = Consulted(task_type, [entity.name for entity in (self.instead or observation).entities])
        prompt = step_prompt(
            setting, self.context.state, planned, self.question, moment, about=about, solved=self.solved
        )
        is_exploring = planned.template == EXPLORING
        config = setting.config
        temperature = config.exploration_temperature if is_exploring else config.answer_temperature
        request = Request(
            system=prompt.system,
            prompt=prompt.text,
            temperature=temperature,
            max_tokens=planned.max_tokens or config.max_tokens,
        )
        agent = "Explorer" if is_exploring else "Learner"
        spare = (*(each.source for each in self.solved), *droppable(planned))
        return Ask(f"{self.question.id}/{step}", request, prompt.spans, agent=agent, droppable=spare)

    def stepped(
        self, step: int, planned: v.QuestionPlanned, action: str | None, outcome: StepOutcome
    ) -> v.EpisodeStepped:
        return v.EpisodeStepped(
            iteration=planned.iteration,
            purpose=planned.purpose,
            episode_id=self.question.id,
            step=step,
            action=action or "",
            parsed=action is not None,
            observation=outcome.observation.text,
            reward_micro=round(outcome.reward * v.MICRO),
            achievements=outcome.achievements,
            done=outcome.done,
            effect=outcome.effect,
            memories=tuple(hit.memory_id for hit in planned.memories),
        )
