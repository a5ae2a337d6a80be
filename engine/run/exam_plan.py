"""What an exam asks, for the session that takes it and the check that plans it again."""

from collections.abc import Collection, Mapping, Sequence

import msgspec

from mage_es.engine.commands import Asked, PlanAnswers
from mage_es.engine.rules.controls import donors, permutation
from mage_es.engine.rules.randomness import ranked
from mage_es.engine.rules.setting import Setting
from mage_es.engine.run.world import World
from mage_es.events import vocabulary as v
from mage_es.events.errors import PrerequisiteError, UsageError
from mage_es.projections.fold import State


def held_out_sample(setting: Setting, count: int | None) -> Sequence[str]:
    """Return the ids of `count` held-out questions (None: all). A smaller selection is part of every larger one. Raises
    `UsageError` for more than are held out, and `PrerequisiteError` if all of them are erased.
    """
    held_out = ranked(setting.held_out, setting.config.seed, purpose="exam.questions")
    if not held_out:
        raise PrerequisiteError(
            "None of the held-out questions can be read here, so there is nothing to examine: the keys of their "
            "subjects were destroyed, or are not in this copy."
        )
    if count is None or 0 < count <= len(held_out):
        return held_out[:count]
    raise UsageError(
        f"This run holds out {len(held_out)} questions, so an exam cannot have {count}. Choose 1 to "
        f"{len(held_out)}, or omit the number."
    )


def registered_in(world: World, registration: v.RunRegistered) -> v.RunRegistered:
    """Return a registration in its recorded form: 0 means all held-out questions. Raises `UsageError` for one that this
    world cannot honour."""
    questions = len(held_out_sample(world.setting, registration.questions or None))
    seed = world.setting.config.seed
    if registration.exams < 1:
        raise UsageError(f"{registration.exams} exams are registered: give 1 or more.")
    if seed not in registration.seeds:
        raise UsageError(f"The seed {seed} is not among the registered ones: {registration.seeds}.")
    return msgspec.structs.replace(registration, questions=questions)


def asked_of(world: World, state: State, purposes: Mapping[str, v.Purpose]) -> list[Asked]:
    """Return questions (id -> purpose) with their task types and vectors, in id order."""
    questions = [world.questions[name] for name in sorted(purposes)]
    types = world.types_of(state, questions)
    return world.asked(state, questions, list(types.values()), [purposes[question.id] for question in questions])


def exam_plan(world: World, state: State, names: Collection[str], control: str) -> PlanAnswers:
    """Return the command that plans an exam of a state on these questions, under a control."""
    purposes: dict[str, v.Purpose] = dict.fromkeys(names, "exam")
    asked, seed = asked_of(world, state, purposes), world.setting.config.seed
    given = donors(asked, seed) if control == "shuffled" else {}
    answers = permutation(state.memory, seed) if control == "permuted" else {}
    return PlanAnswers(-1, "exam", asked, frozen=True, donors=given, answers=answers, is_bare=control == "bare")


def families_of(world: World) -> set[str]:
    """Return the phrasing families of the evolution questions; none if the benchmark has no families."""
    return {world.questions[name].family for name in world.setting.evolution} - {""}
