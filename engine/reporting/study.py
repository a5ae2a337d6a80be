"""All runs of a folder as one study: what their exams came to, and the commands that would fill what is missing."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from mage_es.engine.baselines.table import BASELINES as METHODS
from mage_es.engine.benchmarks.registry import own_models
from mage_es.engine.config import Config, difference
from mage_es.engine.pricing import Prices
from mage_es.engine.reporting.cells import Cell, Column, Gap, columns
from mage_es.engine.reporting.conditions import EXAMINED, LOOKED_UP
from mage_es.engine.reporting.places import Places
from mage_es.engine.reporting.recorded import Answer, Recorded, Sat
from mage_es.engine.reporting.statistics import Scores, cell_of
from mage_es.engine.reporting.systems import (
    CASCADE,
    NAMES,
    PARTS,
    SEARCHED,
    Place,
    way_of,
)
from mage_es.engine.runs import Run
from mage_es.events.errors import LogError, PrerequisiteError, UsageError

Measure = Literal["accuracy", "score", "strict"]
"""Right answers, the mean score, or the answers that are right by the strict rule; each in percent."""

EMBEDDED = "builtin/"
"""What the names of the embedded models begin with, each of which knows its own benchmarks only."""
USUAL_DATA = Path("data")
"""Where every command looks for data sets unless it is told."""
OF_BASELINES = ("anchors", "execution", "task_types", *EXAMINED, *LOOKED_UP)
"""The settings that decide what a baseline is asked and how it may answer; the others are those of learning."""


class Head(NamedTuple):
    """The leading columns of a table: those in which its rows differ, and a note on the rest."""

    columns: tuple[Column, ...]
    cells: Callable[[Place], tuple[str, ...]]
    note: str


class Study(Places):
    """The runs of a folder with what their exams came to; `problems` are those of runs that cannot be read."""

    def __init__(
        self,
        folder: Path,
        runs: Iterable[Recorded],
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

    def exams(self, place: Place, *, at: Literal["start", "end"] = "end") -> dict[int, Sat]:
        """Return the exam of each seed's run, for those that have one."""
        found = {
            seed: run.final if at == "end" else run.initial for seed, run in self.at(place).items() if run.finished
        }
        return {seed: exam for seed, exam in found.items() if exam is not None}

    def scores(
        self, place: Place, measure: Measure = "accuracy", *, at: Literal["start", "end"] = "end"
    ) -> dict[int, Scores]:
        """Return what each seed's exam says of every question."""
        return {seed: scored(exam.answers.values(), measure) for seed, exam in self.exams(place, at=at).items()}

    def reached(
        self, place: Place, measure: Measure = "accuracy", *, at: Literal["start", "end"] = "end"
    ) -> Cell | Gap:
        """Return the mean over seeds of what the exams came to, in percent."""
        scores = self.scores(place, measure, at=at).values()
        return cell_of(percent(each) for each in scores if each) or self.gap(place, at=at)

    def gap(self, place: Place, *, at: Literal["start", "end"] = "end") -> Gap:
        """Return the command that would give a place its first exam."""
        runs = self.at(place)
        if unfinished := [run for run in runs.values() if not run.finished]:
            return Gap(command=self._at(unfinished[0], "resume"))
        if runs:
            marker = ("--at", "start") if at == "start" else ()
            return Gap(command=self._at(next(iter(runs.values())), "exam", *marker))
        config = self._like(place)
        if way_of(place.system) in NAMES:
            return self._missing_baseline(place, config)
        return self._missing_run(place, config)

    def _missing_run(self, place: Place, config: Config) -> Gap:
        """Return the command that would begin a run; none with models that are embedded for another benchmark."""
        models = {"execution": place.learner, "guidance": place.teacher}
        chosen = {tier: self.models[name] for tier, name in models.items() if self.models.get(name)}
        config = msgspec.structs.replace(config, **chosen)
        own = own_models(place.benchmark)
        if any(model.startswith(EMBEDDED) and model != getattr(own, tier) for tier, model in chosen.items()):
            return Gap()
        return Gap(command=self.command("evolve", place.benchmark, *_options(config, *Config.__struct_fields__)))

    def _missing_baseline(self, place: Place, config: Config) -> Gap:
        """Return the command that would run a baseline; none for one that makes no sense, or has variants instead."""
        way, benchmark = way_of(place.system), place.benchmark
        alike = [run for run in self.runs if run.baseline and self.place(run)[::4] == (benchmark, place.system)]
        if not self._applies(way, benchmark) or (self.has_variants(benchmark, way) and not alike):
            return Gap()
        if alike:
            looked_up = {name: getattr(alike[0].config, name) for name in LOOKED_UP}
            config = msgspec.structs.replace(config, **looked_up)
        elif METHODS[way].needs_search and not config.search and benchmark in SEARCHED:
            config = msgspec.structs.replace(config, search=SEARCHED[benchmark])
        return Gap(command=self.command("baseline", way, benchmark, *_options(config, *OF_BASELINES)))

    def _applies(self, way: str, benchmark: str) -> bool:
        """Return whether a baseline makes sense on a benchmark."""
        if self.is_sequential(benchmark):
            return METHODS[way].plays_as == ""
        return not METHODS[way].needs_search or benchmark in SEARCHED

    def head(self, places: Sequence[Place], *fields: str) -> Head:
        """Return the leading columns of a table of these places: the benchmark, and of `fields` those that vary."""
        varying = [field for field in fields if len({getattr(place, field) for place in places}) > 1]
        fixed = {field: getattr(places[0], field) for field in fields if field not in varying} if places else {}
        said = "; ".join(f"{field} {value}" for field, value in fixed.items() if value)
        shown = ("benchmark", *varying)
        return Head(
            columns(*(name.capitalize() for name in shown)),
            lambda place: tuple(getattr(place, name) for name in shown),
            f"{said[:1].upper()}{said[1:]} throughout." if said else "",
        )

    def _like(self, place: Place) -> Config:
        """Return the configuration of the run that stands nearest to a place, with the exam that is the place's."""
        here = [run for run in self.runs if run.begun.benchmark == place.benchmark]
        learning = [run for run in here if not run.baseline]
        near = [run for run in learning if self.place(run)[:4] == place[:4]]
        near = near or [run for run in learning if self.place(run).learner == place.learner] or learning
        config = min(near, key=lambda run: run.begun.seed).config if near else Config(benchmark=place.benchmark)
        for run in here:
            if (self.place(run).learner, self.conditions_of(run)) == (place.learner, self.conditions(place)):
                asked = {name: getattr(run.config, name) for name in ("execution", *EXAMINED)}
                return msgspec.structs.replace(config, **asked)
        return config

    def command(self, *words: str, folder: Path | None = None) -> str:
        """Return a command line that finds the runs (in `folder`, or the study's) and the data where they are."""
        data = [] if self.data_dir in (None, USUAL_DATA) else ["--data-dir", str(self.data_dir)]
        return shlex.join(["mage-es", *words, "--runs-dir", str(folder or self.folder), *data])

    def _at(self, run: Recorded, verb: str, *options: str) -> str:
        """Return a command about a run, which may lie in a folder below the study's."""
        return self.command(verb, run.run.id, *options, folder=run.run.path.parent)


def scored(answers: Iterable[Answer], measure: Measure) -> dict[str, float]:
    """Return each question's score in [0, 1] by one measure."""
    if measure == "score":
        return {answer.question_id: answer.score for answer in answers}
    return {answer.question_id: float(answer.correct if measure == "accuracy" else answer.strict) for answer in answers}


def percent(scores: Scores) -> float:
    """Return a mean score in percent."""
    return 100 * sum(scores.values()) / len(scores)


def open_study(folder: Path, *, prices: Prices | None = None, data_dir: Path | None = None) -> Study:
    """Return the study of every run in a folder and in the folders below it; damaged ones are named in its notes.

    Raises:
        UsageError: There is no such folder, or no run in it that can be read.
    """
    if not folder.is_dir():
        raise UsageError(
            f"There is no folder {folder}. Name the one of the runs, or begin some: `mage-es matrix FILE.toml`."
        )
    found, problems = list[Recorded](), list[str]()
    for run in find_runs(folder):
        try:
            found.append(Recorded(run))
        except (LogError, PrerequisiteError) as error:
            problems.append(f"{run.id} is left out: {error}")
    if not found:
        why = f" {problems[0]}" if problems else ""
        raise UsageError(f"There is no run in {folder} to report on.{why} Begin some with `mage-es matrix FILE.toml`.")
    return Study(folder, found, prices=prices or Prices(), data_dir=data_dir, problems=problems)


def find_runs(folder: Path) -> list[Run]:
    """Return the runs in a folder and below it, oldest first; exams are none, nor is what stands in hidden folders."""
    logs = [path.parent.parent for path in folder.rglob("log/FORMAT")]
    runs = [
        Run(path.name, path)
        for path in logs
        if path.parent.name != "exams" and not any(part.startswith(".") for part in path.relative_to(folder).parts)
    ]
    return sorted(runs, key=lambda run: ((run.log_path / "FORMAT").stat().st_mtime_ns, run.id))


def _options(config: Config, *names: str) -> list[str]:
    """Return the options that say a configuration: its seed, and of `names` what is not the default.

    No switch of a part is among them: what is missing is the whole system, or the caller adds the switch.
    """
    words = ["--seed", str(config.seed)]
    for name, _, value in difference(Config(benchmark=config.benchmark), config):
        if name in names and name not in (*PARTS, *CASCADE, "seed"):
            flag = name.replace("_", "-")
            words += [f"--{'' if value else 'no-'}{flag}"] if isinstance(value, bool) else [f"--{flag}", str(value)]
    return words
