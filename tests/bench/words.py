"""Docstrings and messages drawn at random, each with its place, for someone to read aloud and judge.

    python -m tests.bench.words --seed 1 --draw 50

A message is text in a raised error, in a call that prints, or in the help of a command.
"""

import argparse
import ast
from collections.abc import Iterator
from pathlib import Path
from random import Random

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("engine", "events", "projections", "cli")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
SPEAKING = {"print", "say", "echo", "report", "line", "tell"}


def texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield each text of two words or more below a node, with its line; what an f-string fills in stays in braces."""
    if isinstance(node, ast.JoinedStr):
        parts = (
            part.value if isinstance(part, ast.Constant) else ast.unparse(ast.JoinedStr([part]))[2:-1]
            for part in node.values
        )
        found = "".join(map(str, parts))
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        found = node.value
    else:
        for child in ast.iter_child_nodes(node):
            yield from texts(child)
        return
    if len(found.split()) > 1:
        yield node.lineno, found


def spoken(node: ast.AST) -> bool:
    if isinstance(node, ast.Raise) or (isinstance(node, ast.keyword) and node.arg == "help"):
        return True
    if not isinstance(node, ast.Call):
        return False
    name = ast.unparse(node.func).rpartition(".")[2]
    return name in SPEAKING or name.endswith(("Error", "Fault"))


def passages(tree: ast.Module) -> dict[int, str]:
    """Return every docstring, also of an attribute, and every message of a module by its line."""
    found = {}
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for statement in body if isinstance(body, list) and isinstance(node, DOCUMENTED) else ():
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
                found |= dict(texts(statement))
        if spoken(node):
            found |= dict(texts(node))
    return found


def everything() -> list[tuple[str, str]]:
    """Return the place and the text of every docstring and message of the package, in the order of the files."""
    return [
        (f"{path.relative_to(ROOT)}:{line}", text)
        for layer in LAYERS
        for path in sorted((ROOT / layer).rglob("*.py"))
        for line, text in sorted(passages(ast.parse(path.read_text(encoding="utf-8"))).items())
    ]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--draw", type=int, default=50)
    arguments = options.parse_args()
    every = everything()
    drawn = Random(arguments.seed).sample(every, min(arguments.draw, len(every)))
    print(f"{len(drawn)} of {len(every)} docstrings and messages, seed {arguments.seed}")
    for place, text in drawn:
        print(f"\n{place}\n    {' '.join(text.split())}")


if __name__ == "__main__":
    main()
