"""What the apprentice may know: the prompt, and nothing of any world."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import mage_es.engine.players as standins
from mage_es.engine.players.worlds.workshop.lands import LANDS, PLACES, THINGS

FOLDER = Path(standins.__file__).parent
SOURCES = [*sorted((FOLDER / "apprentice").glob("*.py")), FOLDER / "prompts.py"]


def strings(path: Path) -> set[str]:
    """Return every word of every string that the code can use, documentation left out."""
    tree = ast.parse(path.read_text())
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in docs]
    return {word for text in texts if isinstance(text, str) for word in re.findall(r"[a-z]+", text)}


def test_it_knows_no_thing_place_or_land_by_name() -> None:
    assert SOURCES
    for path in SOURCES:
        assert not strings(path) & {*THINGS, *PLACES, *LANDS}, path.name


def test_it_imports_the_seam_and_itself_only() -> None:
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            for name in names:
                own = name.startswith(
                    (
                        "mage_es.engine.seams.model",
                        "mage_es.engine.players.prompts",
                        "mage_es.engine.players.stand_in",
                        "mage_es.engine.players.apprentice",
                    )
                )
                assert own or not name.startswith("mage_es"), (path.name, name)
                assert name.split(".")[0] not in {"os", "pathlib", "time", "random", "uuid", "socket", "secrets"}
