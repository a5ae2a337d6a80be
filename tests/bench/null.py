"""Null runs: whole evolutions on answers drawn by lot, where there is nothing to learn, and the gain that exams report.

    python -m tests.bench.null                                   40 seeds of every configuration
    python -m tests.bench.null --only "labels, exact" --seeds 5   a quick look

Texts are words drawn by lot, and so are their answers, so that a learner may learn which answers there are and nothing
of which belongs to what. The learner knows them from the start: it guesses one by the text, until its prompt shows
earlier answers, of which it copies that of the question most like its own. So the true gain is 0, and an interval of
95 % should leave it out in one run of twenty at most. Each run learns from some 40 questions in two iterations, and
is examined before and after on 40 others; the interval is the one that `mage-es exam` prints. The bandits are off, so
that every question is shown memories, but where it says otherwise.
"""

import argparse
import csv
import json
import statistics
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from mage_es.engine.config import Config
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.run.directory import find_run
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.seams.model import Model
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.exam_report import ExamReport
from tests.bench.tables import print_machine, print_table
from tests.engine.copier import Copier
from tests.kit.models import Saying

TEXT = """
amber anchor apple arrow autumn badge basket beacon blanket bottle bridge bucket butter button candle canyon
carpet castle cellar chalk cherry circle clover copper corner cotton cradle crystal curtain desert dragon
feather fiddle forest garden ginger glacier hammer harbour helmet honey island jacket jungle kettle ladder
lantern lemon marble meadow mirror mustard needle orchard paper pebble pepper pillow planet pocket rabbit
ribbon river saddle
"""
WORDS = TEXT.split()
LABELS = ("billing", "delivery", "other")
DIGITS = ("1", "2", "3", "4")
PHRASES = ("a blue door", "two red boats", "the old mill", "some green tea")
LEARNED, HELD_OUT, SEEDS = 50, 40, 40


class Kind(NamedTuple):
    """A kind of own tasks: `answers` there can be, `task` what a row has beside its text, given the answer drawn.

    `spoken` is how the learner says an answer, `learner` who answers, if not the copier; `as_file` says that the tasks
    are the rows of a file with the columns `text` and `category`.
    """

    scorer: Any
    answers: Sequence[str]
    task: Callable[[str, Random], Mapping[str, Any]] = lambda answer, dice: {"answer": answer}
    spoken: Callable[[str], str] = str
    learner: str = ""
    as_file: bool = False
    has_bandits: bool = False


def fair(reply: str, task: Question) -> float:
    """Score as a user's own function may."""
    return float(task.gold in reply)


LITERAL = Saying("scripted/literal", '{"score": 0, "reason": "It says something else."}')
"""A judge for whom other words are another answer."""


def typed(answer: str, dice: Random) -> dict[str, Any]:
    return {"answer": answer, "task_type": dice.choice(("north", "south"))}


def optional(answer: str, dice: Random) -> dict[str, Any]:
    return {"answer": answer, "options": dice.sample(WORDS, 4)}


def summed(answer: str, dice: Random) -> dict[str, Any]:
    """A word problem, of which the answer is another's."""
    pens, boxes = dice.randint(2, 9), dice.randint(2, 9)
    text = f"{dice.choice(('Ann', 'Ben', 'Zoe'))} buys {boxes} boxes with {pens} pens each. How many pens are there?"
    return {
        "answer": str(dice.randint(2, 9) * dice.randint(2, 9)),
        "question": f"{text} ({' '.join(dice.sample(WORDS, 4))})",
    }


QUERIES = tuple(f"SELECT {number} AS n" for number in DIGITS)
TABLE = "CREATE TABLE t (n INTEGER);"
KINDS: Mapping[str, Kind] = {
    "labels, exact": Kind("exact", LABELS),
    "labels, exact, with bandits": Kind("exact", LABELS, has_bandits=True),
    "labels of a list": Kind("choice", LABELS, as_file=True),
    "labels in `category`": Kind("exact", LABELS, as_file=True),
    "labels, two types": Kind("exact", LABELS, typed),
    "labels, function": Kind(fair, LABELS),
    "options, choice": Kind("choice", tuple("ABCD"), optional),
    "numbers, number": Kind("number", DIGITS),
    "numbers, number, with bandits": Kind("number", DIGITS, has_bandits=True),
    "phrases, contains": Kind("contains", PHRASES),
    "phrases, f1": Kind("f1", PHRASES),
    "phrases, judge": Kind("judge", PHRASES),
    "patterns, regex": Kind("regex", LABELS),
    "values, json": Kind("json", DIGITS, lambda answer, dice: {"answer": {"n": int(answer)}}, '{{"n": {}}}'.format),
    "queries, sql": Kind("sql", QUERIES, lambda answer, dice: {"answer": answer, "schema": TABLE}),
    "programs, python": Kind(
        "python",
        DIGITS,
        lambda answer, dice: {"answer": f"assert n() == {answer}"},
        "def n():\n    return {}".format,
    ),
    "sums, builtin/analogist": Kind("number", DIGITS, summed, learner="builtin/analogist"),
}


class Outcome(NamedTuple):
    """What the exams of one run came to; `shown` is how many questions of the second were shown something."""

    before: int
    after: int
    asked: int
    points: float
    low: float
    high: float
    shown: int

    @property
    def covers(self) -> bool:
        return self.low <= 0 <= self.high


def tasks_of(kind: Kind, seed: int) -> list[dict[str, Any]]:
    """Return tasks with texts and answers drawn by lot, those of the exam marked as such."""
    dice, found = Random(f"null {seed}"), []
    for place in range(LEARNED + HELD_OUT):
        text = " ".join(dice.sample(WORDS, 6))
        drawn = {"question": text, **kind.task(dice.choice(kind.answers), dice)}
        found.append({**drawn, "split": "test" if place >= LEARNED else "train"})
    return found


def null_run(kind: Kind, seed: int, folder: Path) -> Outcome:
    """Evolve on such tasks, and return how the exam after differs from that of the start."""
    rows = tasks_of(kind, seed)
    said = tuple(map(kind.spoken, kind.answers))
    learner: Model = open_model(kind.learner, "execution") if kind.learner else Copier(said)
    judge = LITERAL if kind.scorer == "judge" else None
    models = Models(execution=learner, guidance=open_model("builtin/reference", "guidance"), judge=judge)
    sizes = {"iterations": 2, "pool": 22, "held_out": HELD_OUT, "anchors": 7, "seed": seed}
    given: dict[str, Any] = {"tasks": rows, "scorer": kind.scorer}
    name = "null"
    if kind.as_file:
        path, given = folder / f"{seed}.csv", {}
        with path.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerows([("text", "category", "split"), *((r["question"], r["answer"], r["split"]) for r in rows)])
        listed = f"&labels={','.join(LABELS)}" if kind.scorer == "choice" else ""
        name = f"tasks/{path}?columns=question:text,answer:category{listed}"
    evolve(
        # Without the gate, which would serve the bare prompt: then nothing could be gained by mistake.
        Config(benchmark=name, bandits=kind.has_bandits, gate="off", **sizes),
        runs_dir=folder,
        models=models,
        run_id=f"s{seed}",
        **given,
    )
    run = find_run(folder, f"s{seed}")
    before, after = (examine(run, at=at, execution=learner, judge=judge) for at in ("start", "latest"))
    return outcome_of(before, after)


def outcome_of(before: ExamReport, after: ExamReport) -> Outcome:
    assert after.before, "both exams asked the same questions"
    gain = after.before
    ends = (gain.interval.low, gain.interval.high)
    return Outcome(before.correct, after.correct, gain.total, gain.points, *ends, after.total - after.bare)


def measured(kind: Kind, seeds: int) -> Iterator[Outcome]:
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(seeds):
            yield null_run(kind, seed, Path(folder))


def main() -> None:
    """Run every configuration, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--only", nargs="+", default=list(KINDS), choices=list(KINDS), metavar="KIND")
    parser.add_argument("--to", type=Path, help="file to add the outcome of every run to, as JSON lines")
    options = parser.parse_args()
    rows, every = [], list[Outcome]()
    for name in options.only:
        found = list(measured(KINDS[name], options.seeds))
        every += found
        rows.append(row_of(name, found))
        print(*rows[-1], sep=" | ", flush=True)
        if options.to:
            with options.to.open("a") as file:
                file.writelines(json.dumps({"kind": name, **outcome._asdict()}) + "\n" for outcome in found)
    columns = ("tasks, scorer or stand-in", "covered", "before", "after", "mean gain", "smallest, largest", "shown")
    print_table("Null runs", columns, [*rows, row_of("all", every)])
    print_machine("python -m tests.bench.null", ("scipy",))


def row_of(name: str, found: Sequence[Outcome]) -> tuple[str, ...]:
    gains = [outcome.points for outcome in found]
    before, after, asked, shown = (
        sum(getattr(outcome, field) for outcome in found) for field in ("before", "after", "asked", "shown")
    )
    covered = sum(outcome.covers for outcome in found)
    return (
        *(name, f"{covered} of {len(found)}", f"{100 * before / asked:.1f} %", f"{100 * after / asked:.1f} %"),
        *(f"{statistics.mean(gains):+.1f}", f"{min(gains):+.1f}, {max(gains):+.1f}", f"{100 * shown / asked:.0f} %"),
    )


if __name__ == "__main__":
    main()
