"""Attacks on logs, runs and backups: kills, crashes, damages, odd files, forgeries; what must hold, held each time?

    python -m tests.bench.chaos --cases 400
    python -m tests.bench.chaos --seed 1234 --cases 1       one case again, by the seed that its failure printed
    python -m tests.bench.chaos --only "odd file"

A case is drawn from its seed alone: which attack, and all that chance decides in it. The first case has `--seed`, each
other one the next number. Exit code 1 if any failed. The explorers are those of the suite, see `ATTACKS`.
"""

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from random import Random
from typing import NamedTuple
from unittest.mock import patch

from msgspec.structs import replace

from mage_es.engine.auditing.verify import verify
from mage_es.engine.players.worlds.wordmath import benchmark as wordmath
from mage_es.engine.run.directory import Run
from mage_es.events import vocabulary as v
from mage_es.events.log import LogReader
from tests.bench.tables import print_machine, print_table
from tests.engine import crashes
from tests.engine.forgery import Change, forged, instead
from tests.events import damage, explore
from tests.events.kills import kill_again_and_again
from tests.hostile import backups, odd

_RUN = ("--iterations", "1", "--pool", "12", "--held-out", "12", "--anchors", "6", "--gate", "off")


class Ground:
    """What is attacked, made once and only copied: small logs, a folder of two runs, a backup of one of them."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def logs(self) -> tuple[Path, Mapping[str, damage.Truth]]:
        base = self._folder / "logs"
        damage.build(base)
        return base, {state: damage.truth(base / state) for state in damage.STATES}

    @cached_property
    def runs(self) -> Path:
        """Two runs, `odd` with an exam and `whole` without."""
        runs = self._folder / "made" / "runs"
        for run in ("odd", "whole"):
            odd.run_command(("evolve", "wordmath", *_RUN, "--run-id", run, "--runs-dir", str(runs)))
        odd.run_command(("exam", "odd", "--questions", "5", "--runs-dir", str(runs)))
        return runs

    @cached_property
    def saved(self) -> tuple[Path, dict[str, bytes]]:
        """A folder with two backups of the run `odd`, and what it restores."""
        work = shutil.copytree(self.runs, self._folder / "backing" / "runs")
        saved = self._folder / "saved"
        steps = ("backup", "odd", str(saved)), ("exam", "odd", "--questions", "4"), ("backup", "odd", str(saved))
        for words in steps:
            odd.run_command((*words, "--runs-dir", str(work)))
        return saved, backups.backed_up(work, saved)


# ------------------------------------------------------------ forgeries: sound in every byte, and not what happened


def _of_nowhere(event: v.Event) -> v.Event:
    return replace(event, question="A question from nowhere?")


def _bent(event: v.Event) -> v.Event:
    return replace(event, digests=(v.Digest(projection="slots", value="0" * 64), *event.digests[1:]))


def _sharing() -> Change:
    seen = list[str]()

    def change(record: v.Record) -> v.Event:
        if isinstance(record.event, v.SplitCommitted):
            seen.append(record.event.question_hashes[0])
            return replace(record.event, question_hashes=(*record.event.question_hashes, *seen[:-1][:1]))
        return record.event

    return change


FORGERIES: Mapping[str, Callable[[], Change]] = {
    "a halved mastery": lambda: instead(
        v.MasteryUpdated, lambda event: replace(event, after=event.after / 2), lambda event: event.after > 0
    ),
    "a memory of a question of no split": lambda: instead(
        v.MemoryAppended, _of_nowhere, lambda event: bool(event.question)
    ),
    "another digest": lambda: instead(v.IterationClosed, _bent),
    "splits that share a question": _sharing,
    "a split that leaves out a question": lambda: instead(
        v.SplitCommitted, lambda event: replace(event, question_hashes=event.question_hashes[1:])
    ),
}
"""What a forger with the package's own writer puts into a log, by name: `verify` must be red for each."""


def _forge(random: Random, ground: Ground, work: Path) -> str:
    require_red(name := random.choice(sorted(FORGERIES)), ground, work)
    return name


def require_red(name: str, ground: Ground, work: Path) -> None:
    forged(whole := ground.runs / "whole" / "log", work / "whole" / "log", FORGERIES[name]())
    assert _events_of(whole) != _events_of(work / "whole" / "log"), f"{name}: there was nothing to forge"
    assert not verify(Run("whole", work / "whole")).ok, f"{name}: verify is green"


def _events_of(log: Path) -> list[v.Event]:
    return [record.event for record in LogReader(log).records() if not isinstance(record.event, v.SegmentSealed)]


# ------------------------------------------------------------ the other attacks


def _kill(random: Random, ground: Ground, work: Path) -> str:
    kill_again_and_again(work / "log", 2, random)
    return "log"


def _crash_log(random: Random, ground: Ground, work: Path) -> str:
    _require_none(explore.explore("", range(start := random.randrange(1 << 30), start + 4)))
    return "log"


def _crash_run(random: Random, ground: Ground, work: Path) -> str:
    _require_none(crashes.explore([random.randrange(1 << 30)])[1])
    return "run"


def _require_none(violations: list[explore.Violation] | list[crashes.Violation]) -> None:
    assert not violations, violations[0]


def _damage(random: Random, ground: Ground, work: Path) -> str:
    base, known = ground.logs
    [case] = damage.cases(base, 1, seed=random.randrange(1 << 30))
    result = damage.judge(base, case, known[case.state], work)
    assert result.outcome not in damage.BAD, result
    return case.kind


def _odd_file(random: Random, ground: Ground, work: Path) -> str:
    shutil.copytree(ground.runs, work / "runs")
    place, kind = random.choice(odd.places(ground.runs / "odd")), random.choice(sorted(odd.ODD))
    odd.put(kind, work / "runs" / "odd" / place)
    for words in (random.choice(odd.EVERYWHERE), random.choice(odd.COMMANDS)):
        odd.require_told(place, kind, words)
    return kind


def _damage_backup(random: Random, ground: Ground, work: Path) -> str:
    saved, right = ground.saved
    shutil.copytree(saved.parent / "backing" / "runs", work / "runs")
    copy = shutil.copytree(saved, work / "saved")
    name, kind = random.choice(backups.objects_in(saved)), random.choice(backups.KINDS)
    return backups.judge(Run("odd", work / "runs" / "odd"), copy, right, name, kind, random)


class Attack(NamedTuple):
    """How often it is drawn, and what does it: with dice and ground, in an empty folder, which is also the process's.

    It returns a word for what was drawn, and raises whatever must not be.
    """

    weight: int
    judge: Callable[[Random, Ground, Path], str]


ATTACKS: Mapping[str, Attack] = {
    "kill -9 of a writer": Attack(1, _kill),
    "crash of a log": Attack(3, _crash_log),
    "crash of a run": Attack(1, _crash_run),
    "damage of a log": Attack(6, _damage),
    "damage of a backup": Attack(6, _damage_backup),
    "odd file": Attack(6, _odd_file),
    "forgery": Attack(3, _forge),
}


class Outcome(NamedTuple):
    """What became of a case; `problem` is empty where all held."""

    seed: int
    attack: str
    drawn: str
    problem: str


def attack(seed: int, ground: Ground, only: str = "") -> Outcome:
    """Draw a case from its seed and carry it out."""
    random = Random(seed)
    drawn = random.choices(list(ATTACKS), [each.weight for each in ATTACKS.values()])[0]
    name = only or drawn
    with tempfile.TemporaryDirectory() as folder, _within(Path(folder)):
        try:
            return Outcome(seed, name, ATTACKS[name].judge(random, ground, Path(folder)), "")
        except Exception as error:
            return Outcome(seed, name, "", f"{type(error).__name__}: {error}")


@contextmanager
def _within(folder: Path) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


def explore_cases(seeds: range, folder: Path, *, only: str = "") -> list[Outcome]:
    """Carry out the case of each seed; each failure is printed with its seed."""
    ground, outcomes = Ground(folder), list[Outcome]()
    for seed in seeds:
        outcomes.append(attack(seed, ground, only))
        if problem := outcomes[-1].problem:
            print(f"--seed {seed}: {outcomes[-1].attack}: {problem}", flush=True)
    return outcomes


def main() -> int:
    """Attack as the command line says; return 1 if anything did not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=400)
    parser.add_argument("--only", choices=sorted(ATTACKS), default="")
    wanted = parser.parse_args()
    began = time.process_time()
    # Enough for the small runs; the whole benchmark would take most of the time.
    with tempfile.TemporaryDirectory() as folder, patch.dict(wordmath.SIZES, crashes.QUESTIONS):
        outcomes = explore_cases(range(wanted.seed, wanted.seed + wanted.cases), Path(folder), only=wanted.only)
    rows = []
    for name in ATTACKS:
        own = [each for each in outcomes if each.attack == name]
        drawn = Counter(each.drawn for each in own if not each.problem)
        failed = sum(1 for each in own if each.problem)
        rows.append((name, str(len(own)), str(failed), ", ".join(f"{word} {n}" for word, n in sorted(drawn.items()))))
    print_machine(f"python -m tests.bench.chaos --seed {wanted.seed} --cases {wanted.cases}", ("pyarrow", "msgspec"))
    print_table(f"{time.process_time() - began:.0f} s of CPU", ("attack", "cases", "failed", "drawn"), rows)
    return 1 if any(each.problem for each in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
