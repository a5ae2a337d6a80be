r"""Reading the answer in the required form, for the comparison in `Verdict.strict`.

The first of these that the reply has is read: the benchmark's own marker, the last line that begins with `Answer:`, the
last `\boxed{}`, the last line. `extraction.py` reads leniently, and may change. This module must not change: it decides
figures that are compared with published ones.
"""

import re
from collections.abc import Callable

from mage_es.engine.seams.extraction import AS_WRITTEN, trimmed

_THINK, _UNTHINK = "<think>", "</think>"
_LABEL = re.compile(
    r"^[ \t]*(?P<opened>[*_]*)(?:final[ \t]+)?answer(?P<closed>[*_]*[ \t]*:[*_]*)", re.IGNORECASE | re.MULTILINE
)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
_BRACE = re.compile(r"(\\boxed)?\{|\}")


def answer_in_form(reply: str, native: Callable[[str], str | None] = lambda text: None) -> str:
    """Return the answer, or "". `native` returns what follows the benchmark's own marker. Never raises.

    A reply that is right in this form is right, whatever else it says.
    """
    text = without_leading_reasoning(reply)
    found = (read(text) for read in (native, _after_label, last_boxed, _last_line))
    return trimmed(next(answer for answer in found if answer is not None), AS_WRITTEN)


def without_leading_reasoning(reply: str) -> str:
    """Return the reply after its leading `<think>` block; "" when the block is never closed.

    Some chat templates open the block in the prompt: then the reply only closes it.
    """
    is_opened_before = _THINK not in reply and _UNTHINK in reply
    return reply.partition(_UNTHINK)[2] if is_opened_before or reply.lstrip().startswith(_THINK) else reply


def last_boxed(text: str) -> str | None:
    r"""Return the content of the last `\boxed{}` whose braces balance, or None."""
    opened, last = list[re.Match[str]](), (-1, 0)
    for brace in _BRACE.finditer(text):
        if brace[0] != "}":
            opened.append(brace)
        elif opened and (box := opened.pop())[1]:
            last = max(last, (box.end(), brace.start()))
    return text[slice(*last)] if last[0] >= 0 else None


def _after_label(text: str) -> str | None:
    labels = list(_LABEL.finditer(text))
    if not labels:
        return None
    label = labels[-1]
    said = _BLANK_LINE.split(text[label.end() :].lstrip(), maxsplit=1)[0]
    if label["opened"] and label["closed"].strip() == ":":  # **Answer: Paris**: the emphasis ends after the answer
        before, _, behind = said.partition(label["opened"])
        return before + behind
    return said


def _last_line(text: str) -> str:
    return next((line for line in reversed(text.splitlines()) if line.strip()), "")
