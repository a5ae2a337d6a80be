"""`mage-es ask`: your own question, answered with what a run has learned."""

import sys
from typing import Annotated

import typer

from mage_es.cli.options import AtOption, RunArgument, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.settings import Settings
from mage_es.engine.viewing.cli.tables import bundle
from mage_es.events.errors import UsageError

EXAMPLES = examples(
    "mage-es ask 'Ben picks out 3 notebooks at $4 each and 2 pens at $1.50 each. What does he pay?'",
    "mage-es ask - RUN --at iter-3 < question.txt",
)

RECALLED = "The nearest cases answered, without a model: while the run learned, they were right as often as the model."


@takes("runs_dir", "data_dir", "max_usd", "max_calls", "prices")
def ask(
    question: Annotated[str, typer.Argument(help="The question; -: read it from stdin.")] = "-",
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    at: AtOption = "latest",
) -> None:
    """Answer your own question with what a run has learned.

    The state is frozen: the run learns nothing from the question, and records nothing.
    """
    from mage_es.engine.viewing.ask import ask as ask_run

    text = _question(question)
    report = ask_run(
        settings.find_run(run),
        text,
        at=at,
        data_dir=settings.data_dir,
        limits=settings.limits,
        prices=settings.prices(),
        say=out.say,
    )
    known = f"Task type {report.task_type}, skill {report.skill}, state {report.marker} of {report.run_id}"
    out.report(
        report,
        known,
        bundle(report.bundle),
        report.evidence,
        RECALLED if report.recalled else report.reply,
        f"Answer: {report.answer or '(none found)'}",
    )
    if report.far:
        out.say(report.far)
    other = "latest" if at == "start" else "start"
    out.next(settings.again("ask", text, report.run_id, "--at", other))


def _question(given: str) -> str:
    is_piped = given == "-"
    if is_piped and sys.stdin.isatty():
        raise UsageError('No question was given. Give it as an argument, as in mage-es ask "...", or on stdin.')
    text = (sys.stdin.read() if is_piped else given).strip()
    if not text:
        raise UsageError(f"The question is empty: {text!r}. Give it as an argument or on stdin.")
    return text
