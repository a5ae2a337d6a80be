import rustworkx

from mage_es.engine.briefs import Case, OntologyBrief, OntologyReply, TaskTypeSample
from mage_es.engine.players.reference.ontology import GENERAL, author_ontology

SUMS = {
    "sum": "3 + 4 = 7",
    "product": "3 * 4 = 12",
    "both": "3 * 4 = 12\n12 + 5 = 17",
    "all": "3 * 4 = 12\n12 + 5 = 17\n17 - 2 = 15\n15 / 5 = 3",
    "unread": "It is clear.",
}


def ontology(*, skill_cap: int = 30) -> OntologyReply:
    samples = tuple(
        TaskTypeSample(
            task_type=name,
            samples=(
                Case(
                    question_id=name,
                    question="He has 3, 4, 5 and 2 pens.",
                    answer=text.rpartition("= ")[2],
                    solution=text,
                ),
            ),
        )
        for name, text in SUMS.items()
    )
    return author_ontology(OntologyBrief(benchmark="b", task_types=samples, skill_cap=skill_cap))


def test_every_task_type_is_resolved_once_and_general_is_there() -> None:
    skills = ontology().skills
    assert sorted(name for skill in skills for name in skill.resolves) == sorted(SUMS)
    assert next(skill for skill in skills if skill.name == GENERAL).resolves == ("unread",)


def test_prerequisites_are_known_acyclic_and_go_from_simple_to_composed() -> None:
    skills = {skill.name: skill for skill in ontology().skills}
    graph: rustworkx.PyDiGraph[str, None] = rustworkx.PyDiGraph()
    places = {name: graph.add_node(name) for name in skills}
    for skill in skills.values():
        for name in skill.prerequisites:
            graph.add_edge(places[name], places[skill.name], None)
    assert rustworkx.is_directed_acyclic_graph(graph)
    of = {skill.resolves[0]: skill for skill in skills.values()}
    assert set(of["both"].prerequisites) == {of["sum"].name, of["product"].name}
    assert of["all"].prerequisites == (of["both"].name,)


def test_the_cap_counts_general_and_leaves_no_type_unresolved() -> None:
    skills = ontology(skill_cap=2).skills
    assert len(skills) == 2
    assert sorted(name for skill in skills for name in skill.resolves) == sorted(SUMS)
