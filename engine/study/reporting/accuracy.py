"""Tables of exams: main results, domain extension, teachers and learners, seeds; environments; what a part is worth."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence

import polars as pl

from mage_es.engine.study.reporting.cells import OF_MEAN, Cell, Entry, TableRow, cell_of, columns, with_best
from mage_es.engine.study.reporting.places import FULL, NO_CASCADE, NO_SUCCESS, Placement, cascade_of, way_of
from mage_es.engine.study.reporting.recorded import ExamState, RecordedRun
from mage_es.engine.study.reporting.study import VARYING, Measure, Study, TableBody, percent, table

EXTENSION = ("gsm8k", "finqa", "medqa")
PUBLISHED = {"gsm8k": "84.5 (8-shot, Meta)", "finqa": "60.87 (Fino1, SFT)", "medqa": "74 (Medprompt)"}
"""What that table quotes from elsewhere; none of it was measured here."""
PLAIN = "zero_shot_cot"
"""The only baseline of that table."""
EXAM = "accuracy in percent of the exam on held-out questions after the last iteration, mean ± sd over seeds"
_DIFFERENCES = f"{EXAM}; differences are of the best teacher's system, paired"


@table("main", "Main results: baselines and the full system", "tab:reasoning", _DIFFERENCES)
def main_results(study: Study) -> TableBody:
    """Return the system against every baseline on the same learner, one row for each benchmark of single questions."""
    full = [place for place in study.compared() if not study.is_sequential(place.benchmark)]
    full = [place for place in full if place.benchmark not in EXTENSION[1:]]
    return _against_baselines(study, full, study.baselines(full))


@table("extension", "Domain extension: mathematics, finance, medicine", "tab:reasoning_extension", _DIFFERENCES)
def extension(study: Study) -> TableBody:
    """Return the same for the benchmarks of the domain extension, beside what the paper quotes.

    [tables, domain extension]
    """
    full = [place for place in study.compared() if place.benchmark in EXTENSION]
    plain = [name for name in study.baselines(full, [PLAIN]) if way_of(name) == PLAIN]
    return _against_baselines(study, full, plain, quoted=True)


def _against_baselines(
    study: Study, full: Sequence[Placement], names: Sequence[str], *, quoted: bool = False
) -> TableBody:
    """Return a row for each benchmark, learner and setting: baselines, start, system by teacher, differences."""
    # If every row has one teacher, as with the benchmarks' own, that is a fact about the row, not a column.
    by_row = [{p.teacher for p in full if p.row == row} for row in {p.row for p in full}]
    is_compared = any(len(teachers) > 1 for teachers in by_row)
    teachers = sorted({p.teacher for p in full} - {""}) if is_compared else [FULL]
    head = study.head(full, *(field for field in VARYING if field != "teacher" or not is_compared))
    body: list[TableRow] = []
    for row in dict.fromkeys(p.row for p in full):
        mine = {p.teacher if is_compared else FULL: p for p in full if p.row == row}
        first = next(iter(mine.values()))
        rivals = [study.baseline(first, baseline) for baseline in names]
        best = max(mine.values(), key=lambda p: _mean(study.reached(p)))
        cells: list[Entry] = [*head.cells(first), *map(study.reached, rivals)]
        cells += [PUBLISHED.get(first.benchmark, "")] if quoted else []
        cells.append(study.reached(best, at="start"))
        reached = with_best(tuple(study.reached(mine[t]) if t in mine else None for t in teachers))
        body.append((*cells, *reached, _over_strongest(study, best, rivals), over_start(study, best)))
    return TableBody(
        (
            *head.columns,
            *columns(*(study.called(each, full) for each in names), group="baselines"),
            *(columns("Published") if quoted else ()),
            *columns("before"),
            *columns(*(f"full, {t}" if is_compared else t for t in teachers), group="the full system"),
            *columns("over strongest baseline", "over before", group="difference in points"),
        ),
        body,
        (
            *head.notes,
            *study.teaching(full),
            *study.shots(full),
            *study.shortfalls([*full, *(study.baseline(place, each) for place in full for each in names)]),
            "`before` is an exam on the state before the first iteration: the ontology, and no experience.",
        ),
    )


def over_strongest(study: Study, place: Placement) -> Cell | None:
    return _over_strongest(study, place, [study.baseline(place, name) for name in study.baselines([place])])


def over_start(study: Study, place: Placement) -> Cell | None:
    return study.gain(place, place, over="start")


def _over_strongest(study: Study, place: Placement, rivals: Sequence[Placement]) -> Cell | None:
    strongest = max(rivals, key=lambda rival: _mean(study.reached(rival)))
    return study.gain(place, strongest)


def _mean(entry: Cell | None) -> float:
    return entry.mean if entry else -1.0


@table("matrix", "Teachers and learners", "tab:teacher_learner", EXAM)
def teachers_and_learners(study: Study) -> TableBody:
    """Return the full system for each learner and benchmark, one column for each teacher.

    [tables, teachers, learners and seeds] Exams only.
    """
    full = study.full()
    teachers = sorted({place.teacher for place in full})
    head = study.head(full, "setting")
    body = list[TableRow]()
    rows = dict.fromkeys((p.learner, p.benchmark, p.setting) for p in full)
    for learner, benchmark, setting in sorted(rows, key=lambda row: row[:2]):
        places = [Placement(benchmark, learner, teacher, setting, FULL) for teacher in teachers]
        body.append((learner, *head.cells(places[0]), *with_best(tuple(map(study.reached, places)))))
    notes = ["The best teacher of a row is in bold."] if len(teachers) > 1 else []
    return TableBody((*columns("Learner"), *head.columns, *columns(*teachers, group="teacher")), body, notes)


@table(
    "variance",
    "Seeds: the same configuration, another seed",
    "tab:variance",
    f"{EXAM}, with the 95 % t interval of that mean",
)
def seeds(study: Study) -> TableBody:
    """Return how far the exams of every system spread over seeds. [tables, teachers, learners and seeds]"""

    def rows(place: Placement) -> Iterator[TableRow]:
        found = {seed: percent(scores) for seed, scores in study.scores(place).items() if scores}
        ends = (cell_of([end(found.values())]) if found else None for end in (min, max))
        yield place.system, " ".join(map(str, found)), cell_of(found.values(), interval=OF_MEAN), *ends

    return study.by_place(study.places, columns("System", "Seeds", "Accuracy", "least", "most"), rows)


PLAYED_ELSEWHERE = {
    "webshop": (
        ("RetroAgent (in-context, Qwen-7B reference)", "87.6", "78.9"),
        ("RetroAgent (RL-trained reflection)", "88.9", "82.3"),
    )
}
"""What the paper quotes from others: configuration, task score, strict success; none of it was measured here."""


@table(
    "sequential",
    "Sequential environments",
    "tab:sequential_main, tab:sequential",
    "percent, mean ± sd over seeds; exam: episodes never seen, after the last iteration; peak: the best iteration's "
    "mean score on fresh episodes; no action: share of replies that named none",
)
def sequential(study: Study) -> TableBody:
    """Return a row for each configuration of each sequential environment, including the exams before evolution.

    [tables, sequential environments] The exam's scores and the peak of the evaluations are separate columns, with the
    share of replies that named no action.
    """
    places = [place for place in study.places if study.is_sequential(place.benchmark)]
    head = study.head(places, *VARYING)
    body: list[TableRow] = []
    for benchmark in sorted({place.benchmark for place in places}):
        here = [place for place in places if place.benchmark == benchmark]
        full = [place for place in here if place.system == FULL]
        body += [(*head.cells(each), "before evolution", *_exam(study, each, "start"), "", "", "") for each in full]
        body += [(*head.cells(each), each.system, *_exam(study, each), *_course(study, each)) for each in here]
        for who, score, strict in PLAYED_ELSEWHERE.get(benchmark, ()):
            blank = [""] * (len(head.columns) - 1)
            body.append((benchmark, *blank, f"{who}, published", score, strict, *[""] * 5))
    exam = columns("Task score", "Strict success", "Achievements", "No action", group="exam")
    course = columns("Peak score", "Iterations", "No action", group="over iterations")
    return TableBody((*head.columns, *columns("Configuration"), *exam, *course), body, head.notes)


def _exam(study: Study, place: Placement, at: ExamState = "end") -> Sequence[Entry]:
    played = [exam.episodes for exam in study.exams(place, at).values() if not exam.episodes.is_empty()]
    reached = (int(episodes["achievements"].list.len().sum()) / len(episodes) for episodes in played)
    scores = (study.reached(place, measure, at) for measure in ("score", "strict"))
    return *scores, cell_of(reached, "value"), cell_of(map(_unparsed, played))


def _course(study: Study, place: Placement) -> Sequence[Entry]:
    runs = study.at(place).values()
    evolved = (run.episodes.filter(pl.col("purpose") != "exam") for run in runs)
    return (
        cell_of(_peaks(runs)),
        cell_of((len(run.iterations) for run in runs if run.iterations), "count"),
        cell_of(_unparsed(each) for each in evolved if not each.is_empty()),
    )


def _peaks(runs: Iterable[RecordedRun]) -> Iterable[float]:
    """Return the mean score of each run's best iteration on fresh episodes, in percent."""
    for run in runs:
        fresh = run.answers.filter(purpose="fresh").group_by("iteration")
        means = fresh.agg(score=100 * pl.col("score").sum() / pl.len())
        if isinstance(peak := means["score"].max(), float):
            yield peak


def _unparsed(episodes: pl.DataFrame) -> float:
    """Return the share of steps, in percent, whose reply named no action."""
    steps, unparsed = (int(episodes[name].sum()) for name in ("steps", "unparsed"))
    return 100 * unparsed / steps if steps else 0.0


ALL = "all, mean"
"""The row of the means over benchmarks."""
_DIFFERENCE = "full minus without, in points, on the same seeds"


@table("ablation", "Ablation: the full system less one part", "tab:ablation_success", f"{EXAM}; {_DIFFERENCE}")
def ablation(study: Study) -> TableBody:
    """Return each system with a part switched off beside the full one: benchmarks of single questions.

    [tables, ablation] All other settings that affect the result must agree, and both sides must have common seeds.
    """
    return _switched_off(study, {"accuracy": ""})


@table(
    "ablation-sequential",
    "Ablation in sequential environments: the full system less one part",
    "appendix, success-memory ablation on sequential environments",
    f"task score and strict success in percent, otherwise as in `main`; {_DIFFERENCE}",
)
def sequential_ablation(study: Study) -> TableBody:
    """Return the same for sequential environments, by task score and by strict success. [tables, ablation]"""
    return _switched_off(study, {"score": "task score, ", "strict": "strict success, "})


def _switched_off(study: Study, measures: Mapping[Measure, str]) -> TableBody:
    """Return the pairs by measures, each with what its columns begin with; environments are measured by score."""
    full = [place for place in study.full() if study.is_sequential(place.benchmark) == ("score" in measures)]
    head = study.head(full, *VARYING)
    parts = {p.system for p in study.places if p.teacher and p.system != FULL and "cascade" not in p.system}
    body = list[TableRow]()
    means = list[TableRow]()
    for part in sorted(parts, key=lambda part: (part != NO_SUCCESS, part)):
        pairs = {each: _pair(study, each, part, measures) for each in full}
        body += [
            (*head.cells(each), part, *pair) for each, pair in pairs.items() if study.at(each._replace(system=part))
        ]
        if any(mean := _mean_differences([*pairs.values()])):
            means.append((ALL, *[""] * (len(head.columns) - 1), part, *mean))
    several = len({each.benchmark for each in full}) > 1
    shown = [f"{kind}{side}" for kind in measures.values() for side in ("full", "without", "difference")]
    rows = [*body, *means] if several else body
    return TableBody((*head.columns, *columns("Part switched off", *shown)), rows, head.notes)


def _pair(study: Study, full: Placement, part: str, measures: Iterable[Measure]) -> TableRow:
    """Return the full system, the one without a part (both on their common seeds), and their paired difference."""
    cells: list[Entry] = []
    without = full._replace(system=part)
    for measure in measures:
        one, other = study.scores(full, measure), study.scores(without, measure)
        if common := sorted(one.keys() & other.keys()):
            cells += [cell_of(percent(side[seed]) for seed in common) for side in (one, other)]
            cells.append(study.gain(full, without, measure))
        else:
            cells += [study.reached(full, measure), study.reached(without, measure), None]
    return tuple(cells)


def _mean_differences(pairs: Sequence[TableRow]) -> TableRow:
    """Return the mean of each column of differences, every third, that has more than one; all else is blank."""
    mean: list[Entry] = []
    for column in list(zip(*pairs, strict=True))[2::3]:
        found = [entry.mean for entry in column if isinstance(entry, Cell)]
        points = Cell(mean=statistics.fmean(found), sd=None, n=len(found), unit="points") if len(found) > 1 else ""
        mean += ["", "", points]
    return tuple(mean)


@table(
    "cascade", "Cascade retrieval: parts A to D", "tab:cascade", f"{EXAM}; A-D minus base, in points, on the same seeds"
)
def cascade(study: Study) -> TableBody:
    """Return base retrieval (no part of the cascade), some parts if there are such runs, and A to D. Only if runs have
    all of these, as with the preset `paper`.

    [tables, cascade]
    """
    full = [place for place in study.full() if cascade_of(next(iter(study.at(place).values())).config) == "ABCD"]
    some = sorted({p.system for p in study.places if p.system.startswith("cascade ")})
    sequential = any(study.is_sequential(place.benchmark) for place in full)

    def rows(place: Placement) -> Iterator[TableRow]:
        measures: Sequence[Measure] = ("score", "strict") if study.is_sequential(place.benchmark) else ("accuracy",)
        base = place._replace(system=NO_CASCADE)
        for measure in measures:
            systems = (base, *(place._replace(system=name) for name in some), place)
            reached = (study.reached(each, measure) for each in systems)
            yield *((measure,) if sequential else ()), *reached, study.gain(place, base, measure)

    names = ("base", *(name.removeprefix("cascade ") for name in some), "A-D", "difference")
    note = "A: principles of prerequisites; B: action recipes; C: the plan of sub-skills; D: the frontier skill."
    return study.by_place(full, columns(*(("Measure",) if sequential else ()), *names), rows, [note])
