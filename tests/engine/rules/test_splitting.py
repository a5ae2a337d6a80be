"""A split makes narrower skills that compose into the old one and take its task types over, without a cycle."""

import pytest

from mage_es.engine.briefs import AuthoredChild, SplittingReply
from mage_es.engine.rules.ontology import SKILL_CAP
from mage_es.engine.rules.rotation import ActionTurn, Written
from mage_es.engine.rules.splitting import split
from mage_es.events import vocabulary as v
from mage_es.projections.fold import State


def child(name: str, *resolves: str, needs: tuple[str, ...] = (), strategy: str = "") -> AuthoredChild:
    return AuthoredChild(name=name, description="", strategy=strategy, resolves=resolves, prerequisites=needs)


@pytest.fixture
def state() -> State:
    """Return a state with the skill `sums` (mastery 0.6) that needs `counting` and resolves three task types."""
    fresh = State()
    for skill in ("counting", "general", "sums"):
        fresh.apply(v.SkillCreated(skill=skill, mastery=0.0, prompt_template="Be careful.", strategy="Add up."))
    for task_type in ("ages", "prices", "speeds"):
        fresh.apply(v.TaskTypeCreated(task_type=task_type, description=""))
        fresh.apply(v.EdgeAdded(kind="resolves", source="skill/sums", target=f"task_type/{task_type}"))
    fresh.apply(v.EdgeAdded(kind="prerequisite_of", source="skill/counting", target="skill/sums"))
    rise = v.MasteryUpdated(iteration=0, skill="sums", before=0.0, after=0.6, evidence=1.0, successes=3, failures=0)
    fresh.apply(rise)
    return fresh


def after(state: State, *children: AuthoredChild, skill: str = "sums") -> Written:
    reply = SplittingReply(children=children, reason="They differ.")
    writing = split(ActionTurn(state, iteration=3, task_type="ages", skill=skill, origin=v.Origin(facts=("c",))), reply)
    for event in writing.events:
        state.apply(event)
    return writing


def refusals(writing: Written) -> list[str]:
    return [event.reason for event in writing.events if isinstance(event, v.EdgeRefused)]


@pytest.mark.paper("section 3.3, skill splitting")
def test_the_children_take_over_the_task_types_and_compose_into_the_parent(state: State) -> None:
    after(state, child("sums-ages", "ages"), child("sums-prices", "prices"))
    assert state.graph.skill_for_task("ages") == "sums-ages"
    assert state.graph.skill_for_task("prices") == "sums-prices"
    assert {"sums-ages", "sums-prices"} <= set(state.graph.composition("sums"))
    assert state.graph.parent("sums-ages") == "sums"


def test_a_child_inherits_mastery_slots_and_what_its_parent_needs(state: State) -> None:
    after(state, child("a", "ages"), child("b", "prices", strategy="Look closer."))
    assert state.slots.mastery("a") == 0.6
    assert state.slots.prompt_template("a") == "Be careful."
    assert (state.slots.strategy("a"), state.slots.strategy("b")) == ("Add up.", "Look closer.")
    assert state.graph.prerequisites("a") == ["counting"]


def test_a_type_that_no_child_takes_stays_with_the_parent(state: State) -> None:
    after(state, child("a", "ages"), child("b", "speeds"))
    assert state.graph.skill_for_task("prices") == "sums"


def test_a_grandchild_takes_over_from_a_child_in_turn(state: State) -> None:
    after(state, child("a", "ages", "prices"), child("b", "speeds"))
    after(state, child("aa", "ages"), child("ab", "prices"), skill="a")
    assert [state.graph.skill_for_task(name) for name in ("ages", "prices")] == ["aa", "ab"]


def test_a_type_goes_to_one_child_only_and_only_if_it_was_the_parents(state: State) -> None:
    writing = after(state, child("a", "ages"), child("b", "ages", "weights"))
    assert refusals(writing) == ["a took it over", "sums does not resolve it"]
    assert state.graph.skill_for_task("ages") == "a"


def test_prerequisites_that_would_close_a_cycle_or_name_nobody_are_refused_as_facts(state: State) -> None:
    writing = after(state, child("a", "ages", needs=("b", "ghost")), child("b", "prices", needs=("a",)))
    assert refusals(writing) == ["no child of sums is called 'ghost'", "it would close a cycle of prerequisites"]
    order = state.graph.skills_in_order()
    assert order.index("counting") < order.index("b") < order.index("a") < order.index("sums")


@pytest.mark.parametrize(
    "children",
    [
        (child("a"),),
        (child("a"), child("a")),
        (child("a"), child("general")),
        (child("a"), child("two\nlines")),
        (child("a"), child(" b")),
        (child("a"), child("x" * 81)),
    ],
)
def test_fewer_than_two_children_with_new_names_split_nothing(
    state: State, children: tuple[AuthoredChild, ...]
) -> None:
    writing = after(state, *children)
    assert writing.events == ()
    assert writing.refused.startswith("refused: a split needs 2 children")


def test_a_child_that_resolves_no_task_type_is_refused_and_fills_no_place(state: State) -> None:
    writing = after(state, child("a", "ages"), child("idle"), child("late", "ages"))
    assert (writing.authored, writing.refused) == (1, "refused: idle, late would resolve no task type")
    assert state.graph.skills() == ["a", "counting", "general", "sums"]


@pytest.mark.parametrize("children", [(child("a"), child("b")), (child("a", "ages", "prices", "speeds"), child("b"))])
def test_children_that_do_not_divide_the_task_types_split_nothing(
    state: State, children: tuple[AuthoredChild, ...]
) -> None:
    assert after(state, *children) == Written(refused="refused: its task types would not be divided")


def test_no_children_means_that_the_skill_is_best_left_whole(state: State) -> None:
    assert after(state) == Written()


@pytest.mark.paper("section 3.3, skill splitting")
def test_there_are_never_more_skills_than_the_cap(state: State) -> None:
    more: list[v.Event] = [
        v.SkillCreated(skill=f"s{number}", mastery=0.0, prompt_template="", strategy="")
        for number in range(SKILL_CAP - 4)
    ]
    for event in more:
        state.apply(event)
    assert (
        after(state, child("a", "ages"), child("b", "prices")).refused
        == f"refused: there would be more than {SKILL_CAP} skills"
    )
    assert len(state.graph.skills()) == SKILL_CAP - 1
