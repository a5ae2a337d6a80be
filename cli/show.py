"""`mage-es show`: one question as it was asked: bundle, exact prompt, answer, verdict."""

from __future__ import annotations

from typing import Annotated

import typer

from mage_es.cli.options import Json, RunOption, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.settings import Settings
from mage_es.cli.tables import asked, bundle
from mage_es.engine.moves import CallReport, MoveReport, SearchReport, StepReport, ToolReport, TrimReport

EXAMPLES = examples("mage-es show wordmath-evolution-17", "mage-es show wordmath-evolution-17 --run RUN --iteration 3")


@takes("runs_dir", "data_dir")
def show(
    question: Annotated[str, typer.Argument(help="Id of a question of the run.")],
    *,
    settings: Settings,
    run: RunOption = None,
    iteration: Annotated[
        int | None, typer.Option("--iteration", help="When it was asked. [default: the last time]")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show a question as it was asked.

    The retrieved memories, the exact prompt, the reply and the verdict.
    """
    from mage_es.engine.inspection import show as show_question
    from mage_es.engine.runs import find_run

    out = Output(as_json=as_json)
    found = find_run(settings.runs_dir, run)
    report = show_question(found, question, iteration=iteration, data_dir=settings.data_dir)
    moves = [text for number, move in enumerate(report.moves, start=1) for text in _texts(number, move)]
    out.report(report, asked(report), bundle(report.bundle), *moves)
    if report.other_times:
        out.say(f"Also asked: {', '.join(report.other_times)}.")
    is_episode = any(isinstance(move, StepReport) for move in report.moves)
    ahead = ("exam", report.run_id) if is_episode else ("ask", "--run", report.run_id, "...")
    out.next(settings.again(*ahead))


def _texts(number: int, move: MoveReport) -> list[str]:
    """Return a move in words: a call with prompt, sources and reply, a run of a tool, an action."""
    if isinstance(move, CallReport):
        match = "" if move.verified else " (DOES NOT MATCH the recorded hash)"
        sources = ", ".join(f"{source.source} at {source.offset}" for source in move.sources)
        quoted = [f"Quoted in it: {sources}."] if sources else []
        return [
            f"{number}. Prompt of {move.agent} ({move.tier} tier) about {move.about}{match}:\n{move.prompt}",
            *quoted,
            f"Reply{f' of {move.served_by}' if move.served_by else ''}:\n{move.reply or '(none recorded)'}",
        ]
    if isinstance(move, TrimReport):
        match = "" if move.verified else " (DOES NOT MATCH the recorded hash)"
        return [
            f"{number}. The prompt about {move.about} did not fit{match}: {move.problem}. Left out: {move.memory_id}."
        ]
    if isinstance(move, ToolReport):
        outcome = f"Problem: {move.problem}" if move.problem else f"Result: {move.result}"
        return [f"{number}. Tool {move.name} ({move.tool_id}):\nArguments: {move.arguments}\n{outcome}"]
    if isinstance(move, SearchReport):
        found = "Found" if move.is_there else "Not found; similar"
        return [f"{number}. Search in {move.search} for: {move.query}\n{found}: {', '.join(move.titles) or 'nothing'}"]
    if not move.action:
        return [f"{number}. {move.observation}"]
    return [f"{number}. Step {move.step}: {move.action}\n{move.observation}"]
