"""Where the nodes of a graph are drawn. Positions are computed once, from the whole graph, so that no node ever moves.

Skills and task types are hubs, drawn by their edges. Learned items lie around the skill that they exercise (or else
their task type), in order of birth from the middle outwards, like seeds in a sunflower. The time is linear in their
number.
"""

from typing import Any

import numpy as np
import rustworkx as rx
from numpy.typing import NDArray

from mage_es.engine.viewing.columns import Codes, Numbers

_HUBS = ("skill", "task_type")
_MOST_HUBS = 500
_GOLDEN = np.pi * (3 - 5**0.5)
_ROUNDS = 100


def positions(kinds: Codes, sources: Numbers, targets: Numbers, links: Codes) -> NDArray[np.float64]:
    """Return x and y [2, n] of each node, in [-1, 1], given their kinds, and the ends and the kinds of their edges."""
    hubs = np.flatnonzero(kinds.among(*_HUBS))[:_MOST_HUBS]
    if not len(kinds):
        return np.zeros((2, 0))
    elsewhere = len(hubs)  # nodes without a hub (an environment's) form a separate flower
    place = np.full(len(kinds), elsewhere)
    place[hubs] = range(len(hubs))
    one, other = place[sources.numbers()], place[targets.numbers()]
    between = (one < elsewhere) & (other < elsewhere)
    home, leads = place.copy(), np.flatnonzero(~between & (other < elsewhere) & links.among("exercises", "about"))
    # The first edge of a node counts: of several assignments to one place the last one wins.
    home[sources.numbers()[leads[::-1]]] = other[leads[::-1]]
    home[hubs] = range(len(hubs))
    order = np.argsort(home, kind="stable")
    flowers, first, sizes = np.unique(home[order], return_index=True, return_counts=True)
    number = np.empty(len(kinds), int)
    number[order] = np.arange(len(kinds)) - np.repeat(first, sizes)
    radius = np.ones(elsewhere + 1)
    radius[flowers] = np.sqrt(sizes) + 1
    pairs = set(zip(one[between].tolist(), other[between].tolist(), strict=True))
    at = _spread(elsewhere + 1, pairs, radius)[home]
    away = np.sqrt(number)[:, None] * np.stack([np.cos(number * _GOLDEN), np.sin(number * _GOLDEN)], axis=1)
    found = at + away
    found -= (found.min(axis=0) + found.max(axis=0)) / 2
    drawn: NDArray[np.float64] = np.round(found / max(1.0, np.abs(found).max()), 5).T
    return drawn


def _spread(count: int, links: set[tuple[int, int]], radius: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the centres of the flowers: near the places to which their edges pull them, and far enough apart for their
    widths."""
    graph = rx.PyGraph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from([(*link, None) for link in sorted(links)])
    layout = rx.spring_layout(graph, seed=0)
    at: np.ndarray[Any, Any] = np.array([layout[place] for place in range(count)]) * radius.sum() / max(1, count) ** 0.5
    for _ in range(_ROUNDS):
        gap = at[:, None] - at[None]
        distance = np.maximum(np.hypot(gap[..., 0], gap[..., 1]), 1e-9)
        short = np.maximum(0, radius[:, None] + radius[None] - distance)
        np.fill_diagonal(short, 0)
        if not short.any():
            break
        at = at + (gap / distance[..., None] * short[..., None]).sum(axis=1) / 2
    return at
