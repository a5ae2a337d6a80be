"""How help is laid out."""

import re

from mage_es.cli.app import app
from mage_es.cli.help import COMMANDS, OPTIONS
from mage_es.cli.options import CONFIG
from tests.cli.conftest import Command


def named() -> list[str]:
    """Return every command, those of groups with the group's name."""
    grouped = [
        f"{group.name} {each.name}" for group in app.registered_groups for each in _commands(group.typer_instance)
    ]
    return [*(str(each.name or each.callback.__name__) for each in _commands(app)), *grouped]


def _commands(of: object) -> list[object]:
    return list(of.registered_commands)  # type: ignore[attr-defined]


def heads(shown: str) -> list[str]:
    return re.findall(r"^(\S.*):$", shown, flags=re.MULTILINE)


def test_the_options_of_evolve_stand_in_panels_the_common_ones_first(mage: Command) -> None:
    shown = mage("evolve", "--help").out
    assert heads(shown) == ["Arguments", *OPTIONS[:-1]]  # the last is for commands that name what comes first
    run, models = shown.index("\nRun:"), shown.index("\nModels:")
    assert run < shown.index("--iterations INTEGER") < models < shown.index("--execution MODEL")
    assert shown.index("Rules to change:") < shown.index("--catastrophic-p NUMBER")


def test_the_options_that_try_needs_first_come_before_everything_else(mage: Command) -> None:
    first, _, rest = mage("try", "--help").out.partition("Everything else:")
    assert all(f"  {option} " in first for option in ("--columns", "--execution", "--max-usd", "--runs-dir"))
    assert "  --catastrophic-p " in rest and len(first.splitlines()) < len(rest.splitlines()) / 2


def test_commands_stand_in_panels_with_the_whole_of_what_they_do(mage: Command) -> None:
    shown = mage("--help").out
    assert heads(shown) == ["Options", *COMMANDS[:-1]]
    assert "..." not in shown.partition("Learn:")[2]


def test_each_command_has_an_example_takes_json_and_writes_kinds_of_values_as_all_do(mage: Command) -> None:
    for command in named():
        options, _, example = mage(*command.split(), "--help").out.partition("Example:\n")
        assert example.startswith("    ") and f"mage-es {command}" in example, command
        assert "--json" in options, command
        listed = options.partition("\nOptions:\n")[2]
        kinds = re.findall(r"^  --?[a-z-]+(?:, -\w)? ([^ /-]\S*)", listed, flags=re.MULTILINE)
        assert all(re.fullmatch(r"[A-Z=,.]+|\w+(\|\w+)+", kind) for kind in kinds), (command, kinds)


def test_resume_lists_what_it_takes_and_none_of_what_it_only_compares(mage: Command) -> None:
    shown = mage("resume", "--help").out
    listed = set(re.findall(r"--([a-z-]+)", shown.partition("Arguments:")[2].partition("Example:")[0]))
    assert {"workers", "max-usd", "max-iterations", "data-dir"} <= listed
    assert not listed & {name.replace("_", "-") for name in CONFIG}
    assert "only compared" in " ".join(shown.split())


def test_a_group_without_a_command_prints_its_help_once(mage: Command) -> None:
    done = mage("key")
    assert done.code == 2 and done.err.startswith("Usage: mage-es key") and done.err.count("Usage:") == 1
