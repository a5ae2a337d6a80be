"""`mage-es baseline`: held-out questions, answered by a fixed way of prompting or by a method that learns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mage_es.cli.options import SPENDING, BenchmarkArgument, RunIdOption, examples, takes
from mage_es.cli.output import Output, TextTable, percent
from mage_es.cli.own_tasks import with_learner
from mage_es.cli.registering import RegisterOption, SeedsOption, registration
from mage_es.cli.session import resumable
from mage_es.cli.settings import Settings
from mage_es.cli.tables import between, episodes, share_of
from mage_es.engine.benchmarks.registry import title
from mage_es.engine.config import MOST

if TYPE_CHECKING:
    from mage_es.engine.run.directory import Run
    from mage_es.engine.study.baseline import BaselineReport

EXAMPLES = examples(
    "mage-es baseline zero_shot_cot gsm8k --data-dir data",
    "mage-es baseline react hotpotqa --search record --data-dir data",
    "mage-es baseline knn my.jsonl --learn-from 80 --execution openai/MODEL",
    "mage-es baseline self_consistency medqa --execution 'openai/qwen3?base_url=http://localhost:8000/v1'",
)
LEARNING = (
    "zero_shot, knn, knn_lines, nearest_label, linear_svm, full_history, dynamic_cheatsheet, cheatsheet_retrieval, "
    "reasoning_bank, ace, expel, gepa"
)
"""The methods that learn, as help names them."""
QuestionsOption = Annotated[
    int | None, typer.Option("--questions", min=1, max=MOST, help="Number of held-out questions. [default: all]")
]
LearnFromOption = Annotated[
    int | None,
    typer.Option("--learn-from", min=1, max=MOST, help="Questions to learn from. [default: 120, or all there are]"),
]
BudgetTokensOption = Annotated[
    int,
    typer.Option(
        "--budget-tokens",
        min=0,
        max=10**12,
        help="Stop learning after this many tokens, all models together; 0: no limit.",
    ),
]
OPTIONS = (
    *(
        "seed",
        "held_out",
        "anchors",
        "execution",
        "guidance",
        "judge",
        "search",
        "search_passages",
        "max_tokens",
        "scorer_seconds",
    ),
    *("embedder", "teacher_sees", "answer_temperature", "task_types", "episode_steps", "episode_history"),
    *("workers", "max_connections", "guidance_batch", "sign", "runs_dir", "data_dir", *SPENDING),
)


@takes(*OPTIONS, own_tasks=True)
def baseline(
    name: Annotated[
        str,
        typer.Argument(
            metavar="BASELINE",
            help="zero_shot_cot, few_shot_cot, self_consistency, react, reflexion, reflexion_oracle; or a method that "
            f"learns: {LEARNING}, or one from a plug-in.",
        ),
    ],
    benchmark: BenchmarkArgument = None,
    *,
    settings: Settings,
    out: Output,
    questions: QuestionsOption = None,
    learn_from: LearnFromOption = None,
    budget_tokens: BudgetTokensOption = 0,
    run_id: RunIdOption = None,
    register: RegisterOption = False,
    register_seeds: SeedsOption = None,
) -> None:
    """Answer held-out questions with a baseline: same model, same questions, same extraction and scorer.

    The baseline is a run like any other. Its splits are those of `evolve` with the same seed and sizes. A method that
    learns is shown evolution questions first.
    """
    from mage_es.engine.study.baseline import baseline as run

    config = with_learner(settings.config())
    registered = registration(config.seed, register=register, questions=questions or 0, seeds=register_seeds)
    with resumable(out, settings) as runtime:
        report = run(
            name,
            config,
            runs_dir=settings.runs_dir,
            data_dir=settings.data_dir,
            runtime=runtime,
            questions=questions,
            learn_from=learn_from,
            budget_tokens=budget_tokens,
            run_id=run_id,
            registration=registered,
        )
    out.report(*shown(report))
    out.next(settings.again("report", str(settings.runs_dir), names=()))


def resumed(run: Run, **given: Any) -> tuple[Any, ...]:
    """Continue a baseline for `mage-es resume`, and return what it prints."""
    from mage_es.engine.study.baseline import resume_baseline

    return shown(resume_baseline(run, **given))


def shown(report: BaselineReport) -> tuple[Any, ...]:
    return report, baseline_table(report), *episodes(report.episodes)


def baseline_table(report: BaselineReport) -> TextTable:
    cells = {
        "baseline": report.baseline,
        "benchmark": title(report.benchmark),
        "asked": str(report.total),
        share_of(report.episodes): percent(report.correct, report.total),
        "95 %": between(report.correct, report.total),
        "correct": f"{report.correct}/{report.total}",
        "unanswered": str(sum(report.unanswered.values())),
        "undecided": str(sum(report.undecided.values())),
        "calls": str(report.execution_calls),
        "judge": str(report.judge_calls),
        "guidance": str(report.guidance_calls),
    }
    if report.embedder_calls:
        cells["embedder"] = str(report.embedder_calls)
    return TextTable(f"Run {report.run_id}", tuple(cells), [tuple(cells.values())])
