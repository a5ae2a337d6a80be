"""Which course a planned question takes: the Learner's, an episode, or that of a baseline."""

from mage_es.engine.agents.learner import course_of
from mage_es.engine.baselines.answering import BaselineTrial
from mage_es.engine.baselines.table import BASELINES
from mage_es.engine.courses import Course
from mage_es.engine.run.world import World
from mage_es.engine.seams.environment import is_sequential
from mage_es.engine.session.episodes import Donor, EpisodeContext, episode_of
from mage_es.events.vocabulary import QuestionPlanned
from mage_es.projections.fold import State


def planned_course(world: World, state: State, planned: QuestionPlanned) -> Course:
    question = world.questions[planned.question_id]
    baseline = BASELINES.get(planned.routing_arm)  # a baseline's plan names the baseline as its routing arm
    if not is_sequential(world.benchmark):
        if baseline is None:
            return course_of(world.setting, state, planned, question)
        shots = baseline.shots(world.benchmark.name, world.questions, world.setting.evolution)
        return baseline.course(BaselineTrial(world.setting, world.benchmark, question, shots))
    context = EpisodeContext(world.setting, state, world.benchmark, lambda text: world.embedder.encode([text])[0])
    if baseline is not None:
        return episode_of(context, planned, question, None, mode=baseline.plays_as or "")
    donor = None
    if planned.donor:
        other = world.questions[planned.donor]
        # Typed again: the plan records only which question donates.
        donor = Donor(other, world.typing.types_of([other], state.graph.induced_types())[0])
    return episode_of(context, planned, question, donor)
