"""Conversations as a proxy reads them."""

import hashlib

from mage_es.engine.serving.shapes import Reading, Turn, replied
from mage_es.events.vocabulary import InferenceClosed


def said(*texts: str, is_new: bool = True, previous: str = "") -> Reading:
    """What a proxy reads of a conversation with these user turns; the replies between are a function of them."""
    turns, name = list[Turn](), ""
    for text in texts:
        name = hashlib.sha256(f"{name}/{text}".encode()).hexdigest()
        turns.append(Turn(text, name, replied(name, "Yes.", ""), is_first=not turns))
    if is_new and turns:
        turns[-1] = turns[-1]._replace(replied_sha256="")
    return Reading("m", is_stream=False, turns=turns, is_new=is_new, previous=previous)


def closed(inference: str, outcome: str = "answered", reply_id: str = "", reply: str = "") -> InferenceClosed:
    return InferenceClosed(
        inference=inference,
        outcome=outcome,  # type: ignore[arg-type]
        status=200,
        problem="",
        input_tokens=10,
        cached_tokens=-1,
        output_tokens=3,
        latency_us=1000,
        overhead_us=100,
        reply=reply,
        reply_id=reply_id,
    )
