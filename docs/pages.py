"""Brings the papers into the site from where they lie, and writes the reference pages; called by mkdocs.

Rules
    - A paper is written once, beside what it is about: here it is only read, and its links are led to pages of the
      site. What has no page (a source file, a folder) is shown by its path.
    - The reference of commands is made from the commands themselves, that of events from their types.
"""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).resolve().parent.parent
PAPERS = {
    "README.md": "index.md",
    "docs/questions.md": "questions.md",
    "docs/inspect.md": "inspect.md",
    "docs/gepa.md": "gepa.md",
    "docs/opentelemetry.md": "opentelemetry.md",
    "cli/TUTORIAL.md": "tutorial.md",
    "cli/PRODUCTION.md": "production.md",
    "cli/README.md": "commands.md",
    "cli/GLOSSARY.md": "glossary.md",
    "engine/README.md": "engine.md",
    "events/README.md": "events.md",
    "projections/README.md": "projections.md",
    "tests/README.md": "tests.md",
    "tests/bench/FIGURES.md": "figures.md",
    "CHANGELOG.md": "changelog.md",
}
PICTURES = "engine/viewing/pictures"
_WIDTH = 100
_LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")
_CODE = re.compile(r"`[^`\n]+`")
_LIMITED = re.compile(r"Annotated\[(\w+), msgspec\.Meta\((?:[^()']|'[^']*')*\)\]")
_FENCE = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    from mkdocs.structure.files import File

    for paper, page in PAPERS.items():
        if own := files.get_file_from_path(page):  # which lies here, with links that hold in the repository
            files.remove(own)
        text = (ROOT / paper).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=linked(text, paper)))
    for name, content in {"commands": commands(), "python": front_door(), "seams": seams(), "events": events()}.items():
        files.append(File.generated(config, f"reference/{name}.md", content=content))
    for picture in sorted((ROOT / PICTURES).glob("*.png")):
        files.append(File.generated(config, f"{PICTURES}/{picture.name}", abs_src_path=str(picture)))
    return files


def linked(text: str, paper: str) -> str:
    """Return a paper with its links led to pages of the site; code blocks stay as they are.

    GitHub needs `\\|` for a bar in the code of a table, where Markdown here would show the backslash.
    """

    def prose(part: str) -> str:
        part = _LINK.sub(lambda link: _led(link, paper), part)
        return _CODE.sub(lambda code: code[0].replace(r"\|", "|"), part)

    return "".join(part if part.startswith("```") else prose(part) for part in _FENCE.split(text))


def _led(link: re.Match[str], paper: str) -> str:
    target, _, anchor = link["target"].partition("#")
    if "://" in target or not target:
        return link[0]
    place = _normal(PurePosixPath(paper).parent / target)
    if place in PAPERS:
        return f"[{link['text']}]({PAPERS[place]}{'#' * bool(anchor)}{anchor})"
    return f"`{place}`" if (ROOT / place).exists() else link[0]  # which --strict then complains of


def _normal(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def commands() -> str:
    """Return what `--help` says of every command."""
    import click
    from typer.main import get_command

    from mage_es.cli.app import app

    top: Any = get_command(app)
    lines = ["# Every command", "", "What `--help` says, on one page."]
    for name, command in top.commands.items():
        for word, each in getattr(command, "commands", {"": command}).items():
            words = f"mage-es {name} {word}".strip()
            said = each.get_help(click.Context(each, info_name=words, terminal_width=_WIDTH))
            lines += ["", f"## {words}", "", "```text", said, "```"]
    return "\n".join(lines) + "\n"


def front_door() -> str:
    import mage_es

    verbs = "A verb has an async form too: `await mage_es.aevolve(...)`."
    lines = ["# Python", "", f"Every public name of `import mage_es`. {verbs}"]
    for name in sorted(mage_es.__all__, key=str.lower):
        is_async = name.startswith("a") and name[1:] in mage_es.__all__
        if not is_async and callable(thing := getattr(mage_es, name)):
            lines += _documented(name, thing)
    return "\n".join(lines) + "\n"


def seams() -> str:
    about = "What a model, a benchmark or another part must offer, and how it is registered."
    lines = ["# Parts of your own", "", about]
    kinds = ("model", "benchmark", "environment", "embedder", "search", "plugins")
    for path in (*(f"seams.{kind}" for kind in kinds), "study.baselines.method"):
        module = importlib.import_module(f"mage_es.engine.{path}")
        lines += ["", f"## {path.rpartition('.')[2]}", "", _worded(module)]
        for word, thing in vars(module).items():
            if getattr(thing, "__module__", "") == module.__name__ and not word.startswith("_") and callable(thing):
                lines += _documented(word, thing, level=3)
    return "\n".join(lines) + "\n"


def _documented(name: str, thing: Any, *, level: int = 2) -> list[str]:
    """Return the section of a function, or of a class with its public methods."""
    lines = ["", f"{'#' * level} {name}", *_described(name, thing)]
    for word, method in vars(thing).items() if isinstance(thing, type) else ():
        if inspect.isfunction(method) and not word.startswith("_"):
            lines += _described(f"{name}.{word}", method)
    return lines


def _described(name: str, thing: Any) -> list[str]:
    return ["", "```python", _signature(name, thing), "```", "", _worded(thing)]


def _signature(name: str, thing: Any) -> str:
    if getattr(thing, "_is_protocol", False):
        return f"class {name}(Protocol)"
    try:
        signature = inspect.signature(thing)
    except ValueError:  # an alias of a type
        return name
    given = [_parameter(each) for each in signature.parameters.values()]
    named = [each.kind is each.KEYWORD_ONLY for each in signature.parameters.values()]
    if any(named):
        given.insert(named.index(True), "*")
    start = "async " if inspect.iscoroutinefunction(thing) else ""
    end = "" if signature.return_annotation is signature.empty else f" -> {_kind(signature.return_annotation)}"
    whole = f"{start}{name}({', '.join(given)}){end}"
    if len(whole) <= _WIDTH:
        return whole
    return f"{start}{name}(\n" + "".join(f"    {each},\n" for each in given) + f"){end}"


def _parameter(given: inspect.Parameter) -> str:
    annotated = given.name if given.annotation is given.empty else f"{given.name}: {_kind(given.annotation)}"
    if given.default is given.empty:
        return annotated
    # What is made anew has no text of its own but its address in memory, which differs from build to build.
    shown = "..." if callable(given.default) else re.sub(r"<[^<>]*>", "...", repr(given.default))
    return f"{annotated} = {shown}"


def _kind(annotation: Any) -> str:
    shown = annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)
    shown = re.sub(r"ForwardRef\('([^']+)'\)", r"\1", _LIMITED.sub(r"\1", shown))
    return re.sub(r"(mage_es|collections|typing)[.][a-z_0-9.]*(?=[A-Z])", "", shown)


def _worded(thing: Any) -> str:
    """Return a docstring as Markdown: what it raises is a list."""
    before, raises, after = (inspect.getdoc(thing) or "").partition("\nRaises:\n")
    if not raises:
        return before
    listed = re.sub(r"^ {4}(\w+):", r"- `\1`:", re.sub(r"\n {5,}", " ", after), flags=re.MULTILINE)
    return f"{before}\n\nRaises:\n\n{listed}"


def events() -> str:
    """Return every event type with its fields, as an export describes them."""
    from mage_es.engine.exports.event_schema import described
    from mage_es.events.vocabulary import MAGE_ES

    about = "Every fact that a run can record, as `mage-es export --format jsonl` writes it."
    return described(MAGE_ES.types.values(), MAGE_ES.meanings, format="jsonl", title="Events", about=about)
