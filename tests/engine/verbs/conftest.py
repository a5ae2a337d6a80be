"""A run on own tasks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mage_es.engine.config import Config
from mage_es.engine.run.directory import Run


@pytest.fixture
def own_run(start: Callable[..., Run], tmp_path: Path) -> Run:
    """A run on a file of sums, all of one task type."""
    rows = [f"What is {k} + {k + 3}?,{2 * k + 3}" for k in range(5, 45)]
    (tmp_path / "mine.csv").write_text("\n".join(["prompt,label", *rows]) + "\n")
    config = Config(
        benchmark=f"tasks/{tmp_path}/mine.csv?scorer=number",
        execution="builtin/analogist",
        iterations=1,
        pool=8,
        anchors=4,
    )
    return start(tmp_path / "runs", config)
