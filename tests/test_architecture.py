"""The shape of the project: layers, purity of the core, packaging, and what may not be in it."""

import ast
import re
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ("events", "projections", "engine", "cli")
PURE = [
    *(ROOT / "projections").rglob("*.py"),
    *(ROOT / "engine" / "rules").rglob("*.py"),
    ROOT / "engine" / "decide.py",
]
IMPURE_MODULES = {"time", "random", "uuid", "os", "socket", "subprocess", "asyncio", "datetime", "secrets"}
FILES_ALLOWED = {"lance.py", "snapshots.py"}
"""Projections whose business is to write what can be rebuilt."""


def sources() -> list[Path]:
    return [path for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.py"))]


def imported(path: Path) -> set[str]:
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_from_its_own_layer_and_those_below(path: Path) -> None:
    layer = LAYERS.index(path.relative_to(ROOT).parts[0])
    above = [f"mage_es.{name}" for name in LAYERS[layer + 1 :]]
    assert not [name for name in imported(path) if any(name == a or name.startswith(a + ".") for a in above)]


def test_no_module_imports_itself_by_way_of_others() -> None:
    names = {path: ".".join(("mage_es", *path.relative_to(ROOT).with_suffix("").parts)) for path in sources()}
    names = {path: name.removesuffix(".__init__") for path, name in names.items()}
    known = set(names.values())
    graph = {name: imported(path) & known - {name} for path, name in names.items()}
    # Of `from package.module import thing` both are named; a package that holds the module is no import of its own.
    graph = {
        name: {each for each in found if not any(other.startswith(f"{each}.") for other in found)}
        for name, found in graph.items()
    }
    list(TopologicalSorter(graph).static_order())  # raises CycleError, which names the circle


@pytest.mark.parametrize(
    "path", [path for path in PURE if path.name not in FILES_ALLOWED], ids=lambda path: str(path.relative_to(ROOT))
)
def test_the_pure_core_reaches_no_clock_network_process_or_unseeded_randomness(path: Path) -> None:
    assert not {name.split(".")[0] for name in imported(path)} & IMPURE_MODULES


def test_every_package_is_listed_for_the_wheel() -> None:
    listed = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"])
    found = {"mage_es"}
    for layer in LAYERS:
        for init in (ROOT / layer).rglob("__init__.py"):
            if init.parent.name != "_package":
                found.add("mage_es." + ".".join(init.parent.relative_to(ROOT).parts))
    assert listed == found


def test_every_folder_with_modules_is_a_package() -> None:
    folders = {path.parent for path in sources()}
    assert not [folder for folder in folders if not (folder / "__init__.py").exists()]


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_opens_with_its_purpose_and_stays_readable(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert ast.get_docstring(ast.parse(text))
    assert text.count("\n") <= 400
    for owner in ast.walk(ast.parse(text)):
        for node in getattr(owner, "body", []) if isinstance(owner, ast.Module | ast.ClassDef) else []:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                assert (node.end_lineno or 0) - node.lineno < 60, node.name
                assert node.name.startswith("_") or ast.get_docstring(node), node.name


def test_no_event_type_could_remove_or_edit_a_protected_memory() -> None:
    from mage_es.events.vocabulary import EVENT_TYPES

    removing = [tag for tag in EVENT_TYPES if re.search("delet|remov|edit|eras|chang|prun", tag.split(".")[1])]
    assert removing == ["pattern.pruned"]  # an abstracted pattern is not protected, and its event names nothing else
