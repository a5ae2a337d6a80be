"""Which course a planned question takes: the Learner's, an episode's, or that of a rival in the wing study."""

from mage_es.engine.agents.learner import course_of
from mage_es.engine.courses import Course
from mage_es.engine.rules.routes import RECALL, ROUTING_ARMS
from mage_es.engine.run.world import World
from mage_es.engine.seams.environment import SequentialBenchmark, is_sequential
from mage_es.engine.seams.plugins import verb
from mage_es.engine.session.episodes import Donor, EpisodeContext, episode_of
from mage_es.events.vocabulary import Purpose, QuestionPlanned
from mage_es.projections.fold import State


def bare_plan(
    question_id: str, *, arm: str, template: str, task_type: str = "", purpose: Purpose = "exam", iteration: int = -1
) -> QuestionPlanned:
    """Return a question's plan that shows nothing learned and draws nothing at random; its prompt is not known yet."""
    return QuestionPlanned(
        iteration=iteration,
        purpose=purpose,
        question_id=question_id,
        task_type=task_type,
        skill="",
        search_arm="none",
        search_probability=1.0,
        routing_arm=arm,
        routing_probability=1.0,
        memories=(),
        principles=(),
        template=template,
        prompt_sha256="",
        spans=(),
    )


def planned_course(world: World, state: State, planned: QuestionPlanned) -> Course:
    """Raises `PrerequisiteError` for a baseline's question if the wing that asks it was deleted."""
    if is_rivals(state, planned):
        course: Course = verb("baseline_course")(world, state, planned)
        return course
    question = world.questions[planned.question_id]
    if not is_sequential(world.benchmark):
        return course_of(world.setting, state, planned, question)
    donor = None
    if planned.donor:
        other = world.questions[planned.donor]
        # Its type is found again, since the plan only records which question is the donor.
        donor = Donor(other, world.types_of(state, [other])[other.id])
    return episode_of(playing(world, state, world.benchmark), planned, question, donor)


def playing(world: World, state: State, benchmark: SequentialBenchmark) -> EpisodeContext:
    return EpisodeContext(world.setting, state, benchmark, lambda text: world.embedder.encode([text])[0])


def is_rivals(state: State, planned: QuestionPlanned) -> bool:
    """Return whether a plan belongs to a baseline or a method, whose name it has instead of a routing arm."""
    return state.progress.baseline is not None or planned.routing_arm not in (RECALL, *ROUTING_ARMS)


def is_learned(state: State) -> bool:
    """Return whether a state belongs to a method's run."""
    begun = state.progress.baseline
    return begun is not None and bool(begun.learned)
