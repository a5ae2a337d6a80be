"""The texts that were sent to models: which ones a log has, and under which numbers. It has no digest.

Rules
    - A text is recorded once, when it is first sent; events name the texts that they sent by number. So an event gets
      its numbers when it is committed, from the state at that moment.
    - A subject's text has a number of its own: the same text of another subject, or of none, has a different number.
    - No snapshot has them: a hash of a subject's text would help to guess it. They are folded from the log.
"""

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, ClassVar

import msgspec

from mage_es.events.facts.private import Private, is_erased, under_of
from mage_es.events.segments import Reads
from mage_es.events.vocabulary import CallFailed, Draft, Event, ModelCalled, Sent
from mage_es.projections.protocol import Order, unread

_SIZE = 16
_Private = tuple[frozenset[str], str]


class Texts:
    name: ClassVar[str] = "texts"
    reads: ClassVar[Reads] = {ModelCalled: ("sent",), CallFailed: ("sent",)}
    order: ClassVar[Order] = "by_type"

    def __init__(self) -> None:
        self.last = 0
        """The highest number so far."""
        self._numbers: dict[bytes | _Private, int] = {}

    def apply(self, event: Event) -> None:
        match event:
            case ModelCalled() | CallFailed():
                self._note(event.sent)
            case _:
                raise unread(self, event)

    def numbered(self, drafts: Iterable[Draft]) -> list[Draft]:
        """Return drafts about to be committed, with numbers for the texts they sent and with the new texts."""
        last, new, found = self.last, dict[bytes | _Private, int](), list[Draft]()
        for draft in drafts:
            event = draft.event
            if isinstance(event, ModelCalled | CallFailed) and event.sent.texts and not event.sent.parts:
                sent = self._numbered(event.sent, last, new)
                last += len(sent.texts)
                draft = msgspec.structs.replace(draft, event=msgspec.structs.replace(event, sent=sent))
            found.append(draft)
        return found

    def _numbered(self, sent: Sent, last: int, new: dict[bytes | _Private, int]) -> Sent:
        parts, texts = list[int](), list[str]()
        for text in sent.texts:
            name = _name(text)
            number = self._numbers.get(name) or new.get(name)
            if number is None:
                texts.append(text)
                number = new[name] = last + len(texts)
            parts.append(number)
        return Sent(parts=tuple(parts), begins=sent.begins, first=last + 1 if texts else 0, texts=tuple(texts))

    def digest(self) -> str:
        """Return "": how texts are numbered depends on the order in which replies came."""
        return ""

    def dump(self) -> Any:
        kept = sorted((number, name) for name, number in self._numbers.items() if isinstance(name, bytes))
        return [self.last, b"".join(name for _, name in kept), [number for number, _ in kept]]

    def load(self, dumped: Any) -> None:
        self.last, names, numbers = dumped
        cut = (names[at : at + _SIZE] for at in range(0, len(names), _SIZE))
        self._numbers = dict(zip(cut, numbers, strict=True))

    def _note(self, sent: Sent) -> None:
        for number, text in enumerate(sent.texts, start=sent.first):
            self.last = max(self.last, number)
            if not is_erased(text):
                name = _name(text)
                self._numbers[name] = min(number, self._numbers.get(name, number))


def _name(text: str) -> bytes | _Private:
    if isinstance(text, Private):
        return under_of(text), str(text)
    return blake2b(text.encode(), digest_size=_SIZE).digest()
