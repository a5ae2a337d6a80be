"""The rules of the paper, the code that holds each and the tests that show it: `python -m tests.conformance`.

A docstring cites a place of the paper in brackets, as `[Eq. 2]`. The rest of that paragraph says what was decided
where the paper leaves the rule open, contradicts itself or is wrong. Each test of the rule names the same place in
its mark, as `@pytest.mark.paper("Eq. 2")`. Both are read from the source, nothing is imported.
"""

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PLACE = r"(?:Eq\.|Theorem|Algorithm|section|agents|hyperparameters|appendix|tables|beyond the paper)[^\]\n]*"
REQUIRED = (
    *(f"Eq. {number}" for number in (1, 2, 3, 4)),
    *(f"Theorem {number}" for number in (1, 2, 3, 4)),
    *("Algorithm 1", "Algorithm 1, line 1", "Algorithm 1, line 3", "Algorithm 1, line 6"),
    *(f"section {number}" for number in ("3.1", "3.2", "3.3", "3.5", "4.1")),
    *(f"section 4, {name}" for name in ("Crafter", "WebShop", "FinQA", "MedQA", "RealMath")),
    *(f"section 4, {name}" for name in ("HotpotQA", "WebQuestions", "STBench")),
    *(f"agents, {name}" for name in ("SkillDiscovery", "Navigator", "Explorer", "Learner", "Critic", "Curator")),
    *("hyperparameters", "appendix, call audit", "appendix, cascade", "appendix, HotpotQA EM and F1"),
    *(f"tables, {name}" for name in ("main results", "domain extension", "sequential environments", "cost", "latency")),
    *(f"tables, {name}" for name in ("ablation", "cascade", "graph growth", "recovery", "figures", "judges")),
    *(f"tables, {name}" for name in ("teachers, learners and seeds", "bundles and settings")),
)
"""What the paper numbers or gives a heading, and what it has a table of; each needs code and a test."""


class Source(NamedTuple):
    """A function, class, constant or module that cites a place, or a test that is marked with one."""

    place: str
    file: str
    name: str
    decided: str = ""


class Rule(NamedTuple):
    place: str
    code: list[Source]
    tests: list[Source]

    @property
    def decided(self) -> str:
        return " ".join(source.decided for source in self.code if source.decided)


def citations(tree: ast.Module, file: str) -> Iterator[Source]:
    """Yield each place that a docstring of a module cites, those of constants included."""
    for owner in ast.walk(tree):
        body = getattr(owner, "body", None)
        for index, node in enumerate(body if isinstance(body, list) else []):
            if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
                continue
            if isinstance(node.value.value, str):
                name = _described(owner, body[index - 1] if index else None)
                text = " ".join(node.value.value.replace("\n\n", "\0").split()).replace("\0", "\n")
                for place, decided in re.findall(rf"\[({PLACE})\](?: ([^\n\[]*))?", text):
                    yield Source(place, file, name, decided.strip())


def _described(owner: ast.AST, before: ast.stmt | None) -> str:
    """Return what a string describes: the assignment before it, or what it is the first statement of."""
    if isinstance(before, ast.AnnAssign) and isinstance(before.target, ast.Name):
        return before.target.id
    if isinstance(before, ast.Assign) and isinstance(before.targets[0], ast.Name):
        return before.targets[0].id
    return getattr(owner, "name", "")


def marks(tree: ast.Module, file: str) -> Iterator[Source]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for mark in node.decorator_list:
                if isinstance(mark, ast.Call) and ast.unparse(mark.func) == "pytest.mark.paper":
                    yield from (Source(ast.literal_eval(place), file, node.name) for place in mark.args)


@cache
def rules() -> list[Rule]:
    """Return every place that code cites or a test is marked with, in the order of the paper's numbers."""
    found: dict[str, Rule] = {}
    for layer in ("engine", "projections", "events", "cli", "tests/engine"):  # there is the oracle of Theorem 4
        for source in _read(layer, re.compile(rf"\[{PLACE}\]"), citations):
            found.setdefault(source.place, Rule(source.place, [], [])).code.append(source)
    for source in _read("tests", re.compile(r"@pytest\.mark\.paper"), marks):
        found.setdefault(source.place, Rule(source.place, [], [])).tests.append(source)
    return [found[place] for place in sorted(found)]


def _read(folder: str, hint: re.Pattern[str], read: Callable[[ast.Module, str], Iterator[Source]]) -> Iterator[Source]:
    for path in sorted((ROOT / folder).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if hint.search(text):  # parsing every file takes seconds
            yield from read(ast.parse(text), path.relative_to(ROOT).as_posix())


def table() -> str:
    lines = ["| place | decided | code | shown by |", "|---|---|---|---|"]
    for rule in rules():
        cells = (rule.place, rule.decided, _named(rule.code), _named(rule.tests))
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)


def _named(sources: list[Source]) -> str:
    return "; ".join(f"`{source.file}` `{source.name}`".removesuffix(" ``") for source in sources)


if __name__ == "__main__":
    print(table())
