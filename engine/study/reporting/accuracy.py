"""Tables of exam accuracy: main results, domain extension, the matrix of teachers and learners, seeds."""

from __future__ import annotations

from collections.abc import Sequence

from mage_es.engine.study.reporting.cells import Cell, Entry, StudyTable, columns, with_best
from mage_es.engine.study.reporting.statistics import cell_of
from mage_es.engine.study.reporting.study import Study, percent
from mage_es.engine.study.reporting.systems import BASELINES, FULL, Placement, way_of

EXTENSION = ("gsm8k", "finqa", "medqa")
PUBLISHED = {"gsm8k": "84.5 (8-shot, Meta)", "finqa": "60.87 (Fino1, SFT)", "medqa": "74 (Medprompt)"}
"""What that table quotes from elsewhere; none of it was measured here."""
EXAM = "accuracy in percent of the exam on held-out questions after the last iteration, mean ± sd over seeds"


def main_results(study: Study) -> StudyTable:
    """Return the system against every baseline on the same learner, one row for each benchmark of single questions."""
    full = [place for place in study.compared() if not study.is_sequential(place.benchmark)]
    only_extension = {place for place in full if place.benchmark in EXTENSION[1:]}
    return _against_baselines(
        study,
        [place for place in full if place not in only_extension],
        name="main",
        title="Main results: baselines and the full system",
        place="tab:reasoning",
    )


def extension(study: Study) -> StudyTable:
    """Return the same for the benchmarks of the domain extension, beside what the paper quotes.

    [tables, domain extension]
    """
    full = [place for place in study.compared() if place.benchmark in EXTENSION]
    return _against_baselines(
        study,
        full,
        name="extension",
        title="Domain extension: mathematics, finance, medicine",
        place="tab:reasoning_extension",
        baselines=("zero_shot_cot",),
        quoted=True,
    )


def _against_baselines(
    study: Study,
    full: Sequence[Placement],
    *,
    name: str,
    title: str,
    place: str,
    baselines: Sequence[str] = tuple(BASELINES),
    quoted: bool = False,
) -> StudyTable:
    """Return a row for each benchmark, learner and setting: baselines, start, system by teacher, differences."""
    names = [each for each in study.baselines(full, baselines) if not quoted or way_of(each) in baselines]
    # If every row has one teacher, as with the benchmarks' own, that is a fact about the row, not a column.
    by_row = [{p.teacher for p in full if p.row == row} for row in {p.row for p in full}]
    is_compared = any(len(teachers) > 1 for teachers in by_row)
    teachers = sorted({p.teacher for p in full} - {""}) if is_compared else [FULL]
    head = study.head(full, "learner", *(() if is_compared else ("teacher",)), "setting")
    body: list[tuple[Entry, ...]] = []
    for row in dict.fromkeys(p.row for p in full):
        mine = {p.teacher if is_compared else FULL: p for p in full if p.row == row}
        first = next(iter(mine.values()))
        rivals = [study.baseline(first, baseline) for baseline in names]
        best = max(mine.values(), key=lambda p: _mean(study.reached(p)))
        reached: list[Entry] = [study.reached(mine[t]) if t in mine else None for t in teachers]
        cells = (
            *head.cells(first),
            *(study.reached(rival) for rival in rivals),
            *((PUBLISHED.get(first.benchmark, ""),) if quoted else ()),
            study.reached(best, at="start"),
            *reached,
        )
        last = len(cells) - len(teachers)
        marked = with_best(cells, range(last, len(cells)))
        body.append((*marked, _over_strongest(study, best, rivals), over_start(study, best)))
    return StudyTable(
        name=name,
        title=title,
        place=place,
        measure=f"{EXAM}; differences are of the best teacher's system, paired",
        columns=(
            *head.columns,
            *columns(*(study.called(each, full) for each in names), group="baselines"),
            *(columns("Published") if quoted else ()),
            *columns("before"),
            *columns(*(f"full, {t}" if is_compared else t for t in teachers), group="the full system"),
            *columns("over strongest baseline", "over before", group="difference in points"),
        ),
        rows=tuple(body),
        notes=(
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


def teachers_and_learners(study: Study) -> StudyTable:
    """Return the full system for each learner and benchmark, one column for each teacher.

    [tables, teachers, learners and seeds] Exams only.
    """
    full = study.full()
    teachers = sorted({place.teacher for place in full})
    head = study.head(full, "setting")
    body = []
    rows = dict.fromkeys((p.learner, p.benchmark, p.setting) for p in full)
    for learner, benchmark, setting in sorted(rows, key=lambda row: row[:2]):
        places = [Placement(benchmark, learner, teacher, setting, FULL) for teacher in teachers]
        row: tuple[Entry, ...] = (learner, *head.cells(places[0]), *(study.reached(place) for place in places))
        body.append(with_best(row, range(len(row) - len(teachers), len(row))))
    return StudyTable(
        name="matrix",
        title="Teachers and learners",
        place="tab:teacher_learner",
        measure=EXAM,
        columns=(*columns("Learner"), *head.columns, *columns(*teachers, group="teacher")),
        rows=tuple(body),
        notes=("The best teacher of a row is in bold.",) if len(teachers) > 1 else (),
    )


def seeds(study: Study) -> StudyTable:
    """Return how far the exams of every system spread over seeds. [tables, teachers, learners and seeds]"""
    places = list(study.places)
    head = study.head(places, "learner", "teacher", "setting")
    body: list[tuple[Entry, ...]] = []
    for place in places:
        found = {seed: percent(scores) for seed, scores in study.scores(place).items() if scores}
        mean = cell_of(found.values(), interval=True)
        if mean is None:
            body.append((*head.cells(place), place.system, "", None, None, None))
            continue
        extremes = [Cell(mean=value, sd=None, n=1) for value in (min(found.values()), max(found.values()))]
        body.append((*head.cells(place), place.system, " ".join(map(str, found)), mean, *extremes))
    return StudyTable(
        name="variance",
        title="Seeds: the same configuration, another seed",
        place="tab:variance",
        measure=f"{EXAM}, with the 95 % t interval of that mean",
        columns=(*head.columns, *columns("System", "Seeds", "Accuracy", "least", "most")),
        rows=tuple(body),
        notes=head.notes,
    )
