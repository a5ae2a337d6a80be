"""The verb `gain`: what memory changed for the real sessions of a served run, compared with those held back."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import msgspec

from mage_es.engine.rules.distributions import LEAST
from mage_es.engine.run.directory import Run, as_run
from mage_es.engine.serving.rules.sittings import Sitting, metrics_of, visits
from mage_es.engine.verbs.decorators import typed
from mage_es.engine.worth.live_gain import Difference, compare_sides
from mage_es.events.errors import UsageError, nearest
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import FeedbackGiven, InferenceClosed, InferenceOpened, ServingStarted

ALL = "all"


class GainRow(Difference, frozen=True, kw_only=True):
    """A difference, memory minus holdback, over sessions; `task_type` is that of a session's first inference.

    Scores are in [0, 1], tokens and seconds are means of a session's inferences. If there are too few sessions for an
    interval, `missing` says how many more with a value are needed.
    """

    measure: str
    task_type: str


class GainReport(msgspec.Struct, frozen=True, kw_only=True):
    """The live gain by metric and task type, who gave feedback on either side, and what memory costs.

    `said` compares the shares of sessions that gave feedback: if they differ, the gain compares different people.
    `requests` counts all on record, of any session; for the `bypassed` no memory was ready in time, and the `cut` were
    in flight when a process was killed. Both count on the side of their session.
    """

    run_id: str
    requests: int
    bypassed: int
    cut: int
    sessions: int
    held_back: int
    least: int
    gains: tuple[GainRow, ...]
    said: GainRow
    costs: tuple[GainRow, ...]


@typed
def gain(run: Run | Path | str, *, metric: str | None = None) -> GainReport:
    """Return the live gain of a served run, from the sessions that the coin assigned; for one metric, or for each.
    Raises `UsageError` for a run that was never served, and for a metric without feedback."""
    run = as_run(run)
    reader = LogReader(run.log_path)
    started = list(reader.of(ServingStarted))
    if not started:
        raise UsageError(f"{run.id} was never served, so there are no sessions: `mage-es serve {run.id}` serves it.")
    opened = _few(reader, InferenceOpened, ("inference", "session", "key", "treatment", "task_type"))
    fields = ("inference", "outcome", "input_tokens", "output_tokens", "latency_us")
    closed = _few(reader, InferenceClosed, fields)
    sessions = visits(started, opened, closed, list(reader.of(FeedbackGiven)))
    requests = {each.inference for each in opened if each.treatment != "searched"}
    ends = Counter(each.outcome for each in closed if each.inference in requests)
    metrics = metrics_of(sessions)
    if metric is not None and metric not in metrics:
        raise UsageError(f"No session has the metric {metric!r}.{nearest(metric, metrics) if metrics else ''}")
    gains = [row for name in (metrics if metric is None else [metric]) for row in _by_type(sessions, name)]
    said = compare_sides((each.is_held_back, float(bool(each.scores))) for each in sessions)
    costs = {
        "input tokens": [(each.is_held_back, each.input_tokens) for each in sessions],
        "output tokens": [(each.is_held_back, each.output_tokens) for each in sessions],
        "seconds": [(each.is_held_back, each.latency_s) for each in sessions],
    }
    return GainReport(
        run_id=run.id,
        requests=len(requests),
        bypassed=ends["bypassed"],
        cut=ends["cut"],
        sessions=len(sessions),
        held_back=sum(each.is_held_back for each in sessions),
        least=LEAST,
        gains=tuple(gains),
        said=_row("gave feedback", ALL, said),
        costs=tuple(_row(name, ALL, compare_sides(pairs)) for name, pairs in costs.items()),
    )


def _few(reader: LogReader, cls: type, fields: tuple[str, ...]) -> list:  # type: ignore[type-arg]
    return [event for _, event in reader.events({cls: fields})]


def _by_type(sessions: Sequence[Sitting], metric: str) -> list[GainRow]:
    types = sorted({each.task_type for each in sessions if each.task_type})
    rows = [_row(metric, ALL, _of(sessions, metric))]
    # With a single type, its rows would repeat those of all types.
    if len(types) > 1:
        rows += [_row(metric, name, _of([s for s in sessions if s.task_type == name], metric)) for name in types]
    return rows


def _of(sessions: Sequence[Sitting], metric: str) -> Difference:
    return compare_sides((each.is_held_back, each.scores.get(metric)) for each in sessions)


def _row(measure: str, task_type: str, found: Difference) -> GainRow:
    return GainRow(measure=measure, task_type=task_type, **msgspec.structs.asdict(found))
