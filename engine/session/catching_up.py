"""The course of a planned question, advanced through everything that the log already has of it (session/session.py)."""

from collections.abc import Callable
from functools import partial

from mage_es.engine.courses import Act, Ask, Course, Fact, Finish, Grade, Look, Move, Use, begin, catch_up
from mage_es.engine.rules.ingredients import trimming_of
from mage_es.engine.run.world import World
from mage_es.engine.session.course_choice import planned_course
from mage_es.engine.session.following import PendingCourse
from mage_es.engine.session.judge import judged
from mage_es.events.digests import sha256_text
from mage_es.events.vocabulary import EpisodeStepped, Phase, QuestionPlanned
from mage_es.projections.fold import State
from mage_es.projections.progress import CallKey, Progress, trial_of


def pending_course(
    world: World, state: State, phase: Phase, planned: QuestionPlanned, *, causation: int, has_judge: bool
) -> tuple[PendingCourse, bool]:
    """Return the course at its first unrecorded move, and whether its prompt renders as planned."""
    course, recorded = planned_course(world, state, planned), partial(recorded_fact, state.progress, phase, planned)
    pending, first = replay_course(world, planned, course, recorded, causation=causation, has_judge=has_judge)
    # A recalled answer has no prompt: its first call is the judge's.
    request = first.request if isinstance(first, Ask) and first.tier == "execution" else None
    return pending, request is None or sha256_text(request.text) == planned.prompt_sha256


def replay_course(
    world: World,
    planned: QuestionPlanned,
    course: Course,
    recorded: Callable[[Move], Fact | None],
    *,
    causation: int,
    has_judge: bool,
) -> tuple[PendingCourse, Move | Finish]:
    """Return a course, with its verdict, after it was led through its recorded facts; and its first move."""
    question = world.questions[planned.question_id]
    course = judged(
        course,
        question,
        benchmark=world.benchmark,
        has_judge=has_judge,
        is_apart=world.is_scored_apart,
        templates=world.setting.templates,
    )
    first = begin(course)
    return PendingCourse(planned, question, course, catch_up(course, first, recorded), causation, recorded), first


def recorded_fact(progress: Progress, phase: Phase, planned: QuestionPlanned, move: Move) -> Fact | None:
    """Return the fact of a move if the log has it."""
    match move:
        case Ask():
            key = CallKey(move.tier, move.purpose or planned.purpose, move.about, move.attempt, move.request.sha256)
            # A prompt that did not fit the model's context left a trimming on record, and no reply.
            return (
                progress.call(key)
                or trimming_of(move, progress.trimmings(phase, planned.question_id, trial_of(planned)))
                or (progress.lost(key) if move.is_spare else None)
                # A reply about this question to another prompt: it was asked once, and is not asked again.
                or progress.call_at(planned.iteration, key)
            )
        case Use():
            return progress.tool_run(planned.purpose, planned.question_id, move.tool_id, move.arguments)
        case Look():
            return progress.search(planned.purpose, planned.question_id, move.place)
        case Act(EpisodeStepped() as stepped):
            return progress.step(planned.purpose, planned.question_id, stepped.step)
        case Act():
            return progress.episode(planned.purpose, planned.question_id)
        case Grade():
            return None
