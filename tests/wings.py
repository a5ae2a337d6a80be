"""The kernel without its wings: `python -m tests.wings [WING ...]` deletes each from a copy and tests the rest.

Rules
    - The copy is the package as it is installed, without the folders and entry points of wings, first on the path.
    - Without each wing alone every module but those of the front door is imported, the command line starts, and a model
      of Python learns from own tasks, is examined, and its run is replayed, and verified unless that is what was
      deleted.
    - Quick tests of the kernel run without all wings but one, and without that one (TOGETHER), since each time takes
      minutes: those that name no module of these, and need nothing that they offer (NEEDING). Tests of four
      rooms ask the worlds of `players`, and would never run if that were gone, too.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
TOGETHER = (
    ("auditing", "bench", "exports", "histories", "providers", "serving", "study", "testing", "upkeep", "viewing"),
    ("players",),
)
"""Every wing once."""
TESTS = (
    *("tests/projections", "tests/events", "tests/engine/agents", "tests/engine/embedders", "tests/engine/models"),
    *("tests/engine/rules", "tests/engine/run", "tests/engine/seams", "tests/engine/session", "tests/engine/verbs"),
)
NEEDING = {
    "players": ("tests/engine/models", "tests/engine/run", "tests/engine/session", "tests/engine/verbs"),
    "providers": ("tests/engine/embedders/test_registry.py", "tests/engine/models/test_registry.py"),
}
"""Tests that name a wing's benchmarks or models in settings, as a user does."""

LEFT = """
import importlib, json, pkgutil, tempfile
import mage_es
from mage_es.engine.seams.plugins import plugins

for module in pkgutil.walk_packages(mage_es.__path__, "mage_es."):
    if not module.ispkg and module.name.count(".") == 1:  # the front door, whose names may be the wing's
        continue
    try:
        importlib.import_module(module.name)
    except (ModuleNotFoundError, mage_es.PrerequisiteError) as error:  # only a library that few have may be missing
        if "mage_es" in (getattr(error, "name", "") or ""):
            raise


class Adder:
    name = "mine/adder"

    async def complete(self, request):
        a, b = [word for word in request.prompt.replace("?", " ").split() if word.isdigit()][-2:]
        return mage_es.Completion(text=f"Answer: {int(a) + int(b) // 2 * 2}", input_tokens=1, output_tokens=1)


class Teacher:
    name = "mine/teacher"

    async def complete(self, request):
        lists = ("skills", "task_types", "memories", "principles", "briefs", "tools", "children")
        nothing = json.dumps({"recipe": None, **{name: [] for name in lists}})
        return mage_es.Completion(text=nothing, input_tokens=1, output_tokens=1)


tasks = [mage_es.Task(question=f"How much is {a} plus {b}?", answer=a + b) for a in range(3, 9) for b in range(6)]
config = mage_es.Config(benchmark="sums", iterations=1, pool=8, held_out=5, anchors=4)
models = mage_es.Models(Adder(), Teacher())
with tempfile.TemporaryDirectory() as folder:
    run = mage_es.evolve(config, tasks=tasks, scorer="number", models=models, runs_dir=folder).run_id
    found = mage_es.find_run(folder, run)
    assert mage_es.examine(found, execution=Adder()).total == 5
    assert all(check.equal for check in mage_es.replay(found).checks)
    assert "verify" not in plugins("mage_es.verbs") or mage_es.verify(found).ok
print("own tasks are learned, examined and replayed")
"""


def copied(wings: Sequence[str], to: Path) -> None:
    """Lay out the package in a folder as an installer would, without some wings."""
    for package, source in sorted(PROJECT["tool"]["setuptools"]["package-dir"].items()):
        left_out = shutil.ignore_patterns("__pycache__", "_package", "web", "pictures")
        shutil.copytree(ROOT / source, to / package.replace(".", "/"), ignore=left_out, dirs_exist_ok=True)
    for wing in wings:
        shutil.rmtree(to / "mage_es" / "engine" / wing)
    info = to / f"mage_es-{PROJECT['project']['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: mage-es\nVersion: {PROJECT['project']['version']}\n")
    (info / "entry_points.txt").write_text("\n".join(entry_points(wings)))


def entry_points(wings: Sequence[str]) -> Iterator[str]:
    for group, entries in PROJECT["project"]["entry-points"].items():
        yield f"[{group}]"
        for name, value in entries.items():
            if not any(f".engine.{wing}." in value for wing in wings):
                yield f"{name} = {value}"


def kernel_tests(wings: Sequence[str]) -> list[str]:
    """Return the files of tests that need nothing of the wings, nor import what does."""
    texts = {path: path.read_text(encoding="utf-8") for path in (ROOT / "tests").rglob("*.py")}
    named = [f"engine.{wing}" for wing in wings]
    while left_out := [path for path, text in texts.items() if any(name in text for name in named)]:
        named = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in left_out]
        texts = {path: text for path, text in texts.items() if path not in left_out}
    rooms, needing = [ROOT / name for name in TESTS], [ROOT / name for wing in wings for name in NEEDING.get(wing, ())]
    tests = (path for path in texts if path.name.startswith("test_") and any(map(path.is_relative_to, rooms)))
    return sorted(str(path) for path in tests if not any(map(path.is_relative_to, needing)))


def run_without(wings: Sequence[str], *commands: Sequence[str]) -> None:
    """Run commands of Python beside a copy that lacks some wings. Raises `CalledProcessError` if one fails."""
    with tempfile.TemporaryDirectory() as folder:
        copied(wings, Path(folder))
        place = {**os.environ, "PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}
        for words in commands:
            # Not in the checkout: what an installation leaves there lists the wings' entry points, too.
            done = subprocess.run([sys.executable, *words], cwd=folder, env=place, capture_output=True, text=True)
            print(f"without {', '.join(wings)}: {(done.stdout.strip().splitlines() or [''])[-1]}", flush=True)
            if done.returncode:
                print(done.stdout, done.stderr, file=sys.stderr)
                done.check_returncode()


if __name__ == "__main__":
    chosen = sys.argv[1:] or [wing for wings in TOGETHER for wing in wings]
    for wing in chosen:
        run_without((wing,), ("-c", LEFT), ("-m", "mage_es", "--version"))
    for wings in [(wing,) for wing in sys.argv[1:]] or TOGETHER:
        quick = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not slow", "-n", "auto")
        run_without(wings, (*quick, *kernel_tests(wings)))
