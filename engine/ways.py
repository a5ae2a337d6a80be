"""Which course a planned question takes: by the graph, as an episode in its environment, or as a baseline goes."""

from __future__ import annotations

from mage_es.engine.agents.learner import course_of
from mage_es.engine.baselines.answering import Attempt
from mage_es.engine.baselines.table import BASELINES
from mage_es.engine.courses import Course
from mage_es.engine.environments.protocol import is_sequential
from mage_es.engine.episodes import Donor, Stage, episode_of
from mage_es.engine.opening import World
from mage_es.events.vocabulary import QuestionPlanned
from mage_es.projections.fold import State


def planned_course(world: World, state: State, planned: QuestionPlanned) -> Course:
    """Return the course of a planned question on the state of its plan; a baseline's plan names it as routing arm."""
    question = world.questions[planned.question_id]
    baseline = BASELINES.get(planned.routing_arm)
    if not is_sequential(world.benchmark):
        if baseline is None:
            return course_of(world.setting, state, planned, question)
        shots = baseline.shots(world.benchmark.name, world.questions, world.setting.evolution)
        return baseline.course(Attempt(world.setting, world.benchmark, question, shots))
    stage = Stage(world.setting, state, world.benchmark, lambda text: world.embed([text])[0])
    if baseline is not None:
        return episode_of(stage, planned, question, None, mode=baseline.plays_as or "")
    donor = None
    if planned.donor:
        other = world.questions[planned.donor]
        donor = Donor(other, world.typing.types_of([other])[0])
    return episode_of(stage, planned, question, donor)
