"""What `effect` finds of memories whose true effect is known: truthworld, whose law says how likely each answer is.

    python -m tests.bench.effect                 100 seeds
    python -m tests.bench.effect --seeds 5       a quick look

Each seed is a world of one task type. A run learns from twelve of its questions: some of the memories state true rules,
some wrong ones (poisoned solutions, flukes), some none. Then a run that learns nothing more asks others, and those that
saw one of the most shown memories are asked again without it. The truth of a pair is the difference of the law's two
probabilities, that of a memory their mean.
"""

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import msgspec

import mage_es
from mage_es.engine.rules.ingredients import without
from mage_es.engine.run.world import state_of
from mage_es.engine.seams.benchmark import Question, Split
from mage_es.engine.worth.effect import Without, askings, to_ask
from mage_es.engine.worth.worth import PairedEffect
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, BundleTrimmed, QuestionPlanned
from mage_es.projections.fold import State
from tests.bench.tables import print_table
from tests.kit.truthworld.benchmark import TruthWorld
from tests.kit.truthworld.oracle import Oracle

CLEAR = 5.0
"""Points from which on an effect should have the right sign."""


class OneLand(TruthWorld):
    """The questions of one task type of a world, so that its memories are shown for many of them."""

    name = "one-land"

    def questions(self, split: Split) -> Sequence[Question]:
        found = super().questions(split)
        # Not a court, whose answers are left to a judge that may err.
        first = min(q.task_type for q in found if self.world.named(q.task_type).kind != "court")
        return [question for question in found if question.task_type == first]


class Found(NamedTuple):
    """A memory: whether it helps (by its true effect, or by intent), that effect in points, and what was found."""

    seed: int
    name: str
    kind: str
    truth: float
    paired: PairedEffect

    @property
    def is_sign_right(self) -> bool:
        return (self.paired.points or 0) * self.truth > 0

    @property
    def is_covered(self) -> bool | None:
        low, high = self.paired.low, self.paired.high
        return None if low is None or high is None else low <= self.truth <= high


def main() -> None:
    """Measure the memories of each seed, and print how often sign and interval are right."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("--seeds", 100), ("--questions", 240), ("--top", 6), ("--first", 1)):
        options.add_argument(name, type=int, default=default)
    given = options.parse_args()
    found = list[Found]()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(given.first, given.first + given.seeds):
            found += measured(Path(folder), seed, questions=given.questions, top=given.top)
    print_found(found, "true effect", "memories")
    largest = {one.seed: one for one in sorted(found, key=lambda one: one.paired.pairs) if one.is_covered is not None}
    print(
        f"Most pairs of a seed: truth in its interval in {sum(map(covers, largest.values()))} of {len(largest)} seeds."
    )


def print_found(found: Sequence[Found], kind: str, each: str) -> None:
    """Print how often sign and interval are right, for each kind of memory; `each` is what a row counts."""
    rows = []
    for name in ("helpful", "useless", "harmful"):
        of = [one for one in found if one.kind == name]
        clear = [one for one in of if abs(one.truth) > CLEAR]
        covered = [one.is_covered for one in of if one.is_covered is not None]
        right = f"{sum(one.is_sign_right for one in clear)} of {len(clear)}"
        rows.append((name, str(len(of)), right, f"{sum(covered)} of {len(covered)}"))
    header = (kind, each, f"sign right, of those above {CLEAR:g} points", "truth in interval")
    print_table("Asked again without a memory", header, rows)


def covers(found: Found) -> bool:
    return bool(found.is_covered)


def measured(folder: Path, seed: int, *, questions: int, top: int) -> list[Found]:
    """Return the most shown memories of a world, after asking again without each."""
    benchmark, run = OneLand(seed), asked(folder, seed, questions=questions)
    report = mage_es.effect(run, top=top, reask=True, benchmark=benchmark)
    reader = LogReader(run.log_path)
    state, oracle = state_of(run, reader), Oracle(benchmark)
    known = {question.id: question for question in benchmark.questions("evolution")}
    plans = askings(reader.records({QuestionPlanned, BundleTrimmed, AnswerJudged}))
    found = []
    for row in report.rows:
        again = to_ask(plans, frozenset((row.name,)))
        truth = [effect_on(oracle, state, known[each.asking.planned.question_id], each) for each in again]
        assert row.paired is not None and row.paired.pairs == len(again)
        points = 100 * fmean(truth)
        kind = "useless" if abs(points) < 1e-9 else "helpful" if points > 0 else "harmful"
        found.append(Found(seed, row.name, kind, points, row.paired))
    return found


def effect_on(oracle: Oracle, state: State, question: Question, each: Without) -> float:
    """Return the true effect of what was removed from a prompt, as a probability; the law must explain the answer."""
    about = {"route": each.asking.planned.routing_arm, "strategy": state.slots.strategy(each.asking.planned.skill)}
    chances = []
    for plan in (each.asking.planned, without(each.asking.planned, each.removed)):
        rows = [state.memory.row(name) for name in (*plan.principles, *(hit.memory_id for hit in plan.memories))]
        if plan is each.asking.planned:
            assert oracle.answers_rightly(question, rows, **about) == each.asking.right
        chances.append(oracle.success_probability(question, rows, **about))
    return chances[0] - chances[1]


def asked(folder: Path, seed: int, *, questions: int, coin: float = 0.2) -> mage_es.Run:
    """Return a run that learned from twelve questions and then asked others, without learning from them."""
    config = mage_es.Config(
        benchmark="one-land",
        seed=seed,
        iterations=1,
        pool=12,
        held_out=10,
        anchors=10,
        gate="off",
        guard="off",
        recall=False,
        coin=coin,
        execution="truth/learner",
        guidance="truth/guide",
        judge="truth/judge",
        teacher_sees="solutions",
    )
    mage_es.evolve(config, benchmark=OneLand(seed), runs_dir=folder, run_id=f"{seed}-learned")
    parts = {"success_memories": False, "failure_memories": False, "principles": False, "pool": questions}
    mage_es.evolve(
        msgspec.structs.replace(config, **parts),
        benchmark=OneLand(seed),
        runs_dir=folder,
        run_id=f"{seed}-asked",
        from_run=mage_es.find_run(folder, f"{seed}-learned"),
    )
    return mage_es.find_run(folder, f"{seed}-asked")


if __name__ == "__main__":
    main()
