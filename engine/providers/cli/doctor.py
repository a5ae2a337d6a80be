"""`mage-es doctor`: what a run needs from its tasks, this machine and its models, and how to fix what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from mage_es.cli.completion import benchmarks
from mage_es.cli.options import examples, takes
from mage_es.cli.output import Output, TextTable
from mage_es.cli.settings import Settings, as_option
from mage_es.engine.benchmarks.registry import needs_learner
from mage_es.engine.config import BENCHMARK
from mage_es.events.errors import PrerequisiteError

if TYPE_CHECKING:
    from mage_es.engine.verbs.data import DataReport

EXAMPLES = examples(
    "mage-es doctor",
    "mage-es doctor my.jsonl --scorer number --no-calls",
    "mage-es doctor my.jsonl --columns question=text,answer=label --execution"
    " 'openai/qwen3?base_url=http://localhost:8000/v1'",
)

_WORDS = {"ok": "ok", "optional": "warning", "failed": "FAILED"}


@takes(
    *("seed", "held_out", "anchors", "execution", "guidance", "judge", "embedder"),
    *("max_tokens", "answer_temperature", "bundle", "runs_dir", "data_dir"),
    own_tasks=True,
)
def doctor(
    benchmark: Annotated[
        str | None,
        typer.Argument(
            help="Benchmark, or file of your own tasks; the first prompts are made from it. [default: wordmath]",
            autocompletion=benchmarks,
        ),
    ] = None,
    *,
    settings: Settings,
    out: Output,
    calls: Annotated[bool, typer.Option("--calls/--no-calls", help="Send a run's first prompts to its models.")] = True,
) -> None:
    """Check what a run needs from its tasks, from this machine and from its models.

    For tasks that you name: how a run would divide them, which column has which role, what is left out and why, and
    what gives answers away. For this machine: packages, folder of runs and clock. For each model: its key, endpoint,
    name and context, and its replies to a run's first prompts (three of them for the learner). Is the reply whole, how
    long did the model think, is there an answer in it, is the answer one of the labels or in the requested form, and is
    it right? Exits with 4 if a run could not start, or no answer came. evolve --dry-run tells what a run costs.
    """
    from mage_es.engine.providers.doctor import diagnose
    from mage_es.engine.run.directory import clock

    config = settings.config(benchmark="wordmath")
    where: dict[str, Any] = {"runs_dir": settings.runs_dir, "data_dir": settings.data_dir}
    found = diagnose(config, **where, now=clock(), calls=calls, say=out.say)
    named = settings.entries["benchmark"].value
    tasks = found.tasks if named else None
    rows = [(check.name, _WORDS[check.state], _short(check.detail)) for check in found.checks]
    out.report(found, TextTable("", ("check", "result", "detail"), rows), *(_division(tasks) if tasks else ()))
    remedies = [f"{check.name}: {check.remedy}" for check in found.checks if check.remedy]
    faults = [check.detail for check in found.checks if check.detail != _short(check.detail)]
    for said in (*faults, *remedies, *((*tasks.leaks, *tasks.said) if tasks else ())):
        out.say(said)
    flags = settings.flags()
    flags.pop("benchmark", None)
    words = [*settings.typed]
    advised = dict(check.option for check in found.checks if check.option)
    words += [word for name, value in advised.items() if name not in flags for word in as_option(name, value)]
    states = {check.state for check in found.checks}
    if "failed" in states:
        words += [] if calls else ["--no-calls"]
        out.next(settings.again("doctor", *words, names=tuple(flags)))
        raise typer.Exit(PrerequisiteError.exit_code)
    if "optional" in states:
        out.say("A run can start. A warning does not stop it, but it may learn less, or take more calls.")
    if config.execution == BENCHMARK and needs_learner(config.benchmark):
        words += ["--execution", "MODEL"]
    out.next(settings.again("evolve", *words, names=tuple(flags)) if named else "mage-es demo")


def _short(detail: str) -> str:
    """Return what fits into a table: if several rows have faults, the first one."""
    first, *more = detail.splitlines()
    return f"{first} All faults are below." if len(more) > 1 else detail


def _division(tasks: DataReport) -> list[TextTable]:
    """Return tables of how a run would read the columns, which tasks it would leave out, and which repeat one
    another."""
    roles = [(row.role, row.column or f"none{f': {row.why}' if row.why else ''}") for row in tasks.columns]
    parts = [
        TextTable("Columns", ("role", "column"), roles),
        TextTable("Left out", ("id", "because"), [(one.id, str(one)) for one in tasks.left_out]),
        TextTable(
            "Copies, word for word or nearly, each group in one split",
            ("ids",),
            [(", ".join(ids),) for ids in tasks.groups],
        ),
    ]
    return [part for part in parts if part.rows]
