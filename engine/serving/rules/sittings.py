"""The sessions of a served run: which of them the coin gives no memory, and each one's scores and costs.

Rules
    - The coin is a keyed hash of the session: the same session always falls on the same side, in any process, and a
      client that does not know the salt cannot pick a side by naming its session.
    - The salt is in the log, so anyone with the log can toss every coin again.
    - By intention to treat: the coin's side counts, even if there was nothing to insert. A session in which a client
      asked for `off` or `shadow`, or an agent searched, so that the coin had no effect, is on neither side.
"""

import hmac
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from mage_es.engine.serving.rules.feedback import last_words
from mage_es.events.vocabulary import MICRO, FeedbackGiven, InferenceClosed, InferenceOpened, ServingStarted


class Sitting(NamedTuple):
    """A session: its side of the coin, the type of its first inference, its scores by metric, and its costs."""

    is_held_back: bool
    task_type: str
    scores: Mapping[str, float]
    input_tokens: float | None = None
    output_tokens: float | None = None
    latency_s: float | None = None


def visits(
    started: Sequence[ServingStarted],
    opened: Iterable[InferenceOpened],
    closed: Iterable[InferenceClosed],
    words: Sequence[FeedbackGiven],
) -> list[Sitting]:
    """Return the sessions that the coin assigned, from a log's events in order."""
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


SALT_BYTES = 16


def is_held_back(salt: str, key: str, session: str, *, share_micro: int) -> bool:
    """Return whether a session of a key (its name) is among the `share_micro` millionths that get no memory."""
    coin = hmac.digest(bytes.fromhex(salt), f"{key}\0{session}".encode("utf-8", "surrogatepass"), "sha256")
    return int.from_bytes(coin[:8], "big") * MICRO < share_micro << 64
