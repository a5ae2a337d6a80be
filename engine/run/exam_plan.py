"""What an exam asks, for the session that takes it and the check that plans it again."""

from collections.abc import Collection, Mapping

from mage_es.engine.commands import Asked, PlanAnswers
from mage_es.engine.rules.controls import donors, permutation
from mage_es.engine.run.world import World
from mage_es.events.vocabulary import Purpose
from mage_es.projections.fold import State


def asked_of(world: World, state: State, purposes: Mapping[str, Purpose]) -> list[Asked]:
    """Return questions (id -> purpose) with their task types and vectors, in id order."""
    questions = [world.questions[name] for name in sorted(purposes)]
    types = world.typing.types_of(questions, state.graph.induced_types())
    return world.asked(state, questions, types, [purposes[question.id] for question in questions])


def exam_plan(world: World, state: State, names: Collection[str], control: str) -> PlanAnswers:
    """Return the command that plans an exam of a state on these questions, under a control."""
    purposes: dict[str, Purpose] = dict.fromkeys(names, "exam")
    asked, seed = asked_of(world, state, purposes), world.setting.config.seed
    given = donors(asked, seed) if control == "shuffled" else {}
    answers = permutation(state.memory, seed) if control == "permuted" else {}
    return PlanAnswers(-1, "exam", asked, frozen=True, donors=given, answers=answers, is_bare=control == "bare")


def families_of(world: World) -> set[str]:
    """Return the phrasing families of the evolution questions; none if the benchmark has no families."""
    return {world.questions[name].family for name in world.setting.evolution} - {""}
