"""What `memory prune` takes out where the true effect of each memory is known, and what that does to other questions.

    python -m tests.bench.prune                  20 seeds
    python -m tests.bench.prune --seeds 2        a quick look

The worlds and their memories are those of tests/bench/effect.py. Two runs go on from the memories that were measured,
one without what the prune took out; both ask the same questions, of which those count that no pair has seen.
"""

import argparse
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec

import mage_es
from mage_es.engine.config import parse
from mage_es.engine.run.exams import by_question
from mage_es.engine.run.world import first_event
from mage_es.engine.upkeep.memory import curate
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged
from tests.bench.effect import CLEAR, Found, OneLand, measured
from tests.bench.tables import print_table


class Pruned(NamedTuple):
    """A world: its memories, the names of those taken out, and whether other questions were right before and after; if
    nothing was taken out none are asked."""

    memories: Sequence[Found]
    out: frozenset[str]
    before: Sequence[bool]
    after: Sequence[bool]


def main() -> None:
    """Prune each seed's world; print what was taken out, and the accuracy on other questions."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("--seeds", 20), ("--questions", 240), ("--others", 180), ("--top", 6), ("--first", 1)):
        options.add_argument(name, type=int, default=default)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor() as pool:
        one = partial(pruned, Path(folder), questions=given.questions, others=given.others, top=given.top)
        worlds = list(pool.map(one, range(given.first, given.first + given.seeds)))
    print_table("Taken out of use", ("true effect", "memories", "taken out"), _rows(worlds))
    touched = [world for world in worlds if world.out]
    before = [right for world in touched for right in world.before]
    after = [right for world in touched for right in world.after]
    print(f"Worlds from which something was taken out: {len(touched)} of {len(worlds)}")
    if before:
        found = by_question([float(b) - float(a) for a, b in zip(before, after, strict=True)])
        gain = 100 * (sum(after) - sum(before)) / len(before)
        print(
            f"Other questions of these: {sum(before)} of {len(before)} right before, {sum(after)} after: {gain:+.1f} "
            f"points, 95 % {found.low:+.1f} to {found.high:+.1f}"
        )


def _rows(worlds: Sequence[Pruned]) -> list[tuple[str, ...]]:
    kinds = {
        f"harmful by more than {CLEAR:g} points": lambda one: one.truth < -CLEAR,
        "harmful by less": lambda one: one.kind == "harmful" and one.truth >= -CLEAR,
        "useless": lambda one: one.kind == "useless",
        "helpful": lambda one: one.kind == "helpful",
    }
    rows = []
    for name, is_meant in kinds.items():
        meant = [(one.name in world.out) for world in worlds for one in world.memories if is_meant(one)]
        rows.append((name, str(len(meant)), str(sum(meant))))
    return rows


def pruned(folder: Path, seed: int, *, questions: int, others: int, top: int) -> Pruned:
    """Return what a prune did to a world, and to `others` questions that it had not asked before."""
    memories = measured(folder, seed, questions=questions, top=top)
    run = mage_es.find_run(folder, f"{seed}-asked")
    if not mage_es.prune(run, only_look=True).pruned:
        return Pruned(memories, frozenset(), (), ())
    out = frozenset(each.memory_id for each in mage_es.prune(run).pruned)
    # Not from the run that asked: its wrong answers have become cases by now, which crowd out those that were measured.
    learned = mage_es.find_run(folder, f"{seed}-learned")
    before = _asked_others(run, learned, f"{seed}-before", questions + others)
    for name in out:
        curate(learned, name, action="quarantine", reason="proved harmful", by="prune")
    after = _asked_others(run, learned, f"{seed}-after", questions + others)
    assert before.keys() == after.keys()
    return Pruned(memories, out, list(before.values()), [after[name] for name in before])


def _asked_others(run: mage_es.Run, learned: mage_es.Run, name: str, pool: int) -> dict[str, bool]:
    config = msgspec.structs.replace(parse(first_event(LogReader(run.log_path)).config), pool=pool, coin=0.0)
    benchmark = OneLand(config.seed)
    mage_es.evolve(config, benchmark=benchmark, runs_dir=run.path.parent, run_id=name, from_run=learned)
    known = {event.question_id for event in LogReader(run.log_path).of(AnswerJudged)}
    asked = LogReader(mage_es.find_run(run.path.parent, name).log_path).of(AnswerJudged)
    return {
        each.question_id: each.correct for each in asked if each.purpose == "fresh" and each.question_id not in known
    }


if __name__ == "__main__":
    main()
