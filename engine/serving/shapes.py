"""The request bodies of the three chat APIs, as far as memories need them: user turns, and where a note goes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Turn(NamedTuple):
    """A user turn: its text parts joined, and the SHA-256 that names the conversation up to and with it."""

    text: str
    sha256: str


class Reading(NamedTuple):
    """What a request says. `is_new` is whether the last message is the latest user turn itself; `previous` is the
    `previous_response_id` of /v1/responses, else ""."""

    model: str
    is_stream: bool
    turns: Sequence[Turn]
    is_new: bool
    previous: str
