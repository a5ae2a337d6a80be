"""How often an interval of a ring holds the true difference, where seeds differ: over pooled answers, and over seeds.

    python -m tests.bench.by_seed                200 rings a row
    python -m tests.bench.by_seed --rings 50     a quick look

A ring is simulated. In the mean of all seeds a method is `TRUE` points ahead; how far it is ahead in one seed is normal
around that; answers of a seed are independent given that.
"""

import argparse
from collections.abc import Iterator

import numpy as np

from mage_es.engine.study.ring import RingDifference, difference_of
from tests.bench.tables import print_table

TRUE, CHANGED = 10.0, 0.4
"""Points ahead, and the share of questions that only one of the two gets right where that is no less than the lead."""


def simulated(*, seeds: int, questions: int, spread: float, rings: int) -> Iterator[RingDifference]:
    """Yield the difference of each ring; `spread` is the standard deviation between seeds in points."""
    stream = np.random.default_rng([seeds, questions, int(spread)])
    for _ in range(rings):
        own, other = dict[tuple[int, str], bool](), dict[tuple[int, str], bool]()
        leads = np.clip((TRUE + spread * stream.standard_normal(seeds)) / 100, -1, 1).tolist()
        for seed, ahead in enumerate(leads):
            changed = max(CHANGED, abs(ahead))
            won, lost = (changed + ahead) / 2, (changed - ahead) / 2
            for name, drawn in enumerate(stream.random(questions).tolist()):
                own[seed, str(name)], other[seed, str(name)] = drawn < won, won <= drawn < won + lost
        yield difference_of(own, other, "knn")


def coverage(found: list[RingDifference]) -> tuple[float, float]:
    """Return how often each interval holds the true difference: pooled, and by seed (of those that there are)."""
    each = [[one.interval for one in found], [one.by_seed for one in found if one.by_seed]]
    pooled, by_seed = (sum(one.low <= TRUE <= one.high for one in some) / max(1, len(some)) for some in each)
    return pooled, by_seed


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rings", type=int, default=200)
    given = options.parse_args()
    rows = []
    for seeds, questions in ((5, 60), (10, 60)):
        for spread in (0.0, 10.0):
            found = list(simulated(seeds=seeds, questions=questions, spread=spread, rings=given.rings))
            widths = [
                np.mean([one.high - one.low for one in some])
                for some in ([each.interval for each in found], [each.by_seed for each in found if each.by_seed])
            ]
            shares = (f"{100 * share:.1f} %, {width:.0f}" for share, width in zip(coverage(found), widths, strict=True))
            rows.append((str(seeds), str(questions), f"{spread:.0f}", *shares))
    header = (
        "seeds",
        "questions",
        "sd between seeds",
        "pooled: holds it, points wide",
        "by seed: holds it, points wide",
    )
    print_table(f"The true difference ({TRUE:g} points) in an interval of 95 %", header, rows)


if __name__ == "__main__":
    main()
