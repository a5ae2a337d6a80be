"""The live gain: what memory changes for real sessions, from the coin that held some of them back.

Rules
    - The unit is the session: the coin was tossed for it, and feedback within one is not independent. A session's value
      of a metric is the mean of all last scores in it; the gain is the difference of the means over sessions.
    - By intention to treat: the coin's side counts, even if nothing was found to put in. A session in which a client
      asked for `off` or `shadow`, or an agent searched, so that the coin decided nothing, is on neither side.
    - Welch's t interval on the means; if every session's value is 0 or 1, Newcombe's (from Wilson's of both shares),
      which holds near 0 and 1 as well. With fewer than `LEAST` sessions with a value on either side there is no
      interval: both would cover too little.
    - A session without feedback is in no mean. If one side has less feedback, the means are of different people: so
      both shares are reported, with the interval of their difference.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import sqrt
from statistics import fmean, variance
from typing import NamedTuple

import msgspec

from mage_es.engine.rules.distributions import t_quantile, wilson
from mage_es.engine.rules.feedback import last_words
from mage_es.engine.rules.holdback import is_held_back
from mage_es.events.vocabulary import MICRO, FeedbackGiven, InferenceClosed, InferenceOpened, ServingStarted

LEAST = 20
"""How many sessions with a value each side needs for an interval."""
LEVEL = 0.95
WELCH, NEWCOMBE = "Welch's t on session means", "Newcombe's score interval on sessions"


class Sitting(NamedTuple):
    """A session: its side of the coin, the type of its first inference, its scores by metric, and its costs."""

    is_held_back: bool
    task_type: str
    scores: Mapping[str, float]
    input_tokens: float | None = None
    output_tokens: float | None = None
    latency_s: float | None = None


class Difference(msgspec.Struct, frozen=True):
    """Memory minus holdback: n and mean of both sides, and the interval; `missing` more sessions are needed for one."""

    with_memory: int
    held_back: int
    mean_with_memory: float | None
    mean_held_back: float | None
    difference: float | None
    low: float | None
    high: float | None
    method: str
    missing: int


def visits(
    started: Sequence[ServingStarted],
    opened: Iterable[InferenceOpened],
    closed: Iterable[InferenceClosed],
    words: Sequence[FeedbackGiven],
) -> list[Sitting]:
    """Return the sessions that the coin decided, from a log's events in order."""
    ended = {event.inference: event for event in closed}
    by_process = {event.process: event for event in started}
    sessions: dict[tuple[str, str], list[InferenceOpened]] = defaultdict(list)
    for one in opened:
        sessions[one.key, one.session].append(one)
    said: dict[tuple[str, str], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for word in last_words(words):
        if word.kind in ("bool", "float"):
            said[word.key, word.session][word.metric].append(word.value_micro)
    found = []
    for (key, name), inferences in sessions.items():
        if {one.treatment for one in inferences} & {"shadow", "off", "searched"}:
            continue
        first = by_process.get(_process(inferences[0].inference))
        if first is None or not first.holdback_micro:
            continue
        ends = [end for one in inferences if (end := ended.get(one.inference)) and end.outcome == "answered"]
        scores = {metric: fmean(values) / MICRO for metric, values in said[key, name].items()}
        found.append(
            Sitting(
                is_held_back=_side(first, key, name, inferences),
                task_type=next((one.task_type for one in inferences if one.task_type), ""),
                scores=scores,
                input_tokens=_mean(end.input_tokens for end in ends),
                output_tokens=_mean(end.output_tokens for end in ends),
                latency_s=_mean(end.latency_us / MICRO for end in ends),
            )
        )
    return found


def _side(started: ServingStarted, key: str, name: str, inferences: Sequence[InferenceOpened]) -> bool:
    # A session keeps its side even if the share changed meanwhile; if nothing was put in, the coin is tossed again.
    treatments = {one.treatment for one in inferences}
    if "holdback" in treatments or "memory" in treatments:
        return "holdback" in treatments
    return is_held_back(started.salt, key, name, share_micro=started.holdback_micro)


def _process(inference: str) -> int:
    return int(inference.split("-")[1])


def _mean(values: Iterable[float]) -> float | None:
    known = [value for value in values if value >= 0]
    return fmean(known) if known else None


def metrics_of(sessions: Collection[Sitting]) -> list[str]:
    return sorted({metric for session in sessions for metric in session.scores})


def compared(pairs: Iterable[tuple[bool, float | None]]) -> Difference:
    """Return the difference of (held back, value) pairs, one for each session; None is a session without a value."""
    known = [(is_back, value) for is_back, value in pairs if value is not None]
    one = [value for is_back, value in known if not is_back]
    other = [value for is_back, value in known if is_back]
    mean, without = (fmean(side) if side else None for side in (one, other))
    missing = max(0, LEAST - len(one)) + max(0, LEAST - len(other))
    is_share = all(value in (0, 1) for value in (*one, *other))
    method = NEWCOMBE if is_share else WELCH
    gap = None if mean is None or without is None else mean - without
    low, high = (newcombe if is_share else welch)(one, other) if not missing else (None, None)
    return Difference(len(one), len(other), mean, without, gap, low, high, method, missing)


def welch(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """Return the interval of mean(one) - mean(other) by Welch's t; both have two values or more. [Welch 1947]"""
    gap, parts = fmean(one) - fmean(other), [variance(side) / len(side) for side in (one, other)]
    if not sum(parts):
        return gap, gap
    freedom = sum(parts) ** 2 / sum(part**2 / (len(side) - 1) for part, side in zip(parts, (one, other), strict=True))
    half = t_quantile((1 + LEVEL) / 2, freedom) * sqrt(sum(parts))
    return gap - half, gap + half


def newcombe(one: Sequence[float], other: Sequence[float]) -> tuple[float, float]:
    """Return the interval of share(one) - share(other); all values must be 0 or 1. [Newcombe 1998, method 10]"""
    p, q = fmean(one), fmean(other)
    (low, high), (below, above) = (wilson(sum(side), len(side), level=LEVEL) for side in (one, other))
    return p - q - sqrt((p - low) ** 2 + (above - q) ** 2), p - q + sqrt((high - p) ** 2 + (q - below) ** 2)
