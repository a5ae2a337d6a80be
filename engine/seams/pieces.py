"""A request in pieces, many of them shared with other requests, and reassembled from them, byte for byte."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import msgspec

from mage_es.engine.seams.model import BETWEEN_TURNS, Request
from mage_es.events.vocabulary import Sent, Span

_HEAD = re.compile(r"## [^\n]{1,80}\n\n|```json\n[^\n]*\n```")
"""The end of a piece: a heading, or the block of a guidance prompt, which a repair may follow."""
_TERMS = ("temperature", "max_tokens", "reply_schema", "sample")


class Snippet(NamedTuple):
    """A text of a request. `source` is that of a quotation (see `Quote`); the terms count as the system message."""

    text: str
    source: str = ""
    is_system: bool = False


class Pieces(NamedTuple):
    """The pieces of a request and the offsets at which another message begins, as in `Sent`."""

    pieces: tuple[Snippet, ...] = ()
    begins: tuple[int, ...] = ()

    @property
    def sent(self) -> Sent:
        """The recorded form before the texts have numbers: the texts themselves."""
        return Sent(begins=self.begins, texts=tuple(piece.text for piece in self.pieces))


def in_pieces(request: Request, spans: Sequence[Span] = ()) -> Pieces:
    """Return a request's system message, its terms, and its other messages, cut where quotations begin and end."""
    terms = {name: getattr(request, name) for name in _TERMS}
    turns = request.turns
    if not all(request.prompt[:turn].endswith(BETWEEN_TURNS) for turn in turns):
        terms["turns"], turns = turns, ()  # not built like ours: the pieces would lose what is between messages
    pieces, begins = (
        [Snippet(request.system, is_system=True), Snippet(msgspec.json.encode(terms).decode(), is_system=True)],
        list[int](),
    )
    for start, end in pairwise((0, *turns, len(request.prompt))):
        if start:
            begins.append(len(pieces))
        end -= len(BETWEEN_TURNS) * (end in turns)
        pieces += [Snippet(request.prompt[a:b], _source(spans, a)) for a, b in _cuts(request.prompt, spans, start, end)]
    return Pieces(tuple(pieces), tuple(begins))


def together(texts: Sequence[str], begins: Sequence[int]) -> Request:
    """Return the request of these pieces. Raises `ValueError` or `TypeError` for invalid ones."""
    system, terms, *said = texts
    prompt, turns = "", list[int]()
    for place, text in enumerate(said, start=2):
        if place in begins:
            prompt += BETWEEN_TURNS
            turns.append(len(prompt))
        prompt += text
    # Not converted: a temperature that was an integer is hashed as one.
    given: dict[str, Any] = msgspec.json.decode(terms, type=dict[str, Any])
    given["turns"] = tuple(given.get("turns", turns))
    return Request(**given, system=system, prompt=prompt)


def _cuts(prompt: str, spans: Sequence[Span], start: int, end: int) -> Iterator[tuple[int, int]]:
    places = {start, end}
    for span in spans:
        after = span.offset + span.length
        # Text between quotations belongs to the one before it.
        after += len(BETWEEN_TURNS) * prompt.startswith(BETWEEN_TURNS, after)
        places.update(place for place in (span.offset, after) if start < place < end)
    for a, b in pairwise(sorted(places)) if start < end else [(start, end)]:
        while (head := _HEAD.match(prompt, a, b)) and head.end() < b:
            yield a, head.end()
            a = head.end()
        yield a, b


def _source(spans: Sequence[Span], at: int) -> str:
    return next((span.source for span in spans if span.offset <= at < span.offset + span.length), "")
