"""Episodes as courses: ask for an action, play it, record what it led to, until the environment or the limit ends it.

Rules
    - The environment is simulated inside the course. A resumed run, and `show`, play the recorded actions again; an
      environment that then says something else has changed, and that is an error.
    - Every step retrieves anew, by the task's statement and the present observation, on the state of the plan.
    - What had to be left out of a step, because its prompt did not fit, is left out of the steps after it.
    - A reply that names no action is a step as well; it is recorded as such and counted.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import NamedTuple

import msgspec

from mage_es.engine.benchmarks.extraction import without_reasoning
from mage_es.engine.benchmarks.protocol import Question
from mage_es.engine.courses import Act, Ask, Course, Fact, Finish, Move
from mage_es.engine.environments.playing import verdict_of
from mage_es.engine.environments.protocol import Environment, Observation, Outcome, SequentialBenchmark
from mage_es.engine.models.seam import Request
from mage_es.engine.rules.choice import query_of
from mage_es.engine.rules.retrieval import Vector, recipe_query, retrieve
from mage_es.engine.rules.step_prompt import EXPLORING, Consulted, Moment, Opening, retrieval_text, step_prompt
from mage_es.engine.rules.trajectories import transcript_line
from mage_es.engine.rules.trimming import droppable, without
from mage_es.engine.setting import Setting
from mage_es.events.errors import LogError
from mage_es.events.vocabulary import (
    MICRO,
    BundleTrimmed,
    EpisodeClosed,
    EpisodeStepped,
    ModelCalled,
    QuestionPlanned,
    Retrieved,
)
from mage_es.projections.fold import State

MOST_SAID = 1_000
"""Characters of an earlier reply, or of its reasoning, that the next prompts show."""


class Stage(NamedTuple):
    """What an episode is played on: the state of its plan, and what the shell knows of the world."""

    setting: Setting
    state: State
    benchmark: SequentialBenchmark
    embed: Callable[[str], Vector]


class Donor(NamedTuple):
    """Another task with its type, as which a control's graph is consulted, from its beginning to the end."""

    question: Question
    task_type: str


def episode_of(
    stage: Stage, planned: QuestionPlanned, question: Question, donor: Donor | None, *, mode: str = ""
) -> Course:
    """Return the course of a planned episode; a donor stands in for it wherever the graph is consulted.

    `mode` is another way in which its benchmark can show it, "" for the usual one.
    """
    instead = None if donor is None else stage.benchmark.environment(donor.question).reset()
    shown = {"mode": mode} if mode else {}
    environment: Environment = stage.benchmark.environment(question, **shown)
    return _play(_Episode(stage, planned, question, donor, instead), environment)


def opening_of(benchmark: SequentialBenchmark, question: Question) -> Opening:
    """Return how the episode of a question begins."""
    environment = benchmark.environment(question)
    observation = environment.reset()
    moment = Moment(observation.text, environment.valid_actions())
    return Opening(moment, [entity.name for entity in observation.entities])


def _play(episode: _Episode, environment: Environment) -> Course:
    observation = environment.reset()
    lines: list[str] = []
    history: list[str] = []
    achieved: list[str] = []
    dropped: set[str] = set()
    reasoning, unparsed = "", 0
    for step in range(1, episode.stage.setting.config.episode_steps + 1):
        moment = Moment(observation.text, environment.valid_actions(), _with_reasoning(history, reasoning))
        planned = without(episode.consulting(observation), dropped)
        while isinstance(fact := (yield episode.ask(step, planned, moment, observation)), BundleTrimmed):
            dropped.add(fact.memory_id)
            planned = without(planned, dropped)
        assert isinstance(fact, ModelCalled)
        action = environment.parse(fact.text)
        outcome = environment.step(action)
        yield from _recorded(episode.stepped(step, planned, action, outcome))
        lines.append(transcript_line(action, outcome.effect))
        history.append(_remembered(observation, action, fact.text) if observation.recalled else lines[-1])
        reasoning = _reasoning_in(fact.text) if observation.recalled else ""
        achieved += outcome.achievements
        unparsed += action is None
        observation = outcome.observation
        if outcome.done:
            break
    verdict = verdict_of(environment, achieved)
    closed = EpisodeClosed(
        iteration=episode.planned.iteration,
        purpose=episode.planned.purpose,
        episode_id=episode.question.id,
        context_id=episode.question.id,
        steps=len(lines),
        score_micro=round(verdict.score * MICRO),
        achievements=tuple(achieved),
        unparsed=unparsed,
    )
    yield from _recorded(closed)
    return Finish("\n".join(lines), verdict)


def _remembered(observation: Observation, action: str | None, reply: str) -> str:
    """Return a step as later prompts show it: what was seen before it, and the action without its effect.

    In the place of an action stands what was said instead, where none was named.
    """
    said = _in_one_line(reply) if action is None else transcript_line(action, "")
    return f"Observation:\n{observation.recalled}\nAction: {said}"


def _with_reasoning(history: list[str], reasoning: str) -> list[str]:
    """Return the history with the reasoning of its last step; that of earlier ones is not kept."""
    return [*history[:-1], f"{history[-1]}\nReasoning: {reasoning}"] if reasoning else history


def _reasoning_in(reply: str) -> str:
    """Return what a reply says before its last line, without a block of thoughts."""
    return _in_one_line(without_reasoning(reply).strip().rpartition("\n")[0])


def _in_one_line(text: str) -> str:
    return " ".join(text.split())[:MOST_SAID]


def _recorded(fact: EpisodeStepped | EpisodeClosed) -> Generator[Move, Fact, None]:
    """Record what the environment said. Raises `LogError` if it said something else when this was recorded first."""
    recorded = yield Act(fact)
    if recorded != fact:
        raise LogError(
            f"The episode {fact.episode_id} plays differently from what is recorded of it: the environment or this "
            "program changed within the run. Continue with the version that began it."
        )


class _Episode(NamedTuple):
    """One planned episode and what its steps have in common."""

    stage: Stage
    planned: QuestionPlanned
    question: Question
    donor: Donor | None
    instead: Observation | None

    def consulting(self, observation: Observation) -> QuestionPlanned:
        """Return the plan with the bundle of this step."""
        question, task_type = self.donor or (self.question, self.planned.task_type)
        seen, state, recipe_id = self.instead or observation, self.stage.state, self.planned.recipe_id
        text = retrieval_text(question.question, seen.text)
        recipe = state.recipes.recipe(recipe_id) if recipe_id else None
        if recipe and (own := state.recipes.retrieval(task_type)):  # a donor's text is worded by its own type's recipe
            text = recipe_query(own, text)
        query = query_of(self.stage.setting, question, task_type, self.stage.embed(text))
        bundle = retrieve(self.planned.search_arm, query, state.memory, self.stage.setting.terms, recipe=recipe)
        hits = tuple(Retrieved(**hit._asdict()) for hit in (*bundle.success, *bundle.failure))
        return msgspec.structs.replace(self.planned, memories=hits)

    def ask(self, step: int, planned: QuestionPlanned, moment: Moment, observation: Observation) -> Ask:
        """Return the call for one action."""
        setting = self.stage.setting
        task_type = self.donor.task_type if self.donor else planned.task_type
        about = Consulted(task_type, [entity.name for entity in (self.instead or observation).entities])
        prompt = step_prompt(setting, self.stage.state, planned, self.question, moment, about=about)
        is_exploring = planned.template == EXPLORING
        config = setting.config
        temperature = config.exploration_temperature if is_exploring else config.answer_temperature
        request = Request(prompt=prompt.text, temperature=temperature, max_tokens=config.max_tokens)
        agent = "Explorer" if is_exploring else "Learner"
        return Ask(f"{self.question.id}/{step}", request, prompt.spans, agent=agent, droppable=droppable(planned))

    def stepped(self, step: int, planned: QuestionPlanned, action: str | None, outcome: Outcome) -> EpisodeStepped:
        """Return the fact of a step."""
        return EpisodeStepped(
            iteration=planned.iteration,
            purpose=planned.purpose,
            episode_id=self.question.id,
            step=step,
            action=action or "",
            parsed=action is not None,
            observation=outcome.observation.text,
            reward_micro=round(outcome.reward * MICRO),
            achievements=outcome.achievements,
            done=outcome.done,
            effect=outcome.effect,
            memories=tuple(hit.memory_id for hit in planned.memories),
        )
