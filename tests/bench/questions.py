"""What stored questions take: bytes for 10,000 of them, CPU seconds to store and to read them all.

python -m tests.bench.questions --data-dir data
"""

import argparse
import tempfile
import time
from pathlib import Path

import msgspec

from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.run.questions import rows_of, stored_questions
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import Draft

BENCHMARKS = ("gsm8k", "hotpotqa", "finqa", "medqa", "stbench", "wordmath")


def measure(name: str, data_dir: Path, folder: Path) -> str:
    benchmark = open_benchmark(name, seed=42, data_dir=data_dir)
    rows_of(benchmark)  # a generated one makes its questions now
    began = time.process_time()
    with Log.create(folder / name, run=name, clock=lambda: 0) as log:
        stored = log.store(*rows_of(benchmark))
        log.append([Draft(event=stored, iteration=-1, phase="open")])
    written = time.process_time()
    questions, _ = stored_questions(LogReader(folder / name), name)
    read = time.process_time()
    each = 10_000 / len(questions) / 2**20
    sizes = [each * sum(path.stat().st_size for path in (folder / name / part).iterdir()) for part in _PARTS]
    raw = each * len(msgspec.json.encode(questions))
    megabytes = " | ".join(f"{size:.2f}" for size in (raw, *sizes, each * len(msgspec.msgpack.encode(stored))))
    return f"| {name} | {len(questions):,} | {megabytes} | {written - began:.2f} | {read - written:.2f} |"


_PARTS = ("questions", "golds")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", type=Path, default=Path("data"))
    data_dir = parser.parse_args().data_dir
    with tempfile.TemporaryDirectory() as folder:
        for name in BENCHMARKS:
            print(measure(name, data_dir, Path(folder)))


if __name__ == "__main__":
    main()
