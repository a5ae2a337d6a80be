"""The verb `open_run`: a run's state at a marker, frozen, to ask for what it would put before a question."""

from __future__ import annotations

from pathlib import Path

from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.seams.benchmark import Benchmark
from mage_es.engine.seams.embedder import Embedder
from mage_es.engine.serving.clients import OpenedRun
from mage_es.engine.serving.frozen import freeze
from mage_es.engine.verbs.forms import in_thread, typed


@typed
def open_run(
    run: Run | Path | str,
    at: str = "latest",
    *,
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
    embedder: Embedder | None = None,
) -> OpenedRun:
    """Return a run frozen at a marker; `embedder` replaces the one of its configuration.

    A run that began with a `Benchmark` object of Python's needs it again, here as in every other verb.

    Until `wrap` is called it takes no lock and writes nothing, so a run that is still learning can be opened, and a
    folder that is read-only.

    Raises `UsageError` where the marker does not exist or is too early, or the benchmark's questions are episodes.
    """
    frozen = freeze(as_run(run), at, data_dir=data_dir, benchmark=benchmark, embedder=embedder)
    return OpenedRun(frozen, data_dir=data_dir, benchmark=benchmark, embedder=embedder)


aopen_run = in_thread(open_run)
