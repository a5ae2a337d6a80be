"""Where nodes are drawn: each in a place of its own, around what it belongs to, the same every time."""

from __future__ import annotations

from math import dist

from mage_es.engine.viewing.positions import positions


def test_each_node_has_a_place_of_its_own_and_a_memory_lies_with_its_skill() -> None:
    kinds = ["skill"] * 6 + ["task_type"] * 2 + ["memory"] * 400 + ["observation"] * 30
    members = [row for row, kind in enumerate(kinds) if kind == "memory"]
    edges = {
        "source": [*members, 0, 1],
        "target": [*(row % 5 for row in members), 6, 0],
        "kind": [*("exercises" for _ in members), "resolves", "prerequisite_of"],
    }
    x, y = positions({"kind": kinds}, edges)
    places = list(zip(x, y, strict=True))
    assert len(set(places)) == len(kinds) and max(map(abs, x + y)) == 1
    assert (x, y) == positions({"kind": kinds}, edges)
    for row in members:
        nearest = min(range(5), key=lambda skill: dist(places[row], places[skill]))
        assert nearest == row % 5


def test_a_graph_without_a_node_or_with_one_is_drawn() -> None:
    assert positions({"kind": []}, {"source": [], "target": [], "kind": []}) == ([], [])
    assert positions({"kind": ["skill"]}, {"source": [], "target": [], "kind": []}) == ([0.0], [0.0])
