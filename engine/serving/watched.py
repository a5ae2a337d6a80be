"""The embedder of a served run, which reports once that it fails, and once that it is back.

Rules
    - Where calls are metered, each call counts, since texts in the cache say nothing about the server; elsewhere, each
      text counts.
    - A text that a server refuses is no outage: the next one may be accepted.
    - Calls are not recorded, since a served run's requests are; a publish records its own.
"""

from collections.abc import Callable, Sequence
from threading import Lock

from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.embedder import Embedder, Vectors
from mage_es.engine.seams.faults import HOPELESS
from mage_es.engine.seams.metering import EmbeddingAttempt, Metered
from mage_es.events.errors import MageError, PrerequisiteError
from mage_es.projections.ledger import Ledger


class WatchedEmbedder:
    """`say` gets a line when an outage begins, and one when it ends."""

    def __init__(self, embedder: Embedder, say: Callable[[str], None]) -> None:
        self.name, self.dimension, self.sha256 = embedder.name, embedder.dimension, embedder.sha256
        self._embedder, self._say = embedder, say
        self._counting, self._failed = Lock(), 0
        # Checked once: checking a protocol is slow, and each request would do it.
        if is_metered := isinstance(embedder, Metered):
            self.meter = embedder.meter
        self._is_metered = is_metered
        self.listen()

    def listen(self) -> None:
        """Take what the meter reports, which would pile up in it; a publish takes the reports for itself."""
        if self._is_metered:
            self.meter.connect(self._attempted, Runtime().budget(Ledger()))

    def encode(self, texts: Sequence[str]) -> Vectors:
        """Raises `MageError`, whatever fails."""
        try:
            vectors = self._embedder.encode(texts)
        except Exception as error:  # it may be a plug-in of any kind, and requests go on whatever it raises
            if not isinstance(error, MageError):
                error = PrerequisiteError(f"{type(error).__name__}: {error}.")
            if not self._is_metered:
                self._fails(str(error))
            raise error from None
        if not self._is_metered:
            self._works()
        return vectors

    def _attempted(self, attempt: EmbeddingAttempt) -> None:
        if attempt.failed is None:
            self._works()
        elif attempt.failed.is_lost and ((fault := attempt.failed.fault).is_outage or fault.kind in HOPELESS):
            self._fails(fault.sentence)

    def _fails(self, why: str) -> None:
        with self._counting:
            self._failed += 1
            is_first = self._failed == 1
        if is_first:
            self._say(
                f"The embedder {self.name} fails, so requests go on without new memories: {why} Start it again, or see "
                "what it answers with `mage-es doctor`; each request tries it again."
            )

    def _works(self) -> None:
        with self._counting:
            failed, self._failed = self._failed, 0
        if failed:
            self._say(
                f"The embedder {self.name} answers again, and requests get memories. It had failed {failed} times."
            )
