"""Conversations as a proxy reads them, and a run to serve."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mage_es.engine.run.directory import Run
from mage_es.engine.serving.live import LiveRun
from mage_es.engine.serving.shapes import Reading, Turn
from mage_es.events.errors import LogError


def said(*texts: str, is_new: bool = True, previous: str = "") -> Reading:
    """What a proxy reads of a conversation with these user turns; the replies between are a function of them."""
    turns, name = [], ""
    for text in texts:
        name = hashlib.sha256(f"{name}/{text}".encode()).hexdigest()
        turns.append(Turn(text, name))
    return Reading("m", is_stream=False, turns=turns, is_new=is_new, previous=previous)


@pytest.fixture
def parent(evolved_once: Run, tmp_path: Path) -> Run:
    """A run that learned, alone in its folder."""
    path = tmp_path / "runs" / evolved_once.id
    return Run(evolved_once.id, shutil.copytree(evolved_once.path, path))


@pytest.fixture
def serve(parent: Run) -> Iterator[Callable[..., LiveRun]]:
    """A function that opens the parent's served run; all that it opened are closed at the end."""
    opened: list[LiveRun] = []

    def begin(**options: Any) -> LiveRun:
        opened.append(LiveRun.open(options.pop("run", parent), **options))
        return opened[-1]

    yield begin
    for live in opened:
        with contextlib.suppress(LogError):
            live.close()
