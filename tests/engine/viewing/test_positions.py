"""Where nodes are drawn: each in a place of its own, around what it belongs to, the same every time."""

from collections.abc import Sequence
from math import dist

import numpy as np
from numpy.typing import NDArray

from mage_es.engine.viewing.columns import Codes, Numbers
from mage_es.engine.viewing.positions import positions


def drawn(kinds: Sequence[str], edges: Sequence[tuple[int, int, str]] = ()) -> NDArray[np.float64]:
    nodes, ends, links = Codes(), (Numbers(), Numbers()), Codes()
    nodes.extend(kinds)
    for source, target, kind in edges:
        ends[0].append(source)
        ends[1].append(target)
        links.append(kind)
    return positions(nodes, *ends, links)


def test_each_node_has_a_place_of_its_own_and_a_memory_lies_with_its_skill() -> None:
    kinds = ["skill"] * 6 + ["task_type"] * 2 + ["memory"] * 400 + ["observation"] * 30
    members = [row for row, kind in enumerate(kinds) if kind == "memory"]
    edges = [*((row, row % 5, "exercises") for row in members), (0, 6, "resolves"), (1, 0, "prerequisite_of")]
    edges.append((members[0], 4, "exercises"))  # where it is drawn is what its first edge says
    found = drawn(kinds, edges)
    places = list(map(tuple, found.T.tolist()))
    assert len(set(places)) == len(kinds) and abs(found).max() == 1
    assert (found == drawn(kinds, edges)).all()
    for row in members:
        nearest = min(range(5), key=lambda skill: dist(places[row], places[skill]))
        assert nearest == row % 5


def test_a_graph_without_a_node_or_with_one_is_drawn() -> None:
    assert drawn([]).shape == (2, 0)
    assert drawn(["skill"]).tolist() == [[0.0], [0.0]]
