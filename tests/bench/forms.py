"""How often the trial of a form decides rightly: exact probabilities, of two independent answers to each question.

`python -m tests.bench.forms` prints, for each number of pairs, how often plain lines are chosen where turns and lines
are right with these probabilities. Answers of one model to one question go together, which makes the trial better.
"""

from itertools import product

from scipy.stats import multinomial

from mage_es.engine.rules.distributions import sign_test
from mage_es.engine.rules.forms import P

PAIRS = (10, 15, 20, 25, 30)
RIGHT = ((0.5, 0.5), (0.8, 0.8), (0.5, 0.6), (0.5, 0.7), (0.46, 0.82), (0.3, 0.8), (0.8, 0.95), (0.82, 0.46))


def chosen(pairs: int, turns: float, lines: float) -> float:
    """Return the probability that lines are chosen."""
    outcomes = multinomial(pairs, [lines * (1 - turns), turns * (1 - lines), lines * turns + (1 - lines) * (1 - turns)])
    counts = ((won, lost) for won, lost in product(range(pairs + 1), repeat=2) if lost < won <= pairs - lost)
    passed = ((won, lost) for won, lost in counts if sign_test(won, won + lost) <= P)
    return float(sum(outcomes.pmf([won, lost, pairs - won - lost]) for won, lost in passed))


def main() -> None:
    print("| pairs |", " | ".join(f"{turns:.2f}, {lines:.2f}" for turns, lines in RIGHT), "|")
    for pairs in PAIRS:
        print(f"| {pairs} |", " | ".join(f"{chosen(pairs, *right):.2f}" for right in RIGHT), "|")


if __name__ == "__main__":
    main()
