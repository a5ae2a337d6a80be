"""How often what was learned is served, by the rule of rules/benefit.py: where it helps, does nothing, does harm.

    python -m tests.bench.benefit [--draws 2000] [--p P]

Anchors are spread evenly over task types. With what was learned an anchor is won or lost at the rates of the row,
independently. The figures are shares of the types that are served what was learned; the others are served bare.
"""

import argparse
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from mage_es.engine.config import Config
from mage_es.engine.rules.benefit import Pair, decide_benefit

WON, LOST, SAME = Pair(learned=True, bare=False), Pair(learned=False, bare=True), Pair(learned=True, bare=True)


class Effect(NamedTuple):
    """Shares of the anchors that are won and lost."""

    won: float
    lost: float

    def __str__(self) -> str:
        return f"{100 * (self.won - self.lost):+.0f} points ({self.won:.0%} won, {self.lost:.0%} lost)"


EFFECTS = (
    Effect(0.05, 0.25),
    Effect(0.05, 0.15),
    Effect(0.1, 0.1),
    Effect(0.15, 0.05),
    Effect(0.25, 0.05),
    Effect(0.33, 0.03),
)
ANCHORS, TYPES = (20, 60, 200), (1, 5, 20)
MIXED = {
    "one helped by 43 points, four harmed by 10": [Effect(0.45, 0.02), *[Effect(0.03, 0.13)] * 4],
    "four helped by 20 points, one harmed by 17": [*[Effect(0.25, 0.05)] * 4, Effect(0.03, 0.2)],
}


def shares(effects: Sequence[Effect], anchors: int, *, p: float, draws: int, generator: Generator) -> list[float]:
    """Return for each type, one for each effect, the share of draws in which it is served what was learned."""
    sizes = np.diff(np.linspace(0, anchors, len(effects) + 1).astype(int))
    served = np.zeros(len(effects))
    for _ in range(draws):
        pairs: dict[str, list[Pair]] = {}
        for place, (size, effect) in enumerate(zip(sizes, effects, strict=True)):
            won, lost, same = generator.multinomial(size, [*effect, 1 - sum(effect)])
            pairs[f"{place:02}"] = [WON] * won + [LOST] * lost + [SAME] * same
        records, _ = decide_benefit(pairs, p=p)
        served += [record.served == "learned" for record in records]
    return [float(each) for each in served / draws]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--p", type=float, default=Config(benchmark="wordmath").gate_p)
    given, generator = parser.parse_args(), np.random.default_rng(1)
    drawn = {"p": given.p, "draws": given.draws, "generator": generator}
    cells = [(anchors, types) for anchors in ANCHORS for types in TYPES]
    print("| effect |", " | ".join(f"{anchors} / {types}" for anchors, types in cells), "|")
    for effect in EFFECTS:
        found = [np.mean(shares([effect] * types, anchors, **drawn)) for anchors, types in cells]
        print(f"| {effect} |", " | ".join(f"{each:.3f}" for each in found), "|")
    for name, effects in MIXED.items():
        found = shares(effects, 100, **drawn)
        print(f"| {name}, 100 anchors |", " | ".join(f"{each:.3f}" for each in found), "|")


if __name__ == "__main__":
    main()
