"""The verb `new`: write the skeleton of a plug-in into a new folder."""

import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from mage_es.engine.seams.plugins import Group
from mage_es.events.errors import UsageError


class Kind(NamedTuple):
    """A kind of plug-in: the object that its entry point names, how to try it, and what its README says about it."""

    offers: str
    usage: str
    hint: str
    group: Group | None = None
    data: Mapping[str, str] = {}


KINDS: Mapping[str, Kind] = {
    "benchmark": Kind(
        "BENCHMARK",
        "mage-es fetch --data-dir data\nmage-es evolve <name> --data-dir data --iterations 2 --pool 4 --anchors 0",
        "it says what a record is and how a reply is scored. `data/<name>/` holds a few\n"
        "records to begin with. What the rules must know of it are attributes of its definition (`Traits` in\n"
        "`mage_es.engine.seams.benchmark`).",
        "mage_es.benchmarks",
        {"data/{name}/train.jsonl": "train.jsonl", "data/{name}/test.jsonl": "test.jsonl"},
    ),
    "environment": Kind(
        "open_benchmark",
        "mage-es evolve <name> --execution builtin/copier --iterations 2 --pool 4 --held-out 4 --anchors 0",
        "it plays an episode of each task. An environment that shows entities and\n"
        "relations is explored, and has a graph; Crafter in `mage_es.engine.bench` is one.",
        "mage_es.environments",
    ),
    "model": Kind(
        "Model",
        "mage-es doctor wordmath --execution '<name>/small?option=value'",
        "its `complete` gets a request and returns a reply with its tokens.",
        "mage_es.models",
    ),
    "embedder": Kind(
        "Embedder",
        "mage-es evolve wordmath --embedder '<name>/small?option=value' --iterations 2 --pool 20",
        "its `encode` turns texts into unit vectors.",
        "mage_es.embedders",
    ),
    "scorer": Kind(
        "score",
        "mage-es evolve --tasks my.jsonl --scorer <module>.scorer:score",
        "`score` gets a reply and the task, and says how right it is.",
    ),
}
_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
_ENTRY = """
# This line is what makes mage-es find <name> once the package is installed.
[project.entry-points."{group}"]
<name> = "<module>.<kind>:{offers}"
"""


def write_skeleton(kind: str, name: str, parent: Path) -> tuple[Path, ...]:
    """Write the skeleton of a plug-in of one of the `KINDS`, called `name`, into `parent/name`; return the files.

    Raises:
        UsageError: The name is invalid, or the folder exists; nothing is written then.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"{name!r} is not a valid name: use lower-case letters, digits and hyphens, as in my-{kind}.")
    folder, what = parent / name, KINDS[kind]
    if folder.exists():
        raise UsageError(f"{folder} exists already: choose another name, or another folder with --to.")
    article = "An" if kind[0] in "aeiou" else "A"
    values = {
        "usage": what.usage,
        "hint": what.hint,
        "title": f"{article} {kind}",
        "entry": _ENTRY.format(group=what.group, offers=what.offers) if what.group else "",
        "kind": kind,
        "name": name,
        "module": f"mage_es_{name.replace('-', '_')}",
    }
    targets = {
        "pyproject.toml": "pyproject.toml",
        "README.md": "readme.md",
        "{module}/__init__.py": "init.py",
        "{module}/{kind}.py": f"{kind}.py",
        "tests/test_{kind}.py": f"{kind}_test.py",
        **what.data,
    }
    written = []
    for target, template in targets.items():
        path = folder / _filled(target, values, marks="{}")
        path.parent.mkdir(parents=True, exist_ok=True)
        text = files("mage_es.engine.testing.skeleton").joinpath(f"{template}.txt").read_text(encoding="utf-8")
        path.write_text(_filled(text, values, marks="<>"), encoding="utf-8")
        written.append(path)
    return tuple(written)


def _filled(text: str, values: dict[str, str], *, marks: str) -> str:
    """Replace `<name>` (or a name between other marks) with its value, in which other names are replaced in turn."""
    for name, value in values.items():
        text = text.replace(f"{marks[0]}{name}{marks[1]}", value)
    return text
