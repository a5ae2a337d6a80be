"""`mage-es new` from the outside."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Command = Callable[..., Any]


def test_a_new_benchmark_is_written_where_it_is_said(mage: Command, tmp_path: Path) -> None:
    outcome = mage("new", "benchmark", "mine", "--to", "there")
    assert outcome.code == 0
    assert (tmp_path / "there" / "mine" / "mage_es_mine" / "benchmark.py").is_file()
    assert "Next: cd there/mine && " in outcome.err


def test_what_comes_next_installs_what_it_uses_and_the_packages_own_readme_says_the_same(
    mage: Command, tmp_path: Path
) -> None:
    outcome, steps = mage("new", "benchmark", "mine"), "python -m pip install -e . pytest && python -m pytest"
    assert steps in outcome.err
    assert steps in (tmp_path / "mine" / "README.md").read_text()


def test_a_name_that_is_taken_is_refused_before_anything_is_written(mage: Command, tmp_path: Path) -> None:
    outcome = mage("new", "benchmark", "hotpotqa")
    assert (outcome.code, list(tmp_path.iterdir())) == (2, [])
    assert "There is already a benchmark hotpotqa" in outcome.err
