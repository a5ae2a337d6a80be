"""Whether a prompt fits a model's context, for servers that silently cut prompts."""

from __future__ import annotations

import re

from mage_es.engine.seams.faults import Fault, ModelFault
from mage_es.engine.seams.model import Request
from mage_es.engine.seams.tokens import estimated_tokens

_CONTEXT = re.compile(r"context (?:length|window|size|limit)\D{0,40}(\d{3,7})")
_LEAST = 4
"""Part of a reply's limit that must be left: a shorter reply would be cut more often than not."""


def fitting(request: Request, context: int) -> int:
    """Return the most tokens that a reply may have beside its prompt in `context` tokens (0: no limit).

    Raises a `ModelFault` of kind `too_long` where that is less than a quarter of what was asked for.
    """
    if not context:
        return request.max_tokens
    given = estimated_tokens(request.text)
    room = min(request.max_tokens, context - given)
    if room < request.max_tokens // _LEAST:
        told = f"an estimated {given} tokens and a reply of up to {request.max_tokens} do not fit the {context} allowed"
        raise ModelFault(Fault("too_long", told))
    return room


def told_context(refusal: str) -> int:
    """Return the context that a provider names where it refuses a request as too long, 0 if it names none."""
    found = _CONTEXT.search(refusal)
    return int(found[1]) if found else 0
