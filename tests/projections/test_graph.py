"""The graph by itself."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.events import vocabulary as v
from mage_es.projections.graph import Graph
from tests.kit.stages import Stage, flat, round_trip
from tests.kit.strategies import histories, history


def skill(name: str) -> v.SkillCreated:
    return v.SkillCreated(skill=name, mastery=0.0, prompt_template="", strategy="")


def edge(kind: str, source: str, target: str, weight: float = 1.0) -> v.EdgeAdded:
    return v.EdgeAdded(kind=kind, source=source, target=target, weight=weight)


def graph_of(*events: v.Event) -> Graph:
    graph = Graph()
    for event in events:
        if type(event) in Graph.reads:
            graph.apply(event)
    return graph


def needs(before: str, after: str) -> v.EdgeAdded:
    return edge("prerequisite_of", f"skill/{before}", f"skill/{after}")


def test_skills_come_after_their_prerequisites_and_equals_in_lexicographic_order() -> None:
    graph = graph_of(*map(skill, "dcba"), needs("d", "a"), edge("composes_into", "skill/b", "skill/a"))

    assert graph.skills() == ["a", "b", "c", "d"]
    assert graph.skills_in_order() == ["b", "c", "d", "a"]
    assert graph.prerequisites("a") == ["d"]
    assert graph.prerequisites("d") == graph.prerequisites("unknown") == []


def test_an_edge_added_twice_counts_twice_and_is_one_prerequisite() -> None:
    once, twice = graph_of(*map(skill, "ab"), needs("a", "b")), graph_of(*map(skill, "ab"), *[needs("a", "b")] * 2)

    assert twice.prerequisites("b") == ["a"]
    assert twice.edge_counts() == {"prerequisite_of": 2}
    assert twice.digest() != once.digest()


def test_a_cycle_is_seen_through_both_ordering_kinds_and_no_other() -> None:
    graph = graph_of(
        *map(skill, "abc"),
        needs("a", "b"),
        edge("composes_into", "skill/b", "skill/c"),
        edge("like", "skill/c", "skill/a"),
    )

    assert graph.would_close_cycle("skill/c", "skill/a")
    assert graph.would_close_cycle("skill/a", "skill/a")
    assert not graph.would_close_cycle("skill/a", "skill/c")
    assert not graph.would_close_cycle("skill/c", "skill/unknown")


@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=30))
def test_edges_added_only_where_no_cycle_closes_always_leave_an_order(pairs: list[tuple[int, int]]) -> None:
    graph, kept = graph_of(*(skill(str(i)) for i in range(7))), []
    for number, (a, b) in enumerate(pairs):
        if not graph.would_close_cycle(f"skill/{a}", f"skill/{b}"):
            graph.apply(edge(("prerequisite_of", "composes_into")[number % 2], f"skill/{a}", f"skill/{b}"))
            kept.append((a, b))

    order = graph.skills_in_order()
    assert sorted(order) == graph.skills()
    assert all(order.index(str(a)) < order.index(str(b)) for a, b in kept)


@pytest.mark.paper("section 3.1, skill for a task")
def test_the_skill_for_a_task_is_the_heaviest_then_the_first_by_name_then_general() -> None:
    graph = graph_of(
        edge("resolves", "skill/z", "task_type/t", 2.0),
        edge("resolves", "skill/b", "task_type/t", 2.0),
        edge("resolves", "skill/a", "task_type/t", 1.0),
    )

    assert graph.skill_for_task("t") == "b"
    assert graph.skill_for_task("nothing resolves this") == "general"


def test_the_heaviest_edge_resolves_and_a_skill_knows_its_task_types() -> None:
    graph = graph_of(
        *map(skill, "ab"),
        *(v.TaskTypeCreated(task_type=name, description=f"about {name}") for name in "utv"),
        edge("resolves", "skill/a", "task_type/t", 0.5),
        edge("resolves", "skill/b", "task_type/t"),
        edge("resolves", "skill/b", "task_type/t", 0.1),
        edge("resolves", "skill/b", "task_type/u"),
    )

    assert graph.skill_for_task("t") == "b"
    assert graph.task_types_of("b") == ["t", "u"]
    assert graph.task_types_of("a") == [] and graph.task_types_of("general") == ["v"]


@pytest.mark.paper("section 3.1, graph")
def test_every_node_says_what_it_is() -> None:
    split = v.SkillCreated(skill="b", mastery=0.0, prompt_template="", strategy="", parent="a", description="part of a")
    tool = next(e for e in flat(history(seed=1, iterations=1, questions=1)) if isinstance(e, v.ToolAuthored))
    graph = graph_of(
        skill("a"),
        split,
        tool,
        v.TaskTypeCreated(task_type="t", description="about t"),
        v.EntitySeen(entity_id="wood", kind="material"),
        v.ObservationRecorded(observation_id="o", text="you see wood"),
        v.TaskContextOpened(context_id="c", statement="get wood", task_type="t"),
        edge("observed_in", "observation/o", "context/c"),
        v.EdgeAdded(kind="relation", source="entity/axe", target="entity/wood", label="needs"),
        v.EdgeAdded(kind="relation", source="entity/axe", target="entity/wood", label="makes"),
    )

    names = ("skill/b", "skill/a", "task_type/t", "entity/wood", "observation/o", "context/c", f"tool/{tool.tool_id}")
    assert [graph.description(name) for name in names] == [
        "part of a", "", "about t", "material", "you see wood", "get wood", tool.name,
    ]  # fmt: skip
    assert (graph.parent("b"), graph.parent("a")) == ("a", "")
    assert graph.related("entity/axe") == [("makes", "entity/wood"), ("needs", "entity/wood")]
    assert graph.observed_in("observation/o") == ["context/c"]
    assert graph.related("entity/unknown") == graph.observed_in("entity/unknown") == []
    assert graph.node_counts() == {"capability": 2, "environment": 4, "experience": 1, "task": 1}


def test_a_pruned_pattern_leaves_the_counts_and_the_digest_tells() -> None:
    events = flat(history(seed=4, iterations=1, questions=1))
    pattern = next(event for event in events if isinstance(event, v.PatternAbstracted))
    pruned = v.PatternPruned(memory_id=pattern.memory_id, confidence_micro=1, reason="")
    whole, less = graph_of(pattern), graph_of(pattern, pruned)

    assert whole.node_counts()["experience"] == 1
    assert "experience" not in less.node_counts()
    assert less.digest() == graph_of(pruned, pattern).digest() != whole.digest()


def test_a_task_type_of_the_same_name_does_not_order_a_skill() -> None:
    graph = graph_of(*map(skill, "ab"), edge("prerequisite_of", "task_type/b", "task_type/a"), needs("a", "b"))

    assert graph.skills_in_order() == ["a", "b"]


def induced(name: str) -> v.TaskTypeCreated:
    return v.TaskTypeCreated(task_type=name, description=f"about {name}", examples=(f"q-{name}",))


def test_induced_types_are_known_with_their_examples_until_they_go_out_of_use() -> None:
    own, gone = (
        v.TaskTypeCreated(task_type="own", description=""),
        v.TaskTypeRetired(task_type="u", into="t", reason=""),
    )
    graph = graph_of(own, induced("t"), induced("u"), gone)

    assert graph.induced_types() == {"t": induced("t")}
    assert graph.task_types() == ["own", "t", "u"]
    assert (graph.merged_types("t"), graph.merged_types("own")) == (["u"], [])


@given(histories(), st.integers(0, 2**32 - 1))
def test_the_digest_does_not_depend_on_the_order_of_arrival(stages: list[Stage], seed: int) -> None:
    events = flat(stages)
    shuffled = Random(seed).sample(events, len(events))
    seen, again = graph_of(*events), graph_of(*shuffled)

    assert seen.digest() == again.digest()
    assert seen.skills_in_order() == again.skills_in_order()
    assert [seen.skill_for_task(name) for name in seen.task_types()] == [
        again.skill_for_task(name) for name in again.task_types()
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (skill("a"), v.SkillCreated(skill="a", mastery=0.0, prompt_template="", strategy="", parent="b")),
        (v.TaskTypeCreated(task_type="t", description="x"), v.TaskTypeCreated(task_type="t", description="y")),
        (edge("resolves", "skill/a", "task_type/t"), edge("resolves", "skill/a", "task_type/t", 0.5)),
        (needs("a", "b"), needs("b", "a")),
        (skill("a"), v.SkillCreated(skill="a", mastery=0.0, prompt_template="", strategy="", description="b")),
        (edge("relation", "e/a", "e/b"), v.EdgeAdded(kind="relation", source="e/a", target="e/b", label="near")),
        (v.EntitySeen(entity_id="a", kind="x"), v.EntitySeen(entity_id="a", kind="y")),
        (induced("t"), v.TaskTypeCreated(task_type="t", description="about t")),
        (v.TaskTypeRetired(task_type="t", into="u", reason=""), v.TaskTypeRetired(task_type="t", into="", reason="")),
    ],
)
def test_every_field_of_a_fact_is_in_the_digest(one: v.Event, other: v.Event) -> None:
    assert graph_of(one).digest() != graph_of(other).digest()


def test_a_loaded_graph_answers_as_the_dumped_one() -> None:
    graph, loaded = graph_of(*map(skill, "cba"), needs("c", "a"), edge("resolves", "skill/b", "task_type/t")), Graph()
    loaded.apply(skill("forgotten"))

    loaded.load(round_trip(graph.dump()))

    assert loaded.digest() == graph.digest()
    assert loaded.skills_in_order() == graph.skills_in_order() == ["b", "c", "a"]
    assert loaded.skill_for_task("t") == "b"
    assert loaded.node_counts() == graph.node_counts()
