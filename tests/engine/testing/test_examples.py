"""The examples in the package's own docstring are tests, and they pass."""

from __future__ import annotations

import re
import textwrap

import pytest

import mage_es.engine.testing as testing


def examples() -> list[str]:
    """Return the indented code blocks of the docstring, in order."""
    blocks = re.findall(r"::\n\n((?:    .*\n|\n)+)", f"{testing.__doc__}\n")
    return [textwrap.dedent(block).strip() for block in blocks]


@pytest.mark.slow
@pytest.mark.parametrize("source", examples(), ids=["projection", "bandit", "curriculum", "benchmark"])
def test_an_example_is_a_test_of_about_ten_lines_that_passes(source: str) -> None:
    assert sum(bool(line.strip()) for line in source.splitlines()) <= 12
    names: dict[str, object] = {}
    exec(compile(source, "example", "exec"), names)
    [test] = [value for name, value in names.items() if name.startswith("test_") and callable(value)]
    test()


def test_every_public_name_is_there_and_says_what_it_is() -> None:
    assert all(getattr(testing, name).__doc__ for name in testing.__all__)
