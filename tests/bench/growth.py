"""What a history costs as it grows: to fold, to open, to compare, to fork, to retrieve from.

    python -m tests.bench.growth                         10^4, 10^5 and 10^6 events
    python -m tests.bench.growth --events 10000 100000   a quick look

A run of wordmath with the events of tests/bench/long_run.py, of a thousand about 105 memories, of its own questions in
other words, and snapshots at its first and last iteration. `retrieval` is the choice of memories for a question whose
type and vector are known, `a bundle` all that `ask --bundle` reports: medians of questions held out. `view` is the
reading before its first page, `a chunk` the most that a part of a table takes then. Each other figure
is CPU seconds, the best of three processes, and MiB the peak of the one that needs most. The exponent is the slope of
the logarithms between the last two sizes: 1 grows with the history, 0 not at all.
"""

import argparse
import json
import math
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import mage_es
from mage_es.engine.loop import keep
from mage_es.engine.models.registry import Models
from mage_es.engine.rules.choice import query_of
from mage_es.engine.rules.retrieval import NEAREST, retrieve
from mage_es.engine.run.directory import Run, as_run, create_run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import open_world, state_of
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.served.frozen import FrozenRun
from mage_es.engine.session.beginning import opening
from mage_es.engine.session.session import Session
from mage_es.engine.viewing.chunks import Viewed
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import Draft, IterationClosed
from mage_es.projections.fold import State, fold
from mage_es.projections.snapshot_files import COVERED
from tests.bench.engine_cost import Instant
from tests.bench.long_run import Cases, commits
from tests.bench.tables import print_machine, print_table

ROUNDS = 3
MEMORIES = 140
"""How many an iteration of 200 questions brings: a tenth of all events."""
COMMIT = 10_000
"""How many events are made durable at once: the smaller commits of a run take longer, and the same room."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--job", nargs=2, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(timed(as_run(Path(options.job[1])), JOBS[options.job[0]])))
        return
    rows = []
    for events in options.events:
        with tempfile.TemporaryDirectory() as folder:
            rows.append(measured(written(Path(folder), events)))
    header = ("events", "memories", "log, MiB", *JOBS, "MiB at most")
    cells = [[f"{row[0]:,.0f}", f"{row[1]:,.0f}", *(f"{each:.3g}" for each in row[2:])] for row in rows]
    if len(rows) > 1:
        cells.append(["exponent", *(f"{slope(rows[-2], rows[-1], column):.2f}" for column in range(1, len(header)))])
    print_table("CPU seconds by the length of a history", header, cells)
    print_machine("python -m tests.bench.growth", ("msgspec", "pyarrow", "rustworkx"))


def slope(before: list[float], after: list[float], column: int) -> float:
    return math.log(after[column] / before[column]) / math.log(after[0] / before[0])


def written(folder: Path, events: int) -> Run:
    config = mage_es.Config(benchmark="wordmath", iterations=1, pool=40, guard="off")
    run = create_run(folder, benchmark="wordmath", seed=config.seed)
    with run.begin() as log:
        world, models = open_world(config, data_dir=None), Models(Instant(), None)
        session = Session(run=run, world=world, log=log, state=State(), models=models, runtime=Runtime())
        session.do(opening(session))
        learned = [(each.task_type, each.question) for each in map(world.questions.get, world.splits.evolution) if each]
        cases = Cases(learned, world.embedder.encode, MEMORIES)
        made = commits(dimension=world.embedder.dimension, task_types=world.setting.task_types, cases=cases)
        waiting, snapshots = list[Draft](), 0
        for commit in filter(None, made):
            closing = commit[-1].event
            is_last = log.head.seq + len(waiting) >= events and isinstance(closing, IterationClosed)
            is_kept = is_last or (isinstance(closing, IterationClosed) and not snapshots)
            if not is_kept:
                waiting += commit
            if is_kept or len(waiting) >= COMMIT:
                log.append(waiting)
                waiting = []
            if is_kept:
                snapshots += 1
                closed(session, log, commit[-1], closing)
            if is_last:
                return run
    raise AssertionError("a made-up run has no end")


def closed(session: Session, log: Log, draft: Draft, closing: IterationClosed) -> None:
    """Close an iteration with the digests of its state, and keep that."""
    fold(LogReader(session.run.log_path), state=session.state)
    digests = session.state.digests()
    event = IterationClosed(iteration=closing.iteration, digests=digests)
    log.append([Draft(event=event, iteration=draft.iteration, phase=draft.phase, ordinal=draft.ordinal)])
    fold(LogReader(session.run.log_path), state=session.state)  # a snapshot is of a closed iteration, or never used
    keep(session, digests)


def measured(run: Run) -> list[float]:
    """Return events, memories, MiB of the log, CPU seconds of each job, and the most MiB of one."""
    size = sum(path.stat().st_size for path in run.log_path.rglob("*") if path.is_file()) / 2**20
    found, most, counted = [], 0.0, (0, 0)
    for name in JOBS:
        rounds = [ran(name, run) for _ in range(ROUNDS)]
        found.append(min(seconds for seconds, *_ in rounds))
        most = max(most, *(peak for _, peak, *_ in rounds))
        counted = (int(rounds[0][2]), int(rounds[0][3]))
    return [*map(float, counted), size, *found, most]


def ran(name: str, run: Run) -> list[float]:
    command = (sys.executable, "-m", "tests.bench.growth", "--job", name, str(run.path))
    found: list[float] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)
    return found


def timed(run: Run, work: Callable[[Run], float | None]) -> list[float]:
    """Return the CPU seconds that a job took or says that it took, its peak of MiB, the run's events and memories."""
    began = time.process_time()
    took = work(run)
    seconds = time.process_time() - began if took is None else took
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    state = state_of(run, reader := LogReader(run.log_path))
    return [seconds, peak, reader.head.seq, sum(1 for _ in state.memory.rows())]


def whole(run: Run) -> None:
    fold(LogReader(run.log_path))


def opened(run: Run) -> None:
    """Bring all that a snapshot has, as `resume` does; what only looks asks for less."""
    state = state_of(run, LogReader(run.log_path))
    for view in COVERED:
        getattr(state, view.name)


def compared(run: Run) -> None:
    mage_es.diff(run, run, at=("iter-0", "latest"))


def forked(run: Run) -> None:
    with tempfile.TemporaryDirectory(dir=run.path.parent) as folder:
        mage_es.fork(run, runs_dir=folder)


def asked(run: Run) -> float:
    frozen = mage_es.open_run(run)
    return median(frozen, lambda question: frozen.bundle(question.question, question.task_type))


def searched(run: Run) -> float:
    frozen = mage_es.open_run(run)
    world, state, terms = frozen.world, frozen.state, frozen.world.setting.terms
    questions = held_out(frozen)
    vectors = world.embedder.encode([question.question for question in questions])
    queries = {q.id: query_of(world.setting, state, q, q.task_type, v) for q, v in zip(questions, vectors, strict=True)}
    return median(
        frozen,
        lambda question: retrieve(
            NEAREST, queries[question.id], state.memory, terms._replace(floor=frozen.floor(question.task_type))
        ),
    )


def held_out(frozen: FrozenRun) -> list[Question]:
    return [frozen.world.questions[name] for name in frozen.world.setting.held_out[:100]]


def median(frozen: FrozenRun, work: Callable[[Question], object]) -> float:
    """Return the median CPU seconds that some work takes for a question held out."""
    took = list[float]()
    for question in held_out(frozen):
        if not took:
            work(question)  # what is computed once
        began = time.process_time()
        work(question)
        took.append(time.process_time() - began)
    return statistics.median(took)


def looked(run: Run) -> None:
    """Read a run as `view` does before it shows its first page."""
    Viewed(run).chunk(f"{run.id}/index")


def paged(run: Run) -> float:
    """Return the most CPU seconds of a chunk: of each table the first, the middle and the last."""
    viewed, tables, most = Viewed(run), dict[str, list[str]](), 0.0
    for name in viewed.names():
        tables.setdefault(name.rpartition("/")[2].rpartition("-")[0], []).append(name)
    for table, names in tables.items():
        if table not in ("", "verify"):  # `verify` is a command of its own, the card the list's
            for name in dict.fromkeys((names[0], names[len(names) // 2], names[-1])):
                began = time.process_time()
                viewed.chunk(name)
                most = max(most, time.process_time() - began)
    return most


JOBS: dict[str, Callable[[Run], float | None]] = {
    "fold": whole, "open": opened, "diff": compared, "fork": forked, "retrieval": searched,
    "a bundle": asked, "view": looked, "a chunk": paged,
}  # fmt: skip

if __name__ == "__main__":
    main()
