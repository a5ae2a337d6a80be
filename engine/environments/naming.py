"""Reading the action that a model's reply names, in the form that the step prompts ask for."""

from __future__ import annotations

import re

_MARKER = re.compile(r"^[ \t>*_`]*action[ \t*_`]*:(.*)$", re.IGNORECASE | re.MULTILINE)
_TRIMMED = " \t*_`\"'"


def named_action(reply: str) -> str:
    """Return the text after the last line-initial `Action:`, else the last line that is not empty; "" if none is.

    Emphasis, quotes and one full stop around it are dropped. A reasoning block that was never closed holds no action.
    """
    said = reply.rpartition("</think>")[2]
    if "<think>" in said:
        return ""
    marked = _MARKER.findall(said)
    lines = [line for line in said.splitlines() if line.strip()]
    named = marked[-1] if marked else lines[-1] if lines else ""
    return str(named).strip(_TRIMMED).removesuffix(".").strip(_TRIMMED)
