"""`mage-es doctor`: what a run needs from this machine, and how to fix what is missing."""

from typing import Annotated

import typer

from mage_es.cli.completion import benchmarks
from mage_es.cli.options import examples, takes
from mage_es.cli.output import Output, TextTable
from mage_es.cli.settings import Settings
from mage_es.events.errors import PrerequisiteError

EXAMPLES = examples(
    "mage-es doctor",
    "mage-es doctor my.jsonl --columns question=text,answer=label --execution"
    " 'openai/qwen3?base_url=http://localhost:8000/v1'",
)

ASKED = ("seed", "execution", "guidance", "judge", "embedder")
_WORDS = {"ok": "ok", "optional": "missing", "failed": "FAILED"}


@takes(*ASKED, "max_tokens", "bundle", "prices", "runs_dir", "data_dir", own_tasks=True)
def doctor(
    benchmark: Annotated[
        str | None,
        typer.Argument(
            help="Benchmark, or file of your own tasks, whose first prompts are tried. [default: wordmath]",
            autocompletion=benchmarks,
        ),
    ] = None,
    *,
    settings: Settings,
    out: Output,
    calls: Annotated[bool, typer.Option("--calls/--no-calls", help="Put a run's first prompts to its models.")] = True,
) -> None:
    """Check what a run needs from this machine and from its models.

    Python, packages, data, disk and clock; for each model its key, endpoint, name, context, price, typed replies, and
    its replies to a run's first prompts, the learner's to three: is each whole, how long did the model think, is an
    answer found in it, is it one of the labels, and right? Exits with 4 if a run could not start, or no answer came.
    """
    from mage_es.engine.run.directory import clock
    from mage_es.engine.verbs.doctor import asked, diagnose

    config = settings.config(benchmark="wordmath")
    if calls and (remote := asked(config)):
        out.say(f"Asking {', '.join(remote)}: a run's first prompts, which may take minutes (--no-calls skips it).\n")
    findings = diagnose(
        config,
        runs_dir=settings.runs_dir,
        data_dir=settings.data_dir,
        clock=clock,
        prices=settings.prices(),
        calls=calls,
    )
    rows = [(found.name, _WORDS[found.state], found.detail) for found in findings]
    out.report(findings, TextTable("", ("check", "result", "detail"), rows))
    for found in findings:
        if found.remedy:
            out.say(f"{found.name}: {found.remedy}")
    named, repeated = settings.flags().get("benchmark"), (*ASKED, "runs_dir", "data_dir")
    words = [str(named)] if named else []
    if any(found.state == "failed" for found in findings):
        out.next(settings.again("doctor", *words, names=repeated))
        raise typer.Exit(PrerequisiteError.exit_code)
    out.next(settings.again("evolve", *words, names=repeated) if named else "mage-es demo")
