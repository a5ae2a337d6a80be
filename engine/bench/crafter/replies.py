"""Reading the action in a reply as the agents of the text protocol do: by exact name, after a fixed cleaning.

`naive` strips the reply, then keeps ASCII letters, white space and colons; `cot` does the same, takes what follows the
last `ACTION:`, and strips that; `robust` takes the text between `<|ACTION|>` and `<|END|>`, stripped. The rest must be
exactly one of the seventeen names, case included: `1. Do` leaves a space in front of `Do`, so it names no action.
"""

import re
from typing import Literal

from mage_es.engine.seams.extraction import without_reasoning

ACTIONS = (
    "Noop",
    "Move West",
    "Move East",
    "Move North",
    "Move South",
    "Do",
    "Sleep",
    "Place Stone",
    "Place Table",
    "Place Furnace",
    "Place Plant",
    "Make Wood Pickaxe",
    "Make Stone Pickaxe",
    "Make Iron Pickaxe",
    "Make Wood Sword",
    "Make Stone Sword",
    "Make Iron Sword",
)
"""The names of the actions, by the simulator's numbers."""
Cleaning = Literal["naive", "cot", "robust"]
_DROPPED = re.compile(r"[^a-zA-Z\s:]")
_OPENED, _CLOSED = "<|ACTION|>", "<|END|>"
_MARKER = "ACTION:"


def cleaned(reply: str, cleaning: Cleaning) -> str:
    """Return what one of the protocol's agents takes as the action; "" if its marker is missing."""
    if cleaning == "robust":
        said, is_closed, _ = reply.partition(_OPENED)[2].partition(_CLOSED)
        return said.strip() if is_closed else ""
    kept = _DROPPED.sub("", reply.strip())
    return kept.rpartition(_MARKER)[2].strip() if cleaning == "cot" else kept


def action_in(reply: str) -> str | None:
    """Return the action that a reply names, cleaned according to its marker; None if it is invalid.

    [section 4, Crafter, the text] BALROG's protocol to the letter: both contexts, the empty view near the west and
    north borders, this reading of replies, 16 earlier observations, and no word on what an action changed.
    """
    said = without_reasoning(reply)
    cleaning: Cleaning = "robust" if _OPENED in said else "cot" if _MARKER in said else "naive"
    named = cleaned(said, cleaning)
    return named if named in ACTIONS else None
