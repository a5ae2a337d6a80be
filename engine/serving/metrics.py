"""A proxy's counters for Prometheus. A tenant sees its own rows, the operator all."""

from collections.abc import Callable, Iterable
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.samples import Sample

from mage_es.engine.serving.journal import Health
from mage_es.engine.serving.replies import ReplyUsage

_SECONDS = (0.0005, 0.001, 0.002, 0.003, 0.005, 0.01, 0.025, 0.05, 0.1)
_LONG_SECONDS = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300)


class Counters:
    """Counters of one proxy, each by run and more labels; `health` gives each run's state when they are read."""

    def __init__(self, health: Callable[[], dict[str, Health]]) -> None:
        self._health, self._registry = health, CollectorRegistry()
        ProcessCollector(registry=self._registry)
        into: Any = {"registry": self._registry}
        labels = ("run", "route", "status", "outcome", "treatment")
        self._requests = Counter("mage_requests", "Requests by outcome", labels, **into)
        spent = "Time that a request spent here before it went on, and its reply before it came back"
        self.overhead = Histogram("mage_overhead_seconds", spent, ("run",), buckets=_SECONDS, **into)
        self.unrecorded = Counter("mage_unrecorded", "Requests that are not on record", ("run",), **into)
        dropped = "Requests whose first reply was dropped, as they were not on record"
        self.sent_again = Counter("mage_sent_again", dropped, ("run",), **into)
        waited = "Time from a request's way to the upstream until its reply began, and until it had ended"
        ways = ("run", "route", "until")
        self.upstream = Histogram("mage_upstream_seconds", waited, ways, buckets=_LONG_SECONDS, **into)
        self._tokens = Counter("mage_tokens", "Tokens by the upstream's own count", ("run", "kind"), **into)
        self.refused = Counter("mage_refused", "Requests that were refused here, by status", ("run", "status"), **into)
        self._recording = Gauge("mage_recording", "1 if what happens is recorded, 0 if not", ("run",), **into)
        published = "1 if the last publish of --publish-every succeeded, or none was tried yet; 0 if it failed"
        self._publishing = Gauge("mage_publishing", published, ("run",), **into)
        self._queued = Gauge("mage_queued_events", "Events that wait to be durable", ("run",), **into)
        far = "Share of the questions looked up to which no memory was near enough"
        self._far = Gauge("mage_far_share", far, ("run",), **into)

    def count(self, *, run: str, route: str, status: int, outcome: str, treatment: str) -> None:
        """Count a request."""
        self._requests.labels(run, route, str(status), outcome, treatment).inc()

    def count_tokens(self, run: str, usage: ReplyUsage) -> None:
        """Count the tokens of a reply; what the upstream did not report is left out."""
        for kind, tokens in (("input", usage.input), ("cached", usage.cached), ("output", usage.output)):
            if tokens > 0:
                self._tokens.labels(run, kind).inc(tokens)

    def text(self, run: str | None) -> bytes:
        """Return the rows of a run, or of all for None."""
        for name, health in self._health().items():
            self._recording.labels(name).set(not health.problem)
            self._publishing.labels(name).set(not health.unpublished)
            self._queued.labels(name).set(health.queued)
            self._far.labels(name).set(health.far / max(1, health.looked_up))
        return generate_latest(_Rows(self._registry, run))


class _Rows(CollectorRegistry):
    """The rows of another registry that are about one run, or all of them."""

    def __init__(self, registry: CollectorRegistry, run: str | None) -> None:
        super().__init__()
        self._of, self._run = registry, run

    def collect(self) -> Iterable[Metric]:
        for metric in self._of.collect():
            metric.samples = [sample for sample in metric.samples if self._is_shown(sample)]
            yield metric

    def _is_shown(self, sample: Sample) -> bool:
        return not sample.name.endswith("_created") and self._run in (None, sample.labels.get("run"))
