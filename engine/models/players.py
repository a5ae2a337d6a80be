"""What embedded models that play episodes have in common: how a step prompt is divided, chance, and counting.

Rules
    - Everything is a function of the request alone: the dice are the prompt's own hash.
    - Nothing here knows of any world, or of what an action is good for.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable

from mage_es.engine.models.seam import Completion, Request

_HEADING = re.compile(r"^## (.+?)\s*$")
_TOKEN = re.compile(r"\w+|[^\w\s]")


def completed(request: Request, reply: Callable[[str, float], str]) -> Completion:
    """Return the reply, made of prompt and temperature, with the words and marks of both counted as tokens."""
    text = reply(request.prompt, request.temperature)
    given, made = (len(_TOKEN.findall(each)) for each in (request.prompt, text))
    return Completion(text=text, input_tokens=given, output_tokens=made)


def dice_of(prompt: str, temperature: float) -> tuple[str, bool]:
    """Return 64 hexadecimal digits by chance, and whether an action is to be tried out: of that share of prompts."""
    dice = hashlib.sha256(prompt.encode()).hexdigest()
    return dice, int(dice[:8], 16) < temperature * 16**8


def sections_of(prompt: str) -> dict[str, str]:
    """Return the text under each heading, quotation marks taken off; before the first one it is that of ""."""
    lines: dict[str, list[str]] = {"": []}
    name = ""
    for line in prompt.splitlines():
        heading = _HEADING.match(line)
        if heading:
            name = heading.group(1)
            lines.setdefault(name, [])
        else:
            lines[name].append(line.removeprefix(">").removeprefix(" ") if line.startswith(">") else line)
    return {name: "\n".join(text) for name, text in lines.items()}
