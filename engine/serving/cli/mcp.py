"""`mage-es mcp`: what a run learned, as tools for a client of the Model Context Protocol."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from mage_es.cli.options import AtOption, RunArgument, examples, takes
from mage_es.cli.output import Output
from mage_es.cli.settings import Settings
from mage_es.events.errors import PrerequisiteError, RunLocked, UsageError

if TYPE_CHECKING:
    from mage_es.engine.served.notes import MinSimilarity

EXAMPLES = examples("mage-es mcp RUN --at iter-9", "mage-es mcp RUN --learn off")


@takes("runs_dir", "data_dir")
def mcp(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    at: AtOption = "latest",
    learn: Annotated[
        Literal["off", "log", "propose"],
        typer.Option(
            help="The client may only search (off), also report outcomes (log), or also propose memories (propose)."
        ),
    ] = "propose",
    run_id: Annotated[
        str | None,
        typer.Option("--run-id", metavar="NAME", help="Run that records what the client does; by default RUN-served."),
    ] = None,
    min_similarity: Annotated[
        str,
        typer.Option(
            "--min-similarity",
            metavar="auto|COSINE",
            help="Omit memories less similar than this: auto measures it on the run's own questions, 0 turns it off.",
        ),
    ] = "auto",
) -> None:
    """Serve what a run learned to an MCP client, on stdin and stdout: search_memory, task_types, report_outcome,
    propose_memory.

    The state is frozen. What the client does is recorded in a separate run, RUN-served, as `mage-es serve` does; with
    --learn off, or while another process is recording there, the client can only search, and nothing is written. What
    it proposes comes into use once `mage-es publish` has tried it. The client starts this command, and ends it by
    hanging up.
    """
    try:
        from mage_es.engine.serving.mcp import serve_stdio, shown_by, shown_now
    except ImportError as error:
        raise PrerequisiteError("`mage-es mcp` needs the package mcp: python -m pip install 'mage-es[mcp]'") from error
    from mage_es.engine.serving.bounds import bounds_of
    from mage_es.engine.serving.live import LiveRun
    from mage_es.engine.serving.open_run import open_run

    found, least = settings.find_run(run), _similarity(min_similarity)
    if learn != "off":
        try:
            live = LiveRun.open(
                found,
                at,
                name=run_id,
                learn=learn,
                holdback=0.0,
                bounds=bounds_of(least, (), 0),
                data_dir=settings.data_dir,
                say=out.say,
            )
        except RunLocked as error:
            out.say(f"The client can only search {found.id}: {error}")
        else:
            try:
                out.say(f"Serving {found.id} at {at} to the client on stdin; {live.run.id} records it.")
                serve_stdio(shown_by(live))
            finally:
                live.close()
            return
    frozen = open_run(found, at, data_dir=settings.data_dir, min_similarity=least)
    out.say(f"Serving {found.id} at {at} to the client on stdin.")
    serve_stdio(shown_now(frozen))


def _similarity(given: str) -> MinSimilarity:
    try:
        return "auto" if given == "auto" else float(given)
    except ValueError:
        raise UsageError(f"--min-similarity is {given!r}: give auto, or a cosine between 0 (off) and 1.") from None
