"""`mage-es ring`: methods that learn, MAGE among them, on the same questions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from mage_es.cli.options import CONFIG, SPENDING, BenchmarkArgument, examples, takes
from mage_es.cli.output import Output, TextTable, percent
from mage_es.cli.own_tasks import with_learner
from mage_es.cli.registering import RegisterOption
from mage_es.cli.session import repeatable
from mage_es.cli.settings import Settings
from mage_es.engine.study.cli.baseline import LEARNING, BudgetTokensOption, LearnFromOption, QuestionsOption

if TYPE_CHECKING:
    from mage_es.engine.study.ring import RingDifference, RingReport, RingRow

EXAMPLES = examples(
    "mage-es ring my.jsonl --execution openai/MODEL",
    "mage-es ring my.jsonl --methods zero_shot,knn,mage --seeds 5 --held-out 60 --learn-from 120",
)
ALL = "zero_shot,nearest_label,knn,full_history,mage"


OPTIONS = ("preset", *CONFIG, "workers", "max_connections", "guidance_batch", "sign", "runs_dir", "data_dir", *SPENDING)
NameOption = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="Prefix of the runs' names. [default: ring-BENCHMARK]")
]


@takes(*OPTIONS, own_tasks=True)
def ring(
    benchmark: BenchmarkArgument = None,
    *,
    settings: Settings,
    out: Output,
    methods: Annotated[
        str, typer.Option("--methods", metavar="NAME,...", help=f"{LEARNING}, mage, a baseline, or a plug-in.")
    ] = ALL,
    seeds: Annotated[
        int, typer.Option("--seeds", min=1, max=1000, help="Number of seeds: --seed and those after it.")
    ] = 1,
    questions: QuestionsOption = None,
    learn_from: LearnFromOption = None,
    budget_tokens: BudgetTokensOption = 0,
    name: NameOption = None,
    register: RegisterOption = True,
) -> None:
    """Let methods learn from the same number of questions, and examine each on the same held-out ones.

    Model, extraction and scorer are the same for all. Each method has a run for each seed; the same command continues
    where it stopped, and repeats no recorded call.
    """
    from mage_es.engine.study.ring import ring as take

    config = with_learner(settings.config())
    with repeatable(out, settings) as runtime:
        report = take(
            config,
            methods=[each.strip() for each in methods.split(",") if each.strip()],
            seeds=seeds,
            runs_dir=settings.runs_dir,
            data_dir=settings.data_dir,
            runtime=runtime,
            questions=questions,
            learn_from=learn_from,
            budget_tokens=budget_tokens,
            name=name,
            register=register,
        )
    out.report(report, ring_table(report), *by_seed_table(report), *conditions(report), *notes(report))
    out.next(settings.again("verify", report.runs[-1], names=("runs_dir",)))


def ring_table(report: RingReport) -> TextTable:
    rows = [
        (
            row.method,
            f"{row.correct}/{row.total}",
            percent(row.correct, row.total),
            *(_over(row, other) for other in ("knn", "zero_shot")),
            f"{row.input_tokens:,.0f}",
            f"{row.output_tokens:,.0f}",
            f"{row.learning_tokens:,}",
            f"{row.guidance_tokens:,}",
            "lost" if row.lost else "",
        )
        for row in report.rows
    ]
    columns = (
        *("method", "right", "share", "points over knn, 95 %", "points over zero_shot, 95 %", "tokens in", "out"),
        *("learning", "guidance", ""),
    )
    return TextTable(f"Ring on {report.benchmark}, {report.execution}", columns, rows)


def _over(row: RingRow, other: str) -> str:
    found = next((each for each in row.differences if each.to == other), None)
    return "" if found is None else difference_line(found)


def difference_line(difference: RingDifference) -> str:
    spread = difference.interval
    p = "" if spread.p is None else f", p {spread.p:.2g}"
    counts = f"+{difference.better} -{difference.worse}"
    return f"{difference.points:+.1f} ({spread.low:+.1f} to {spread.high:+.1f}; {counts}{p})"


def by_seed_table(report: RingReport) -> list[TextTable]:
    """Return the table of the intervals over seeds, [] if there are too few seeds."""
    rows = [(row.method, *(_over_seeds(row, other) for other in ("knn", "zero_shot"))) for row in report.rows]
    if not any(each.by_seed for row in report.rows for each in row.differences):
        return []
    title = f"By seed: the t interval of the mean differences of {len(report.seeds)} seeds"
    return [TextTable(title, ("method", "points over knn, 95 %", "points over zero_shot, 95 %"), rows)]


def _over_seeds(row: RingRow, other: str) -> str:
    found = next((each for each in row.differences if each.to == other), None)
    return "" if found is None else by_seed_line(found)


def by_seed_line(difference: RingDifference) -> str:
    if (spread := difference.by_seed) is None:
        return f"{difference.points:+.1f} in every seed"
    return f"{difference.points:+.1f} ({spread.low:+.1f} to {spread.high:+.1f}, p {spread.p:.2g})"


def conditions(report: RingReport) -> list[TextTable]:
    """Return the table of who wrote for each method and how it was reduced, [] if neither applies to any."""
    rows = [(row.method, _writer(report, row), "; ".join(_less(report, row))) for row in report.rows]
    rows = [row for row in rows if any(row[1:])]
    return [TextTable("How each learned", ("method", "who wrote for it", "reduced"), rows)] if rows else []


def _writer(report: RingReport, row: RingRow) -> str:
    is_learner = row.writer == report.execution
    return f"{row.writer}, the learner itself, in short texts" if is_learner else row.writer


def _less(report: RingReport, row: RingRow) -> Iterator[str]:
    # A fixed way of prompting learns from nothing, and that is no reduction.
    if 0 < row.learned < report.learned:
        yield f"learned from {row.learned} of {report.learned} questions"
    if row.reduced:
        yield row.reduced


def _budget(report: RingReport) -> Iterator[str]:
    """Yield how far learning went over the budget, if there was one."""
    if most := report.budget_tokens:
        over = [
            f"{row.method} by {row.over_budget:,} ({row.over_budget / most:.0%})"
            for row in report.rows
            if row.over_budget
        ]
        yield (
            f"A method checks --budget-tokens {most:,} after each block of questions, mage after each iteration. "
            f"Over the budget, in the worst seed: {', '.join(over) or 'none'}."
        )


def undecided(report: RingReport) -> Iterator[str]:
    """Yield how many answers of each method are neither right nor wrong, if any are."""
    if some := [f"{row.undecided} of {row.method}" for row in report.rows if row.undecided]:
        yield f"Answers that neither a rule nor a judge could decide are in no count: {', '.join(some)}."


def notes(report: RingReport) -> Iterator[str]:
    seeds = f"seeds {report.seeds[0]} to {report.seeds[-1]}" if len(report.seeds) > 1 else f"seed {report.seeds[0]}"
    yield (
        f"Each had {report.learned} questions to learn from, which include MAGE's anchors; {seeds}. Tokens in and out "
        "are means per held-out question, those of learning and guidance are sums. Differences are paired, and p is "
        "from the exact sign test."
    )
    yield from _budget(report)
    yield from undecided(report)
    if len(report.seeds) > 1:
        yield (
            "The first table pools the answers of all seeds as if they were independent. Those of one seed share what "
            "was learned for it, so the intervals hold for these answers only: another seed may differ by more. The "
            "intervals by seed show by how much; they need at least five seeds."
        )
    if any(row.lost for row in report.rows):
        yield "mage lost: it is significantly worse than knn here."
