"""Theorem 2, bounded coverage gap: no task type waits longer for EVOLVE than its signal's failures explain.

With the signals `rate`, `window` and `open`, between two selections of a type at most floor(w / lambda) + ceil(N / M)
iterations pass (gaps.py). The paper's bound follows from it. If the bound for the whole run is not shorter than the
run, no gap could have exceeded it, and the table says VACUOUS. With `cumulative` a type can starve, so nothing is
claimed.
"""

from fractions import Fraction
from functools import partial

from mage_es.engine.auditing.theorems.gaps import coverage_bound, effective_bound, gaps, selections
from mage_es.engine.config import Config
from mage_es.engine.rules.curriculum import STARVING
from mage_es.engine.run.inheriting import first_iteration
from mage_es.engine.seams.check import Check
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import TargetsSelected
from mage_es.projections.fold import fold_into
from mage_es.projections.scores import Scores

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
    check = partial(Check, name="coverage", measured=f"longest wait {bound.longest}")
    if config.failure_signal == STARVING or bound.iterations is None:
        detail = f"nothing is claimed with the signal {config.failure_signal} and lambda {config.recency_weight}"
        return check(ok=True, detail=f"{VACUOUS}: {detail}", bound="none")
    slacks, waits = list[int](), gaps(history, config.failure_signal)
    for gap in waits:
        allowed = coverage_bound(gap.largest, recency_weight=weight, types=gap.types, targets=config.targets)
        assert allowed is not None  # as lambda is not 0
        slacks.append(allowed - gap.length)
        if slacks[-1] < 0:
            detail = f"{gap.task_type} was not selected from iteration {gap.start} to {gap.end}"
            waited, most = f"waited {gap.length}", f"at most {allowed}"
            return check(ok=False, detail=detail, measured=waited, bound=most, seq=chosen[gap.end][0])
    least = min(slacks, default=0)
    detail = f"{len(waits)} gaps of {bound.types} task types, signal {config.failure_signal}; least slack {least}"
    if bound.iterations >= len(history):
        detail = f"{VACUOUS}: no wait in {len(history)} iterations could exceed the bound; {detail}"
    return check(ok=True, detail=detail, bound=f"at most {bound.iterations}")
