"""`mage-es view`: look at a run in a browser, at any moment of its life."""

from __future__ import annotations

import re
import tempfile
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mage_es.cli.explain import glossary
from mage_es.cli.options import examples, takes
from mage_es.cli.output import Output, counted
from mage_es.cli.settings import Settings
from mage_es.events.errors import PrerequisiteError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mage_es.engine.run.directory import Run
    from mage_es.engine.viewing.chunks import Viewed

EXAMPLES = examples(
    "mage-es view",
    "mage-es view RUN --to run.html",
    "mage-es view RUN OTHER --to folder",
    "mage-es view --keys keys.toml --host 0.0.0.0 --port 8400 --no-open",
    "mage-es view RUN --keys keys.toml --link 7d",
    "mage-es view s3://bucket/team --keys keys.toml --host 0.0.0.0 --port 8400 --no-open",
)
_SPAN = re.compile(r"([1-9][0-9]{0,3})([mhd])")
_SECONDS = {"m": 60, "h": 3600, "d": 86_400}


@takes("runs_dir", "data_dir", "prices")
def view(
    runs: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[RUN]...",
            help="Run ids or folders, or one s3://bucket/prefix or folder below which runs are backed up. "
            "[default: all under --runs-dir; with --to the newest]",
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
    keys: Annotated[
        Path | None,
        typer.Option("--keys", metavar="FILE", help="File of keys, as for serve; those with `views = true` let in."),
    ] = None,
    host: Annotated[
        str, typer.Option("--host", metavar="ADDRESS", help="Address to listen on; other machines need --keys.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535, help="Port on this machine; 0: any free one.")] = 0,
    link: Annotated[
        str | None,
        typer.Option("--link", metavar="SPAN", help="Print a link to one run, good for 30m, 12h or 7d; serve nothing."),
    ] = None,
    open_browser: Annotated[bool, typer.Option("--open/--no-open", help="Open the page in the browser.")] = True,
) -> None:
    """Look at runs in a browser, at any earlier moment: what was learned, when, from what, and what prompts said.

    Serves this machine alone, until Ctrl-C, and writes nothing. A run still being written is read again when its page
    is loaded. Addresses work until the server ends: to share a page, write it with --to. A team uses --keys: members
    have a key in the file, and guests get a link to one run, which expires. All runs of a bucket are restored, and
    again whenever the page of runs is loaded: into --runs-dir if it is given here, otherwise into a folder that is
    deleted at the end.
    """
    from mage_es.engine.run.directory import list_runs
    from mage_es.engine.served.tenants import is_local
    from mage_es.engine.viewing.access import Access
    from mage_es.engine.viewing.chunks import Viewed
    from mage_es.engine.viewing.mirrored import is_mirrored

    if link is not None:
        _print_link(link, runs or [], keys=keys, to=to, settings=settings, out=out)
        return

    prices, sources = settings.prices(), [each for each in runs or () if is_mirrored(each)]
    if sources and (to is not None or len(runs or ()) > 1):
        raise UsageError(
            f"{sources[0]} holds backups: view takes it alone, without --to. `restore --all` makes runs of it."
        )

    def look(name: str, run: Run, tell: Callable[[float], None] | None = None) -> Viewed:
        # As in any other export, what leaves this machine holds no subject's text.
        leaves, where = to is not None or keys is not None, settings.data_dir
        return Viewed(run, name=name, opened=not leaves, whole=to is not None, prices=prices, data_dir=where, tell=tell)

    if to is not None:
        from mage_es.engine.viewing.export import export

        wanted = _named([settings.find_run(name) for name in runs or ()] or [settings.find_run(None)])
        report = export((look(*each) for each in wanted.items()), to, words=glossary())  # one at a time
        out.report(report, f"{report.path}: {report.bytes / 1e6:.1f} MB, {counted(report.files, 'file')}")
        out.say("Open it in a browser; it needs no network and no server.")
        return
    import webbrowser

    from mage_es.engine.viewing.server import Viewer

    with ExitStack() as ends:
        mirrored = _mirrored(sources[0], settings, out, ends) if sources else None
        named = [] if mirrored else [settings.find_run(name) for name in runs or ()]

        def wanted_now() -> dict[str, Run]:
            return _named(named or (mirrored() if mirrored else list_runs(settings.runs_dir))[::-1])

        if not mirrored and not wanted_now():
            settings.find_run(None)
        access = Access(keys, say=out.say)
        try:
            server = Viewer(wanted_now, look, host=host, port=port, access=access, prices=prices, words=glossary())
        except OSError as error:
            raise PrerequisiteError(
                f"{host}:{port} cannot be used: {error}. Choose another --port (0: any free one) or --host."
            ) from error
        ends.enter_context(server)
        out.report({"url": server.url}, server.url)
        if keys is None:
            out.say("Only this machine can open it. Ctrl-C ends it.")
        else:
            out.say(f"It asks for a key of {keys} that has `views = true`. Ctrl-C ends it.")
        if not is_local(host):
            out.say("It speaks plain HTTP: where others can listen in, put TLS before it (cli/PRODUCTION.md).")
        if open_browser and is_local(host) and not out.as_json:
            webbrowser.open(server.url)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            out.say("Closed.")


def _mirrored(source: str, settings: Settings, out: Output, ends: ExitStack) -> Callable[[], list[Run]]:
    """Return what lists the runs of a bucket. They are restored into --runs-dir only if this command names it: a folder
    that a file or the environment names holds the user's own runs."""
    from mage_es.engine.viewing.mirrored import Mirrored

    folder = settings.runs_dir
    if settings.entries["runs_dir"].origin != "flag":
        temporary = tempfile.TemporaryDirectory(prefix="mage-es-view-", ignore_cleanup_errors=True)
        folder = Path(ends.enter_context(temporary))
    return Mirrored(source, folder, say=out.say)


def _print_link(
    span: str, runs: list[str], *, keys: Path | None, to: Path | None, settings: Settings, out: Output
) -> None:
    from mage_es.engine.viewing.access import Access

    found = _SPAN.fullmatch(span)
    if found is None:
        raise UsageError(f"--link {span!r} is not a span of time: give minutes, hours or days, such as 30m, 12h or 7d.")
    if keys is None or to is not None or len(runs) > 1:
        raise UsageError("--link takes one RUN and the --keys FILE of the server that shows it, and no --to.")
    run, access = settings.find_run(runs[0] if runs else None), Access(keys)
    path, expires = access.link(run.id, int(found[1]) * _SECONDS[found[2]])
    until = f"{datetime.fromtimestamp(expires, UTC):%Y-%m-%d %H:%M} UTC"
    out.report({"run_id": run.id, "link": f"/{path}/", "expires": until}, f"/{path}/")
    out.say(
        f"Append it to the server's address. Until {until} it shows {run.id}, and no other run, to anyone who has it. "
        f"To end all links and logins earlier, delete {access.secret_file}."
    )


def _named(runs: list[Run]) -> dict[str, Run]:
    """Return the runs by id, each once; if two folders share an id, the second gets another name here."""
    found: dict[str, Run] = {}
    for run in {run.path.resolve(): run for run in runs}.values():
        name = run.id
        while name in found:
            name += "~"
        found[name] = run
    return found
