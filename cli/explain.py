"""`mage-es explain`: a word used on the screens, in plain words."""

import re
from pathlib import Path
from typing import Annotated

import typer

from mage_es.cli.options import examples, takes
from mage_es.cli.output import Output, TextTable
from mage_es.cli.settings import Settings
from mage_es.events.errors import UsageError, nearest

EXAMPLES = examples("mage-es explain anchor", "mage-es explain VACUOUS", "mage-es explain")


@takes()
def explain(
    words: Annotated[
        list[str] | None, typer.Argument(metavar="[WORD]...", help="A word or two. [default: all]", show_default=False)
    ] = None,
    *,
    settings: Settings,
    out: Output,
) -> None:
    """Explain a word that the screens use."""
    known = glossary()
    word = " ".join(words or ())
    found = {name: meaning for name, meaning in known.items() if not word or _plain(name) == _plain(word)}
    if not found:
        raise UsageError(f"No screen uses the word {word!r}.{nearest(word, list(known))}")
    out.report(found, *([TextTable("", ("word", "meaning"), list(found.items()))] if not word else found.values()))


def glossary() -> dict[str, str]:
    """Return every word of `GLOSSARY.md` with its meaning."""
    text = Path(__file__).with_name("GLOSSARY.md").read_text("utf-8")
    found = re.findall(r"^- \*\*(.+?)\*\*: (.+(?:\n  .+)*)$", text, re.MULTILINE)
    return {word: " ".join(meaning.split()) for word, meaning in found}


def _plain(word: str) -> str:
    """Return a word without case, hyphens and plural endings, so that `Held Out`, `memories` and `anchors` are
    found."""
    plain = re.sub(r"[-_\s]+", " ", word.casefold()).strip()
    return re.sub(r"s$", "", re.sub(r"ies$", "y", plain))
