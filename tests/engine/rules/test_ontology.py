"""The ontology resolves every task type and stays without cycles, whatever was authored."""

from __future__ import annotations

from mage_es.engine.agents.briefs import AuthoredSkill, OntologyReply
from mage_es.engine.commands import InduceOntology
from mage_es.engine.config import Config
from mage_es.engine.rules.ontology import SKILL_CAP, induce_ontology
from mage_es.engine.setting import Setting
from mage_es.events.vocabulary import EdgeRefused, SkillCreated
from mage_es.projections.fold import State

SETTING = Setting(Config(benchmark="b"), 0.3, (), (), (), ("t", "u"), "")


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


def test_an_unreadable_ontology_leaves_one_skill_that_resolves_everything() -> None:
    state, _ = induced(None)
    assert state.graph.skills() == ["general"]
    assert state.graph.skill_for_task("t") == "general"


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


def test_no_more_skills_are_created_than_the_cap_and_general_is_among_them() -> None:
    drafts = induce_ontology(
        SETTING, State(), InduceOntology(("t",), OntologyReply(skills=tuple(skill(f"a{i:03d}") for i in range(50))))
    )
    created = [draft.event.skill for draft in drafts if isinstance(draft.event, SkillCreated)]
    assert len(created) == SKILL_CAP
    assert "general" in created
