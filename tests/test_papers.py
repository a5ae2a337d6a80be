"""The papers say what is: their Python runs, their commands exist with the flags they show, their scripts are there."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from mage_es.cli import main
from tests.cli.leaves import parsed

ROOT = Path(__file__).resolve().parent.parent
PAPERS = (
    *("README.md", "CONTRIBUTING.md", "events/README.md", "projections/README.md", "engine/README.md"),
    *("cli/README.md", "cli/TUTORIAL.md", "tests/README.md", "tests/bench/FIGURES.md"),
)
QUICK = {("verify",), ("replay",), ("export",), ("memory", "list"), ("runs", "list"), ("runs", "show"), ("log", "show")}
"""Commands that are run as well, where they name no other run than the newest and no other moment than the last."""


class Block(NamedTuple):
    """A fenced block: its paper and line, the language in its fence, and what it says."""

    place: str
    language: str
    text: str


def blocks() -> Iterator[Block]:
    for paper in PAPERS:
        if (ROOT / paper).is_file():
            text = (ROOT / paper).read_text(encoding="utf-8")
            for found in re.finditer(r"^```([\w-]*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
                place = f"{paper}:{text[: found.start()].count(chr(10)) + 1}"
                yield Block(place, found[1], found[2])


PYTHON = [block for block in blocks() if block.language == "python"]


def command_lines() -> Iterator[tuple[str, list[str]]]:
    """Yield each `mage-es` command of a block, with its place and its words."""
    for block in blocks():
        if block.language != "python":
            for line in block.text.replace("\\\n", " ").splitlines():
                for part in re.split(r" (?:&&|\|) |; ", line.removeprefix("$ ")):
                    if part.startswith("mage-es ") and "..." not in part:
                        yield block.place, shlex.split(part.partition(" <")[0], comments=True)[1:]


async def my_client(prompt: str, **how: float) -> SimpleNamespace:
    """Answer as a client of the reader's own does, who is shown how to plug it in."""
    return SimpleNamespace(text="I cannot say.\nAnswer: 7", input_tokens=len(prompt) // 4, output_tokens=8)


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with one small finished run, `runs/first`; only copy it."""
    folder = tmp_path_factory.mktemp("papers")
    small = ("--iterations", "2", "--pool", "20", "--held-out", "20", "--anchors", "10")
    with pytest.raises(SystemExit) as exited:
        main(["evolve", "wordmath", *small, "--run-id", "first", "--runs-dir", str(folder / "runs")])
    assert not exited.value.code
    return folder


@pytest.fixture
def folder(finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(finished, tmp_path / "work")
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "work"


def test_every_paper_is_there() -> None:
    assert not [paper for paper in PAPERS if not (ROOT / paper).is_file()]


@pytest.mark.slow
@pytest.mark.parametrize("block", PYTHON, ids=lambda block: block.place)
def test_a_block_of_python_runs_and_the_tests_in_it_pass(block: Block, folder: Path) -> None:
    names: dict[str, Any] = {"__name__": "paper", "my_client": my_client}
    exec(compile(block.text, block.place, "exec"), names)
    for test in [each for name, each in names.items() if name.startswith("test_")]:
        test()


def test_every_command_that_is_shown_exists_with_its_flags() -> None:
    shown = list(command_lines())
    assert len(shown) > 20
    for place, words in shown:
        try:
            parsed(words)
        except Exception as error:
            pytest.fail(f"{place}: mage-es {shlex.join(words)}: {type(error).__name__}: {error}")


@pytest.mark.slow
def test_every_command_that_needs_only_a_finished_run_is_done(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    done = 0
    for place, words in command_lines():
        named, given = parsed(words)
        moment, run = given.get("until"), given.get("run")
        if named in QUICK and moment is None and run is None and not given.get("head"):
            with pytest.raises(SystemExit) as exited:
                main(words)
            assert not exited.value.code, f"{place}: mage-es {shlex.join(words)}\n{capfd.readouterr().err}"
            done += 1
    assert done >= 3


def test_every_script_module_and_file_that_is_named_exists() -> None:
    named: list[tuple[str, str, Callable[[str], Path]]] = [
        ("module", r"python -m (tests[\w.]*)", lambda name: ROOT / name.replace(".", "/")),
        ("script", r"python ((?:tests|engine|events)/[\w/]+\.py)", lambda name: ROOT / name),
    ]
    papers = {(ROOT / paper).resolve() for paper in PAPERS}
    for paper in PAPERS:
        text = (ROOT / paper).read_text(encoding="utf-8") if (ROOT / paper).is_file() else ""
        for what, pattern, path_of in named:
            for name in re.findall(pattern, text):
                path = path_of(name.rstrip("."))
                assert path.exists() or path.with_suffix(".py").exists(), f"{paper}: no {what} {name}"
        for link in re.findall(r"\]\(([^)#:\s]+)(?:#[\w-]*)?\)", text):
            path = (ROOT / paper).parent.joinpath(link).resolve()
            assert path.exists() or path in papers, f"{paper}: a link to {link}, which does not exist"


def test_the_test_command_that_ci_takes_from_the_readme_is_there_and_the_readme_is_short() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    [pattern] = re.findall(r'grep -m1 -E "([^"]+)" README\.md', ci)
    assert re.search(pattern, readme, re.MULTILINE)
    assert "\npython -m pip install . && mage-es demo\n" in readme
    assert len(readme.splitlines()) <= 250
