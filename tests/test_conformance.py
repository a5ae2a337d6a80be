"""The conformance table: every rule of the paper has its code and its test, and both are really there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TABLE = ROOT / "engine" / "CONFORMANCE.md"


def rows() -> list[list[str]]:
    """Return the cells of every row of every table, headings and rulers left out."""
    lines = [line for line in TABLE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [row for row in cells if row[0] != "place" and not set(row[0]) <= {"-", " "}]


def named(cell: str) -> list[tuple[str, str]]:
    """Return the (file, name) pairs of a cell such as `engine/rules/mastery.py` ratchet, lower_bound`."""
    found = []
    for path, names in re.findall(r"`([\w/]+\.(?:py|md))`((?: `\w+`,?)*)", cell):
        found += [(path, name) for name in re.findall(r"`(\w+)`", names)] or [(path, "")]
    return found


@cache
def defined(path: str) -> set[str]:
    """Return every function, class and constant of a file, methods included."""
    names: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
    return names


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row[0]}: {row[1]}"[:70])
def test_a_rule_has_its_code_and_its_test(row: list[str]) -> None:
    assert len(row) == 5, row
    place, rule, _, code, tests = row
    assert place and rule
    assert named(code) and named(tests), "no row may be empty"
    for path, name in (*named(code), *named(tests)):
        assert (ROOT / path).is_file(), path
        assert not name or name in defined(path), f"{path} has no {name}"
    assert all(path.startswith("tests/") and name.startswith("test_") for path, name in named(tests))


def test_every_equation_theorem_and_table_of_rules_has_a_row() -> None:
    places = {row[0] for row in rows()}
    for wanted in ("Eq. 1", "Eq. 2", "Eq. 3", "Eq. 4", "Theorem 1", "Theorem 2", "Theorem 3", "Theorem 4"):
        assert any(wanted in place for place in places), f"no row for {wanted}"
