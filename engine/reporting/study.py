"""All runs of a folder as one study: where each stands in the tables, by seed, and what would fill what is missing."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal, NamedTuple

from mage_es.engine.baselines.table import BASELINES as METHODS
from mage_es.engine.benchmarks.registry import title
from mage_es.engine.config import Config, difference
from mage_es.engine.pricing import Prices
from mage_es.engine.reporting.cells import Cell, Column, Gap, columns
from mage_es.engine.reporting.recorded import Answer, Recorded, Sat
from mage_es.engine.reporting.statistics import Scores, cell_of
from mage_es.engine.reporting.systems import (
    BASELINES,
    CASCADE,
    FULL,
    NAMES,
    NO_GUARD,
    PARTS,
    SEARCHED,
    Place,
    everything_else,
    short,
    system_of,
)
from mage_es.engine.runs import Run
from mage_es.events.errors import LogError, PrerequisiteError, UsageError

Measure = Literal["accuracy", "score", "strict"]
"""Right answers, the mean score, or the answers that are right by the strict rule; each in percent."""

Seeds = Mapping[int, Recorded]

OF_BASELINES = ("held_out", "anchors", "execution", "judge", "search", "max_tokens", "task_types", "episode_steps")
"""The settings that decide what a baseline is asked and how it may answer; the others are those of learning."""


class Head(NamedTuple):
    """The leading columns of a table: those in which its rows differ, and a note on the rest."""

    columns: tuple[Column, ...]
    cells: Callable[[Place], tuple[str, ...]]
    note: str


class Study:
    """Runs by place and seed. Of several runs of one place and seed the newest counts; `notes` say what does not."""

    def __init__(self, folder: Path, runs: Iterable[Recorded], *, prices: Prices, data_dir: Path | None) -> None:
        self.folder, self.prices, self.data_dir = folder, prices, data_dir
        self.runs = list(runs)
        self.notes: list[str] = []
        self._settings = _differing(self.runs)
        self._guarded = {run.begun.benchmark for run in self.runs if run.config.guard != "off"}
        self._by_place: dict[Place, dict[int, Recorded]] = {}
        for run in self.runs:
            seeds = self._by_place.setdefault(self.place(run), {})
            if run.begun.seed in seeds:
                older = seeds[run.begun.seed].run.id
                self.notes.append(
                    f"{older} is left out: {run.run.id} has the same configuration and seed, and is newer."
                )
            seeds[run.begun.seed] = run
        for run in self.counted:
            if not run.finished:
                self.notes.append(f"{run.run.id} has not finished: {self._command('resume', run.run.id)}")

    def place(self, run: Recorded) -> Place:
        """Return where a run stands. A baseline knows no teacher, and no setting but the benchmark's."""
        learner = self._names[run.begun.execution_model]
        if run.baseline:
            return Place(run.begun.benchmark, learner, "", "", system_of(run))
        teacher = self._names[run.begun.guidance_model]
        here = everything_else(run.config)
        benchmark, shared = run.begun.benchmark, self._shared(run.begun.benchmark)
        told = (
            f"{name} {here[name]}" if here[name] != "" else f"no {name}" for name in self._settings.get(benchmark, ())
        )
        setting = ", ".join((*shared, *told))
        return Place(benchmark, learner, teacher, setting, system_of(run, shared=shared))

    def _shared(self, benchmark: str) -> frozenset[str]:
        """Return `no guard` where no run of a benchmark has one: it learns as the full system does."""
        return frozenset() if benchmark in self._guarded else frozenset({NO_GUARD})

    @property
    def counted(self) -> list[Recorded]:
        """Return the runs that stand in the tables."""
        return [run for place in self.places for run in self.at(place).values()]

    @cached_property
    def places(self) -> Sequence[Place]:
        """Every place that a run has, sorted, full systems first within a row and baselines as the paper has them."""
        order = {name: number for number, name in enumerate((FULL, *BASELINES))}
        return sorted(self._by_place, key=lambda place: (place[:4], order.get(place.system, len(order)), place.system))

    def at(self, place: Place) -> Seeds:
        """Return the runs of a place by seed."""
        return dict(sorted(self._by_place.get(place, {}).items()))

    def full(self) -> list[Place]:
        """Return the places of the full system, no baseline among them."""
        return [place for place in self.places if place.system == FULL]

    def compared(self) -> list[Place]:
        """Return the places of the full system, and one without a teacher for what has baselines only so far."""
        full = self.full()
        known = {(place.benchmark, place.learner) for place in full}
        others = {(p.benchmark, p.learner) for p in self.places if not p.teacher} - known
        return [*full, *(Place(benchmark, learner, "", "", FULL) for benchmark, learner in sorted(others))]

    def baseline(self, place: Place, name: str) -> Place:
        """Return where a baseline stands that a place of this benchmark and learner is compared with."""
        return Place(place.benchmark, place.learner, "", "", name)

    @cached_property
    def titles(self) -> Mapping[str, str]:
        """What the benchmarks are called that have a long name, which are own tasks; not where two would be alike."""
        names = {run.begun.benchmark for run in self.runs}
        called = {name: title(name) for name in names}
        alike = Counter(called.values())
        return {name: short for name, short in sorted(called.items()) if short != name and alike[short] == 1}

    def is_sequential(self, benchmark: str) -> bool:
        """Return whether the questions of a benchmark are episodes."""
        return any(run.is_sequential for run in self.runs if run.begun.benchmark == benchmark)

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
        if unfinished := [run.run.id for run in runs.values() if not run.finished]:
            return Gap(command=self._command("resume", unfinished[0]))
        if runs:
            marker = ("--at", "start") if at == "start" else ()
            return Gap(command=self._command("exam", next(iter(runs.values())).run.id, *marker))
        config = self._like(place)
        if place.system in NAMES:
            if not self._applies(place):
                return Gap()
            options = _options(config, *OF_BASELINES)
            if METHODS[place.system].needs_search and not config.search and place.benchmark in SEARCHED:
                options += ["--search", SEARCHED[place.benchmark]]
            return Gap(command=self._command("baseline", place.system, place.benchmark, *options))
        options = _options(config, *Config.__struct_fields__)
        return Gap(command=self._command("evolve", place.benchmark, *options))

    def _applies(self, place: Place) -> bool:
        """Return whether a baseline makes sense on the benchmark of a place."""
        baseline = METHODS[place.system]
        if any(run.is_sequential for run in self.runs if run.begun.benchmark == place.benchmark):
            return baseline.plays_as == ""
        return not baseline.needs_search or place.benchmark in SEARCHED

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

    @cached_property
    def _names(self) -> Mapping[str, str]:
        """The short names of models, the whole ones where two would be called the same."""
        models = {model for run in self.runs for model in (run.begun.execution_model, run.begun.guidance_model)}
        taken = [short(model) for model in models]
        return {model: short(model) if taken.count(short(model)) == 1 else model for model in models}

    def _like(self, place: Place) -> Config:
        """Return the configuration of the first run that stands nearest to a place, the defaults' where none does."""
        learning = [run for run in self.runs if not run.baseline and run.begun.benchmark == place.benchmark]
        near = [run for run in learning if self.place(run)[:4] == place[:4]]
        near = near or [run for run in learning if self.place(run).learner == place.learner] or learning
        return min(near, key=lambda run: run.begun.seed).config if near else Config(benchmark=place.benchmark)

    def _command(self, *words: str) -> str:
        return shlex.join(["mage-es", *words, "--runs-dir", str(self.folder)])


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
        UsageError: There is no run in it.
    """
    found, problems = list[Recorded](), list[str]()
    for run in find_runs(folder):
        try:
            found.append(Recorded(run))
        except (LogError, PrerequisiteError) as error:
            problems.append(f"{run.id} is left out: {error}")
    if not found:
        why = f" {problems[0]}" if problems else ""
        raise UsageError(f"There is no run in {folder} to report on.{why} Begin some with `mage-es matrix FILE.toml`.")
    study = Study(folder, found, prices=prices or Prices(), data_dir=data_dir)
    study.notes[:0] = problems
    return study


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


def _differing(runs: Sequence[Recorded]) -> dict[str, list[str]]:
    """Return the settings, besides models, seed and switches, in which the runs of each benchmark differ."""
    by_benchmark: dict[str, list[dict[str, object]]] = {}
    for run in runs:
        if not run.baseline:
            by_benchmark.setdefault(run.begun.benchmark, []).append(everything_else(run.config))
    return {
        benchmark: [name for name in found[0] if any(other[name] != found[0][name] for other in found)]
        for benchmark, found in by_benchmark.items()
    }
