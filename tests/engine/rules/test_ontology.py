"""The ontology resolves every task type and stays without cycles, whatever was authored."""

import pytest

from mage_es.engine.briefs import AuthoredSkill, AuthoredTaskType, OntologyReply
from mage_es.engine.commands import InduceOntology
from mage_es.engine.config import Config
from mage_es.engine.rules.curriculum import learnable
from mage_es.engine.rules.ontology import SKILL_CAP, active_skills, induce_ontology
from mage_es.engine.rules.setting import Setting
from mage_es.engine.rules.splitting import room
from mage_es.events.vocabulary import EdgeRefused
from mage_es.projections.fold import State

SETTING = Setting(Config(benchmark="b"), (), (), (), ("t", "u"), "")


def skill(name: str, *prerequisites: str, resolves: tuple[str, ...] = ()) -> AuthoredSkill:
    return AuthoredSkill(name=name, description="", prerequisites=prerequisites, resolves=resolves)


def induced(reply: OntologyReply | None) -> tuple[State, list[EdgeRefused]]:
    state = State()
    events = [draft.event for draft in induce_ontology(SETTING, state, InduceOntology(("t", "u"), reply))]
    for event in events:
        state.apply(event)
    return state, [event for event in events if isinstance(event, EdgeRefused)]


def test_skills_task_types_and_edges_stand_as_authored() -> None:
    state, refused = induced(
        OntologyReply(skills=(skill("add", resolves=("t",)), skill("sum", "add", resolves=("u",))))
    )
    assert state.graph.skills() == ["add", "general", "sum"]
    assert state.graph.prerequisites("sum") == ["add"]
    assert [state.graph.skill_for_task(name) for name in ("t", "u")] == ["add", "sum"]
    assert refused == []


def test_a_type_that_several_skills_claim_goes_to_the_one_that_claims_least_so_that_others_keep_questions() -> None:
    greedy, modest = skill("a", resolves=("t", "u")), skill("b", resolves=("u",))
    state, refused = induced(OntologyReply(skills=(greedy, modest)))
    assert [state.graph.skill_for_task(name) for name in ("t", "u")] == ["a", "b"]
    assert [(edge.source, edge.target, edge.reason) for edge in refused] == [
        ("skill/a", "task_type/u", "its main skill is b")
    ]


def test_an_unreadable_ontology_leaves_one_skill_that_resolves_everything() -> None:
    state, _ = induced(None)
    assert state.graph.skills() == ["general"]
    assert state.graph.skill_for_task("t") == "general"


@pytest.mark.paper("section 3.1, no cycles")
def test_an_edge_that_closes_a_cycle_or_names_nothing_is_refused_with_the_reason() -> None:
    state, refused = induced(OntologyReply(skills=(skill("a", "b"), skill("b", "a"), skill("c", "nowhere"))))
    assert [edge.reason for edge in refused] == [
        "it would close a cycle of prerequisites",
        "no skill is called 'nowhere'",
    ]
    assert state.graph.prerequisites("a") == ["b"]
    assert state.graph.skills_in_order().index("b") < state.graph.skills_in_order().index("a")


def test_a_skill_that_needs_itself_is_refused() -> None:
    assert len(induced(OntologyReply(skills=(skill("a", "a"),)))[1]) == 1


def test_task_types_that_do_not_exist_are_not_resolved() -> None:
    state, _ = induced(OntologyReply(skills=(skill("a", resolves=("t", "invented")),)))
    assert state.graph.task_types() == ["t", "u"]


@pytest.mark.paper("hyperparameters, caps")
def test_more_skills_than_the_cap_are_stored_and_only_the_active_ones_resolve_and_are_learned() -> None:
    many = [skill(f"a{i:03d}", *(["a000"] if i == 40 else []), resolves=("t",)) for i in range(50)]
    state, refused = induced(OntologyReply(skills=tuple(many)))
    assert len(state.graph.skills()) == 51
    assert state.graph.prerequisites("a040") == ["a000"]

    active = active_skills(state.graph.skills())
    assert active == ["general", *(f"a{i:03d}" for i in range(SKILL_CAP - 1))]
    assert state.graph.skill_for_task("t") == "a000"
    reasons = {edge.source: edge.reason for edge in refused}
    assert reasons["skill/a001"] == "its main skill is a000" and "skills are not active" in reasons["skill/a049"]
    assert set(learnable(SETTING, state)) <= set(active)
    assert room(state) == 0


def test_what_is_said_of_skills_and_task_types_is_kept_with_what_they_are_part_of() -> None:
    part = AuthoredSkill(name="part", description="a part", prerequisites=(), resolves=("t",), composes_into=("whole",))
    types = (
        AuthoredTaskType(task_type="u", description="about u"),
        AuthoredTaskType(task_type="invented", description="about nothing"),
    )
    state, refused = induced(OntologyReply(skills=(part, skill("whole", resolves=("u",))), task_types=types))
    assert state.graph.description("skill/part") == "a part"
    assert state.graph.description("task_type/u") == "about u"
    assert state.graph.edge_counts() == {"composes_into": 1, "resolves": 2}
    assert state.graph.task_types() == ["t", "u"]
    assert refused == []


@pytest.mark.paper("section 3.1, no cycles")
def test_prerequisites_and_compositions_together_close_no_cycle() -> None:
    circle = AuthoredSkill(name="b", description="", prerequisites=("a",), resolves=(), composes_into=("a", "nowhere"))
    state, refused = induced(OntologyReply(skills=(skill("a"), circle)))
    assert [(edge.kind, edge.reason) for edge in refused] == [
        ("composes_into", "it would close a cycle of prerequisites"),
        ("composes_into", "no skill is called 'nowhere'"),
    ]
    assert state.graph.closure("b") == ["a", "b"]


def test_a_name_that_could_not_be_shown_on_a_line_is_no_skill() -> None:
    state, _ = induced(OntologyReply(skills=tuple(map(skill, ["", " a", "a\nb", "x" * 81, "fine"]))))
    assert state.graph.skills() == ["fine", "general"]
