"""Theorem 2, bounded coverage gap: no task type waits longer for EVOLVE than its signal's failures explain.

With the signals `rate`, `window` and `open`, between two selections of a type at most floor(w / lambda) + ceil(N / M)
iterations pass (rules/coverage.py). The paper's bound follows from it. If the bound of the run as a whole is not
shorter than the run, no gap could have broken it, and the table says VACUOUS. With `cumulative` a type can starve:
nothing is claimed.
"""

from fractions import Fraction

from mage_es.engine.config import Config
from mage_es.engine.rules.coverage import CoverageGap, coverage_bound, effective_bound, gaps, selections
from mage_es.engine.rules.curriculum import STARVING
from mage_es.engine.run.inheriting import first_iteration
from mage_es.engine.seams.check import Check
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import TargetsSelected
from mage_es.projections.fold import fold_into
from mage_es.projections.scores import Scores

NAME = "coverage"
VACUOUS = "VACUOUS"


def check_coverage(reader: LogReader, config: Config) -> Check:
    """Return whether every gap of a log stays within the bound that its own failures and types give. [Theorem 2]"""
    chosen = {event.iteration: (seq, event) for seq, event in reader.numbered(TargetsSelected)}
    scores = Scores()
    fold_into((scores,), reader, until=reader.head.seq)
    history = selections(
        [event for _, event in chosen.values()], scores, config.failure_signal, first=first_iteration(reader)
    )
    weight = Fraction(config.recency_weight)
    bound = effective_bound(history, signal=config.failure_signal, recency_weight=weight, targets=config.targets)
    longest = f"longest wait {bound.longest}"
    if config.failure_signal == STARVING or bound.iterations is None:
        detail = f"nothing is claimed with the signal {config.failure_signal} and lambda {config.recency_weight}"
        return Check(name=NAME, ok=True, detail=f"{VACUOUS}: {detail}", measured=longest, bound="none")
    waits = gaps(history, config.failure_signal)
    for gap in waits:
        allowed = _allowed(gap, weight, config.targets)
        if gap.length > allowed:
            detail = f"{gap.task_type} was not selected from iteration {gap.start} to {gap.end}"
            waited = f"waited {gap.length}"
            return Check(
                name=NAME, ok=False, detail=detail, measured=waited, bound=f"at most {allowed}", seq=chosen[gap.end][0]
            )
    least = min((_allowed(gap, weight, config.targets) - gap.length for gap in waits), default=0)
    detail = f"{len(waits)} gaps of {bound.types} task types, signal {config.failure_signal}; least slack {least}"
    if bound.iterations >= len(history):
        detail = f"{VACUOUS}: no wait in {len(history)} iterations could exceed the bound; {detail}"
    return Check(name=NAME, ok=True, detail=detail, measured=longest, bound=f"at most {bound.iterations}")


def _allowed(gap: CoverageGap, weight: Fraction, targets: int) -> int:
    allowed = coverage_bound(gap.largest, recency_weight=weight, types=gap.types, targets=targets)
    return gap.length if allowed is None else allowed
