"""Finding the final answer in a reply, the part that all benchmarks share.

The first of these that applies wins: the benchmark's own marker, the last line that begins with `Answer:`,
the last `\\boxed{...}`, the last line. A reasoning block in front never counts as an answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_THINK, _UNTHINK = "<think>", "</think>"
_LABEL = re.compile(
    r"^[ \t]*(?P<opened>[*_]*)(?:final[ \t]+)?answer(?P<closed>[*_]*[ \t]*:[*_]*)", re.IGNORECASE | re.MULTILINE
)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_QUOTES = {'"': '"', "'": "'", "`": "`", "“": "”", "‘": "’", "«": "»"}
_EMPHASIS = ("**", "__", "*", "_")


def final_answer(reply: str, native: Callable[[str], str | None]) -> str:
    """Return the final answer in a reply, "" if there is none. Never raises.

    `native` is the benchmark's own extractor; it returns None if its marker does not occur.
    """
    text = without_reasoning(reply)
    found = native(text)
    if found is None:
        found = _after_label(text)
    if found is None:
        found = last_boxed(text)
    if found is None:
        found = next((line for line in reversed(text.splitlines()) if line.strip()), "")
    return trimmed(found)


def plain_answer(reply: str) -> str:
    """Return the final answer in a reply where the benchmark has no marker of its own. Never raises."""
    return final_answer(reply, lambda text: None)


def without_reasoning(reply: str) -> str:
    """Return the reply after its leading `<think>` block; "" when the block is never closed.

    Some chat templates open the block in the prompt: then the reply only closes it.
    """
    is_opened_before = _THINK not in reply and _UNTHINK in reply
    return reply.partition(_UNTHINK)[2] if is_opened_before or reply.lstrip().startswith(_THINK) else reply


def _after_label(text: str) -> str | None:
    labels = list(_LABEL.finditer(text))
    if not labels:
        return None
    label = labels[-1]
    said = _BLANK_LINE.split(text[label.end() :].lstrip(), maxsplit=1)[0]
    if label["opened"] and label["closed"].strip() == ":":  # **Answer: Paris**: the emphasis ends behind the answer
        before, _, behind = said.partition(label["opened"])
        return before + behind
    return said


def last_boxed(text: str) -> str | None:
    r"""Return the content of the last `\boxed{...}` whose braces balance, None without one."""
    end = len(text)
    while (start := text.rfind("\\boxed{", 0, end)) >= 0:
        depth = 0
        for place in range(start + len("\\boxed"), len(text)):
            depth += {"{": 1, "}": -1}.get(text[place], 0)
            if depth == 0:
                return text[start + len("\\boxed{") : place]
        end = start
    return None


def trimmed(answer: str) -> str:
    """Return the answer without surrounding space, matching quotes, markdown emphasis and one full stop."""
    text = answer.strip()
    text = _unwrapped(text)
    if text.endswith(".") and not text.endswith(".."):
        text = text[:-1].rstrip()
    return _unwrapped(text)


def _unwrapped(text: str) -> str:
    """Strip matching pairs from the outside, as many as there are (each pass shortens the text)."""
    while len(text) >= 2:
        mark = next((m for m in _EMPHASIS if len(text) > 2 * len(m) and text.startswith(m) and text.endswith(m)), "")
        if mark:
            text = text[len(mark) : -len(mark)].strip()
        elif _QUOTES.get(text[0]) == text[-1]:
            text = text[1:-1].strip()
        else:
            break
    return text
