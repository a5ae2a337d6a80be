"""The requests of a log, reassembled from its texts."""

from collections.abc import Mapping
from functools import cached_property

from mage_es.engine.seams.model import Request
from mage_es.engine.seams.pieces import together
from mage_es.events.log import LogReader
from mage_es.events.segments import Reads
from mage_es.events.vocabulary import CallFailed, ModelCalled, Sent

_READ: Reads = {ModelCalled: ("sent",), CallFailed: ("request_sha256", "sent")}


class Requests:
    """What the calls of a log sent; for an exam's log `run` is its run's log, whose texts up to `head_seq` it knows.
    All texts are read when the first one is needed."""

    def __init__(self, reader: LogReader, *, run: LogReader | None = None, head_seq: int = 0) -> None:
        self._logs = [*([(run, head_seq)] if run else []), (reader, None)]
        self._failed: dict[str, Sent] = {}

    @cached_property
    def _texts(self) -> Mapping[int, str]:
        texts = dict[int, str]()
        for reader, until in self._logs:
            for _, event in reader.events(_READ, until=until):
                if isinstance(event, ModelCalled | CallFailed):
                    texts.update(enumerate(event.sent.texts, start=event.sent.first))
                if isinstance(event, CallFailed):
                    self._failed[event.request_sha256] = event.sent
        return texts

    def request(self, sent: Sent) -> Request | None:
        """Return the request that was sent, or None if it is not on record or cannot be read here."""
        try:
            return together([self._texts[number] for number in sent.parts], sent.begins) if sent.parts else None
        except (KeyError, TypeError, ValueError):
            return None

    def was_refused(self, sha256: str) -> bool:
        """Return whether a request of this hash failed, and is on record."""
        request = self.request(self._failed[sha256]) if self._texts and sha256 in self._failed else None
        return request is not None and request.sha256 == sha256
