"""The tables of a report, in the order of the paper."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
import polars as pl
from msgspec.structs import replace

from mage_es.engine.askings.agreement import kappa
from mage_es.engine.config import PAPER, canonical
from mage_es.engine.run.exams import RULE, RecordedExam
from mage_es.engine.study.reporting.cells import (
    OF_MEAN,
    Cell,
    Entry,
    StudyTable,
    TableRow,
    Unit,
    by_seed,
    cell_of,
    with_best,
)
from mage_es.engine.study.reporting.places import FULL, NO_CASCADE, NO_SUCCESS, Placement, called, cascade_of, way_of
from mage_es.engine.study.reporting.recorded import ExamState, RecordedRun
from mage_es.engine.study.reporting.replies import all_measured, log_of, replies_of
from mage_es.engine.study.reporting.study import TABLES, VARYING, WORDS, Measure, Study, TableBody, table
from mage_es.engine.verbs.agents import TIERS
from mage_es.events.errors import UsageError, nearest
from mage_es.events.vocabulary import MemoryAppended, QuestionPlanned, Tier

HOTPOTQA = "hotpotqa"
CROSS_CHECK = ("em", "f1", "lenient")
"""The metrics beside the verdict; appendix, HotpotQA cross-check."""
NOTHING = "No run here has data for this table."
EXTENSION = ("gsm8k", "finqa", "medqa")
PUBLISHED = {"gsm8k": "84.5 (8-shot, Meta)", "finqa": "60.87 (Fino1, SFT)", "medqa": "74 (Medprompt)"}
"""What that table quotes from elsewhere; none of it was measured here."""
PLAIN = "zero_shot_cot"
"""The only baseline of that table."""
PLAYED_ELSEWHERE = {
    "webshop": (
        ("RetroAgent (in-context, Qwen-7B reference)", "87.6", "78.9"),
        ("RetroAgent (RL-trained reflection)", "88.9", "82.3"),
    )
}
"""What the paper quotes from others: configuration, task score, strict success; none of it was measured here."""


def tables(study: Study, names: Sequence[str] = ()) -> list[StudyTable]:
    """Return the named tables, or all that have data. Raises `UsageError` for a name that no table has."""
    for name in names:
        if name not in WORDS:
            raise UsageError(f"There is no table {name!r}.{nearest(name, list(WORDS))}")
    made = [_entitled(TABLES[name](study), study.titles) for name in names or WORDS]
    if not names:
        return [table for table in made if not table.is_empty]
    return [table if table.rows else replace(table, notes=(*table.notes, NOTHING)) for table in made]


def _entitled(table: StudyTable, titles: Mapping[str, str]) -> StudyTable:
    """Return a table with the titles of the user's own tasks, and their names on the command line in a note."""
    used = {name: each for name, each in titles.items() if any(name in row for row in table.rows)}
    rows = (tuple(used.get(entry, entry) if isinstance(entry, str) else entry for entry in row) for row in table.rows)
    notes = (f"{each}: `{name}`" for name, each in used.items())
    return replace(table, rows=tuple(rows), notes=(*table.notes, *notes))


@table
def main(study: Study) -> TableBody:
    """Return the system against every baseline on the same learner, one row for each benchmark of single questions."""
    full = [place for place in study.compared() if not study.is_sequential(place.benchmark)]
    full = [place for place in full if place.benchmark not in EXTENSION[1:]]
    return _against_baselines(study, full, study.baselines(full))


@table
def extension(study: Study) -> TableBody:
    """Return the same for the benchmarks of the domain extension, beside what the paper quotes.

    [tables, domain extension]
    """
    full = [place for place in study.compared() if place.benchmark in EXTENSION]
    plain = [name for name in study.baselines(full, [PLAIN]) if way_of(name) == PLAIN]
    return _against_baselines(study, full, plain, quoted=("Published",))


def _against_baselines(
    study: Study, full: Sequence[Placement], names: Sequence[str], *, quoted: tuple[str, ...] = ()
) -> TableBody:
    """Return a row for each benchmark, learner and setting: baselines, start, system by teacher, differences."""
    by_row = {place.row: {p.teacher: p for p in full if p.row == place.row} for place in full}
    # If every row has one teacher, as with the benchmarks' own, that is a fact about the row, not a column.
    is_compared = any(len(mine) > 1 for mine in by_row.values())
    teachers = sorted({place.teacher for place in full} - {""})

    def rows(place: Placement) -> Iterator[TableRow]:
        mine = by_row[place.row]
        if place != next(iter(mine.values())):
            return
        rivals = [place.baseline(name) for name in names]
        best = max(mine.values(), key=lambda each: _mean(study.reached(each)))
        shown = [mine.get(teacher) for teacher in teachers] if is_compared else [place]
        yield (
            *map(study.reached, rivals),
            *(PUBLISHED.get(place.benchmark, "") for _ in quoted),
            study.reached(best, at="start"),
            *with_best(tuple(each and study.reached(each) for each in shown)),
            over_strongest(study, best, names),
            over_start(study, best),
        )

    systems = [f"full, {teacher}" for teacher in teachers] if is_compared else ["full"]
    every = [*full, *(place.baseline(name) for place in full for name in names)]
    start = "`before` is an exam on the state before the first iteration: the ontology, and no experience."
    return study.by_place(
        full,
        (*map(called, names), *quoted, "before", *systems, "over strongest baseline", "over before"),
        rows,
        (*study.teaching(full), *study.shots(full), *study.shortfalls(every), start),
        [field for field in VARYING if field != "teacher" or not is_compared],
    )


def over_strongest(study: Study, place: Placement, names: Sequence[str] | None = None) -> Cell | None:
    rivals = map(place.baseline, study.baselines([place]) if names is None else names)
    return study.gain(place, max(rivals, key=lambda rival: _mean(study.reached(rival))))


def over_start(study: Study, place: Placement) -> Cell | None:
    return study.gain(place, place, over="start")


def _mean(entry: Cell | None) -> float:
    return entry.mean if entry else -1.0


@table
def sequential(study: Study) -> TableBody:
    """Return a row for each configuration of each sequential environment, including the exams before evolution.

    [tables, sequential environments] The exam's scores and the peak of the evaluations are separate columns, with the
    share of replies that named no action.
    """
    places = [place for place in study.places if study.is_sequential(place.benchmark)]

    def rows(place: Placement) -> Iterator[TableRow]:
        if place.system == FULL:
            yield "before evolution", *_exam(study, place, "start"), "", "", ""
        runs = study.at(place).values()
        evolved = (run.episodes.filter(pl.col("purpose") != "exam") for run in runs)
        yield (
            place.system,
            *_exam(study, place),
            cell_of(_peaks(runs)),
            cell_of((len(run.iterations) for run in runs if run.iterations), "count"),
            cell_of(_unparsed(each) for each in evolved if not each.is_empty()),
        )

    exam = ("Configuration", "Task score", "Strict success", "Achievements", "exam: No action")
    body = study.by_place(places, (*exam, "Peak score", "Iterations", "over iterations: No action"), rows)
    blank = [""] * (len(body.columns) - 9)
    quoted = [
        (benchmark, *blank, f"{who}, published", *scores, *[""] * 5)
        for benchmark in sorted({place.benchmark for place in places})
        for who, *scores in PLAYED_ELSEWHERE.get(benchmark, ())
    ]
    return body._replace(rows=[*body.rows, *quoted])


def _exam(study: Study, place: Placement, at: ExamState = "end") -> Sequence[Entry]:
    played = [exam.episodes for exam in study.exams(place, at).values() if not exam.episodes.is_empty()]
    reached = (int(episodes["achievements"].list.len().sum()) / len(episodes) for episodes in played)
    scores = (study.reached(place, measure, at) for measure in ("score", "strict"))
    return *scores, cell_of(reached, "value"), cell_of(map(_unparsed, played))


def _peaks(runs: Iterable[RecordedRun]) -> Iterable[float]:
    """Return the mean score of each run's best iteration on fresh episodes, in percent."""
    for run in runs:
        means = run.answers.filter(purpose="fresh").group_by("iteration").agg(pl.col("score").mean())
        if isinstance(peak := means["score"].max(), float):
            yield 100 * peak


def _unparsed(episodes: pl.DataFrame) -> float:
    """Return the share of steps, in percent, whose reply named no action."""
    return 100 * int(episodes["unparsed"].sum()) / max(1, int(episodes["steps"].sum()))


TIER_NAMES: tuple[Tier, ...] = ("execution", "guidance", "judge")


@table
def cost(study: Study) -> TableBody:
    """Return calls, tokens and dollars by tier for each benchmark, for all runs together, and for all exams.

    [tables, cost] The share is guidance's among guidance and execution; the judge is a separate tier, and a failed
    attempt is not a call.
    """
    booked, evolved = study.booked, study.booked.filter(part="evolution")
    # Most embedders are not a server's, and have no calls.
    is_served = booked.filter(tier="embedder")["calls"].sum() > 0
    tiers: Sequence[Tier] = (*TIER_NAMES, "embedder") if is_served else TIER_NAMES
    of_all = {"All runs": evolved, "All exams": booked.filter(part="exams")}
    body = [_cost(name, found, tiers, total=True) for name, found in of_all.items() if not found.is_empty()]
    for benchmark in evolved["benchmark"].unique().sort():
        body.append(_cost(benchmark, evolved.filter(benchmark=benchmark), tiers, total=False))
    of_learning = booked.filter(pl.col("part") != "baseline")
    unpriced = ", ".join(of_learning.filter(pl.col("usd").is_null())["model"].unique().sort())
    broken = ", ".join(run.run.id for run in study.learning if not run.finished)
    heads = [f"{group}: {tier}" for group in ("calls", "thousand tokens", "dollars") for tier in tiers]
    notes = (
        "Attempts that brought no reply are no calls here. Tokens are those of prompts and replies together.",
        *([f"No price is known for {unpriced}: give one with --prices FILE."] if unpriced else []),
        *([f"Not finished, and counted as far as they are: {broken}."] if broken else []),
    )
    return TableBody(("Runs", "n", "Guidance share", "range", *heads), body, notes)


def _cost(name: str, booked: pl.DataFrame, tiers: Sequence[Tier], *, total: bool) -> TableRow:
    units: Mapping[str, Unit] = {"calls": "count", "tokens": "count", "usd": "dollars"}
    amounts = {(what, tier): pl.col(what).filter(pl.col("tier") == tier) for what in units for tier in tiers}
    known = (
        pl.when(each.null_count() == 0).then(each.sum()).alias(f"{what} {tier}")
        for (what, tier), each in amounts.items()
    )
    logs = booked.group_by("log").agg(known)

    def cell(values: pl.Series, unit: Unit) -> Cell | None:
        if values.null_count():
            return None
        summed = Cell(mean=float(values.sum()), sd=None, n=len(values), unit=unit)
        return summed if total else cell_of(values, unit)

    shares = [_share(*each) for each in logs.select("calls guidance", "calls execution").iter_rows()]
    return (
        name,
        str(len(logs)),
        Cell(mean=_share(*logs.select("calls guidance", "calls execution").sum().row(0)), sd=None, n=len(logs)),
        f"{min(shares):.1f} to {max(shares):.1f}",
        *(cell(logs[f"{what} {tier}"], units[what]) for what, tier in amounts),
    )


def _share(guidance: int, execution: int) -> float:
    return 100 * guidance / max(1, guidance + execution)


@table
def ablation(study: Study) -> TableBody:
    """Return each system with a part switched off beside the full one: benchmarks of single questions.

    [tables, ablation] All other settings that affect the result must agree, and both sides must have common seeds.
    """
    return _switched_off(study, {"accuracy": ""})


@table
def ablation_sequential(study: Study) -> TableBody:
    """Return the same for sequential environments, by task score and by strict success. [tables, ablation]"""
    return _switched_off(study, {"score": "task score, ", "strict": "strict success, "})


def _switched_off(study: Study, measures: Mapping[Measure, str]) -> TableBody:
    """Return the pairs by measures, each with what its columns begin with; environments are measured by score."""
    full = [place for place in study.full() if study.is_sequential(place.benchmark) == ("score" in measures)]
    parts = {p.system for p in study.places if p.teacher and p.system != FULL and "cascade" not in p.system}
    gains: dict[str, list[TableRow]] = {part: [] for part in sorted(parts, key=lambda part: (part != NO_SUCCESS, part))}

    def rows(place: Placement) -> Iterator[TableRow]:
        for part, found in gains.items():
            other = place._replace(system=part)
            pair = tuple(cell for measure in measures for cell in _pair(study, place, other, measure))
            found.append(pair[2::3])
            if study.at(other):
                yield part, *pair

    shown = [f"{kind}{side}" for kind in measures.values() for side in ("full", "without", "difference")]
    body = study.by_place(full, ("Part switched off", *shown), rows)
    blank, means = [""] * (len(body.columns) - len(shown) - 2), list[TableRow]()
    for part, found in gains.items():
        each = [[cell.mean for cell in column if isinstance(cell, Cell)] for column in zip(*found, strict=True)]
        if any(len(column) > 1 for column in each) and len({place.benchmark for place in full}) > 1:
            points = (
                Cell(mean=statistics.fmean(column), sd=None, n=len(column), unit="points") if len(column) > 1 else ""
                for column in each
            )
            means.append(("all, mean", *blank, part, *(entry for cell in points for entry in ("", "", cell))))
    return body._replace(rows=[*body.rows, *means])


def _pair(study: Study, full: Placement, other: Placement, measure: Measure) -> TableRow:
    """Return the full system, the one without a part (both on their common seeds), and their paired difference."""
    one, two, gain = study.scores(full, measure), study.scores(other, measure), None
    if not one.join(two, on="seed", how="semi").is_empty():
        one, two = one.join(two, on="seed", how="semi"), two.join(one, on="seed", how="semi")
        gain = study.gain(full, other, measure)
    return cell_of(by_seed(one)), cell_of(by_seed(two)), gain


@table
def settings(study: Study) -> TableBody:
    """Return the paper's value of each setting beside the actual one: questions taken, iterations closed, a floor as it
    was measured. If the configured value differs, both are shown; values of several runs are a range."""
    runs, body = study.learning, list[TableRow]()
    for name, wanted in PAPER.items() if runs else ():
        values = _side_by_side(runs, name)
        body.append((name, _written(wanted), values, "" if values == _written(wanted) else "differs"))
    return TableBody(("Setting", "Paper", "These runs", ""), body, study.shortfalls(study.places))


def _side_by_side(runs: Sequence[RecordedRun], name: str) -> str:
    """Return the values of a setting, each with its benchmarks if these differ."""
    owners: dict[str, list[str]] = {}
    for benchmark in sorted({run.begun.benchmark for run in runs}):
        had: dict[Any, set[Any]] = {}
        for run in (run for run in runs if run.begun.benchmark == benchmark):
            configured = msgspec.json.decode(canonical(run.config))[name]
            had.setdefault(configured, set()).add(_done(run, name, configured))
        values = (
            " to ".join(dict.fromkeys(_written(end) for end in (min(found), max(found))))
            + ("" if found == {configured} else f" ({_written(configured)})")
            for configured, found in sorted(had.items())
        )
        owners.setdefault(", ".join(values), []).append(benchmark)
    if len(owners) == 1:
        return next(iter(owners))
    return "; ".join(f"{', '.join(benchmarks)}: {values}" for values, benchmarks in owners.items())


def _done(run: RecordedRun, name: str, configured: object) -> object:
    """Return the actual value of a setting according to the run's events, else the configured one."""
    actual = {"iterations": len(run.iterations), "task_types": run.begun.task_type_source}
    if name == "warmup" and configured == 0:
        return "by expected pulls"
    return {**run.taken, **actual}.get(name, configured)


def _written(value: object) -> str:
    return ("off", "on")[value] if isinstance(value, bool) else str(value)


@table
def calls(study: Study) -> TableBody:
    who, parts = ["agent", "tier", "purpose"], ("evolution", "exams")
    sums = (pl.col("calls").filter(pl.col("part") == part).sum().alias(part) for part in parts)
    found = study.booked.filter(pl.col("part").is_in(parts), pl.col("purpose") != "").group_by(who).agg(sums)
    places = {agent: at for at, agent in enumerate(TIERS)}
    rows = sorted(found.select(*who, *parts).iter_rows(), key=lambda row: (places.get(row[0], len(places)), row))
    body = [
        (agent or "-", tier, purpose, *(cell_of([n], "count") for n in numbers))
        for agent, tier, purpose, *numbers in rows
    ]
    silent = ", ".join(agent for agent in TIERS if agent not in set(found["agent"]))
    notes = [f"No model calls: {silent}."] if silent else []
    return TableBody(("Agent", "Tier", "Purpose", *parts), body, notes)


@table
def hotpotqa(study: Study) -> TableBody:
    """Return HotpotQA's accuracy, exact match, F1 and lenient F1 for every system, the highest accuracy first."""
    found, problems = all_measured(study, [place for place in study.places if place.benchmark == HOTPOTQA])

    def rows(place: Placement) -> Iterator[TableRow]:
        cells = (cell_of(100 * one[name] for one in found[place] if name in one) for name in CROSS_CHECK)
        yield called(place.system), study.reached(place), *cells

    best = sorted(found, key=lambda place: -_mean(study.reached(place)))
    return study.by_place(best, ("Method", "Verdict", "EM", "F1", "Lenient"), rows, problems)


@table
def metrics(study: Study) -> TableBody:
    """Return the benchmark's own metrics of the final exams' replies, one row for each benchmark, system and metric."""
    found, problems = all_measured(study, study.places)

    def rows(place: Placement) -> Iterator[TableRow]:
        for name in dict.fromkeys(name for one in found[place] for name in one):
            yield place.system, name, cell_of((one[name] for one in found[place] if name in one), "value")

    return study.by_place(list(found), ("System", "Metric", "Value"), rows, problems)


@table
def judging(study: Study) -> TableBody:
    """Return who decided answers, and how far the strict rule and the verdicts agree, in evolution and in exams.

    [tables, judges] With Cohen's kappa.
    """
    body: list[TableRow] = []
    for benchmark in sorted({run.begun.benchmark for run in study.learning}):
        here = [run for run in study.learning if run.begun.benchmark == benchmark]
        examined = [pl.concat([exam.answers for exam in run.exams]) for run in here if run.exams]
        for where, every in (("evolution", [run.answers for run in here]), ("exams", examined)):
            if answers := [each for each in every if not each.is_empty()]:
                *shares, kappas = zip(*map(agreement, answers), strict=True)
                cells = (cell_of(map(len, answers), "count"), *map(cell_of, shares), cell_of(kappas, "value"))
                body.append((benchmark, where, *cells))
    heads = ("Benchmark", "Answers of", "n", "rule", "judge", "right", "strictly right", "agreement", "kappa")
    note = "The rule first: a judge is asked what it leaves undecided, near misses and cross-checked wrong ones."
    return TableBody(heads, body, [note])


def agreement(answers: pl.DataFrame) -> tuple[float, ...]:
    """Return how many answers, in percent, the rule and a judge decided, are right, are strictly right, and are right
    by both or by neither; last Cohen's kappa of the strict rule and the verdict."""
    correct, strict, rule = answers["correct"], answers["strict"], answers["judge"] == RULE
    percents = (100 * int(kind.sum()) / len(answers) for kind in (rule, ~rule, correct, strict, correct == strict))
    return *percents, kappa(list(zip(correct, strict, strict=True)))


_SIZES = (
    *("skills", "failure memories", "success memories", "principles"),
    *("task types covered", "task types", "nodes", "edges"),
)
"""The sizes shown, of `RecordedRun.growth`; a task type is covered once it has been a target of EVOLVE."""


@table
def growth(study: Study) -> TableBody:
    """Return sizes of the graph at the end of each iteration (start: before the first), one block for each system.

    [tables, graph growth] A type is covered once EVOLVE had it as a target.
    """

    def rows(place: Placement) -> Iterator[TableRow]:
        for k, found in _by_iteration(run.growth for run in study.at(place).values()):
            yield "start" if k == -1 else str(k), *(cell_of(found[size], "count") for size in _SIZES)

    heads = ("of" if size == "task types" else size.capitalize() for size in _SIZES)
    return study.by_place(study.full(), ("Iteration", *heads), rows)


def _by_iteration(runs: Iterable[pl.DataFrame]) -> Iterator[tuple[int, pl.DataFrame]]:
    for (k,), found in pl.concat(runs).sort("iteration").group_by("iteration", maintain_order=True):
        yield k, found


@table
def matrix(study: Study) -> TableBody:
    """Return the full system for each learner and benchmark, one column for each teacher.

    [tables, teachers, learners and seeds] Exams only.
    """
    full = study.full()
    teachers = sorted({place.teacher for place in full})
    has_settings = len({place.setting for place in full}) > 1
    body = list[TableRow]()
    for place in sorted(dict.fromkeys(p._replace(teacher="") for p in full), key=lambda p: (p.learner, p.benchmark)):
        reached = (study.reached(place._replace(teacher=teacher)) for teacher in teachers)
        setting = (place.setting,) if has_settings else ()
        body.append((place.learner, place.benchmark, *setting, *with_best(tuple(reached))))
    notes = ["The best teacher of a row is in bold."] if len(teachers) > 1 else []
    return TableBody(("Learner", "Benchmark", *(("Setting",) if has_settings else ()), *teachers), body, notes)


@table
def variance(study: Study) -> TableBody:
    """Return how far the exams of every system spread over seeds. [tables, teachers, learners and seeds]"""

    def rows(place: Placement) -> Iterator[TableRow]:
        scores = study.scores(place)
        found = by_seed(scores)
        ends = (cell_of([end(found)]) if found else None for end in (min, max))
        names = " ".join(map(str, scores["seed"].unique().sort()))
        yield place.system, names, cell_of(found, interval=OF_MEAN), *ends

    return study.by_place(study.places, ("System", "Seeds", "Accuracy", "least", "most"), rows)


@table
def latency(study: Study) -> TableBody:
    """Return seconds of model calls for a question of the exam, with the accuracy of the same answers.

    [tables, latency] The recorded latencies of all calls of a question's course, added up.
    """
    full = study.compared()
    names = study.baselines(full)

    def rows(place: Placement) -> Iterator[TableRow]:
        every = [*map(place.baseline, names), place]
        seconds = [cell_of((exam.seconds for exam in study.exams(each).values()), "seconds") for each in every]
        pairs = zip(seconds, every, strict=True)
        yield tuple(entry for took, each in pairs for entry in (took, took and study.reached(each)))

    heads = (f"{name}: {what}" for name in (*map(called, names), FULL) for what in ("s", "accuracy"))
    return study.by_place(full, tuple(heads), rows, study.shots(full))


@table
def cascade(study: Study) -> TableBody:
    """Return base retrieval (no part of the cascade), some parts if there are such runs, and A to D. Only if runs have
    all of these, as with the preset `paper`.

    [tables, cascade]
    """
    full = [place for place in study.full() if cascade_of(next(iter(study.at(place).values())).config) == "ABCD"]
    some = sorted({p.system for p in study.places if p.system.startswith("cascade ")})
    named = ("Measure",) if any(study.is_sequential(place.benchmark) for place in full) else ()

    def rows(place: Placement) -> Iterator[TableRow]:
        measures: Sequence[Measure] = ("score", "strict") if study.is_sequential(place.benchmark) else ("accuracy",)
        base, *others = (place._replace(system=name) for name in (NO_CASCADE, *some, FULL))
        for measure in measures:
            reached = (study.reached(each, measure) for each in (base, *others))
            yield *(measure for _ in named), *reached, study.gain(place, base, measure)

    names = ("base", *(name.removeprefix("cascade ") for name in some), "A-D", "difference")
    note = "A: principles of prerequisites; B: action recipes; C: the plan of sub-skills; D: the frontier skill."
    return study.by_place(full, (*named, *names), rows, [note])


_LONGEST = 600
"""How many characters of a text the table of bundles shows."""


@table
def bundles(study: Study) -> TableBody:
    """Return, for the first full run of each benchmark, the right answer whose bundle has the most kinds of memories.

    [tables, bundles and settings] Ties go to the smallest id.
    """
    body: dict[str, list[TableRow]] = {}
    for place in study.full():
        for seed, exam in study.exams(place).items():
            if not body.get(place.benchmark):
                body[place.benchmark] = [(place.benchmark, *row) for row in _bundle(study.at(place)[seed], exam)]
    return TableBody(("Benchmark", "Part", "Text"), [row for rows in body.values() for row in rows])


def _bundle(run: RecordedRun, exam: RecordedExam) -> Iterator[tuple[str, str]]:
    """Yield the facts of the right answer with the most kinds of memories, then the most memories, then the smallest
    id; none if no right answer had memories."""
    memories = {memory.memory_id: memory for memory in run.reader.of(MemoryAppended)}
    right = set(exam.answers.filter("correct")["question_id"])

    def rank(plan: QuestionPlanned) -> tuple[int, int, str]:
        known = (memories.get(hit.memory_id) for hit in plan.memories)
        kinds = {memory and (memory.outcome, memory.kind) for memory in known}
        return -len(kinds), -len(plan.memories), plan.question_id

    plans = log_of(run, exam).of(QuestionPlanned)
    plan = min((each for each in plans if each.memories and each.question_id in right), key=rank, default=None)
    if plan is None:
        return
    name = plan.question_id
    question = {text.id: text.question for text in run.reader.questions()[0]}.get(name, name)
    yield "question", _cut(question)
    yield "task type / skill", f"{plan.task_type} / {plan.skill}"
    yield "search arm / route", f"{plan.search_arm} / {plan.routing_arm}"
    for hit in plan.memories:
        memory = memories[hit.memory_id]
        kind = f", {memory.kind}" if memory.kind else ""
        yield memory.outcome.replace("_", " ") + kind, f"iteration {memory.iteration}, cosine {hit.similarity:.3f}"
        for field in ("question", "recognise", "reasoning", "wrong_answer", "answer"):
            if text := getattr(memory, field):
                yield f"  {field.replace('_', ' ')}", _cut(text)
    yield "the learner's output", _cut(str(replies_of(run, exam).get(name, "")))
    score, judge = exam.answers.filter(question_id=name).select("score", "judge").row(0)
    yield "score", f"{score:g}, by {judge}"


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."


_SHARES = ("New questions, accuracy", "Revisits, accuracy")
_COUNTS = ("Revisits", "Recovered", "Solved pool", "Failed pool")


def recovery_of(run: RecordedRun) -> pl.DataFrame:
    """Return for each iteration the accuracy of fresh questions and of revisits in percent, and counts.

    The solved pool are the questions ever answered right so far, the failed pool those whose latest answer is wrong.
    """
    asked = run.answers.filter(pl.col("purpose").is_in(["fresh", "revisit"]))
    rows = []
    for k in run.iterations:
        now, so_far = asked.filter(iteration=k), asked.filter(pl.col("iteration") <= k)
        fresh, again = (now.filter(purpose=purpose)["correct"] for purpose in ("fresh", "revisit"))
        shares = (100 * right.sum() / len(right) if len(right) else None for right in (fresh, again))
        latest = so_far.group_by("question_id", maintain_order=True).agg(pl.col("correct").last())["correct"]
        solved = so_far.filter("correct")["question_id"].n_unique()
        rows.append((k, *shares, len(again), again.sum(), solved, (~latest).sum()))
    schema = {"iteration": pl.Int64, **dict.fromkeys(_SHARES, pl.Float64), **dict.fromkeys(_COUNTS, pl.Int64)}
    return pl.DataFrame(rows, schema=schema, orient="row")


@table
def recovery(study: Study) -> TableBody:
    """Return per iteration how many earlier failures were answered right when they were asked again.

    [tables, recovery] Sums are computed; the paper's column adds up to 68, not 78.
    """

    def rows(place: Placement) -> Iterator[TableRow]:
        runs = [recovery_of(run) for run in study.at(place).values()]
        for k, found in _by_iteration(runs):
            shares = (cell_of(found[name].drop_nulls()) for name in _SHARES)
            yield str(k), *shares, *(cell_of(found[name], "count") for name in _COUNTS)
        if any(len(run) for run in runs):
            yield "sum", "", "", "", cell_of((int(run["Recovered"].sum()) for run in runs), "count"), "", ""

    note = "Solved pool: questions ever answered right. Failed pool: questions whose failure is still open."
    return study.by_place(study.full(), ("Iteration", *_SHARES, *_COUNTS), rows, [note])
