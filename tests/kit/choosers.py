"""Checks for every bandit and every curriculum, whatever rule it chooses by."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from math import isclose
from random import Random

from numpy.random import Generator

from mage_es.engine.auditing.theorems.gaps import coverage_bound, gaps, selections
from mage_es.engine.commands import Candidate
from mage_es.engine.rules.bandits import Choice
from mage_es.engine.rules.curriculum import Signal, candidates_of
from mage_es.engine.rules.randomness import stream
from mage_es.events.vocabulary import AnswerJudged, Target, TargetsSelected
from mage_es.projections.bandits import Posterior
from mage_es.projections.scores import Scores
from tests.kit.random_events import drawn
from tests.kit.strategies import Failures

Bandit = Callable[[Mapping[str, Posterior], Generator], Choice]
"""Chooses an arm of a key with these posteriors; all its randomness comes from the generator."""
Curriculum = Callable[[Sequence[Candidate], int], Sequence[Candidate]]
"""Selects the targets of an iteration among all observed task types."""

_IMPOSSIBLE = 1e-9
"""A p value that true probabilities do not reach, however many examples are drawn."""


def check_bandit(choose: Bandit, posteriors: Mapping[str, Posterior], *, draws: int = 400, seed: int = 0) -> None:
    """Check that a bandit draws existing arms with the probabilities that it logs, and the same arms from the same
    stream.

    The logged probabilities of a key sum to one, and a chi-square test over `draws` seeded draws does not reject them.
    """
    from scipy.stats import chisquare

    drawn: Counter[str] = Counter()
    logged: dict[str, float] = {}
    for number in range(draws):
        choice = choose(posteriors, stream(seed, "check_bandit", 0, str(number)))
        again = choose(dict(posteriors), stream(seed, "check_bandit", 0, str(number)))
        assert again == choice, f"the same stream draws {choice}, then {again}: it has another source of randomness"
        assert choice.arm in posteriors, f"{choice.arm!r} is not among the arms {list(posteriors)}"
        assert 0 < choice.probability <= 1 + 1e-9, f"{choice.probability} is not a probability"
        known = logged.setdefault(choice.arm, choice.probability)
        assert known == choice.probability, f"{choice.arm!r} has the probabilities {known} and {choice.probability}"
        drawn[choice.arm] += 1
    total = sum(logged.values())
    assert total <= 1 + 1e-6, f"the probabilities of {sorted(logged)} sum to {total}"
    if set(logged) == set(posteriors):
        assert isclose(total, 1, abs_tol=1e-6), f"the probabilities of all arms sum to {total}"
    unseen = max(0.0, 1 - total)  # the probability of all arms that were never drawn
    expected, found = [*logged.values(), unseen], [*(drawn[arm] for arm in logged), 0]
    if unseen < 1e-6:
        expected, found = expected[:-1], found[:-1]
    scaled = [draws * share / sum(expected) for share in expected]
    p_value = float(chisquare(found, scaled).pvalue) if len(found) > 1 else 1.0
    assert p_value > _IMPOSSIBLE, f"drawn {dict(drawn)} times of {draws}, with probabilities {logged}"


def check_curriculum(
    select: Curriculum, failures: Failures, *, signal: Signal, recency_weight: Fraction, targets: int
) -> None:
    """Check that a curriculum stays within Theorem 2's bound on how long a task type waits.

    Between two selections of a type at most floor(w / lambda) + ceil(N / M) iterations pass (theorems/gaps.py). As in
    EVOLVE, each iteration's failures are known before its targets are selected.
    """
    scores, last, events = Scores(), dict[str, int](), []
    for k, types in enumerate(failures):
        for answer in _answers(k, types):
            scores.apply(answer)
        new = sorted(set(types) - set(last))
        last |= dict.fromkeys(new, k - 1)
        competing = candidates_of(scores, last, iteration=k, signal=signal)
        selected = list(select(competing, k))
        names = [candidate.task_type for candidate in selected]
        assert set(selected) <= set(competing), f"iteration {k}: {names} are not all among the observed types"
        assert len(set(names)) == len(names) <= targets, f"iteration {k}: {names}, where {targets} may be selected"
        last |= dict.fromkeys(names, k)
        parts = tuple(Target(**candidate._asdict()) for candidate in selected)
        events.append(TargetsSelected(iteration=k, targets=parts, newly_observed=tuple(new)))
    for gap in gaps(selections(events, scores, signal), signal):
        bound = coverage_bound(gap.largest, recency_weight=recency_weight, types=gap.types, targets=targets)
        assert bound is not None and gap.length <= bound, (
            f"{gap.task_type} waits from iteration {gap.start} to {gap.end}, where at most {bound} may pass"
        )


def _answers(k: int, types: Mapping[str, tuple[int, int]]) -> list[AnswerJudged]:
    return [
        drawn(AnswerJudged, Random(place), iteration=k, purpose="fresh", task_type=name, correct=place >= failed)
        for name, (failed, attempts) in types.items()
        for place in range(attempts)
    ]
