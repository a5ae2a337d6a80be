"""The extra `otel`, which is imported when traces are wanted: whether it is there, and what a block sends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Telemetry
from mage_es.events.errors import PrerequisiteError

if TYPE_CHECKING:
    from mage_es.engine.telemetry.live import Outbox

INSTALL = "python -m pip install 'mage-es[otel]'"


def require_otel() -> None:
    """Raises `PrerequisiteError` without the extra."""
    try:
        import mage_es.engine.telemetry.otlp  # noqa: F401
    except ImportError as error:
        raise PrerequisiteError(f"OpenTelemetry needs the package {error.name}: {INSTALL}") from error


@contextmanager
def sending_to(telemetry: Telemetry, say: Callable[[str], None], *, run: str = "") -> Iterator[Outbox]:
    """Send what is put into an outbox within the block. Raises `PrerequisiteError` without the extra."""
    require_otel()
    from mage_es.engine.telemetry.live import sending

    with sending(telemetry, say, run=run) as outbox:
        yield outbox


@contextmanager
def followed_by(telemetry: Telemetry | None, run: Run, say: Callable[[str], None], *, of: str = "") -> Iterator[None]:
    """Send what a run records within the block, as data `of` a run if it is a part of one. Raises
    `PrerequisiteError` without the extra."""
    if telemetry is None:
        yield
        return
    with sending_to(telemetry, say, run=of or run.id) as outbox:
        from mage_es.engine.telemetry.live import following

        with following(run, outbox):
            yield
