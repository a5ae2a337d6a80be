"""Harm done to a real log, one harm at a time, and what becomes of it.

    python -m tests.events.damage --cases 8000

A case takes one of three small runs (at rest; killed with a tail that is not sealed; killed while sealing), harms one
byte range of one of its files, and then reads it, folds it from its snapshots, verifies it, and opens it for writing.

    noticed     `verify` finds it and names the file, and everything else refuses or gives the true events
    harmless    `verify` finds nothing and everything gives the true events; allowed only of caches (a snapshot, and the
                text of LOCK, without which a reader withholds the last commit until a writer has opened the log), and
                of a file that is missing while the log has its events twice, because that is a step of sealing
    wrong       events or a state that were never recorded, or fewer than were acknowledged
    missed      not noticed, in a file that is no cache
    unnamed     noticed, but no finding names the file that was harmed, or none says which events are affected
    stray       an exception that is not in the tree of `mage_es.events.errors`
    crash       the interpreter died

Cases run in child processes, so that a crash of the interpreter is seen and counted.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import NamedTuple

from mage_es.events.care import verify_log
from mage_es.events.errors import MageError
from mage_es.events.log import Log, LogReader
from mage_es.projections.fold import State, fold
from mage_es.projections.snapshot_files import latest_snapshot, write_snapshot
from tests.events.samples import abandon, bits, clock, facts
from tests.kit.stages import drafts_of
from tests.kit.strategies import history

ROOT = Path(__file__).resolve().parents[2]
STATES = ("rest", "killed", "sealing")
KINDS = ("flip", "zeros", "garbage", "cut", "extra", "twice", "empty", "missing")
SECTOR = 512
FOOTER = 2048
BAD = ("wrong", "missed", "unnamed", "stray", "crash")


class Case(NamedTuple):
    """One harm: which run, which of its files, what is done to it."""

    state: str
    file: str
    kind: str
    seed: int


class Truth(NamedTuple):
    """What a run holds: all facts, the facts without the last commit, those from event `since` on; the state's digests.

    What opening may change is the events that are in write-ahead files, from `since` on.
    """

    facts: bytes
    all_but_last: bytes
    since: int
    unsealed: bytes
    digests: bytes


class Result(NamedTuple):
    """What became of a case."""

    case: Case
    outcome: str
    detail: str


# ------------------------------------------------------------ the runs


def build(folder: Path) -> None:
    """Write the three runs."""
    commits = list(drafts_of(history(seed=3, iterations=4, questions=2)))
    sealed, tail = commits[:-12], commits[-12:]
    for state in STATES:
        run = folder / state
        for part in range(3):
            third = len(sealed) // 3
            batches = sealed[part * third : (part + 1) * third if part < 2 else None]
            path = run / "log"
            with Log.open(path, clock=clock()) if part else Log.create(path, run="r1", clock=clock()) as log:
                for batch in batches:
                    log.append(batch)
            _snapshot(run)
        if state != "rest":
            log = Log.open(run / "log", clock=clock())
            for batch in tail:
                log.append(batch)
            abandon(log)
        if state == "sealing":
            _stop_sealing(run / "log")


def _snapshot(run: Path) -> None:
    reader = LogReader(run / "log")
    closed = [record.seq for record in reader.records() if type(record.event).__name__ == "IterationClosed"]
    write_snapshot(run / "snapshots", fold(reader, until=closed[-1]), chain=reader.head.chain)


def _stop_sealing(path: Path) -> None:
    """Put the log where a writer is killed when its segment has its name and its write-ahead file is still there."""
    before = {file: file.read_bytes() for file in (path / "wal").iterdir()}
    Log.open(path, clock=clock()).close()
    for file, data in before.items():
        file.write_bytes(data)


def truth(run: Path) -> Truth:
    """Return what the run holds."""
    records = list(LogReader(run / "log").records())
    last = records[-1].commit
    known = facts(records)
    since = min(int(file.stem) for file in (run / "log" / "wal").iterdir())
    return Truth(
        facts=bits(known),
        all_but_last=bits(record for record in known if record.commit != last),
        since=since,
        unsealed=bits(record for record in known if record.seq >= since),
        digests=bits(fold(LogReader(run / "log")).digests()),
    )


# ------------------------------------------------------------ the harm


def cases(base: Path, count: int, *, seed: int) -> Iterator[Case]:
    """Yield cases that take every kind of harm to every file of every run, in a random order, again and again."""
    every = [(state, file, kind) for state in STATES for file in sorted(_files(base / state)) for kind in KINDS]
    Random(seed).shuffle(every)
    for number in range(count):
        yield Case(*every[number % len(every)], seed * 1_000_003 + number)


def _files(run: Path) -> list[str]:
    found = [file for file in run.rglob("*") if file.is_file() and file.stat().st_size]
    return [str(file.relative_to(run)) for file in found]


def harm(file: Path, kind: str, random: Random) -> None:
    """Change a file so that its bytes are different ones afterwards."""
    data = file.read_bytes()
    start = random.randrange(len(data))
    if file.suffix == ".parquet" and random.random() < 0.5:
        start = max(len(data) - FOOTER, 0) + random.randrange(min(FOOTER, len(data)))
    if kind == "kill":  # of the harness itself, to see that it notices
        os.kill(os.getpid(), signal.SIGSEGV)
    elif kind == "missing":
        file.unlink()
    elif kind == "cut":
        file.write_bytes(data[:start])
    elif kind == "extra":
        file.write_bytes(data + random.randbytes(random.randint(1, SECTOR)))
    elif kind in ("twice", "empty"):
        file.write_bytes(data + data if kind == "twice" else b"")
    elif kind == "flip":
        file.write_bytes(data[:start] + bytes([data[start] ^ 1 << random.randrange(8)]) + data[start + 1 :])
    else:
        start, size = (start - start % SECTOR, SECTOR) if kind == "zeros" else (start, 64)
        size = min(size, len(data) - start)
        changed = bytes(size) if kind == "zeros" else random.randbytes(size)
        file.write_bytes(data[:start] + changed + data[start + size :])
        if changed == data[start : start + size]:
            harm(file, "flip", random)


# ------------------------------------------------------------ what becomes of it


def judge(base: Path, case: Case, known: Truth, work: Path) -> Result:
    """Harm a copy of a run, use it in every way, and say what became of it."""
    run = work / "run"
    shutil.copytree(base / case.state, run)
    try:
        harm(run / case.file, case.kind, Random(case.seed))
        return Result(case, *_outcome(run, case, known))
    finally:
        shutil.rmtree(run)


def _outcome(run: Path, case: Case, known: Truth) -> tuple[str, str]:
    is_cache = case.file.startswith("snapshots") or case.file == "log/LOCK"
    is_double = case.kind == "missing" and _has_twin(run / "log", Path(case.file).name)
    right = {known.facts, known.all_but_last} if case.file == "log/LOCK" else {known.facts}
    uses: list[tuple[str, Callable[[], bytes], set[bytes]]] = [
        ("read", lambda: bits(facts(LogReader(run / "log").records())), right),
        ("fold", lambda: bits(_state(run).digests()), {known.digests}),
        ("verify", lambda: _findings(run / "log", run / case.file), {b"", b"found"}),
        ("open", lambda: _opened(run / "log", known.since), {known.unsealed}),
    ]
    noticed, answers = False, {}
    for name, use, allowed in uses:
        if name == "fold" and case.file == "log/LOCK":
            continue  # what the reader withholds is not in the state either
        try:
            answers[name] = use()
        except MageError as error:
            noticed = True
            if not str(error).strip():
                return "unnamed", f"{name}: an empty message"
        except Exception as error:
            return "stray", f"{name}: {error!r}"
        else:
            if name == "verify" and answers[name] not in allowed:
                return "unnamed", answers[name].decode()
            if answers[name] not in allowed:
                return "wrong", name
    if answers.get("verify", b"found") == b"found":
        return "noticed", ""
    if (is_cache or is_double) and not noticed:
        return "harmless", ""
    return "missed", "noticed by other uses only" if noticed else "by all uses"


def _has_twin(log: Path, name: str) -> bool:
    """Return whether the log has the events of a missing segment or write-ahead file in the other one."""
    others = [file for file in log.glob(f"*/{name[:20]}*") if ".vec." not in file.name]
    return ".vec." not in name and bool(others)


def _state(run: Path) -> State:
    reader = LogReader(run / "log")
    return fold(reader, state=latest_snapshot(run / "snapshots", reader))


def _findings(log: Path, harmed: Path) -> bytes:
    """Return nothing, `found`, or what is wrong with the findings."""
    findings = verify_log(log).findings
    if not findings:
        return b""
    own = [finding for finding in findings if finding.file == harmed or str(harmed) in finding.problem]
    if not own:
        return f"{harmed.name}: {findings}".encode()
    if harmed.parent.name in ("wal", "seg") and not any(finding.first for finding in own):
        return f"{harmed.name}, no events: {own}".encode()
    return b"found"


def _opened(log: Path, since: int) -> bytes:
    writer = Log.open(log, clock=clock())
    try:
        return bits(facts(LogReader(log).records(since=since)))
    finally:
        abandon(writer)


# ------------------------------------------------------------ many cases, in child processes


def explore(base: Path, todo: list[Case], *, processes: int = 2) -> list[Result]:
    """Judge cases in child processes, several at a time."""
    with ThreadPoolExecutor(processes) as pool:
        parts = pool.map(lambda part: _explore(base, todo[part::processes]), range(processes))
        return [result for part in parts for result in part]


def _explore(base: Path, todo: list[Case]) -> list[Result]:
    """Judge cases one after another; where the child dies over one, another child goes on with the next."""
    results: list[Result] = []
    command = [sys.executable, "-m", "tests.events.damage", "--child", str(base)]
    while rest := todo[len(results) :]:
        lines = "".join(json.dumps(case) + "\n" for case in rest)
        child = subprocess.run(command, cwd=ROOT, input=lines, stdout=subprocess.PIPE, text=True, check=False)
        answers = child.stdout.splitlines()
        results += [Result(case, *json.loads(line)) for case, line in zip(rest, answers, strict=False)]
        if len(answers) < len(rest):
            results.append(Result(rest[len(answers)], "crash", f"exit status {child.returncode}"))
    return results


def _child(base: Path) -> None:
    known = {state: truth(base / state) for state in STATES}
    with tempfile.TemporaryDirectory() as work:
        for line in sys.stdin.read().splitlines():
            case = Case(*json.loads(line))
            result = judge(base, case, known[case.state], Path(work))
            print(json.dumps([result.outcome, result.detail]), flush=True)


def table(results: list[Result]) -> str:
    """Return the outcomes by kind of file and by kind of harm."""
    outcomes = [name for name in ("noticed", "harmless", *BAD) if any(r.outcome == name for r in results)]
    lines = [f"{'':28}" + "".join(f"{name:>10}" for name in outcomes)]
    for sort in (lambda r: _sort_of(r.case.file), lambda r: r.case.kind, lambda r: "all"):
        counts = Counter((sort(r), r.outcome) for r in results)
        for name in sorted({sort(r) for r in results}):
            lines.append(f"{name:28}" + "".join(f"{counts[name, outcome]:10}" for outcome in outcomes))
    return "\n".join(lines)


def _sort_of(file: str) -> str:
    name = Path(file).name
    if name.endswith(".vec.parquet"):
        return "vectors"
    return {".parquet": "segment", ".wal": "write-ahead file", ".msgpack": "snapshot"}.get(Path(name).suffix, name)


def main() -> int:
    """Run the cases that the command line asks for; 1 if one of them is bad."""
    parser = argparse.ArgumentParser(description="Harm a log in every way and count what is noticed.")
    parser.add_argument("--cases", type=int, default=8000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.child:
        _child(wanted.child)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder))
        results = explore(Path(folder), list(cases(Path(folder), wanted.cases, seed=wanted.seed)))
    print(table(results))
    bad = [result for result in results if result.outcome in BAD]
    for result in bad[:40]:
        print(result)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
