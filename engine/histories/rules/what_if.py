"""What a run's own record says about what was not done: another arm, a memory left out, another guard or gate.

    exact        nothing in the prompt would have changed: the record has the answer
    estimated    dice were thrown and their chances recorded: the answers where they fell that way, weighted

Rules
    - Self-normalised importance weighting (SNIPS; Swaminathan and Joachims 2015): each answer for which the dice fell
      as asked about is weighted by the inverse of its chance. Only relative weights matter.
    - Doubly robust (Dudik, Langford and Li 2011), self-normalised as well: what a model expects of every prompt, plus
      the weighted residuals of the answers. The model must not have seen the answers that it predicts: it is a bandit's
      posterior from before them.
    - Effective sample size: the smaller of Kish's, from the weighted answers, and the one expected from the chances of
      all prompts. The first alone is blind to prompts that were hardly ever asked that way, such as those of a bandit
      that has made up its mind. Below LEAST_PAIRS no number is given.
    - The interval is Wilson's, with Student's quantile, on as many answers as would give the weighted variance, at most
      the effective sample size. If it is for other prompts than the weighted ones, their own variance is added. How
      often it covers the truth: tests/bench/what_if.py.
    - A guard judges the record again, iteration by iteration, until it would restore something else. After that the run
      would have asked other questions.
"""

from collections.abc import Collection, Iterable, Iterator, Sequence
from math import prod, sqrt
from typing import NamedTuple

import msgspec

from mage_es.engine.config import Config
from mage_es.engine.rules.benefit import served
from mage_es.engine.rules.distributions import t_quantile
from mage_es.engine.rules.guard import Accepted, Decision, is_no_drop, parts
from mage_es.engine.rules.randomness import shuffled
from mage_es.engine.rules.snapshot import best_of, decision_on
from mage_es.engine.worth.effect import LEAST_PAIRS, Prompted
from mage_es.events.vocabulary import BenefitDecided, GuardDecided, Paired
from mage_es.projections.scores import Scores

LEVEL = 0.95


class Toss(NamedTuple):
    """A prompt for which dice were thrown: the chance that they fall as asked about, whether they did, and whether the
    answer was right. `weight` is that of such an answer; `expected` is a model's prediction for it."""

    chance: float
    is_taken: bool
    right: float
    weight: float
    expected: float | None = None


def tossed(asking: Prompted, names: frozenset[str]) -> Toss | None:
    """Return the toss for these memories: whether all of them that were retrieved were left out; None if some were not
    tossed for."""
    planned = asking.planned
    hits = [hit for hit in (*planned.memories, *planned.left_out) if hit.memory_id in names]
    out = prod(hit.coin or planned.coin for hit in hits)
    if not hits or not 0 < out < 1 or not names.isdisjoint(planned.principles):
        return None
    is_out = all(hit.memory_id not in names for hit in planned.memories)
    # Weighed so that those left out stand for those let in, which are the prompts in question.
    return Toss(out, is_out, asking.right, (1 - out) / out)


class WhatIfEstimate(msgspec.Struct, frozen=True, kw_only=True):
    """The share of right answers among `of` prompts, in percent (95 %), from `taken` that are worth `effective` answers
    of equal weight; `robust` is the doubly robust one. None if `effective` is below `least`, or without a model."""

    of: int
    taken: int
    effective: float
    share: float | None = None
    low: float | None = None
    high: float | None = None
    robust: float | None = None
    robust_low: float | None = None
    robust_high: float | None = None
    least: int = LEAST_PAIRS


def estimated(tosses: Collection[Toss], *, apart: int = 0, least: int = LEAST_PAIRS) -> WhatIfEstimate:
    """Return the share of right answers if the dice had always fallen as asked about, among all prompts, or among
    `apart` further prompts."""
    taken = [toss for toss in tosses if toss.is_taken]
    found = WhatIfEstimate(of=len(tosses), taken=len(taken), effective=effective_size(tosses), least=least)
    if not taken or found.effective < least:
        return found
    share = weighted((toss.weight, toss.right) for toss in taken)
    residuals = [(toss.weight, toss.right - share) for toss in taken]
    low, high = _interval(share, residuals, found.effective, apart)
    found = msgspec.structs.replace(found, share=100 * share, low=100 * low, high=100 * high)
    surprises = [(toss.weight, toss.right - toss.expected) for toss in taken if toss.expected is not None]
    if len(surprises) < len(taken):
        return found
    # Of all prompts, each by how much it is asked about.
    expected = weighted((toss.chance * toss.weight, toss.expected or 0.0) for toss in tosses)
    surprise = weighted(surprises)
    # Rounded, as a sum that is 0 but for its last bit would have the interval of a share that is hardly known.
    robust = round(min(1.0, max(0.0, expected + surprise)), 12)
    low, high = _interval(robust, [(weight, left - surprise) for weight, left in surprises], found.effective, apart)
    return msgspec.structs.replace(found, robust=100 * robust, robust_low=100 * low, robust_high=100 * high)


def effective_size(tosses: Collection[Toss]) -> float:
    """Return the effective sample size: how many answers of equal weight say as much."""
    weights = [toss.weight for toss in tosses if toss.is_taken]
    fell = [toss for toss in tosses if toss.chance > 0]
    if not weights:
        return 0.0
    kish = sum(weights) ** 2 / sum(weight**2 for weight in weights)
    promised = sum(toss.chance * toss.weight for toss in fell) ** 2
    return min(kish, promised / sum(toss.chance * toss.weight**2 for toss in fell))


def weighted(values: Iterable[tuple[float, float]]) -> float:
    """Return the mean of (weight, value) pairs."""
    pairs = list(values)
    return sum(weight * value for weight, value in pairs) / sum(weight for weight, _ in pairs)


def _interval(
    share: float, residuals: Sequence[tuple[float, float]], effective: float, apart: int
) -> tuple[float, float]:
    """Return Wilson's interval of a weighted share. [Wilson 1927; Kish 1965]"""
    spread = sum((weight * left) ** 2 for weight, left in residuals) / sum(weight for weight, _ in residuals) ** 2
    n = min(effective, share * (1 - share) / spread) if spread and 0 < share < 1 else effective
    n = n * apart / (n + apart) if apart else n
    z = t_quantile((1 + LEVEL) / 2, max(1.0, n - 1))
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return max(0.0, middle - half), min(1.0, middle + half)


class Judged(NamedTuple):
    """A snapshot on record: the guard's verdict, the iteration that was restored (None: none), which anchors were
    planned and which of them were asked. At least `least` of them are asked, whatever the answers are."""

    decided: GuardDecided
    restored: int | None
    planned: tuple[str, ...] = ()
    asked: frozenset[str] = frozenset()
    least: int = 0


class Ruling(NamedTuple):
    """What a guard decides on a snapshot on record, after it accepted those of some iterations, oldest first."""

    judged: Judged
    accepted: tuple[int, ...]
    decision: Decision

    @property
    def is_same(self) -> bool:
        """Whether the run would have continued from the same state."""
        return self.decision.restore == self.judged.restored


def rulings(config: Config, scores: Scores, snapshots: Sequence[Judged], accepted: Sequence[int]) -> Iterator[Ruling]:
    """Yield what the guard of a configuration decides on snapshots in the order of the log, up to the first after which
    the run would have continued from another state; `accepted` are iterations that were accepted before them."""
    kept = set(accepted)
    for judged in snapshots:
        k = judged.decided.iteration
        before = tuple(sorted(kept - {k}))
        ruling = Ruling(judged, before, decision_on(config, scores, k, accepted=before))
        yield ruling
        if not ruling.is_same:
            return
        kept.discard(k)
        if ruling.decision.restore is None and config.guard != "off":
            kept.add(k)


def anchors_asked(config: Config, scores: Scores, ruling: Ruling) -> int:
    """Return how many of the planned anchors a paired guard asks, if they answer as recorded; one part more than on
    record if those do not end it."""
    judged, k = ruling.judged, ruling.judged.decided.iteration
    before = [Accepted(each, scores.anchor_answers(each)) for each in ruling.accepted]
    if not before:
        return len(judged.planned)
    asked, answers = list[str](), scores.anchor_answers(k)
    for part in parts(shuffled(judged.planned, config.seed, purpose="anchors", iteration=k)):
        asked += part
        now = {name: answers[name] for name in asked if name in answers}
        is_over = is_no_drop(now, previous=before[-1], best=best_of(before), drop=config.guard_drop)
        if not judged.asked.issuperset(part) or (is_over and len(asked) >= judged.least):
            break
    return len(asked)


def gated(decided: BenefitDecided, config: Config) -> tuple[Paired, ...]:
    """Return what the gate of a configuration serves given the counts of a snapshot, type by type."""
    is_gated, is_start = config.gate == "paired", decided.iteration < 0
    records, _ = served(decided.records, decided.pooled, p=config.gate_p, is_gated=is_gated, is_start=is_start)
    return records


def right_as_served(records: Iterable[Paired]) -> int:
    """Return how many anchors are right with what is served for their type."""
    return sum(each.learned if each.served == "learned" else each.bare for each in records)
