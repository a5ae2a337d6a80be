"""Random valid histories, posteriors and failures as Hypothesis strategies.

A strategy draws a few numbers and a seed, and ordinary code does the rest: so drawing is quick, and a failing example
can be repeated.
"""

from collections.abc import Mapping, Sequence
from random import Random

from hypothesis import strategies as st

from mage_es.events import vocabulary as v
from mage_es.projections.bandits import Posterior
from tests.kit.random_events import drawn
from tests.kit.random_run import RandomRun
from tests.kit.stages import Stage

Failures = Sequence[Mapping[str, tuple[int, int]]]
"""For each iteration, (failures, attempts) by task type; a type counts as observed from its first iteration on."""

_SKILLS = ("a", "b", "c", "d")


@st.composite
def histories(draw: st.DrawFn, *, most_iterations: int = 4) -> list[Stage]:
    """Draw a whole run: opening, then up to `most_iterations` iterations with every phase and every kind of event."""
    iterations = draw(st.integers(0, most_iterations))
    seed = draw(st.integers(0, 2**32 - 1))
    return history(seed=seed, iterations=iterations, questions=draw(st.integers(1, 6)))


def history(*, seed: int, iterations: int, questions: int) -> list[Stage]:
    """Return the random run of a seed, with this many questions in each iteration."""
    return RandomRun(Random(seed), questions).stages(iterations)


@st.composite
def slot_histories(draw: st.DrawFn) -> list[v.Event]:
    """Draw creations, updates, snapshots, and rollbacks to any earlier snapshot, even across other rollbacks."""
    events: list[v.Event] = [_created("a", 0.0)]
    skills, snapshots = ["a"], 0
    for what in draw(st.lists(st.sampled_from(["update", "refine", "snapshot", "rollback", "create"]), max_size=40)):
        if what == "update":
            events.append(_updated(draw(st.sampled_from(skills)), draw(st.floats(0, 1))))
        elif what == "refine":
            events.append(_refined(draw(st.sampled_from(skills)), draw(st.sampled_from("xyz"))))
        elif what == "snapshot":
            events.append(v.SnapshotTaken(iteration=snapshots))
            snapshots += 1
        elif what == "rollback" and snapshots:
            events.append(v.SlotsRolledBack(iteration=snapshots, to_iteration=draw(st.integers(0, snapshots - 1))))
        elif what == "create" and len(skills) < len(_SKILLS):
            skills.append(_SKILLS[len(skills)])
            events.append(_created(skills[-1], draw(st.floats(0, 1))))
    return events


@st.composite
def failures(draw: st.DrawFn, *, most_iterations: int = 30, most_types: int = 9) -> Failures:
    """Draw how often each task type fails in each iteration; some types appear later than others."""
    names = [f"t{number}" for number in range(draw(st.integers(1, most_types)))]
    first = {name: draw(st.integers(0, 6)) for name in names}
    history = []
    for k in range(draw(st.integers(1, most_iterations))):
        answers = {name: draw(st.tuples(st.integers(0, 8), st.just(8))) for name in names if first[name] <= k}
        history.append(answers)
    return history


@st.composite
def posteriors(draw: st.DrawFn, *, most_arms: int = 7) -> dict[str, Posterior]:
    """Draw the posteriors of a key's arms: the prior plus rewards in whole millionths."""
    key = {}
    for number in range(draw(st.integers(1, most_arms))):
        pulls = draw(st.integers(0, 60))
        rewarded = draw(st.integers(0, pulls * v.MICRO))
        key[f"arm{number}"] = Posterior(v.MICRO + rewarded, v.MICRO + pulls * v.MICRO - rewarded, pulls)
    return key


def _created(skill: str, mastery: float) -> v.SkillCreated:
    return v.SkillCreated(skill=skill, mastery=mastery, prompt_template=f"p-{skill}", strategy=f"s-{skill}")


def _updated(skill: str, after: float) -> v.MasteryUpdated:
    return drawn(v.MasteryUpdated, Random(0), skill=skill, after=after)


def _refined(skill: str, words: str) -> v.SkillRefined:
    return drawn(v.SkillRefined, Random(0), skill=skill, prompt_template=f"p {words}", strategy=f"s {words}")
