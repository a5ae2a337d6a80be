"""Telemetry: what a process reports while it works. The function that the entry point `otel` names sends it.

The entry point (group `mage_es.telemetry`) is a function that is called when traces are wanted. It raises
`PrerequisiteError` if a package is missing; otherwise it returns a second function, which takes a `Telemetry`, a
function that reports problems, and a run's name, and returns a context manager around an `Outbox`.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Protocol

from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Telemetry
from mage_es.engine.seams.plugins import load, open_plugin, plugins
from mage_es.events.errors import PrerequisiteError
from mage_es.events.vocabulary import FeedbackGiven, InferenceClosed, InferenceOpened, RequestShape
from mage_es.projections.memory import MemoryRow


class Outbox(Protocol):
    """Data waiting to be sent to a collector. Any thread may call it."""

    def following(self, run: Run) -> AbstractContextManager[None]:
        """Send what a run records within the block."""

    def begin(self, headers: Mapping[str, str]) -> Any:
        """Return the ids of a request with these headers, None if its client does not sample its trace."""

    def parent_of(self, ids: Any) -> tuple[bytes, bytes]:
        """Return the header that puts the upstream's spans below our chat span."""

    def request(
        self,
        ids: Any,
        run: str,
        address: str,
        shape: RequestShape,
        opened: InferenceOpened | None,
        closed: InferenceClosed,
        end_us: int,
        *,
        row: Callable[[str], MemoryRow],
    ) -> None:
        """Send the spans of a finished request to a served run, answered by an upstream at an address; a request that
        is not on record has no `opened`. `row` returns a memory that it was shown."""

    def feedback(self, run: str, said: FeedbackGiven, at_us: int) -> None:
        """Send a client's feedback on an inference."""


def require_otel() -> None:
    """Raises `PrerequisiteError` without the extra."""
    _sender()


def sending_to(telemetry: Telemetry, say: Callable[[str], None], *, run: str = "") -> AbstractContextManager[Outbox]:
    """Send what the block puts into an outbox. Raises `PrerequisiteError` without the extra."""
    outbox: AbstractContextManager[Outbox] = _sender()(telemetry, say, run=run)
    return outbox


@contextmanager
def followed_by(telemetry: Telemetry | None, run: Run, say: Callable[[str], None], *, of: str = "") -> Iterator[None]:
    """Send what a run records within the block; as data `of` another run, if it is a part of that one. Raises
    `PrerequisiteError` without the extra."""
    if telemetry is None:
        yield
        return
    with sending_to(telemetry, say, run=of or run.id) as outbox, outbox.following(run):
        yield


def _sender() -> Any:
    if "otel" not in plugins("mage_es.telemetry"):
        raise PrerequisiteError("No package that sends telemetry is installed. Omit --otel-endpoint.")
    return open_plugin("mage_es.telemetry", "otel", load("mage_es.telemetry", "otel"))
