"""`mage-es mcp`: what a run learned, as tools for a client of the Model Context Protocol."""

from mage_es.cli.options import AtOption, MinSimilarityOption, RunArgument, examples, similarity, takes
from mage_es.cli.output import Output
from mage_es.cli.settings import Settings
from mage_es.events.errors import PrerequisiteError

EXAMPLES = examples("mage-es mcp RUN --at iter-9")


@takes("runs_dir", "data_dir")
def mcp(
    run: RunArgument = None,
    *,
    settings: Settings,
    out: Output,
    at: AtOption = "latest",
    min_similarity: MinSimilarityOption = "auto",
) -> None:
    """Serve what a run learned to an MCP client, on stdin and stdout: search_memory, get_memory, explain_memory.

    The state is frozen, and nothing is written: a run that is still learning can be served. The client starts this
    command, and ends it by hanging up.
    """
    try:
        from mage_es.engine.serving.mcp import serve_stdio
    except ImportError as error:
        raise PrerequisiteError("`mage-es mcp` needs the package mcp: python -m pip install 'mage-es[mcp]'") from error
    from mage_es.engine.verbs.open_run import open_run

    least = similarity(min_similarity)
    frozen = open_run(settings.find_run(run), at, data_dir=settings.data_dir, min_similarity=least)
    out.say(f"Serving {frozen.run.id} at {at} to the client on stdin.")
    serve_stdio(frozen)
