"""What a served run remembers of ongoing conversations, so that each of their requests gets the same bytes again.

Rules
    - A session keeps the marker that it began at, and its side of the coin. A turn keeps the note that it got first,
      even if that was none: later turns of the conversation have it in their prompt, and the provider in its cache.
    - A conversation is found by its session's name or an inference of it, or else by a reply: the id of the reply that
      it continues or, unless a client named it, an earlier turn with everything before it and the first reply to it.
      Many conversations begin with the same turn; each is separate, with its own coin and notes. A turn whose reply was
      not read (a client hung up, a process was killed) leads to its conversation if only one waits there. Everything
      belongs to a key: no client reaches another's conversation.
    - If two are the same to the letter up to a reply, nothing tells which continues: the newest that has not continued
      is taken, since most that are older never will. What a client rewrote is a new conversation from the first reply
      that no client was given, and keeps its bytes before that.
    - Bounded: the newest are kept, and little of each. All of it is in the log and is read back from there (`recall`).

"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Generic, Literal, NamedTuple, TypeVar

import msgspec

from mage_es.engine.served.wording import shared
from mage_es.engine.serving.shapes import Reading, Turn
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import InferenceClosed, InferenceOpened, ServedLayout, Treatment

INFERENCE = "inf-"
"""How the names of inferences begin."""
MOST = 24_576
"""The least number of conversation names to keep; at most twice as many are kept."""
_LATEST = 2_048
"""How many inferences to keep whole at least, for a demonstration that comes soon; others are read from the log."""
_MOST_OPEN = 50_000
_MOST_TURNS = 512
"""How many turns of a session to keep: a client may send everything under one name."""
_MOST_SAME = 64
"""How many conversations with identical text so far to keep."""
_READ_BACK = 100_000
"""How many events to read back from the log's end: an inference leaves two."""

_BYTES = 15
"""Bytes kept of a SHA-256: with these an entry takes 48 bytes, Python's overhead included; with one more it takes
64."""

K = TypeVar("K")
V = TypeVar("V")


class TurnChoice(NamedTuple):
    """What was chosen for a turn when it first became the latest; the names are as in `InferenceOpened`."""

    marker: int
    treatment: Treatment
    task_type: str
    is_typed: bool
    arm: str
    probability: float
    memories: tuple[str, ...]
    nearest: float
    floor: float
    layout: ServedLayout

    @classmethod
    def of(cls, event: InferenceOpened) -> TurnChoice:
        return cls(*(getattr(event, name) for name in cls._fields))


class Conversation:
    """What is kept of a session: its marker (a closed iteration), whether it is held back, and its turns."""

    __slots__ = ("is_held_back", "marker", "session", "shown", "turns")

    def __init__(self, session: str, marker: int, *, is_held_back: bool) -> None:
        self.session, self.marker, self.is_held_back = session, marker, is_held_back
        # Parallel lists: most conversations have one turn or two, and a dictionary would take more than all the rest.
        self.turns: tuple[bytes, ...] = ()
        self.shown: tuple[TurnChoice, ...] = ()

    def shows(self, turn: bytes) -> TurnChoice | None:
        return self.shown[self.turns.index(turn)] if turn in self.turns else None

    def show(self, turn: bytes, shown: TurnChoice) -> None:
        if turn in self.turns:
            place = self.turns.index(turn)
            self.shown = (*self.shown[:place], shown, *self.shown[place + 1 :])
        else:
            self.turns, self.shown = (*self.turns, turn)[-_MOST_TURNS:], (*self.shown, shown)[-_MOST_TURNS:]


class _Newest(Generic[K, V]):
    """A mapping that forgets the least recently used entries: it keeps at least the last `most` and at most twice as
    many. Keeping them in order would take as much memory as the entries do."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._now, self._before = dict[K, V](), dict[K, V]()

    def use(self, key: K) -> V | None:
        found = self._now.get(key)
        if found is None and (found := self._before.get(key)) is not None:
            self.keep(key, found)
        return found

    def keep(self, key: K, value: V) -> None:
        if len(self._now) >= self._most and key not in self._now:
            self._now, self._before = {}, self._now
        self._now[key] = value

    def drop(self, key: K) -> None:
        self._now.pop(key, None)
        self._before.pop(key, None)


class Sessions:
    """Safe to use from several threads. `is_held_back` tosses the coin of a session, given its key and its name."""

    def __init__(self, is_held_back: Callable[[str, str], bool]) -> None:
        self._is_held_back = is_held_back
        self._mutex = threading.Lock()
        self._conversations = _Newest[bytes, Conversation](MOST // 2)
        self._after = _Newest[bytes, tuple[Conversation, ...]](MOST // 2)
        """Conversations that are the same up to a turn without a known reply, or up to a reply."""
        self._latest, self._open = _Newest[str, InferenceOpened](_LATEST), dict[str, InferenceOpened]()

    def session_of(self, key: str, reading: Reading, *, is_retry: bool = False) -> str:
        """Return the session of a conversation by what came before in it, "" for a new one. For a repeated request, its
        latest turn also came before."""
        with self._mutex:
            if reading.previous and (known := self._conversations.use(_name("reply", key, reading.previous))):
                return known.session
            # From the latest, because the longer a beginning, the fewer conversations share it.
            for turn in reversed(reading.turns):
                if turn.replied_sha256 and (same := self._after.use(_name("replied", key, turn.replied_sha256))):
                    place = (_short(turn.sha256),)
                    newest = reversed(same)
                    return self._keep(key, next((each for each in newest if each.turns[-1:] == place), same[-1]))
                waiting = self._after.use(_name("turn", key, turn.sha256)) or ()
                is_latest = turn is reading.turns[-1] and reading.is_new
                if waiting and (is_retry if is_latest else len(waiting) == 1):
                    return self._keep(key, waiting[-1])
            return ""

    def conversation(self, key: str, session: str, marker: int) -> Conversation:
        """Return the conversation of a session; if it has none yet, a new one at `marker`."""
        with self._mutex:
            return self._conversation(key, session, marker)

    def known(self, key: str, session: str) -> Conversation | None:
        """Return the conversation of a session, None if it has none yet."""
        with self._mutex:
            return self._conversations.use(_name("session", key, session))

    def inference(self, key: str, name: str) -> InferenceOpened | None:
        """Return one of the latest inferences, with the text of its latest turn as it was given to `opened`."""
        with self._mutex:
            found = self._latest.use(name)
            return found if found and found.key == key else None

    def session_by(self, kind: Literal["session", "inference"], key: str, name: str) -> str:
        """Return the session of that name, or that of the inference of that name; "" if it is not remembered."""
        with self._mutex:
            return known.session if (known := self._conversations.use(_name(kind, key, name))) else ""

    def shown(self, key: str, session: str, turns: Sequence[Turn]) -> list[TurnChoice | None]:
        """Return what was chosen for each turn of a session, None if it was never the latest."""
        with self._mutex:
            known = self._conversations.use(_name("session", key, session))
            chosen = dict(zip(known.turns, known.shown, strict=True)) if known else {}
            return [chosen.get(_short(turn.sha256)) for turn in turns]

    def opened(self, event: InferenceOpened, question: str = "") -> TurnChoice:
        """Note an inference and return what its turn keeps: the first choice made for it."""
        with self._mutex:
            self._open[event.inference] = event
            if len(self._open) > _MOST_OPEN:
                del self._open[next(iter(self._open))]
            self._latest.keep(event.inference, msgspec.structs.replace(event, question=question))
            known, shown = self._conversation(event.key, event.session, event.marker), TurnChoice.of(event)
            self._conversations.keep(_name("inference", event.key, event.inference), known)
            if event.turn_sha256:
                turn = _short(event.turn_sha256)
                if first := known.shows(turn):
                    shown = first
                else:
                    known.show(turn, shown)
                    self._add(_name("turn", event.key, event.turn_sha256), known)
            return shown

    def closed(self, event: InferenceClosed) -> bool:
        """Note the end of an inference; return False if it is not open or was not recorded."""
        with self._mutex:
            opened = self._open.pop(event.inference, None)
            if opened is None:
                return False
            if event.reply_id and opened.shape == "responses":  # the only API that continues from a reply
                known = self._conversation(opened.key, opened.session, opened.marker)
                self._conversations.keep(_name("reply", opened.key, event.reply_id), known)
            if event.reply_sha256:
                known = self._conversation(opened.key, opened.session, opened.marker)
                self._remove(_name("turn", opened.key, opened.turn_sha256), known)
                self._add(_name("replied", opened.key, event.reply_sha256), known)
            if event.outcome == "bypassed":
                self._withdraw(opened)
            return True

    def bypassed(self, event: InferenceOpened) -> None:
        """Note that an inference was sent without its note, which its turn must not get later either."""
        with self._mutex:
            self._withdraw(event)

    def withdrawn(self, event: InferenceOpened) -> None:
        """Note that an inference was not recorded, and so was sent without its note."""
        with self._mutex:
            self._open.pop(event.inference, None)
            self._latest.drop(event.inference)
            self._conversations.drop(_name("inference", event.key, event.inference))
            self._withdraw(event)

    def recall(self, reader: LogReader) -> None:
        """Load what the end of a log records about sessions."""
        since = max(1, reader.head.seq - _READ_BACK)
        for event in reader.of(InferenceOpened, InferenceClosed, since=since):
            if isinstance(event, InferenceClosed):
                self.closed(event)
            elif isinstance(event, InferenceOpened):
                self.opened(event, event.question)
                if event.treatment in ("memory", "shadow", "holdback"):  # the others do not say what the coin said
                    known = self._conversation(event.key, event.session, event.marker)
                    known.is_held_back = event.treatment == "holdback"
        # What the last process left open will not be closed any more.
        self._open.clear()

    def _conversation(self, key: str, session: str, marker: int) -> Conversation:
        name = _name("session", key, session)
        if (known := self._conversations.use(name)) is None:
            known = Conversation(session, marker, is_held_back=self._is_held_back(key, session))
            self._conversations.keep(name, known)
        return known

    def _keep(self, key: str, known: Conversation) -> str:
        """Keep a conversation that was found by one of its turns, and return its session."""
        self._conversations.keep(_name("session", key, known.session), known)
        return known.session

    def _add(self, name: bytes, known: Conversation) -> None:
        if is_named(known.session):  # its client says so each time, and another's may have the same text
            return
        others = (each for each in self._after.use(name) or () if each is not known)
        self._after.keep(name, (*others, known)[-_MOST_SAME:])

    def _remove(self, name: bytes, known: Conversation) -> None:
        if left := tuple(each for each in self._after.use(name) or () if each is not known):
            self._after.keep(name, left)
        else:
            self._after.drop(name)

    def _withdraw(self, opened: InferenceOpened) -> None:
        known, turn = self._conversation(opened.key, opened.session, opened.marker), _short(opened.turn_sha256)
        if (first := known.shows(turn)) and first.treatment == "memory":
            known.show(turn, first._replace(treatment="none"))


def is_named(session: str) -> bool:
    """Return whether a client named a session: else it has the name of its first inference."""
    return not session.startswith(INFERENCE)


def is_retry(headers: Mapping[str, str]) -> bool:
    """Return whether a client repeats a request, which the official SDKs count in a header."""
    return headers.get("x-stainless-retry-count", "0") != "0"


def _name(kind: Literal["session", "inference", "turn", "replied", "reply"], key: str, name: str) -> bytes:
    """Return the key under which a conversation is found."""
    return sha256(f"{kind}\0{key}\0{name}".encode()).digest()[:_BYTES]


def _short(sha256: str) -> bytes:
    return bytes.fromhex(sha256[: 2 * _BYTES])


_TURNS, _KEYS, _END = 12, 1_000, 1_000
"""How many turns are kept per key, for how many keys, and how many characters of either end of a turn."""
_LEAST = 3
"""How many other turns must begin or end alike."""


class TurnHabits:
    """What a key's latest turns have in common at either end. Safe to use from several threads."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._seen = OrderedDict[str, deque[str]]()

    def shared(self, key: str, text: str) -> tuple[int, int]:
        """Return how many characters a turn shares with others of its key, at its beginning and at its end, and keep
        it."""
        with self._mutex:
            seen = self._seen.setdefault(key, deque(maxlen=_TURNS))
            self._seen.move_to_end(key)
            if len(self._seen) > _KEYS:
                self._seen.popitem(last=False)
            kept = text if len(text) <= 2 * _END else text[:_END] + text[-_END:]
            others = [each for each in seen if each != kept]
            if len(others) == len(seen):
                seen.append(kept)
        return shared(text, others, _LEAST)
