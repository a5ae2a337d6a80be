"""The verb `new`: write the skeleton of a plug-in into a new folder."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

from mage_es.events.errors import UsageError

FILES = {
    "pyproject.toml": "pyproject.toml.txt",
    "README.md": "readme.md.txt",
    "{module}/__init__.py": "init.py.txt",
    "{module}/benchmark.py": "benchmark.py.txt",
    "data/{name}/train.jsonl": "train.jsonl.txt",
    "data/{name}/test.jsonl": "test.jsonl.txt",
    "tests/test_benchmark.py": "test_benchmark.py.txt",
}
_NAME = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")


def write_skeleton(name: str, parent: Path) -> tuple[Path, ...]:
    """Write the skeleton of a benchmark called `name` into `parent/name`; return the files.

    Raises:
        UsageError: The name is invalid, or the folder exists; nothing is written then.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} is not a valid benchmark name: use lower-case letters, digits and hyphens, as in my-tasks."
        )
    folder = parent / name
    if folder.exists():
        raise UsageError(f"{folder} exists already: choose another name, or another folder with --to.")
    values = {"name": name, "module": f"mage_es_{name.replace('-', '_')}"}
    written = []
    for target, template in FILES.items():
        path = folder / _filled(target, values, marks="{}")
        path.parent.mkdir(parents=True, exist_ok=True)
        text = files("mage_es.engine.verbs.skeleton").joinpath(template).read_text(encoding="utf-8")
        path.write_text(_filled(text, values, marks="<>"), encoding="utf-8")
        written.append(path)
    return tuple(written)


def _filled(text: str, values: dict[str, str], *, marks: str) -> str:
    """Replace `<name>` (or what other marks enclose) by its value."""
    for name, value in values.items():
        text = text.replace(f"{marks[0]}{name}{marks[1]}", value)
    return text
