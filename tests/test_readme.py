"""The README says what is: its commands, its tree, its numbers of things."""

import ast
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
LAYERS = ("events", "projections", "engine", "cli")


def purpose(path: Path) -> str:
    """Return the first sentence of a module's docstring."""
    first = " ".join((ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n\n")[0].split())
    return re.split(r"(?<=[a-z0-9`)\"])\.(?:\s|$)", first)[0]


def tree() -> str:
    """Return the tree as the README should show it: one line with one purpose for each file."""
    lines = []
    for layer in LAYERS:
        for folder in sorted({path.parent for path in (ROOT / layer).rglob("*.py")}):
            modules = sorted(folder.glob("*.py"), key=lambda path: (path.name != "__init__.py", path.name))
            name = folder.relative_to(ROOT).as_posix()
            for path in modules:
                title = f"{name}/" if path.name == "__init__.py" else f"  {path.name}"
                lines.append(f"{title:32s} {purpose(path)}")
    return "\n".join(line.rstrip() for line in lines)


def test_the_tree_has_one_line_with_one_purpose_for_each_file() -> None:
    block = re.search(r"<!-- tree -->\n```\n(.*?)\n```\n<!-- /tree -->", README, re.DOTALL)
    assert block
    assert block.group(1) == tree()


def test_both_first_commands_stand_in_the_readme_as_they_are_run() -> None:
    assert "\npython -m pip install . && mage-es demo\n" in README
    assert "\npython -m pip install '.[test]' && python -m pytest -n auto\n" in README


def test_every_command_that_the_readme_shows_exists() -> None:
    from mage_es.cli.app import app

    shown = set(re.findall(r"^(?:\$ )?mage-es ([a-z]+)", README, re.MULTILINE))
    groups = {group.name for group in app.registered_groups}
    commands = {command.name or command.callback.__name__ for command in app.registered_commands if command.callback}
    assert shown
    assert shown <= groups | commands


def test_every_script_that_the_readme_shows_exists() -> None:
    scripts = set(re.findall(r"python (tests/bench/\w+\.py)", README))
    assert scripts
    assert all((ROOT / script).exists() for script in scripts)


def run_block(mark: str, **given: object) -> dict[str, Any]:
    """Run the one Python block of the README that holds a mark, and return its names."""
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    shown = [block for block in blocks if mark in block]
    assert len(shown) == 1
    names: dict[str, Any] = {"__name__": "readme", **given}
    exec(compile(shown[0], "README.md", "exec"), names)
    return names


def test_the_model_of_ones_own_that_the_readme_shows_evolves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def my_client(prompt: str, **how: float) -> SimpleNamespace:
        return SimpleNamespace(text="I cannot say.\nAnswer: 7", prompt_tokens=len(prompt) // 4, completion_tokens=8)

    monkeypatch.chdir(tmp_path)
    summary = run_block("class Served:", my_client=my_client)["summary"]
    assert (summary.state, summary.iterations) == ("finished", 2)
    assert {use.model for use in summary.ledger if use.tier == "execution"} == {"mine/my-model"}


def test_the_property_test_that_the_readme_shows_passes() -> None:
    names = run_block("check_projection(MyProjection")
    test = names["test_my_projection"]
    assert callable(test)
    test()
