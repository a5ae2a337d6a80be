"""All runs of a folder as one study: the results of their exams."""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property, wraps
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import polars as pl

from mage_es.engine.run.directory import Run, age, is_run
from mage_es.engine.run.exams import RecordedExam, reasons
from mage_es.engine.run.pricing import Prices
from mage_es.engine.study.reporting.cells import Cell, StudyTable, TableRow, by_seed, cell_of, difference
from mage_es.engine.study.reporting.places import Placement, Places
from mage_es.engine.study.reporting.recorded import ExamState, RecordedRun
from mage_es.events.errors import MageError, UsageError
from mage_es.projections.ledger import Account, Usage

Measure = Literal["accuracy", "score", "strict"]
"""Right answers, the mean score, or the answers that are right by the strict rule; each in percent."""
MEASURED: Mapping[Measure, str] = {"accuracy": "correct", "score": "score", "strict": "strict"}
"""The column of answers whose mean each measure is."""
_NO_SCORES = pl.DataFrame(schema={"seed": pl.Int64, "question": pl.String, "value": pl.Float64})
VARYING = ("learner", "teacher", "setting")
"""The fields of a placement that get a column of a table if they vary in it."""


class TableBody(NamedTuple):
    columns: Sequence[str]
    rows: Iterable[TableRow]
    notes: Iterable[str] = ()


class Study(Places):
    """The runs of a folder with the results of their exams; `problems` are those of unreadable runs."""

    def __init__(
        self, folder: Path, runs: Iterable[RecordedRun], *, prices: Prices, data_dir: Path | None, problems: list[str]
    ) -> None:
        super().__init__(runs)
        self._notes[:0] = problems
        self.folder, self.prices, self.data_dir = folder, prices, data_dir
        for run in self.counted:
            if not run.finished:
                self._notes.append(f"{run.run.id} has not finished: {self._command('resume', run)}")
            elif run.counting("end") is None:
                self._notes.append(f"{run.run.id} has no exam at its end: {self._command('exam', run)}")
            self._notes += _taken_again(run)

    @cached_property
    def booked(self) -> pl.DataFrame:
        """The accounts of each log that counts, after a row without calls; `part` is evolution, exams or baseline."""
        rows = list[dict[str, object]]()
        for run in self.counted:
            of_exams = [] if run.baseline else [("exams", exam.ledger) for exam in run.exams]
            for part, ledger in [("baseline" if run.baseline else "evolution", run.ledger), *of_exams]:
                log = {"log": f"{len(rows)}", "part": part, "benchmark": run.begun.benchmark}
                for account, use in [(Account("execution", "", "", 0, ""), Usage()), *ledger.accounts()]:
                    amounts = {"calls": use.calls, "tokens": (use.input_tokens + use.output_tokens) / 1000}
                    usd = self.prices.paid(account, use) if use.calls else 0.0
                    rows.append({**log, **account._asdict(), **amounts, "usd": usd})
        return pl.DataFrame(rows, infer_schema_length=None)

    def exams(self, place: Placement, at: ExamState = "end") -> dict[int, RecordedExam]:
        found = {seed: run.counting(at) for seed, run in self.at(place).items() if run.finished}
        return {seed: exam for seed, exam in found.items() if exam is not None}

    def scores(self, place: Placement, measure: Measure = "accuracy", at: ExamState = "end") -> pl.DataFrame:
        """Return the `value` in [0, 1] of each `question` and `seed` of a placement's exams by one measure."""
        value = pl.col(MEASURED[measure]).cast(pl.Float64)
        answers = (
            exam.answers.select(seed=pl.lit(seed, pl.Int64), question="question_id", value=value)
            for seed, exam in self.exams(place, at).items()
        )
        return pl.concat([_NO_SCORES, *answers])

    def reached(self, place: Placement, measure: Measure = "accuracy", at: ExamState = "end") -> Cell | None:
        return cell_of(by_seed(self.scores(place, measure, at)))

    def gain(
        self, one: Placement, other: Placement, measure: Measure = "accuracy", *, over: ExamState = "end"
    ) -> Cell | None:
        """Return one placement minus another in points (`over`: its exam at the start or the end), see `difference`.

        Exams of a seed that asked different questions are not compared, and a note names them.
        """
        ours, theirs = self.exams(one), self.exams(other, over)
        common = ours.keys() & theirs.keys()
        unequal = sorted(seed for seed in common if ours[seed].questions != theirs[seed].questions)
        for seed in unequal:
            mine, rival = ours[seed].questions, theirs[seed].questions
            names = [self.at(place)[seed].run.id for place in (one, other)]
            told = f"{names[0]} and {names[1]}" if names[0] != names[1] else f"{names[0]} before and after"
            note = f"Not compared: the exams of {told} asked {len(mine)} and {len(rival)} questions"
            note += f", {len(mine & rival)} of them the same ({min(mine ^ rival)} is in one only)."
            self._notes += [] if note in self._notes else [note]
        if unequal and len(unequal) == len(common):
            return None
        sides = (self.scores(one, measure), self.scores(other, measure, over))
        return difference(*(side.filter(~pl.col("seed").is_in(unequal)) for side in sides))

    def shortfalls(self, places: Iterable[Placement]) -> tuple[str, ...]:
        """Return a note for each final exam that asked fewer questions than were held out, or left some open."""
        notes: list[str] = []
        for place in dict.fromkeys(places):
            for seed, exam in self.exams(place).items():
                run = self.at(place)[seed]
                held_out, asked = run.taken.get("held_out", 0), len(exam.answers) + len(exam.undecided)
                which = f"The exam of {run.run.id}"
                if asked < held_out:
                    notes.append(f"{which} asked {asked} of {held_out} questions.")
                if lost := reasons(exam.answers):
                    unanswered = f"{sum(lost.values())} of {asked} questions unanswered ({_counts(lost)})"
                    notes.append(f"{which} left {unanswered}; they count as wrong.")
                if undecided := reasons(exam.undecided):
                    left = f"{len(exam.undecided)} of {asked} answers undecided ({_counts(undecided)})"
                    notes.append(f"{which} left {left}; they count neither as right nor as wrong.")
        return tuple(notes)

    def teaching(self, places: Iterable[Placement]) -> tuple[str, ...]:
        """Return a note on what the guidance model was shown of questions, since gains depend on it."""
        shown: dict[str, set[str]] = {}
        for place in places:
            for run in self.at(place).values():
                shown.setdefault(run.config.teacher_sees, set()).add(place.benchmark)
        said = "; ".join(f"{sees} ({', '.join(sorted(shown[sees]))})" for sees in sorted(shown))
        return (f"What the teacher saw beside replies and verdicts: {said}.",) if said else ()

    def by_place(
        self,
        places: Sequence[Placement],
        columns: Iterable[str],
        rows: Callable[[Placement], Iterable[TableRow]],
        notes: Iterable[str] = (),
        fields: Sequence[str] = VARYING,
    ) -> TableBody:
        """Return the rows of each placement, led by its benchmark and by those of `fields` that vary; a note has the
        others."""
        had = {field: list(dict.fromkeys(getattr(place, field) for place in places)) for field in fields}
        shown = ("benchmark", *(field for field in fields if len(had[field]) > 1))
        said = "; ".join(f"{field} {found[0]}" for field, found in had.items() if len(found) == 1 and found[0])
        body = [(*(getattr(place, field) for field in shown), *row) for place in places for row in rows(place)]
        fixed = [f"{said[:1].upper()}{said[1:]} throughout."] if said else []
        return TableBody((*map(str.capitalize, shown), *columns), body, (*fixed, *notes))

    def _command(self, verb: str, run: RecordedRun) -> str:
        return shlex.join(["mage-es", verb, run.run.id, "--runs-dir", str(run.run.path.parent)])


TABLES: dict[str, Callable[[Study], StudyTable]] = {}
"""The tables of a report by name."""
WORDS = tomllib.loads((Path(__file__).parent / "tables.toml").read_text(encoding="utf-8"))
"""Title, place in the paper and measure of each table, in the order of the paper."""


def table(body_of: Callable[[Study], TableBody]) -> Callable[[Study], StudyTable]:
    """Make one of `TABLES` of a function that returns its body, under its name, with words of tables.toml."""
    name = body_of.__name__.replace("_", "-")

    @wraps(body_of)
    def whole(study: Study) -> StudyTable:
        columns, rows, notes = body_of(study)
        return StudyTable(name, **WORDS[name], columns=tuple(columns), rows=tuple(rows), notes=tuple(notes))

    TABLES[name] = whole
    return whole


def _counts(problems: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in problems.items())


def _taken_again(run: RecordedRun) -> Iterator[str]:
    """Yield a note for each state with several of the run's own exams, which names the one that counts."""
    for state in get_args(ExamState):
        taken, counting = run.taken_of(state), run.counting(state)
        if len(taken) > 1:
            sizes = ", ".join(str(len(exam.questions)) for exam in taken)
            counts = f"{counting.name} counts" if counting else "none is complete"
            yield f"{run.run.id} took {len(taken)} exams at its {state} ({sizes} questions): {counts}."


def open_study(folder: Path, *, prices: Prices | None = None, data_dir: Path | None = None) -> Study:
    """Return the study of every run in a folder and its subfolders; its notes name damaged ones.

    Raises:
        UsageError: There is no such folder, or no run in it that can be read.
    """
    if not folder.is_dir():
        raise UsageError(
            f"There is no folder {folder}. Name the folder of the runs, or start some: `mage-es matrix FILE.toml`."
        )
    found, problems = list[RecordedRun](), list[str]()
    for run in find_runs(folder):
        try:
            found.append(RecordedRun(run))
        except (MageError, OSError) as error:  # whatever the error is, it must not hide other runs
            problems.append(f"{run.id} is left out: {error}")
    if not found:
        why = f" {problems[0]}" if problems else ""
        raise UsageError(f"There is no run in {folder} to report on.{why} Start some with `mage-es matrix FILE.toml`.")
    return Study(folder, found, prices=prices or Prices(), data_dir=data_dir, problems=problems)


def find_runs(folder: Path) -> list[Run]:
    """Return the runs in a folder and its subfolders, oldest first, without exams, the pasts of forks and hidden
    folders."""
    folders = {path.parent for name in ("log", "exams") for path in folder.rglob(name)}
    runs = [
        Run(path.name, path)
        for path in folders
        if path.parent.name not in ("exams", "effects")
        and (path.name, path.parent.name) != ("past", "log")
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and is_run(path)
    ]
    return sorted(runs, key=age)
