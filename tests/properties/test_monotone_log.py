"""Theorem 1: a log only grows, and so does what is protected. As printed, of the whole graph, it is false.

The paper says that I(Y; K_k) never falls, K_k being the graph. It never falls of the log, of which each one is a prefix
of the next, and of the protected memories; a rollback of the mutable slots makes the graph as a whole forget.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise, product
from math import log2
from pathlib import Path
from random import Random
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.events import vocabulary as v
from mage_es.events.log import Log, LogReader
from mage_es.projections.fold import State
from mage_es.projections.memory import Memory
from tests.events.disks import ForgetfulDisk
from tests.events.samples import bits
from tests.kit.invariants import check_growth
from tests.kit.plain_events import plain
from tests.kit.stages import Stage, drafts_of, flat
from tests.kit.strategies import histories

pytestmark = pytest.mark.slow

PATH = Path("/run/log")


@settings(deadline=None, max_examples=4)
@given(histories(most_iterations=2), st.integers(5, 40))
def test_the_records_of_a_log_are_a_prefix_of_all_later_ones_through_sealing(stages: list[Stage], roll: int) -> None:
    disk, seen = ForgetfulDisk(Random(0)), list[bytes]()
    with (
        patch("mage_es.events.wal.active.ROLL_EVENTS", roll),
        Log.create(PATH, run="r", clock=lambda: 0, fs=disk) as log,
    ):
        for batch in drafts_of(stages):
            log.append(batch)
            now = [bits([record]) for record in LogReader(PATH, disk).records()]
            assert now[: len(seen)] == seen and len(now) > len(seen)
            seen = now
    assert [bits([record]) for record in LogReader(PATH, disk).records()][: len(seen)] == seen


@settings(deadline=None, max_examples=40)
@given(histories())
def test_protected_ids_and_words_only_grow_through_pruning_rollback_and_quarantine(stages: list[Stage]) -> None:
    def said(memory: Memory) -> list[object]:
        later = {"status": "active", "superseded_by": "", "met": 1}
        return [bits([msgspec.structs.replace(row, **later)]) for row in memory.rows()]

    check_growth(Memory, flat(stages), ids=said)


def memory(bit: str) -> v.MemoryAppended:
    return plain(v.MemoryAppended, memory_id=bit, task_type="t", skill="s", question_id="q", answer=bit, phase="evolve")


def happens(what: str, place: int, bit: int) -> list[v.Event]:
    """What one step writes in a world whose bit of this step is 0 or 1."""
    match what:
        case "slot":
            after = float(bit)
            return [
                v.MasteryUpdated(iteration=0, skill="s", before=0, after=after, evidence=after, successes=1, failures=1)
            ]
        case "memory":
            return [memory(f"{place}:{bit}")]
        case "quarantine":
            known = memory(f"{place}:{bit}")
            return [known, v.MemoryQuarantined(memory_id=known.memory_id, reason="", by="user")]
        case _:
            return [v.SlotsRolledBack(iteration=1, to_iteration=0)]


def information(script: Sequence[str], seen: Callable[[State, list[v.Event]], object]) -> list[float]:
    """Return I(Y; what is seen) in bits after each step, Y being uniform over the worlds: one bit for each step.

    What is seen follows from the world, so the information is the entropy of what is seen.
    """
    counts = [Counter[str]() for _ in range(len(script) + 1)]
    for world in product((0, 1), repeat=len(script)):
        state, events = State(), list[v.Event]()
        created = v.SkillCreated(skill="s", mastery=0.5, prompt_template="", strategy="")
        steps = [[created, v.SnapshotTaken(iteration=0)]]
        steps += [happens(what, place, world[place]) for place, what in enumerate(script)]
        for counted, step in zip(counts, steps, strict=True):
            for event in step:
                state.apply(event)
                events.append(event)
            counted[repr(seen(state, events))] += 1
    worlds = 2 ** len(script)
    return [-sum(n / worlds * log2(n / worlds) for n in counted.values()) for counted in counts]


def the_log(state: State, events: list[v.Event]) -> object:
    return events


def what_is_protected(state: State, events: list[v.Event]) -> object:
    return sorted(row.memory_id for row in state.memory.rows())


def the_graph(state: State, events: list[v.Event]) -> object:
    return [digest.value for digest in state.digests()]


scripts = st.lists(st.sampled_from(["slot", "memory", "quarantine", "rollback"]), min_size=1, max_size=5)


@settings(deadline=None, max_examples=25)
@given(scripts)
def test_neither_the_log_nor_what_is_protected_ever_tells_less_of_the_answer(script: list[str]) -> None:
    for seen in (the_log, what_is_protected):
        found = information(script, seen)
        assert all(later >= earlier - 1e-12 for earlier, later in pairwise(found)), seen.__name__


def test_as_printed_of_the_whole_graph_it_is_false_since_a_rollback_forgets() -> None:
    assert information(["slot", "rollback"], the_graph) == [0.0, 1.0, 0.0]
    assert information(["slot", "rollback"], the_log) == [0.0, 1.0, 1.0]
    assert information(["memory", "quarantine", "rollback"], the_graph) == [0.0, 1.0, 2.0, 2.0]
