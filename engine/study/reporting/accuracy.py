"""Tables of exam accuracy: main results, domain extension, the matrix of teachers and learners, seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mage_es.engine.study.reporting.cells import Cell, Entry, Row, columns, with_best
from mage_es.engine.study.reporting.statistics import OF_MEAN, cell_of
from mage_es.engine.study.reporting.study import VARYING, Study, TableBody, percent, table
from mage_es.engine.study.reporting.systems import FULL, Placement, way_of

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
    body: list[Row] = []
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
    body = list[Row]()
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

    def rows(place: Placement) -> Iterator[Row]:
        found = {seed: percent(scores) for seed, scores in study.scores(place).items() if scores}
        ends = (cell_of([end(found.values())]) if found else None for end in (min, max))
        yield place.system, " ".join(map(str, found)), cell_of(found.values(), interval=OF_MEAN), *ends

    return study.by_place(study.places, columns("System", "Seeds", "Accuracy", "least", "most"), rows)
