"""Runs as files that need no server: a folder for any static host, or one HTML file that opens by itself."""

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path

import msgspec

from mage_es.engine.viewing.chunks import Viewed, script
from mage_es.events.errors import UsageError
from mage_es.projections.fold import uncollected

STATIC = ("index.html", "app.js", "app.css")
"""The application: the same three files for every run."""
_LARGEST_FILE = 200 << 20
_POLICY = re.compile(r'(http-equiv="Content-Security-Policy" content=)"[^"]*"')
_STYLE, _SCRIPT = '<link rel="stylesheet" href="app.css">', '<script src="app.js"></script>'


class ViewReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was written: `path` is what to open, `bytes` the size of all `files` together."""

    path: str
    files: int
    bytes: int


def static(name: str) -> bytes:
    """Return a file of the application. Raises `KeyError` for another name."""
    if name not in STATIC:
        raise KeyError(name)
    return files("mage_es.engine.viewing").joinpath("static", name).read_bytes()


def runs_chunk(names: Iterable[str], *, key: str = "") -> bytes:
    """Return the list of runs; `key` is the name of the key by which a server shows it."""
    return script("runs", {"runs": [{"run": name} for name in names], **({"key": key} if key else {})})


def words_chunk(words: Mapping[str, str]) -> bytes:
    return script("words", {"words": words})


def export(runs: Iterable[Viewed], to: Path, *, words: Mapping[str, str] | None = None) -> ViewReport:
    """Write runs to a new or empty folder, or to a new file whose name ends with `.html`; `words` are the terms that
    the page explains.

    Raises `UsageError` if something is already there, or if one file would be too large for a browser.
    """
    if to.suffix.lower() in (".html", ".htm"):
        return _to_file(runs, to, words or {})
    if to.exists() and (not to.is_dir() or any(to.iterdir())):
        raise UsageError(f"{to} exists and is not an empty folder: name a new one, or a file that ends with .html.")
    count = total = 0
    # The page last: a folder without it was not finished.
    for name, data in (*_chunks(runs, words or {}), *((name, None) for name in reversed(STATIC))):
        content = static(name) if data is None else data
        path = to / (name if data is None else f"data/{name}.js")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        count, total = count + 1, total + len(content)
    return ViewReport(path=str(to / "index.html"), files=count, bytes=total)


def _to_file(runs: Iterable[Viewed], to: Path, words: Mapping[str, str]) -> ViewReport:
    if to.exists():
        raise UsageError(f"{to} exists: name a new file.")
    held, total = list[bytes](), 0
    for name, data in _chunks(runs, words):
        # Data, not a script: none of it is run or unpacked before the page asks for it.
        text = msgspec.json.decode(b"[" + data[5:-2] + b"]")[1]
        held.append(f'<script type="text/plain" data-chunk="{html.escape(name)}">{text}</script>\n'.encode())
        total += len(held[-1])
        if total > _LARGEST_FILE:
            raise UsageError(
                f"One file of these runs would be larger than {_LARGEST_FILE >> 20} MiB, too much for a browser: "
                f"name a folder, such as {to.with_suffix('')}."
            )
    page, code, style = (static(name).decode() for name in STATIC)
    code = code.replace("</script", "<\\/script")
    policy = (
        f"default-src 'none'; script-src {_hash(code)}; style-src {_hash(style)}; img-src data:; base-uri 'none'; "
        "form-action 'none'"
    )
    page = _POLICY.sub(lambda found: f'{found[1]}"{policy}"', page)
    page = page.replace(_STYLE, f"<style>{style}</style>")
    before, after = page.split(_SCRIPT)
    parts = [before.encode(), *held, f"<script>{code}</script>".encode(), after.encode()]
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_bytes(b"".join(parts))
    return ViewReport(path=str(to), files=1, bytes=sum(map(len, parts)))


def _chunks(runs: Iterable[Viewed], words: Mapping[str, str]) -> Iterator[tuple[str, bytes]]:
    names = []
    for run in runs:
        with uncollected():
            for name in run.names():
                yield name, run.chunk(name)
        names.append(run.name)
    yield "words", words_chunk(words)
    yield "runs", runs_chunk(names)


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
