"""The tables of a report, in the order of the paper.

A table is a function of a study that yields the names of its columns, then its rows, and notes. A row begins with its
placement, which becomes a column for the benchmark and one for each of `VARYING` that differs between rows, or with a
text in place of these. A table's title, place in the paper and measure are an entry of tables.toml.
"""

import statistics
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
from msgspec.structs import replace

from mage_es.engine.askings.agreement import kappa
from mage_es.engine.config import PAPER, canonical
from mage_es.engine.run.exams import RULE, RecordedExam
from mage_es.engine.study.reporting.cells import OF_MEAN, Cell, Entry, StudyTable, Unit, by_seed, cell_of, with_best
from mage_es.engine.study.reporting.places import FULL, NO_CASCADE, WITHOUT, Placement, called, cascade_of, way_of
from mage_es.engine.study.reporting.recorded import SIZES, ExamState, RecordedRun
from mage_es.engine.study.reporting.replies import measured, replies_of
from mage_es.engine.study.reporting.study import Measure, Study, shortfalls
from mage_es.engine.verbs.agents import TIERS
from mage_es.events.errors import LogDamaged, PrerequisiteError, UsageError, nearest
from mage_es.events.vocabulary import MemoryAppended, QuestionPlanned, Tier

Lines = Iterator[str | tuple[Placement | Entry, ...]]
"""The names of a table's columns, its rows, and its notes, which are plain texts."""
VARYING = ("learner", "teacher", "setting")
TABLES: dict[str, Callable[[Study], StudyTable]] = {}
"""The tables of a report by name."""
WORDS = tomllib.loads((Path(__file__).parent / "tables.toml").read_text(encoding="utf-8"))
"""Title, place in the paper and measure of each table, in the order of the paper."""
FEW_SHOT = "few_shot_cot"
"""The baseline whose column has the number of its examples in a note."""
EXTENSION = ("gsm8k", "finqa", "medqa")
PUBLISHED = {"gsm8k": "84.5 (8-shot, Meta)", "finqa": "60.87 (Fino1, SFT)", "medqa": "74 (Medprompt)"}
"""What the table `extension` quotes from elsewhere; none of it was measured here."""
PLAIN = "zero_shot_cot"
"""The only baseline in the table `extension`."""
PLAYED_ELSEWHERE = {
    "webshop": (
        ("RetroAgent (in-context, Qwen-7B reference)", "87.6", "78.9"),
        ("RetroAgent (RL-trained reflection)", "88.9", "82.3"),
    )
}
"""What the paper quotes from others: configuration, task score, strict success; none of it was measured here."""
TIER_NAMES: tuple[Tier, ...] = ("execution", "guidance", "judge")
_LONGEST = 600
"""How many characters of a text the table of bundles shows."""


def tables(study: Study, names: Sequence[str] = ()) -> list[StudyTable]:
    """Return the named tables, or all that have data. Raises `UsageError` for a name that no table has."""
    for name in names:
        if name not in WORDS:
            raise UsageError(f"There is no table {name!r}.{nearest(name, list(WORDS))}")
    made = [TABLES[name](study) for name in names or WORDS]
    if not names:
        return [table for table in made if not table.is_empty]
    nothing = "No run here has data for this table."
    return [table if table.rows else replace(table, notes=(*table.notes, nothing)) for table in made]


def table(lines_of: Callable[[Study], Lines]) -> Callable[[Study], StudyTable]:
    """Add to `TABLES` the table whose lines a function yields, under the function's name, with the words of
    tables.toml."""
    name = lines_of.__name__.replace("_", "-")

    @wraps(lines_of)
    def whole(study: Study) -> StudyTable:
        lines = list(lines_of(study))
        notes = [line for line in lines if isinstance(line, str)]
        (first, *heads), *rows = [line for line in lines if not isinstance(line, str)]
        places = [row[0] for row in rows if isinstance(row[0], Placement)]
        values = {field: list(dict.fromkeys(getattr(place, field) for place in places)) for field in VARYING}
        varying = [field for field, each in values.items() if len(each) > 1]
        if fixed := "; ".join(f"{field} {each[0]}" for field, each in values.items() if len(each) == 1 and each[0]):
            notes.insert(0, f"{fixed[:1].upper()}{fixed[1:]} throughout.")
        body = list[tuple[Any, ...]]()
        for key, *entries in rows:
            if isinstance(key, Placement):
                body.append((key.benchmark, *(getattr(key, field) for field in varying), *entries))
            else:
                body.append((key, *("" for _ in varying), *entries))
        # The user's own tasks have titles, and their names on the command line in a note.
        used = {name: each for name, each in study.titles.items() if any(name in row for row in body)}
        body = [tuple(used.get(entry, entry) if isinstance(entry, str) else entry for entry in row) for row in body]
        notes += [f"{each}: `{name}`" for name, each in used.items()]
        columns: Any = (first, *map(str.capitalize, varying), *heads)
        return StudyTable(name, **WORDS[name], columns=columns, rows=tuple(body), notes=tuple(notes))

    TABLES[name] = whole
    return whole


@table
def main(study: Study) -> Lines:
    """Yield the system against every baseline on the same learner, one row for each benchmark of single questions."""
    full = [place for place in study.compared() if not study.is_sequential(place.benchmark)]
    full = [place for place in full if place.benchmark not in EXTENSION[1:]]
    return _against_baselines(study, full, study.baselines(full))


@table
def extension(study: Study) -> Lines:
    """Yield the same for the benchmarks of the domain extension, beside what the paper quotes.

    [tables, domain extension]
    """
    full = [place for place in study.compared() if place.benchmark in EXTENSION]
    plain = [name for name in study.baselines(full, [PLAIN]) if way_of(name) == PLAIN]
    return _against_baselines(study, full, plain, quoted=("Published",))


def _against_baselines(
    study: Study, full: Sequence[Placement], names: Sequence[str], *, quoted: tuple[str, ...] = ()
) -> Lines:
    """Yield a row for each benchmark, learner and setting: baselines, start, system by teacher, differences."""
    rows: dict[Placement, dict[str, Placement]] = {}
    for place in full:
        rows.setdefault(place._replace(teacher=""), {})[place.teacher] = place
    # If every row has one teacher, as with the benchmarks' own, that is a fact about the row, not a column.
    is_compared = any(len(mine) > 1 for mine in rows.values())
    teachers = sorted({place.teacher for place in full} - {""})
    systems = [f"full, {teacher}" for teacher in teachers] if is_compared else ["full"]
    differences = ("over strongest baseline", "over before")
    yield "Benchmark", *map(called, names), *quoted, "before", *systems, *differences
    for row, mine in rows.items():
        best, rivals = study.strongest(mine.values()), list(map(row.baseline, names))
        beside = [mine.get(teacher) for teacher in teachers] if is_compared else [best]
        yield (
            row if is_compared else best,
            *map(study.reached, rivals),
            *(PUBLISHED.get(row.benchmark, "") for _ in quoted),
            study.reached(best, at="start"),
            *with_best(tuple(each and study.reached(each) for each in beside)),
            study.gain(best, study.strongest(rivals)),
            study.over_start(best),
        )
    sees: dict[str, set[str]] = {}  # gains depend on it
    for place in full:
        for run in study.at(place).values():
            sees.setdefault(run.config.teacher_sees, set()).add(place.benchmark)
    if sees:
        views = "; ".join(f"{seen} ({', '.join(sorted(names))})" for seen, names in sorted(sees.items()))
        yield f"What the teacher saw besides replies and verdicts: {views}."
    yield from _shots(study, full)
    yield from shortfalls(study, [*full, *(place.baseline(name) for place in full for name in names)])
    yield "`before` is an exam on the state before the first iteration: the ontology, without experience."


def _shots(study: Study, places: Iterable[Placement]) -> Iterator[str]:
    """Yield a note on the examples in few-shot prompts."""
    names, examples = {place.benchmark for place in places}, dict[str, set[int]]()
    for run in study.counted:
        if run.baseline == FEW_SHOT and run.begun.benchmark in names:
            examples.setdefault(run.begun.benchmark, set()).add(run.shots)
    if examples:
        each = (f"{' or '.join(map(str, sorted(counts)))} on {name}" for name, counts in sorted(examples.items()))
        yield f"{called(FEW_SHOT)}: examples shown: {', '.join(each)}."


@table
def sequential(study: Study) -> Lines:
    """Yield a row for each configuration of each sequential environment, including the exams before evolution.

    [tables, sequential environments] The exam's scores and the peak of the evaluations are separate columns, with the
    share of replies that named no action.
    """
    exam = ("Configuration", "Task score", "Strict success", "Achievements", "exam: No action")
    yield "Benchmark", *exam, "Peak score", "Iterations", "over iterations: No action"
    places = [place for place in study.places if study.is_sequential(place.benchmark)]
    for place in places:
        if place.system == FULL:
            yield place, "before evolution", *_played(study, place, "start"), "", "", ""
        runs = study.at(place).values()
        yield (
            place,
            place.system,
            *_played(study, place),
            cell_of(map(_peak, runs)),
            cell_of((len(run.iterations) or None for run in runs), "count"),
            cell_of(_unparsed(run.episodes.filter(pl.col("purpose") != "exam")) for run in runs),
        )
    for benchmark in sorted({place.benchmark for place in places}):
        for who, *scores in PLAYED_ELSEWHERE.get(benchmark, ()):
            yield benchmark, f"{who}, published", *scores, *[""] * 5


def _played(study: Study, place: Placement, at: ExamState = "end") -> Sequence[Entry]:
    played = [exam.episodes for exam in study.exams(place, at).values()]
    reached = (int(each["achievements"].list.len().sum()) / len(each) if len(each) else None for each in played)
    scores = (study.reached(place, measure, at) for measure in ("score", "strict"))
    return *scores, cell_of(reached, "value"), cell_of(map(_unparsed, played))


def _peak(run: RecordedRun) -> float | None:
    """Return the mean score of a run's best iteration on fresh episodes, in percent."""
    means = run.answers.filter(purpose="fresh").group_by("iteration").agg(pl.col("score").mean() * 100)
    peak = means["score"].max()
    return peak if isinstance(peak, float) else None


def _unparsed(episodes: pl.DataFrame) -> float | None:
    """Return the share of steps, in percent, whose reply named no action."""
    return None if episodes.is_empty() else 100 * int(episodes["unparsed"].sum()) / max(1, int(episodes["steps"].sum()))


@table
def cost(study: Study) -> Lines:
    """Yield calls, tokens and dollars by tier for each benchmark, for all runs together, and for all exams.

    [tables, cost] The share is guidance's among guidance and execution; the judge is a separate tier, and a failed
    attempt is not a call.
    """
    # A part that has an unpriced call has no price.
    amounts = {"calls": pl.col("calls").sum(), "tokens": pl.col("tokens").sum()}
    amounts["usd"] = pl.when(pl.col("usd").null_count() == 0).then(pl.col("usd").sum())
    summed = study.booked.group_by("part", "benchmark", "log", "tier", maintain_order=True).agg(**amounts)
    logs = summed.pivot("tier", index=["part", "benchmark", "log"], values=list(amounts))
    # Most embedders are no servers, and have no calls.
    tiers = [*TIER_NAMES, "embedder"] if logs["calls_embedder"].sum() else TIER_NAMES
    heads = [f"{group}: {tier}" for group in ("calls", "thousand tokens", "dollars") for tier in tiers]
    yield "Runs", "n", "Guidance share", "range", *heads
    evolved = logs.filter(part="evolution")
    sums = {"All runs": evolved, "All exams": logs.filter(part="exams")}
    rows = {name: evolved.filter(benchmark=name) for name in evolved["benchmark"].unique().sort()}
    for name, here in {**sums, **rows}.items():
        if here.is_empty():
            continue
        asked = here.select("calls_guidance", "calls_execution")
        shares = [_share(*each) for each in asked.iter_rows()]
        yield (
            name,
            str(len(here)),
            Cell(mean=_share(*asked.sum().row(0)), sd=None, n=len(here)),
            f"{min(shares):.1f} to {max(shares):.1f}",
            *(_amount(here[f"{what}_{tier}"], is_sum=name in sums) for what in amounts for tier in tiers),
        )
    yield "Attempts without a reply do not count as calls here. Tokens are those of prompts and replies together."
    learning = study.booked.filter(pl.col("part") != "baseline", pl.col("usd").is_null())
    if unpriced := ", ".join(learning["model"].unique().sort()):
        yield f"No price is known for {unpriced}: give one with --prices FILE."
    if broken := ", ".join(run.run.id for run in study.learning if not run.finished):
        yield f"Unfinished, and counted as far as they got: {broken}."


def _amount(values: pl.Series, *, is_sum: bool) -> Cell | None:
    unit: Unit = "dollars" if values.name.startswith("usd") else "count"
    if values.null_count():
        return None
    return Cell(mean=float(values.sum()), sd=None, n=len(values), unit=unit) if is_sum else cell_of(values, unit)


def _share(guidance: int, execution: int) -> float:
    return 100 * guidance / max(1, guidance + execution)


@table
def ablation(study: Study) -> Lines:
    """Yield each system with a part switched off beside the full one: benchmarks of single questions.

    [tables, ablation] All other settings that affect the result must agree, and both sides must have common seeds.
    """
    return _switched_off(study, {"accuracy": ""})


@table
def ablation_sequential(study: Study) -> Lines:
    """Yield the same for sequential environments, by task score and by strict success. [tables, ablation]"""
    return _switched_off(study, {"score": "task score, ", "strict": "strict success, "})


def _switched_off(study: Study, measures: Mapping[Measure, str]) -> Lines:
    """Yield the pairs by measures, each given with the beginning of its columns' names; environments are measured by
    score."""
    sides = ("full", "without", "difference")
    yield "Benchmark", "Part switched off", *(f"{kind}{side}" for kind in measures.values() for side in sides)
    full = [place for place in study.full() if study.is_sequential(place.benchmark) == ("score" in measures)]
    parts = {p.system for p in study.places if p.teacher and p.system != FULL and "cascade" not in p.system}
    gains = {
        part: list[tuple[Entry, ...]]() for part in sorted(parts, key=lambda p: (p != WITHOUT["success_memories"], p))
    }
    for place in full:
        for part, rows in gains.items():
            other = place._replace(system=part)
            if study.at(other):
                pairs = [_pair(study, place, other, measure) for measure in measures]
                rows.append(tuple(pair[2] for pair in pairs))
                yield place, part, *(cell for pair in pairs for cell in pair)
    for part, rows in gains.items() if len({place.benchmark for place in full}) > 1 else ():
        each = [[cell.mean for cell in column if isinstance(cell, Cell)] for column in zip(*rows, strict=True)]
        means = [cell_of([statistics.fmean(column)], "points") if len(column) > 1 else None for column in each]
        if any(means):
            counted = (replace(cell, n=len(column)) if cell else "" for cell, column in zip(means, each, strict=True))
            yield "all, mean", part, *(entry for cell in counted for entry in ("", "", cell))


def _pair(study: Study, full: Placement, other: Placement, measure: Measure) -> tuple[Cell | None, ...]:
    """Return the full system, the one without a part (both on their common seeds), and their paired difference."""
    one, two, gain = study.scores(full, measure), study.scores(other, measure), None
    if not one.join(two, on="seed", how="semi").is_empty():
        one, two = one.join(two, on="seed", how="semi"), two.join(one, on="seed", how="semi")
        gain = study.gain(full, other, measure)
    return cell_of(by_seed(one)), cell_of(by_seed(two)), gain


@table
def settings(study: Study) -> Lines:
    """Yield the paper's value of each setting beside the actual one: the questions taken, the iterations closed. If the
    configured value differs, both are shown; values of several runs are given as a range."""
    yield "Setting", "Paper", "These runs", ""
    configs = {run: msgspec.json.decode(canonical(run.config)) for run in study.learning}
    for name, wanted in PAPER.items() if configs else ():
        owners: dict[str, list[str]] = {}
        for benchmark in sorted({run.begun.benchmark for run in configs}):
            actual: dict[Any, set[Any]] = {}
            for run, config in configs.items():
                if run.begun.benchmark == benchmark:
                    actual.setdefault(config[name], set()).add(_done(run, name, config[name]))
            owners.setdefault(", ".join(_ranges(actual)), []).append(benchmark)
        each = (f"{', '.join(names)}: {words}" if len(owners) > 1 else words for words, names in owners.items())
        values = "; ".join(each)
        yield name, _written(wanted), values, "" if values == _written(wanted) else "differs"
    yield from shortfalls(study, study.places)


def _ranges(actual: Mapping[Any, set[Any]]) -> Iterator[str]:
    """Yield the actual values for each configured value, followed by that in brackets where they differ."""
    for configured, values in sorted(actual.items()):
        ends = " to ".join(dict.fromkeys(_written(end) for end in (min(values), max(values))))
        yield ends if values == {configured} else f"{ends} ({_written(configured)})"


def _done(run: RecordedRun, name: str, configured: object) -> object:
    """Return the actual value of a setting according to the run's events, else the configured one."""
    actual = {"iterations": len(run.iterations), "task_types": run.begun.task_type_source}
    if name == "warmup" and configured == 0:
        return "by expected pulls"
    return {**run.taken, **actual}.get(name, configured)


def _written(value: object) -> str:
    return ("off", "on")[value] if isinstance(value, bool) else str(value)


@table
def calls(study: Study) -> Lines:
    who, parts = ["agent", "tier", "purpose"], ("evolution", "exams")
    yield *map(str.capitalize, who), *parts
    sums = {part: pl.col("calls").filter(part=part).sum() for part in parts}
    booked = study.booked.filter(pl.col("part").is_in(parts), pl.col("purpose") != "").group_by(who).agg(**sums)
    places = {agent: at for at, agent in enumerate(TIERS)}
    for agent, *words, one, other in sorted(booked.iter_rows(), key=lambda row: (places.get(row[0], len(places)), row)):
        yield agent or "-", *words, cell_of([one], "count"), cell_of([other], "count")
    if silent := ", ".join(agent for agent in TIERS if agent not in set(booked["agent"])):
        yield f"No model calls: {silent}."


@table
def hotpotqa(study: Study) -> Lines:
    """Yield HotpotQA's accuracy, exact match, F1 and lenient F1 for every system, the highest accuracy first.

    Appendix, HotpotQA cross-check.
    """
    yield "Benchmark", "Method", "Verdict", "EM", "F1", "Lenient"
    totals, problems = _measured(study, [place for place in study.places if place.benchmark == "hotpotqa"])
    reached = {place: study.reached(place) for place in totals}
    for place in sorted(totals, key=lambda place: -cell.mean if (cell := reached[place]) else 1.0):
        kinds = ([one.get(name) for one in totals[place]] for name in ("em", "f1", "lenient"))
        cells = (cell_of(100 * value for value in kind if value is not None) for kind in kinds)
        yield place, called(place.system), reached[place], *cells
    yield from problems


@table
def metrics(study: Study) -> Lines:
    """Yield the benchmark's own metrics of the final exams' replies, one row for each benchmark, system and metric."""
    yield "Benchmark", "System", "Metric", "Value"
    totals, problems = _measured(study, study.places)
    for place, each in totals.items():
        for name in dict.fromkeys(name for one in each for name in one):
            yield place, place.system, name, cell_of((one.get(name) for one in each), "value")
    yield from problems


def _measured(
    study: Study, places: Iterable[Placement]
) -> tuple[Mapping[Placement, list[Mapping[str, float]]], list[str]]:
    """Return the metrics of each seed of the placements that have final exams, and why there are none for some."""
    totals, problems = dict[Placement, list[Mapping[str, float]]](), dict[str, None]()
    for place in places:
        if exams := study.exams(place):
            try:
                totals[place] = [measured(study.at(place)[seed], exams[seed], study.data_dir) for seed in exams]
            except (LogDamaged, PrerequisiteError, UsageError) as error:
                totals[place] = []
                problems[f"{place.benchmark}: {error}"] = None
    return totals, list(problems)


@table
def judging(study: Study) -> Lines:
    """Yield who decided answers, and how far the strict rule and the verdicts agree, in evolution and in exams.

    [tables, judges] With Cohen's kappa.
    """
    yield "Benchmark", "Answers of", "n", "rule", "judge", "right", "strictly right", "agreement", "kappa"
    for benchmark in sorted({run.begun.benchmark for run in study.learning}):
        here = [run for run in study.learning if run.begun.benchmark == benchmark]
        examined = [pl.concat([exam.answers for exam in run.exams]) for run in here if run.exams]
        for where, every in (("evolution", [run.answers for run in here]), ("exams", examined)):
            if answers := [each for each in every if not each.is_empty()]:
                *shares, kappas = zip(*map(agreement, answers), strict=True)
                size = cell_of(map(len, answers), "count")
                yield benchmark, where, size, *map(cell_of, shares), cell_of(kappas, "value")
    yield "The rule decides first; a judge is asked about undecided answers, near misses and wrong ones to cross-check."


def agreement(answers: pl.DataFrame) -> tuple[float, ...]:
    """Return which share of the answers, in percent, the rule decided, a judge decided, is right, is strictly right,
    and is right by both or by neither; and last Cohen's kappa of the strict rule and the verdict."""
    correct, strict, rule = answers["correct"], answers["strict"], answers["judge"] == RULE
    percents = (100 * int(kind.sum()) / len(answers) for kind in (rule, ~rule, correct, strict, correct == strict))
    return *percents, kappa(list(zip(correct, strict, strict=True)))


@table
def growth(study: Study) -> Lines:
    """Yield sizes of the graph at the end of each iteration (start: before the first), one block for each system.

    [tables, graph growth] A type is covered once EVOLVE had it as a target.
    """
    sizes = [
        *("skills", "failure memories", "success memories", "principles"),
        *("task types covered", "task types", "nodes", "edges"),
    ]
    yield "Benchmark", "Iteration", *("of" if size == "task types" else size.capitalize() for size in sizes)
    for place in study.full():
        for k, here in _by_iteration(run.growth.select("iteration", *SIZES) for run in study.at(place).values()):
            yield place, "start" if k == -1 else str(k), *(cell_of(here[size], "count") for size in sizes)


def _by_iteration(runs: Iterable[pl.DataFrame]) -> Iterator[tuple[int, pl.DataFrame]]:
    for (k,), here in pl.concat(runs).sort("iteration").group_by("iteration", maintain_order=True):
        yield k, here


@table
def matrix(study: Study) -> Lines:
    """Yield the full system for each learner and benchmark, one column for each teacher.

    [tables, teachers, learners and seeds] Exams only.
    """
    full = study.full()
    teachers = sorted({place.teacher for place in full})
    has_settings = len({place.setting for place in full}) > 1
    yield "Learner", "Benchmark", *(("Setting",) if has_settings else ()), *teachers
    for place in sorted(dict.fromkeys(p._replace(teacher="") for p in full), key=lambda p: (p.learner, p.benchmark)):
        reached = (study.reached(place._replace(teacher=teacher)) for teacher in teachers)
        setting = (place.setting,) if has_settings else ()
        yield place.learner, place.benchmark, *setting, *with_best(tuple(reached))
    if len(teachers) > 1:
        yield "The best teacher of a row is in bold."


@table
def variance(study: Study) -> Lines:
    """Yield how far the exams of every system spread over seeds. [tables, teachers, learners and seeds]"""
    yield "Benchmark", "System", "Seeds", "Accuracy", "least", "most"
    for place in study.places:
        shares, names = by_seed(study.scores(place)), " ".join(map(str, study.exams(place)))
        ends = (min(shares, default=None), max(shares, default=None))
        yield place, place.system, names, cell_of(shares, interval=OF_MEAN), *(cell_of([end]) for end in ends)


@table
def latency(study: Study) -> Lines:
    """Yield seconds of model calls for a question of the exam, with the accuracy of the same answers.

    [tables, latency] The recorded latencies of all calls of a question's course, added up.
    """
    full = study.compared()
    names = study.baselines(full)
    yield "Benchmark", *(f"{name}: {what}" for name in (*map(called, names), FULL) for what in ("s", "accuracy"))
    for place in full:
        every = [*map(place.baseline, names), place]
        seconds = [cell_of((exam.seconds for exam in study.exams(each).values()), "seconds") for each in every]
        pairs = zip(seconds, every, strict=True)
        yield place, *(entry for took, each in pairs for entry in (took, took and study.reached(each)))
    yield from _shots(study, full)


@table
def cascade(study: Study) -> Lines:
    """Yield base retrieval (no part of the cascade), some of its parts if there are such runs, and A to D. Rows only
    for systems that have all parts, as with the preset `paper`.

    [tables, cascade]
    """
    full = [place for place in study.full() if cascade_of(next(iter(study.at(place).values())).config) == "ABCD"]
    some = sorted({p.system for p in study.places if p.system.startswith("cascade ")})
    named = ("Measure",) if any(study.is_sequential(place.benchmark) for place in full) else ()
    yield "Benchmark", *named, "base", *(name.removeprefix("cascade ") for name in some), "A-D", "difference"
    for place in full:
        measures: Sequence[Measure] = ("score", "strict") if study.is_sequential(place.benchmark) else ("accuracy",)
        base, *others = (place._replace(system=name) for name in (NO_CASCADE, *some, FULL))
        for measure in measures:
            reached = (study.reached(each, measure) for each in (base, *others))
            yield place, *(measure for _ in named), *reached, study.gain(place, base, measure)
    yield "A: principles of prerequisites; B: action recipes; C: the plan of sub-skills; D: the frontier skill."


@table
def bundles(study: Study) -> Lines:
    """Yield, for the first full run of each benchmark, the right answer whose bundle has the most kinds of memories.

    [tables, bundles and settings] Ties go to the smallest id.
    """
    yield "Benchmark", "Part", "Text"
    done = set[str]()
    for place in study.full():
        for seed, exam in study.exams(place).items():
            if place.benchmark not in done:
                for row in _bundle(study.at(place)[seed], exam):
                    done.add(place.benchmark)
                    yield place.benchmark, *row


def _bundle(run: RecordedRun, exam: RecordedExam) -> Iterator[tuple[str, str]]:
    """Yield the facts of the right answer with the most kinds of memories, then the most memories, then the smallest
    id; none if no right answer had memories."""
    memories = {memory.memory_id: memory for memory in run.reader.of(MemoryAppended)}
    right = set(exam.answers.filter("correct")["question_id"])

    def rank(plan: QuestionPlanned) -> tuple[int, int, str]:
        known = (memories.get(hit.memory_id) for hit in plan.memories)
        kinds = {memory and (memory.outcome, memory.kind) for memory in known}
        return -len(kinds), -len(plan.memories), plan.question_id

    plans = run.log_of(exam).of(QuestionPlanned)
    plan = min((each for each in plans if each.memories and each.question_id in right), key=rank, default=None)
    if plan is None:
        return
    name = plan.question_id
    yield "question", _cut({text.id: text.question for text in run.reader.questions()[0]}.get(name, name))
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
def recovery(study: Study) -> Lines:
    """Yield per iteration how many earlier failures were answered right when they were asked again.

    [tables, recovery] Sums are computed; the paper's column adds up to 68, not 78.
    """
    yield "Benchmark", "Iteration", *_SHARES, *_COUNTS
    for place in study.full():
        runs = [recovery_of(run) for run in study.at(place).values()]
        for k, here in _by_iteration(runs):
            counts = (cell_of(here[name], "count") for name in _COUNTS)
            yield place, str(k), *(cell_of(here[name]) for name in _SHARES), *counts
        if recovered := [int(run["Recovered"].sum()) for run in runs] if any(map(len, runs)) else []:
            yield place, "sum", "", "", "", cell_of(recovered, "count"), "", ""
    yield "Solved pool: questions ever answered right. Failed pool: questions whose failure is still open."
