"""Finished rings as one table: right answers by set and method, and paired differences.

`python -m tests.bench.rings RUNS NAME ...` reads the runs NAME-METHOD-sSEED in the folder RUNS, which `mage-es ring`
leaves under `--name NAME`. Those of a ring NAME-VARIANT are the method VARIANT-METHOD in the same rows. No
model is asked.
"""

import argparse
import re
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from mage_es.engine.run.directory import Run
from mage_es.engine.run.exams import RecordedExam, exam_records, read_exam
from mage_es.engine.study.cli.ring import by_seed_line, difference_line
from mage_es.engine.study.ring import ANSWERING, LEAST_SEEDS, NOTHING, PLAIN, difference_of
from mage_es.events.log import LogReader


class Row(NamedTuple):
    """A method over its seeds: right by seed and question, and what its exams used."""

    right: dict[tuple[int, str], bool]
    tokens: int
    calls: int


def exam_of(run: Run) -> RecordedExam:
    """Return the exam of a run in a ring: its own log's of a method, the first on all that was learned of MAGE."""
    reader = LogReader(run.log_path)
    exams = [read_exam(record.log(run), record) for record in exam_records(reader) if record.closed]
    own = [exam for exam in exams if (exam.marker, exam.control) == ("latest", "none")]
    return own[0] if own else read_exam(reader)


def rows_of(runs: Path, name: str) -> dict[str, Row]:
    """Return the row of each method of a ring whose exams are taken."""
    rows: dict[str, Row] = defaultdict(lambda: Row({}, 0, 0))
    for path in sorted(runs.glob(f"{name}-*-s*")):
        method, seed = re.fullmatch(r"(.+)-s(\d+)", path.name[len(name) + 1 :]).groups()  # type: ignore[union-attr]
        exam = exam_of(Run(path.name, path))
        if not exam.closed:
            continue
        used = [exam.ledger.total(tier, iteration=None if exam.name else -1) for tier in ANSWERING]
        right = {(int(seed), asked): correct for asked, correct in exam.answers.select("question_id", "correct").rows()}
        tokens = sum(use.input_tokens + use.output_tokens for use in used)
        before = rows[method]
        calls = sum(use.calls for use in used)
        rows[method] = Row({**before.right, **right}, before.tokens + tokens, before.calls + calls)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path)
    parser.add_argument("names", nargs="+")
    given = parser.parse_args()
    compared = ("over knn, 95 %", "by seed", "over zero_shot, 95 %", "by seed")
    header = ("ring", "seeds", "method", "right", *compared, "tokens a question", "calls")
    print("|", " | ".join(header), "|")
    print("|---" * len(header) + "|")
    for name in given.names:
        rows = rows_of(given.runs, name)
        for method, row in rows.items():
            others = [rows[other] if other in rows and other != method else None for other in (PLAIN, NOTHING)]
            asked, seeds = len(row.right), {seed for seed, _ in row.right}
            over = list[str]()
            for other in others:
                difference = difference_of(row.right, other.right, "") if other else None
                over.append(difference_line(difference) if difference else "")
                over.append(by_seed_line(difference) if difference and len(seeds) >= LEAST_SEEDS else "")
            cells = (", ".join(map(str, sorted(seeds))), method, f"{sum(row.right.values())}/{asked}", *over)
            print("|", " | ".join((name, *cells, f"{row.tokens / asked:.0f}", str(row.calls))), "|")


if __name__ == "__main__":
    main()
