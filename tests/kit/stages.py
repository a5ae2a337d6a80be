"""Histories of runs as lists of stages: the events of each phase, in order or re-interleaved.

In a `concurrent` stage the events may have any order that keeps each question's plan, reply and verdict in sequence.
"""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple, cast

import msgspec

from mage_es.events import vocabulary as v
from mage_es.projections.fold import State


class Stage(NamedTuple):
    """In a concurrent phase, events of different questions may interleave in any way."""

    iteration: int
    phase: v.Phase
    events: tuple[v.Event, ...]
    concurrent: bool = False


def flat(stages: Sequence[Stage]) -> list[v.Event]:
    """Return the events of all stages in order."""
    return [event for stage in stages for event in stage.events]


def shuffled(stages: Sequence[Stage], random: Random) -> list[v.Event]:
    """Return the events with each concurrent stage re-interleaved, keeping each question's order."""
    events: list[v.Event] = []
    for stage in stages:
        if not stage.concurrent:
            events += stage.events
            continue
        lanes: dict[str, list[v.Event]] = {}
        for event in stage.events:
            about = event.about if isinstance(event, v.ModelCalled) else cast(v.QuestionPlanned, event).question_id
            lanes.setdefault(about, []).append(event)
        while lanes:
            lane = random.choice(sorted(lanes))
            events.append(lanes[lane].pop(0))
            lanes = {about: rest for about, rest in lanes.items() if rest}
    return events


def round_trip(dumped: object) -> object:
    return msgspec.msgpack.decode(msgspec.msgpack.encode(dumped))


def with_digests(events: Sequence[v.Event]) -> list[v.Event]:
    """Return the events with the true digests in every `IterationClosed`, as a live run records them."""
    state, closed = State(), []
    for event in events:
        if isinstance(event, v.IterationClosed):
            event = msgspec.structs.replace(event, digests=state.digests())
        state.apply(event)
        closed.append(event)
    return closed


def folded(events: Sequence[v.Event]) -> State:
    """Return the live state after these events."""
    state = State()
    for event in events:
        state.apply(event)
    return state


def drafts_of(stages: Sequence[Stage]) -> list[list[v.Draft]]:
    """Return the batches that a live run appends to its log, one for each stage, with true digests."""
    events = iter(with_digests(flat(stages)))
    return [
        [
            v.Draft(event=next(events), iteration=stage.iteration, phase=stage.phase, ordinal=ordinal)
            for ordinal in range(len(stage.events))
        ]
        for stage in stages
    ]


def masked(events: list[v.Event]) -> list[v.Event]:
    """Return the events without those that a rollback undoes, from the last rollback backwards."""
    gone: set[int] = set()
    for here in range(len(events) - 1, -1, -1):
        event = events[here]
        if isinstance(event, v.SlotsRolledBack) and here not in gone:
            there = max(
                i
                for i, earlier in enumerate(events[:here])
                if isinstance(earlier, v.SnapshotTaken) and earlier.iteration == event.to_iteration
            )
            gone.update(range(there + 1, here))
    return [
        event
        for i, event in enumerate(events)
        if isinstance(event, v.SkillCreated) or (isinstance(event, v.MasteryUpdated | v.SkillRefined) and i not in gone)
    ]
