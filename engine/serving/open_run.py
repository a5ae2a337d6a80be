"""The verb `open_run`: a run's state at a marker, frozen, to ask which memories it would show for a question."""

from collections.abc import Collection
from pathlib import Path

from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.seams.benchmark import Benchmark
from mage_es.engine.seams.embedder import Embedder
from mage_es.engine.served.frozen import freeze
from mage_es.engine.served.notes import MinSimilarity
from mage_es.engine.serving.bounds import bounds_of
from mage_es.engine.serving.clients import OpenedRun
from mage_es.engine.verbs.decorators import in_thread, typed


@typed
def open_run(
    run: Run | Path | str,
    at: str = "latest",
    *,
    data_dir: Path | str | None = None,
    benchmark: Benchmark | None = None,
    embedder: Embedder | None = None,
    min_similarity: MinSimilarity = "auto",
    task_types: Collection[str] = (),
    max_note_tokens: int = 0,
    layout: str = "",
) -> OpenedRun:
    """Return a run frozen at a marker; `embedder` replaces the one of its configuration.

    A memory whose cosine to a question is below `min_similarity` is left out. "auto" measures the limit for each task
    type: 19 of 20 of the run's own questions, reworded, are as near as that to a memory of another question
    (engine/served/floors.py). 0 lets everything in. Where a learned metric or regression ranks the cases, a single near
    one lets in all that it finds. If `task_types` are given, a question of any other type gets no memory. Notes in what
    `wrap` sends have at most `max_note_tokens` (an upper estimate; 0: no limit), and show cases as `layout` says, such
    as `turns` of the chat or `sections`; by default as the run's own prompts do.

    A run that began with a Python `Benchmark` object needs it again, here as in every other verb.

    Until `wrap` is called it takes no lock and writes nothing, so a run that is still learning can be opened, as can a
    read-only folder.

    Raises `UsageError` if the marker does not exist or is too early, the benchmark's questions are episodes, or an
    option is not valid.
    """
    bounds = bounds_of(min_similarity, task_types, max_note_tokens, layout)
    frozen = freeze(as_run(run), at, data_dir=data_dir, benchmark=benchmark, embedder=embedder, bounds=bounds)
    return OpenedRun(frozen, data_dir=data_dir, benchmark=benchmark, embedder=embedder)


aopen_run = in_thread(open_run)
