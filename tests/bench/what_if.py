"""How often the intervals of `what-if` hold the truth where it is known, and how long a refold takes.

    python -m tests.bench.what_if                  100 seeds of each, and 100,000 events: about half an hour
    python -m tests.bench.what_if --seeds 10       a quick look

Simulated: the engine's own bandit (rules/bandits.py) draws arms for made-up questions, in iterations, with arms that
are not always on offer, questions of their own difficulty, and a learner that improves. The truth is the mean
probability of a right answer with the arm, over the questions for which it was on offer.

truthworld: real runs with bandits (arms), and with a coin (memories). The truth is how many of the same prompts its law
has answered rightly with the other arm, or without the memory.
"""

import argparse
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from math import exp
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import msgspec
import numpy as np

import mage_es
from mage_es.engine.config import Config, canonical, fingerprint
from mage_es.engine.histories.rules.what_if import LEAST_PAIRS, Toss, WhatIfEstimate, estimated
from mage_es.engine.histories.what_if import what_if
from mage_es.engine.rules.bandits import choose, rewarded
from mage_es.engine.rules.snapshot import decision_on
from mage_es.engine.run.directory import Run
from mage_es.engine.run.world import state_of
from mage_es.engine.worth.effect import askings
from mage_es.events import vocabulary as v
from mage_es.events.log import Log, LogReader
from mage_es.projections.bandits import PRIOR
from mage_es.projections.scores import Scores
from tests.bench.effect import OneLand, asked
from tests.bench.long_run import commits
from tests.bench.tables import Gate, Ratio, print_gates, print_machine, print_table
from tests.kit.truthworld.benchmark import TruthWorld
from tests.kit.truthworld.oracle import Oracle

ARMS = ("a", "b", "c", "d", "e")
TYPES = 6


class Found(NamedTuple):
    """An estimate beside the truth, in percent; `low` and the like are None where there is no number."""

    what: str
    truth: float
    estimate: WhatIfEstimate


def main() -> None:
    """Measure and print."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in (("--seeds", 100), ("--events", 100_000), ("--repetitions", 5)):
        options.add_argument(name, type=int, default=default)
    options.add_argument("--only", choices=("simulated", "truthworld", "refold"), default=None)
    given = options.parse_args()
    seeds = range(1, given.seeds + 1)
    if given.only in (None, "simulated"):
        for questions, iterations in ((40, 5), (200, 5), (200, 20)):
            title = f"Simulated: {iterations} iterations of {questions} questions"
            print_coverage(title, (each for seed in seeds for each in simulated(seed, questions, iterations)))
    with tempfile.TemporaryDirectory() as folder:
        if given.only in (None, "truthworld"):
            print_coverage("truthworld", (each for seed in seeds for each in in_truthworld(Path(folder), seed)))
        if given.only in (None, "refold"):
            print_refold(Path(folder), given.events, given.repetitions)
    print_machine("python -m tests.bench.what_if", ("numpy", "scipy"))


def print_coverage(title: str, found: Iterable[Found]) -> None:
    """Print in how many seeds the truth lies in each interval, and how wide that is."""
    by_what = defaultdict[str, list[Found]](list)
    for each in found:
        by_what[each.what].append(each)
    rows = []
    by_what["all"] = [each for seeds in by_what.values() for each in seeds]
    for what, each in sorted(by_what.items()):
        known = [one for one in each if one.estimate.share is not None]
        robust = [one for one in known if one.estimate.robust is not None]
        rows.append(
            (
                what,
                f"{len(each) - len(known)} of {len(each)}",
                f"{fmean(one.estimate.effective for one in known):.0f}" if known else "-",
                covered([(one.truth, one.estimate.low, one.estimate.high) for one in known]),
                covered([(one.truth, one.estimate.robust_low, one.estimate.robust_high) for one in robust]),
                missed([(one.truth, one.estimate.share) for one in known]),
                missed([(one.truth, one.estimate.robust) for one in robust]),
            )
        )
    columns = (
        "what if",
        f"refused, below {LEAST_PAIRS}",
        "effective",
        "SNIPS holds the truth (width)",
        "doubly robust",
    )
    print_table(title, (*columns, "SNIPS misses it by", "doubly robust"), rows)


def covered(found: list[tuple[float, float | None, float | None]]) -> str:
    """Return how many intervals hold the truth, and their mean width in points."""
    known = [(truth, low, high) for truth, low, high in found if low is not None and high is not None]
    if not known:
        return "-"
    inside = sum(low <= truth <= high for truth, low, high in known)
    return f"{inside} of {len(known)} ({fmean(high - low for _, low, high in known):.0f})"


def missed(found: list[tuple[float, float | None]]) -> str:
    """Return the mean distance between truth and estimate, and the mean difference, in points."""
    off = [share - truth for truth, share in found if share is not None]
    return f"{fmean(map(abs, off)):.1f} ({fmean(off):+.1f})" if off else "-"


# ------------------------------------------------------------ simulated


def simulated(seed: int, questions: int, iterations: int) -> Iterator[Found]:
    """Yield for each arm what a made-up run says about it, and the truth."""
    rng = np.random.default_rng(seed)
    skill = {(kind, arm): rng.normal(0, 0.8) for kind in range(TYPES) for arm in ARMS}
    posteriors = defaultdict(lambda: dict.fromkeys(ARMS, PRIOR))
    tosses, truths = defaultdict[str, list[Toss]](list), defaultdict[str, list[float]](list)
    for iteration in range(iterations):
        rewards, planned = list[tuple[int, str, int]](), defaultdict[int, dict[str, int]](dict)
        for _ in range(questions):
            kind, difficulty = int(rng.integers(TYPES)), rng.normal(0, 0.8)
            offered = [arm for arm in ARMS if arm == ARMS[0] or rng.random() < 0.7]
            if len(offered) < 2:
                continue
            chance = {arm: sigmoid(skill[kind, arm] - difficulty - 0.5 + 1.5 * iteration / iterations) for arm in ARMS}
            beliefs = {arm: posteriors[kind][arm] for arm in offered}
            choice = choose(beliefs, planned=planned[kind], warmup=4, exploration=0.02, draw=rng)
            planned[kind][choice.arm] = planned[kind].get(choice.arm, 0) + 1
            right = rng.random() < chance[choice.arm]
            rewards.append((kind, choice.arm, int(right)))
            for arm, probability in choice.among.items():
                expected = beliefs[arm].alpha / (beliefs[arm].alpha + beliefs[arm].beta)
                tosses[arm].append(Toss(probability, arm == choice.arm, right, 1 / probability, expected))
                truths[arm].append(chance[arm])
        for kind, arm, reward in rewards:
            posteriors[kind][arm] = rewarded(posteriors[kind][arm], reward * v.MICRO)
    for arm in ARMS:
        yield Found(f"arm {arm}", 100 * fmean(truths[arm]), estimated(tosses[arm]))


def sigmoid(value: float) -> float:
    return 1 / (1 + exp(-value))


# ------------------------------------------------------------ truthworld


def in_truthworld(folder: Path, seed: int) -> Iterator[Found]:
    """Yield what real runs say of arms, and of the most shown memory, and the truth."""
    yield from of_arms(folder, seed)
    yield from of_memory(folder, seed)


def of_arms(folder: Path, seed: int) -> Iterator[Found]:
    """Yield two routes that are always on offer, and the search arm that shows no memory."""
    config = mage_es.Config(
        benchmark="truthworld",
        seed=seed,
        iterations=3,
        pool=120,
        held_out=10,
        gate="off",
        guard="off",
        recall=False,
        bandits=True,
        exploration=0.3,
        retrieval="quotas",
        form="sections",
        route="cot",
        execution="truth/learner",
        guidance="truth/guide",
        judge="truth/judge",
        teacher_sees="solutions",
    )
    mage_es.evolve(config, runs_dir=folder, run_id=f"{seed}-arms")
    run = mage_es.find_run(folder, f"{seed}-arms")
    rights = {"direct": list[bool](), "cot": list[bool](), "none": list[bool]()}
    benchmark, reader = TruthWorld(seed), LogReader(run.log_path)
    oracle, state = Oracle(benchmark), None
    known = {question.id: question for question in benchmark.questions("evolution")}
    plans = [each for each in reader.records({v.QuestionPlanned}) if each.phase == "evaluate"]
    starts = {record.iteration: record.seq for record in reversed(plans)}
    for iteration, start in sorted(starts.items()):
        state = state_of(run, reader, until=start - 1)
        for record in plans:
            planned = record.event
            if record.iteration != iteration or not isinstance(planned, v.QuestionPlanned):
                continue
            question, strategy = known[planned.question_id], state.slots.strategy(planned.skill)
            memories = [state.memory.row(hit.memory_id) for hit in planned.memories]
            if planned.routing_probability < 1:
                for route in ("direct", "cot"):
                    rights[route].append(oracle.answers_rightly(question, memories, route=route, strategy=strategy))
            if planned.search_probability < 1:
                principles = [state.memory.row(name) for name in planned.principles]
                route = planned.routing_arm
                rights["none"].append(oracle.answers_rightly(question, principles, route=route, strategy=strategy))
    for arm, right in rights.items():
        report = what_if(run, arm=arm)
        assert report.answers and report.answers.estimate and report.answers.estimate.of == len(right)
        yield Found(f"arm {arm}", 100 * fmean(right), report.answers.estimate)


def of_memory(folder: Path, seed: int) -> Iterator[Found]:
    """Yield the memory that most prompts showed, without which the coin has asked others."""
    run = asked(folder, seed, questions=240, coin=0.3)
    reader, benchmark = LogReader(run.log_path), OneLand(seed)
    state, oracle = state_of(run, reader), Oracle(benchmark)
    known = {question.id: question for question in benchmark.questions("evolution")}
    found = [
        each
        for each in askings(reader.records({v.QuestionPlanned, v.BundleTrimmed, v.AnswerJudged}))
        if each.phase == "evaluate"
    ]
    times = defaultdict[str, int](int)
    for asking in found:
        for name in asking.shown:
            times[name] += 1
    name = max(sorted(times), key=times.__getitem__)
    right = []
    for asking in found:
        planned = asking.planned
        if name in asking.shown:
            rows = [state.memory.row(each) for each in sorted(asking.shown - {name})]
            about: Mapping[str, str] = {"route": planned.routing_arm, "strategy": state.slots.strategy(planned.skill)}
            right.append(oracle.answers_rightly(known[planned.question_id], rows, **about))
    report = what_if(run, without=[name])
    assert report.answers and report.answers.estimate and report.answers.estimate.of == len(right)
    yield Found("without the memory", 100 * fmean(right), report.answers.estimate)


# ------------------------------------------------------------ refold


def print_refold(folder: Path, events: int, repetitions: int) -> None:
    """Time a guard judged again over a long run."""
    run = Run("long", folder / "long")
    write_run(run, events)
    seconds, answered = list[float](), 0
    for _ in range(repetitions):
        began = time.perf_counter()
        report = what_if(run, catastrophic_drop=0.0501)
        seconds.append(time.perf_counter() - began)
        assert report.guard is not None
        answered = len(report.guard.verdicts)
    print_gates([Gate(f"{events} events, {answered} verdicts again", "at most", 2.0, Ratio.of(seconds), "s")])


def write_run(run: Run, events: int) -> None:
    """Write a made-up run whose guard judges its made-up answers as the rule does."""
    config = Config(benchmark="wordmath", guard="paper", iterations=1_000, gate="off")
    begun = v.RunStarted(
        run_id=run.id,
        benchmark=config.benchmark,
        seed=config.seed,
        config=canonical(config),
        config_sha256=fingerprint(config),
        package_version=mage_es.__version__,
        execution_model="m",
        guidance_model="g",
        embedder="hash",
        embedder_dimension=256,
        embedder_sha256="",
        task_type_source="benchmark",
        data_sha256="",
        licence="",
    )
    scores, accepted, total = Scores(), list[int](), 0
    run.path.mkdir()
    with Log.create(run.log_path, run=run.id, clock=count(1_790_000_000_000_000, 1000).__next__) as log:
        log.append([v.Draft(event=begun, iteration=-1, phase="open")])
        for batch in commits():
            drafts = list[v.Draft]()
            for draft in batch:
                event = draft.event
                if isinstance(event, v.GuardDecided):
                    decision = decision_on(config, scores, event.iteration, accepted=accepted)
                    event = msgspec.structs.replace(event, verdict=decision.verdict)
                    restored = decision.restore
                    accepted += [event.iteration] if restored is None else []
                elif isinstance(event, v.SnapshotTaken) and restored is not None:
                    event = v.SlotsRolledBack(iteration=event.iteration, to_iteration=restored)
                if isinstance(event, v.AnswerJudged | v.GuardDecided):
                    scores.apply(event)
                drafts.append(msgspec.structs.replace(draft, event=event))
            log.append(drafts)
            total += len(drafts)
            if total >= events:
                return


if __name__ == "__main__":
    main()
