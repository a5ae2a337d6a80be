"""All runs of a folder as one study: where each belongs, how its exams went, and what is missing."""

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

import polars as pl

from mage_es.engine.benchmarks.registry import title
from mage_es.engine.run.exams import RecordedExam, reasons
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.questions import unlike
from mage_es.engine.study.reporting.cells import Cell, by_seed, cell_of, difference
from mage_es.engine.study.reporting.places import BASELINES, FULL, Placement, placements, way_of
from mage_es.engine.study.reporting.recorded import ExamState, RecordedRun, find_runs
from mage_es.events.errors import MageError, UsageError
from mage_es.events.vocabulary import Tier
from mage_es.projections.ledger import Account, Usage

Measure = Literal["accuracy", "score", "strict"]
"""Right answers, the mean score, or the answers that are right by the strict rule; each in percent."""
MEASURED: Mapping[Measure, str] = {"accuracy": "correct", "score": "score", "strict": "strict"}
"""The column of answers whose mean each measure is."""
_NO_SCORES = pl.DataFrame(schema={"seed": pl.Int64, "question": pl.String, "value": pl.Float64})


class Study:
    """The runs of a folder by placement and seed, with the results of their exams. Of several runs with the same
    placement and seed, the newest counts; `notes` say what is incomplete or does not count, as far as it was read."""

    def __init__(
        self, folder: Path, runs: Sequence[RecordedRun], *, prices: Prices, data_dir: Path | None, problems: list[str]
    ) -> None:
        self.folder, self.runs, self.prices, self.data_dir, self.notes = folder, runs, prices, data_dir, problems
        self.placed, self._at = placements(runs), dict[Placement, dict[int, RecordedRun]]()
        self._edited = dict[tuple[RecordedRun, RecordedRun], Set[str]]()
        for run in runs:
            seeds = self._at.setdefault(self.placed[run], {})
            if older := seeds.get(run.begun.seed):
                why = f"{run.run.id} has the same place and seed, and is newer."
                self.notes.append(f"{older.run.id} is left out: {why}")
            seeds[run.begun.seed] = run
        self.places = sorted(self._at, key=lambda place: place.order)
        self.counted = [run for place in self.places for run in self.at(place).values()]
        self.learning = [run for run in self.counted if not run.baseline]
        self.notes += [note for run in self.counted for note in _missing(run)]
        self.notes += [problem for run in runs for problem in run.problems]

    def at(self, place: Placement) -> Mapping[int, RecordedRun]:
        return dict(sorted(self._at.get(place, {}).items()))

    def full(self) -> list[Placement]:
        return [place for place in self.places if place.system == FULL]

    def compared(self) -> list[Placement]:
        """Return the placements of the full system, and one without a teacher where there are only baselines so far."""
        full = self.full()
        bare = {place.baseline(FULL) for place in self.places if not place.teacher}
        return sorted({*full, *(bare - {place.baseline(FULL) for place in full})}, key=lambda place: place.order)

    def baselines(self, places: Sequence[Placement], wanted: Iterable[str] = BASELINES) -> list[str]:
        """Return the baselines to compare with: the wanted ones, and others that were run, each variant separately."""
        beside = {place.baseline("") for place in places}
        there = {place.system for place in self.places if not place.teacher and place.baseline("") in beside}
        names = list[str]()
        for way in (*wanted, *sorted({way_of(system) for system in there} - set(BASELINES))):
            ran = sorted(system for system in there if way_of(system) == way)
            names += ran or [way]
        return names

    def is_sequential(self, benchmark: str) -> bool:
        return any(run.is_sequential for run in self.runs if run.begun.benchmark == benchmark)

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """Short titles of the user's own tasks, which have long names, except titles that two would share."""
        called = {name: title(name) for name in sorted({run.begun.benchmark for run in self.runs})}
        alike = Counter(called.values())
        return {name: short for name, short in called.items() if short != name and alike[short] == 1}

    @cached_property
    def booked(self) -> pl.DataFrame:
        """The accounts of each counted log, and an empty one for each tier; `part` is evolution, exams or baseline."""
        rows, none = list[dict[str, object]](), [(Account(tier, "", "", 0, ""), Usage()) for tier in get_args(Tier)]
        for run in self.counted:
            of_exams = [] if run.baseline else [("exams", exam.ledger) for exam in run.exams]
            for part, ledger in [("baseline" if run.baseline else "evolution", run.ledger), *of_exams]:
                log = {"log": f"{len(rows)}", "part": part, "benchmark": run.begun.benchmark}
                for account, use in (*none, *ledger.accounts()):
                    amounts = {"calls": use.calls, "tokens": (use.input_tokens + use.output_tokens) / 1000}
                    usd = self.prices.paid(account, use) if use.calls else 0.0
                    rows.append({**log, **account._asdict(), **amounts, "usd": usd})
        return pl.DataFrame(rows, infer_schema_length=None)

    def exams(self, place: Placement, at: ExamState = "end") -> dict[int, RecordedExam]:
        counting = {seed: run.counting(at) for seed, run in self.at(place).items() if run.finished}
        return {seed: exam for seed, exam in counting.items() if exam is not None}

    def scores(
        self, place: Placement, measure: Measure = "accuracy", at: ExamState = "end", *, is_answered: bool = False
    ) -> pl.DataFrame:
        """Return the `value` in [0, 1] of each `question` and `seed` of a placement's exams by one measure; with
        `is_answered` without questions whose call failed."""
        value = pl.col(MEASURED[measure]).cast(pl.Float64)
        answers = (
            (exam.answered if is_answered else exam.answers).select(
                seed=pl.lit(seed, pl.Int64), question="question_id", value=value
            )
            for seed, exam in self.exams(place, at).items()
        )
        return pl.concat([_NO_SCORES, *answers])

    def reached(self, place: Placement, measure: Measure = "accuracy", at: ExamState = "end") -> Cell | None:
        return cell_of(by_seed(self.scores(place, measure, at)))

    def strongest(self, places: Iterable[Placement]) -> Placement:
        return max(places, key=lambda place: cell.mean if (cell := self.reached(place)) else -1.0)

    def gain(
        self, one: Placement, other: Placement, measure: Measure = "accuracy", *, over: ExamState = "end"
    ) -> Cell | None:
        """Return one placement minus another in points (`over`: its exam at the start or the end), see `difference`.

        Exams of a seed that asked different questions are not compared, and a note names them; one of an id that was
        edited in between is different. Nor is a question whose call failed at the start.
        """
        ours, theirs = self.exams(one), self.exams(other, over)
        common, unequal = ours.keys() & theirs.keys(), list[int]()
        for seed in sorted(common):
            mine, rival = ours[seed].questions, theirs[seed].questions
            runs = [self.at(place)[seed] for place in (one, other)]
            edited = self._unlike(*runs) & mine & rival
            if mine == rival and not edited:
                continue
            unequal.append(seed)
            names = [run.run.id for run in runs]
            which = f"{names[0]} and {names[1]}" if names[0] != names[1] else f"{names[0]} before and after"
            example = f"{min(edited)} was edited in between" if edited else f"{min(mine ^ rival)} is in one only"
            note = f"Not compared: the exams of {which} asked {len(mine)} and {len(rival)} questions"
            note += f", {len((mine & rival) - edited)} of them the same ({example})."
            self.notes += [] if note in self.notes else [note]
        if unequal and len(unequal) == len(common):
            return None
        sides = (self.scores(one, measure), self.scores(other, measure, over, is_answered=over == "start"))
        return difference(*(side.filter(~pl.col("seed").is_in(unequal)) for side in sides))

    def _unlike(self, one: RecordedRun, other: RecordedRun) -> Set[str]:
        if one.begun.data_sha256 == other.begun.data_sha256 and one.parent is other.parent is None:
            return frozenset()  # the same files, which need not be read
        if (one, other) not in self._edited:
            self._edited[one, other] = unlike(one.reader, other.reader) if one is not other else frozenset()
        return self._edited[one, other]

    def over_start(self, place: Placement, measure: Measure = "accuracy") -> Cell | None:
        return self.gain(place, place, measure, over="start")

    def over_strongest(self, place: Placement) -> Cell | None:
        return self.gain(place, self.strongest(map(place.baseline, self.baselines([place]))))


def _missing(run: RecordedRun) -> Iterator[str]:
    """Yield a note on what a run lacks, and one for each state with several of its own exams, which names the one that
    counts."""
    way = shlex.join([run.run.id, "--runs-dir", str(run.run.path.parent)])
    if not run.finished:
        yield f"{run.run.id} has not finished: mage-es resume {way}"
    elif run.counting("end") is None:
        yield f"{run.run.id} has no exam at its end: mage-es exam {way}"
    for state in get_args(ExamState):
        taken, counting = run.taken_of(state), run.counting(state)
        if len(taken) > 1:
            sizes = ", ".join(str(len(exam.questions)) for exam in taken)
            counts = f"{counting.name} counts" if counting else "none is complete"
            yield f"{run.run.id} took {len(taken)} exams at its {state} ({sizes} questions): {counts}."


def shortfalls(study: Study, places: Iterable[Placement]) -> Iterator[str]:
    """Yield a note for each final exam that asked fewer questions than were held out, or left some open."""
    for place in dict.fromkeys(places):
        for seed, exam in study.exams(place).items():
            run = study.at(place)[seed]
            held_out, asked = run.taken.get("held_out", 0), len(exam.answers) + len(exam.undecided)
            which = f"The exam of {run.run.id}"
            if asked < held_out:
                yield f"{which} asked {asked} of {held_out} questions."
            if lost := reasons(exam.answers):
                unanswered = f"{sum(lost.values())} of {asked} questions unanswered ({_counts(lost)})"
                yield f"{which} left {unanswered}; they count as wrong."
            if undecided := reasons(exam.undecided):
                left = f"{len(exam.undecided)} of {asked} answers undecided ({_counts(undecided)})"
                yield f"{which} left {left}; they count neither as right nor as wrong."


def _counts(problems: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in problems.items())


def open_study(folder: Path, *, prices: Prices | None = None, data_dir: Path | None = None) -> Study:
    """Return the study of every run in a folder and its subfolders; its notes name damaged ones.

    Raises:
        UsageError: There is no such folder, or no run in it that can be read.
    """
    if not folder.is_dir():
        raise UsageError(
            f"There is no folder {folder}. Name the folder of the runs, or start some: `mage-es matrix FILE.toml`."
        )
    readable, problems = list[RecordedRun](), list[str]()
    for run in find_runs(folder):
        try:
            readable.append(RecordedRun(run))
        except (MageError, OSError) as error:  # whatever the error is, it must not hide other runs
            problems.append(f"{run.id} is left out: {error}")
    if not readable:
        why = f" {problems[0]}" if problems else ""
        raise UsageError(f"There is no run in {folder} to report on.{why} Start some with `mage-es matrix FILE.toml`.")
    return Study(folder, readable, prices=prices or Prices(), data_dir=data_dir, problems=problems)
