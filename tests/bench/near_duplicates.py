"""Near-duplicates among many questions: what the index costs, and what it finds.

    python -m tests.bench.near_duplicates                   generated word problems only
    python -m tests.bench.near_duplicates --gsm8k FOLDER    and GSM8K's, from train.jsonl.gz and test.jsonl.gz

Every question is held against all before it and then taken in. Seconds are CPU seconds; shingling is counted apart.
"""

import argparse
import gzip
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.rules.near_duplicates import ExactIndex, shingle_run
from tests.bench.tables import print_machine, print_table

GENERATED = (2_000, 10_000, 40_000)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gsm8k", type=Path, default=None)
    options = parser.parse_args()
    sets = [(f"wordmath, {size:,} questions", generated(size)) for size in GENERATED]
    if options.gsm8k:
        texts = [text for name in ("train", "test") for text in questions(options.gsm8k / f"{name}.jsonl.gz")]
        sets.insert(0, (f"GSM8K, {len(texts):,} questions", texts))
    rows = [row for name, texts in sets for row in measured(name, texts)]
    print_table("All against all", ("questions", "step", "CPU seconds", "near-duplicates found"), rows)
    print_machine("python -m tests.bench.near_duplicates", ())


def measured(name: str, texts: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield a row for the shingling and one for the index."""
    began = time.process_time()
    runs = [shingle_run(text) for text in texts]
    yield name, "shingles of each", f"{time.process_time() - began:.2f}", ""
    index: ExactIndex[str] = ExactIndex()
    began, found = time.process_time(), 0
    for run in runs:
        found += any(True for _ in index.near(run))
        index.add(run)
    yield name, "index", f"{time.process_time() - began:.2f}", str(found)


def generated(size: int) -> list[str]:
    """Return so many generated word problems."""
    texts: list[str] = []
    seed = 1
    while len(texts) < size:
        benchmark = open_benchmark("wordmath", seed=seed, data_dir=None)
        texts += [question.question for question in benchmark.questions("evolution")]
        seed += 1
    return texts[:size]


def questions(path: Path) -> Iterator[str]:
    """Yield the questions of a file of GSM8K."""
    with gzip.open(path) as lines:
        for line in lines:
            yield msgspec.json.decode(line)["question"]


if __name__ == "__main__":
    main()
