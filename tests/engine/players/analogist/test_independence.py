"""What the analogist may know: the prompt, and nothing of how questions are made or stored."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import mage_es.engine.players as standins
import mage_es.engine.players.worlds as worlds

STANDINS = Path(standins.__file__).parent
SOLVER = [
    *(path for name in ("analogist", "arithmetic") for path in (STANDINS / name).glob("*.py")),
    STANDINS / "prompts.py",
]
WORDMATH = Path(worlds.__file__).parent / "wordmath"


def strings(path: Path) -> Iterator[str]:
    """Yield every string that the code can use, docstrings left out: they are for readers."""
    tree = ast.parse(path.read_text())
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for statement in ast.walk(tree):
        # A bare string under an assignment documents it.
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            docs.add(id(statement.value))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


def runs_of_three(text: str) -> set[tuple[str, ...]]:
    words = "".join(letter if letter.isalpha() else " " for letter in text.lower()).split()
    return {tuple(words[at : at + 3]) for at in range(len(words) - 2)}


def test_solver_and_generator_share_no_string_of_three_words() -> None:
    texts = [text for path in sorted(WORDMATH.rglob("*.py")) for text in strings(path)]
    texts += [line for path in sorted(WORDMATH.rglob("*.toml")) for line in path.read_text().splitlines()]
    generator = {run for text in texts for run in runs_of_three(text)}
    assert len(generator) > 1000, "the generator's strings were not found"
    solver = {run: path.name for path in SOLVER for text in strings(path) for run in runs_of_three(text)}
    assert {run: name for run, name in solver.items() if run in generator} == {}


def test_the_solver_imports_the_seam_and_itself_only() -> None:
    foreign = []
    for path in SOLVER:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            foreign += [
                (path.name, name)
                for name in names
                if name.startswith("mage_es")
                and not name.startswith(
                    tuple(f"mage_es.engine.players.{own}" for own in ("arithmetic", "analogist", "prompts", "stand_in"))
                )
                and name != "mage_es.engine.seams.model"
            ]
            outside = {"os", "pathlib", "time", "datetime", "random", "uuid", "socket", "secrets"}
            foreign += [(path.name, name) for name in names if name.split(".")[0] in outside]
    assert foreign == []


def test_the_reply_is_the_same_bytes_in_another_process_with_another_hash_seed() -> None:
    prompt = (
        "## Solved earlier\\n\\n> Question: Ana packs 4 boxes with 6 jars each and gives 5 away. How many are left?\\n"
        "> Reply: 4 * 6 = 24\\n> 24 - 5 = 19\\n> #### 19\\n\\n## Question\\n\\n"
        "Each crate holds 12 figs. Omar fills 3 crates and sells 9 figs. How many figs remain?\\n\\nReason. End with x."
    )
    code = (
        "from mage_es.engine.seams.model import Request; from mage_es.engine.players.analogist.model import reply;"
        f"print(reply(Request(prompt='''{prompt}''')))"
    )
    replies = {
        subprocess.run(
            [sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in ("0", "1", "77")
    }
    assert replies == {"3 * 12 = 36\n36 - 9 = 27\n#### 27\n"}
