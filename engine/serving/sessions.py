"""What a served run remembers of going conversations, so that each of their requests gets the same bytes again.

Rules
    - A session keeps the marker that it began at, and its side of the coin. A turn keeps the note that it got first,
      also where that was none: later turns of the conversation have it in their prompt, and the provider in its cache.
    - Without a name of its own a conversation is recognised by an earlier turn, or by the reply that it goes on from.
    - Sessions, turns and replies are of a key: no client gets at another's by a name.
    - Bounded: of each the newest `MOST` are kept. All of it is in the log and is read back from there (`recall`).
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Generic, NamedTuple, TypeVar

import msgspec

from mage_es.engine.serving.shapes import Reading
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import InferenceClosed, InferenceOpened

MOST = 50_000
_QUESTIONS = 4_096
_READ_BACK = 2 * MOST
"""Events from the log's end that are read back: an inference leaves two."""

V = TypeVar("V")


class Pin(NamedTuple):
    """What a session keeps: its marker (a closed iteration), and whether it is held back."""

    marker: int
    is_held_back: bool


class _Newest(OrderedDict[tuple[str, str], V], Generic[V]):
    """A mapping that forgets what was not used for longest."""

    def __init__(self, most: int = MOST) -> None:
        super().__init__()
        self._most = most

    def use(self, key: tuple[str, str]) -> V | None:
        found = self.get(key)
        if found is not None:
            self.move_to_end(key)
        return found

    def keep(self, key: tuple[str, str], value: V) -> None:
        self[key] = value
        self.move_to_end(key)
        if len(self) > self._most:
            self.popitem(last=False)


class Sessions:
    """Safe to use from several threads. `is_held_back` tosses the coin of a session, given its key and its name."""

    def __init__(self, is_held_back: Callable[[str, str], bool]) -> None:
        self._is_held_back = is_held_back
        self._mutex = threading.Lock()
        self._pins, self._turns = _Newest[Pin](), _Newest[InferenceOpened]()
        self._by_turn, self._by_reply = _Newest[str](), _Newest[str]()
        self._recent = _Newest[InferenceOpened]()
        self._open, self._questions = _Newest[InferenceOpened](), _Newest[str](_QUESTIONS)

    def session_of(self, key: str, reading: Reading, *, is_retry: bool = False) -> str:
        """Return the session of a conversation by what came before in it, "" for a new one.

        Of a request that is sent again its latest turn came before, too.
        """
        with self._mutex:
            if reading.previous and (known := self._by_reply.use((key, reading.previous))):
                return known
            # From the latest on: the longer a beginning, the fewer conversations share it.
            earlier = reading.turns[:-1] if reading.is_new and not is_retry else reading.turns
            found = (self._by_turn.use((key, turn.sha256)) for turn in reversed(earlier))
            return next((session for session in found if session), "")

    def pinned(self, key: str, session: str, marker: int) -> Pin:
        """Return the pin of a session, a new one to `marker`."""
        with self._mutex:
            pin = self._pins.use((key, session)) or Pin(marker, self._is_held_back(key, session))
            self._pins.keep((key, session), pin)
            return pin

    def question(self, key: str, inference: str) -> str:
        """Return the text of an inference's latest turn while it is remembered, and then ""."""
        with self._mutex:
            return self._questions.get((key, inference), "")

    def inference(self, key: str, name: str) -> InferenceOpened | None:
        with self._mutex:
            return self._recent.get((key, name))

    def is_known(self, key: str, session: str) -> bool:
        with self._mutex:
            return (key, session) in self._pins

    def first(self, key: str, session: str, sha256: str) -> InferenceOpened | None:
        """Return the first inference in which a turn of a session was the latest."""
        with self._mutex:
            return self._turns.use((key, _turn(session, sha256)))

    def opened(self, event: InferenceOpened, question: str = "") -> InferenceOpened:
        """Take in an inference. Returns the first one of its turn, whose note the turn keeps: mostly itself."""
        with self._mutex:
            self._open.keep(("", event.inference), event)
            self._recent.keep((event.key, event.inference), event)
            if question:
                self._questions.keep((event.key, event.inference), question)
            if not event.turn_sha256:
                return event
            key = (event.key, _turn(event.session, event.turn_sha256))
            first = self._turns.use(key) or event
            self._turns.keep(key, first)
            self._by_turn.keep((event.key, event.turn_sha256), event.session)
            return first

    def closed(self, event: InferenceClosed) -> bool:
        """Take in the end of an inference. Returns False for one that is not open, or was not recorded."""
        with self._mutex:
            opened = self._open.pop(("", event.inference), None)
            if opened is None:
                return False
            if event.reply_id:
                self._by_reply.keep((opened.key, event.reply_id), opened.session)
            if event.outcome == "bypassed":
                self._withdraw(opened)
            return True

    def bypassed(self, event: InferenceOpened) -> None:
        """Take note that an inference went on without its note, which its turn must not have later either."""
        with self._mutex:
            self._withdraw(event)

    def withdrawn(self, event: InferenceOpened) -> None:
        """Take note that an inference was not recorded, and so went on without its note."""
        with self._mutex:
            self._open.pop(("", event.inference), None)
            self._recent.pop((event.key, event.inference), None)
            self._withdraw(event)

    def recall(self, reader: LogReader) -> None:
        """Take in what the end of a log has of sessions."""
        since = max(1, reader.head.seq - _READ_BACK)
        for event in reader.of(InferenceOpened, InferenceClosed, since=since):
            if isinstance(event, InferenceClosed):
                self.closed(event)
            elif isinstance(event, InferenceOpened):
                self.opened(msgspec.structs.replace(event, question=""), event.question)
                pin = self.pinned(event.key, event.session, event.marker)
                is_known = event.treatment in ("memory", "shadow", "holdback")
                held = event.treatment == "holdback" if is_known else pin.is_held_back
                self._pins[event.key, event.session] = pin._replace(is_held_back=held)
        # Of those that the last process left open there is nothing to wait for.
        self._open.clear()

    def _withdraw(self, opened: InferenceOpened) -> None:
        key = (opened.key, _turn(opened.session, opened.turn_sha256))
        if opened.turn_sha256 and (first := self._turns.get(key)) and first.treatment == "memory":
            self._turns[key] = msgspec.structs.replace(first, treatment="none")


def _turn(session: str, sha256: str) -> str:
    return f"{sha256}{session}"


def is_retry(headers: Mapping[str, str]) -> bool:
    """Tell whether a client sends a request again, which the official SDKs count in a header."""
    return headers.get("x-stainless-retry-count", "0") != "0"


def again(event: InferenceOpened, first: InferenceOpened) -> InferenceOpened:
    """Return an inference of a turn that was the latest before, with what was chosen for it then."""
    kept = ("treatment", "task_type", "is_typed", "arm", "probability", "memories", "note_sha256", "nearest", "floor")
    return msgspec.structs.replace(event, **{name: getattr(first, name) for name in kept})
