"""The reference tier: from the last fenced JSON block of a prompt to a typed reply, by a table of authors."""

from collections.abc import Callable
from functools import partial
from typing import get_args

import msgspec

from mage_es.engine.briefs import AnyBrief, Brief
from mage_es.engine.players.prompts import json_block
from mage_es.engine.players.reference.authors import AUTHORS, Authors
from mage_es.engine.players.stand_in import StandIn
from mage_es.engine.seams.model import Request
from mage_es.events.errors import UsageError


def teacher_reply(authors: Authors) -> Callable[[Request], str]:
    def reply(request: Request) -> str:
        brief = read_brief(request.prompt)
        return msgspec.json.encode(authors[type(brief)](brief)).decode()

    return reply


def read_brief(prompt: str) -> Brief:
    """Raises `UsageError`: the prompt has no brief, or one of an unknown kind."""
    block = json_block(prompt)
    if not block:
        raise UsageError(
            "builtin/reference found no brief: the prompt has no fenced json block."
            " It answers guidance prompts only; choose another model for free questions."
        )
    try:
        brief: Brief = msgspec.json.decode(block, type=AnyBrief)
        return brief
    except msgspec.MsgspecError as error:
        raise UsageError(
            f"builtin/reference cannot answer this brief: {error} in {block[:80]!r}."
            f" It knows: {', '.join(sorted(str(brief.__struct_config__.tag) for brief in get_args(AnyBrief)))}."
        ) from error


reply = teacher_reply(AUTHORS)
Reference = partial(StandIn, "builtin/reference", reply, teacher_sees="solutions")
