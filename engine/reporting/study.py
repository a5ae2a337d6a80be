"""All runs of a folder as one study: the results of their exams, and the commands that would fill blank cells."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
import polars as pl

from mage_es.engine.baselines.table import BASELINES as METHODS
from mage_es.engine.benchmarks.registry import own_models, with_own_models
from mage_es.engine.config import Config, difference
from mage_es.engine.reporting.cells import Blank, Cell, TableColumn, columns
from mage_es.engine.reporting.conditions import EXAMINED, LOOKED_UP
from mage_es.engine.reporting.places import Places
from mage_es.engine.reporting.recorded import RecordedRun
from mage_es.engine.reporting.statistics import QuestionScores, cell_of
from mage_es.engine.reporting.systems import CASCADE, NAMES, PARTS, SEARCHED, Placement, way_of
from mage_es.engine.run.directory import Run, age, is_run
from mage_es.engine.run.exams import RecordedExam, reasons
from mage_es.engine.run.pricing import Prices
from mage_es.events.errors import LogError, PrerequisiteError, UsageError

Measure = Literal["accuracy", "score", "strict"]
"""Right answers, the mean score, or the answers that are right by the strict rule; each in percent."""
MEASURED: Mapping[Measure, str] = {"accuracy": "correct", "score": "score", "strict": "strict"}
"""The column of answers that each is the mean of."""

EMBEDDED = "builtin/"
"""The prefix of embedded models, each of which knows only its own benchmarks."""
USUAL_DATA = Path("data")
"""The default folder of data sets."""
OF_BASELINES = ("anchors", "execution", "task_types", *EXAMINED, *LOOKED_UP)
"""The settings that affect a baseline; the others concern learning."""


class TableHead(NamedTuple):
    """The leading columns of a table: those in which its rows differ, and notes on the others."""

    columns: tuple[TableColumn, ...]
    cells: Callable[[Placement], tuple[str, ...]]
    notes: tuple[str, ...]


class Study(Places):
    """The runs of a folder with the results of their exams; `problems` are those of unreadable runs."""

    def __init__(
        self,
        folder: Path,
        runs: Iterable[RecordedRun],
        *,
        prices: Prices,
        data_dir: Path | None,
        problems: Sequence[str] = (),
    ) -> None:
        super().__init__(runs)
        self._notes[:0] = problems
        self.folder, self.prices, self.data_dir = folder, prices, data_dir
        for run in self.counted:
            if not run.finished:
                self._notes.append(f"{run.run.id} has not finished: {self._at(run, 'resume')}")

    def exams(self, place: Placement, *, at: Literal["start", "end"] = "end") -> dict[int, RecordedExam]:
        found = {
            seed: run.final if at == "end" else run.initial for seed, run in self.at(place).items() if run.finished
        }
        return {seed: exam for seed, exam in found.items() if exam is not None}

    def scores(
        self, place: Placement, measure: Measure = "accuracy", *, at: Literal["start", "end"] = "end"
    ) -> dict[int, QuestionScores]:
        return {seed: scored(exam.answers, measure) for seed, exam in self.exams(place, at=at).items()}

    def reached(
        self, place: Placement, measure: Measure = "accuracy", *, at: Literal["start", "end"] = "end"
    ) -> Cell | Blank:
        scores = self.scores(place, measure, at=at).values()
        return cell_of(percent(each) for each in scores if each) or self.gap(place, at=at)

    def shortfalls(self, places: Iterable[Placement]) -> tuple[str, ...]:
        """Return a note for each final exam of fewer questions than were held out, or with unanswered ones."""
        notes: list[str] = []
        for place in dict.fromkeys(places):
            for seed, exam in self.exams(place).items():
                run = self.at(place)[seed]
                held_out, asked = run.taken.get("held_out", 0), len(exam.answers)
                if asked < held_out:
                    notes.append(f"The exam of {run.run.id} asked {asked} of {held_out} questions.")
                if lost := reasons(exam.answers):
                    kinds = ", ".join(f"{fault} {count}" for fault, count in lost.items())
                    notes.append(
                        f"The exam of {run.run.id} left {sum(lost.values())} of {asked} questions "
                        f"unanswered ({kinds}); they count as wrong."
                    )
        return tuple(notes)

    def teaching(self, places: Iterable[Placement]) -> tuple[str, ...]:
        """Return a note on what the guidance model was shown of questions, on which a gain depends."""
        shown: dict[str, set[str]] = {}
        for place in places:
            for run in self.at(place).values():
                shown.setdefault(run.config.teacher_sees, set()).add(place.benchmark)
        said = "; ".join(f"{sees} ({', '.join(sorted(shown[sees]))})" for sees in sorted(shown))
        return (f"What the teacher saw beside replies and verdicts: {said}.",) if said else ()

    def gap(self, place: Placement, *, at: Literal["start", "end"] = "end") -> Blank:
        """Return a blank cell with the command that would fill it."""
        runs = self.at(place)
        if unfinished := [run for run in runs.values() if not run.finished]:
            return Blank(command=self._at(unfinished[0], "resume"))
        if runs:
            marker = ("--at", "start") if at == "start" else ()
            return Blank(command=self._at(next(iter(runs.values())), "exam", *marker))
        config = self._like(place)
        if way_of(place.system) in NAMES:
            return self._missing_baseline(place, config)
        return self._missing_run(place, config)

    def _missing_run(self, place: Placement, config: Config) -> Blank:
        """Return the command that would start a run; none with models embedded for another benchmark."""
        models = {"execution": place.learner, "guidance": place.teacher}
        chosen = {tier: self.models[name] for tier, name in models.items() if self.models.get(name)}
        config = msgspec.structs.replace(config, **chosen)
        own = own_models(place.benchmark)
        if any(model.startswith(EMBEDDED) and model != getattr(own, tier) for tier, model in chosen.items()):
            return Blank()
        return Blank(command=self.command("evolve", place.benchmark, *_options(config, *Config.__struct_fields__)))

    def _missing_baseline(self, place: Placement, config: Config) -> Blank:
        """Return the command that would run a baseline; none if it does not apply, or only its variants were run."""
        way, benchmark = way_of(place.system), place.benchmark
        alike = [run for run in self.runs if run.baseline and self.place(run)[::4] == (benchmark, place.system)]
        if not self._applies(way, benchmark) or (self.has_variants(benchmark, way) and not alike):
            return Blank()
        if alike:
            looked_up = {name: getattr(alike[0].config, name) for name in LOOKED_UP}
            config = msgspec.structs.replace(config, **looked_up)
        elif METHODS[way].needs_search and not config.search and benchmark in SEARCHED:
            config = msgspec.structs.replace(config, search=SEARCHED[benchmark])
        return Blank(command=self.command("baseline", way, benchmark, *_options(config, *OF_BASELINES)))

    def _applies(self, way: str, benchmark: str) -> bool:
        if self.is_sequential(benchmark):
            return METHODS[way].plays_as == ""
        return not METHODS[way].needs_search or benchmark in SEARCHED

    def head(self, places: Sequence[Placement], *fields: str) -> TableHead:
        """Return the leading columns of a table of these places: the benchmark, and of `fields` those that vary."""
        varying = [field for field in fields if len({getattr(place, field) for place in places}) > 1]
        fixed = {field: getattr(places[0], field) for field in fields if field not in varying} if places else {}
        said = "; ".join(f"{field} {value}" for field, value in fixed.items() if value)
        shown = ("benchmark", *varying)
        return TableHead(
            columns(*(name.capitalize() for name in shown)),
            lambda place: tuple(getattr(place, name) for name in shown),
            (f"{said[:1].upper()}{said[1:]} throughout.",) if said else (),
        )

    def _like(self, place: Placement) -> Config:
        """Return the configuration of the nearest run, with the exam settings of this placement."""
        here = [run for run in self.runs if run.begun.benchmark == place.benchmark]
        learning = [run for run in here if not run.baseline]
        near = [run for run in learning if self.place(run)[:4] == place[:4]]
        near = near or [run for run in learning if self.place(run).learner == place.learner] or learning
        config = (
            min(near, key=lambda run: run.begun.seed).config
            if near
            else with_own_models(Config(benchmark=place.benchmark))
        )
        for run in here:
            if (self.place(run).learner, self.conditions_of(run)) == (place.learner, self.conditions(place)):
                asked = {name: getattr(run.config, name) for name in ("execution", *EXAMINED)}
                return msgspec.structs.replace(config, **asked)
        return config

    def command(self, *words: str, folder: Path | None = None) -> str:
        """Return a command line with the folders of the runs (`folder`, or the study's) and of the data."""
        data = [] if self.data_dir in (None, USUAL_DATA) else ["--data-dir", str(self.data_dir)]
        return shlex.join(["mage-es", *words, "--runs-dir", str(folder or self.folder), *data])

    def _at(self, run: RecordedRun, verb: str, *options: str) -> str:
        """Return a command for a run, which may be in a subfolder of the study's."""
        return self.command(verb, run.run.id, *options, folder=run.run.path.parent)


def scored(answers: pl.DataFrame, measure: Measure) -> dict[str, float]:
    """Return each question's score in [0, 1] by one measure."""
    return dict(zip(answers["question_id"], answers[MEASURED[measure]].cast(pl.Float64), strict=True))


def percent(scores: QuestionScores) -> float:
    return 100 * sum(scores.values()) / len(scores)


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
        except (LogError, PrerequisiteError, OSError) as error:
            problems.append(f"{run.id} is left out: {error}")
    if not found:
        why = f" {problems[0]}" if problems else ""
        raise UsageError(f"There is no run in {folder} to report on.{why} Start some with `mage-es matrix FILE.toml`.")
    return Study(folder, found, prices=prices or Prices(), data_dir=data_dir, problems=problems)


def find_runs(folder: Path) -> list[Run]:
    """Return the runs in a folder and its subfolders, oldest first, without exams and hidden folders."""
    folders = {path.parent for name in ("log", "exams") for path in folder.rglob(name)}
    runs = [
        Run(path.name, path)
        for path in folders
        if path.parent.name != "exams"
        and not any(part.startswith(".") for part in path.relative_to(folder).parts)
        and is_run(path)
    ]
    return sorted(runs, key=age)


def _options(config: Config, *names: str) -> list[str]:
    """Return the options of a configuration: its seed, and those of `names` that differ from their default.

    The switches of parts are not among them: the full system needs none, and otherwise the caller adds one.
    """
    words = ["--seed", str(config.seed)]
    for name, _, value in difference(with_own_models(Config(benchmark=config.benchmark)), config):
        if name in names and name not in (*PARTS, *CASCADE, "seed"):
            flag = name.replace("_", "-")
            words += [f"--{'' if value else 'no-'}{flag}"] if isinstance(value, bool) else [f"--{flag}", str(value)]
    return words
