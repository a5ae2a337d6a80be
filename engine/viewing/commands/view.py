"""`mage-es view`: look at a run in a browser, at any moment of its life."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mage_es.cli.explain import glossary
from mage_es.cli.options import examples, takes
from mage_es.cli.output import Output
from mage_es.cli.settings import Settings
from mage_es.events.errors import PrerequisiteError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mage_es.engine.run.directory import Run
    from mage_es.engine.viewing.chunks import Viewed

EXAMPLES = examples("mage-es view", "mage-es view RUN --to run.html", "mage-es view RUN OTHER --to folder")


@takes("runs_dir", "data_dir", "prices")
def view(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN]...", help="Run ids or folders. [default: all under --runs-dir; with --to the newest]"
        ),
    ] = None,
    *,
    settings: Settings,
    out: Output,
    to: Annotated[
        Path | None,
        typer.Option(
            "--to", metavar="PLACE", help="Write a folder, or one file that ends with .html, and serve nothing."
        ),
    ] = None,
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port on this machine; 0: any free one.")] = 0,
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
) -> None:
    """Look at runs in a browser: what was learned, when, from what, and what each prompt said, at any earlier moment.

    Serves this machine alone, until Ctrl-C, and writes nothing. A run still being written is read again when its page
    is loaded. Addresses work until the server ends: to share a page, write it with --to.
    """
    from mage_es.engine.run.directory import list_runs
    from mage_es.engine.viewing.chunks import Viewed

    prices = settings.prices()

    def look(name: str, run: Run, tell: Callable[[float], None] | None = None) -> Viewed:
        # As in any other export, what leaves this machine holds no subject's text.
        leaves, where = to is not None, settings.data_dir
        return Viewed(run, name=name, opened=not leaves, whole=leaves, prices=prices, data_dir=where, tell=tell)

    if to is not None:
        from mage_es.engine.viewing.export import export

        wanted = _named([settings.find_run(name) for name in runs or ()] or [settings.find_run(None)])
        report = export((look(*each) for each in wanted.items()), to, words=glossary())  # one at a time
        out.report(report, f"{report.path}: {report.bytes / 1e6:.1f} MB, files: {report.files}")
        out.say("Open it in a browser; it needs no network and no server.")
        return
    from mage_es.engine.viewing.server import Viewer

    named = [settings.find_run(name) for name in runs or ()]

    def wanted_now() -> dict[str, Run]:
        return _named(named or list_runs(settings.runs_dir)[::-1])

    if not wanted_now():
        settings.find_run(None)
    try:
        server = Viewer(wanted_now, look, port=port, prices=prices, words=glossary())
    except OSError as error:
        raise PrerequisiteError(f"Port {port} cannot be used: {error}. Choose another --port, or 0.") from error
    with server:
        out.report({"url": server.url}, server.url)
        out.say("Only this machine can open it. Ctrl-C ends it.")
        if open_browser and not out.as_json:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            out.say("Closed.")


def _named(runs: list[Run]) -> dict[str, Run]:
    """Return the runs by id, each once; if two folders share an id, the second gets another name here."""
    found: dict[str, Run] = {}
    for run in {run.path.resolve(): run for run in runs}.values():
        name = run.id
        while name in found:
            name += "~"
        found[name] = run
    return found
