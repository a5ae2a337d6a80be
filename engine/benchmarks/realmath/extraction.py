r"""Finding the final answer of a worked solution: the section that the prompt asks for, else its end.

The official patterns are those of ethz-spylab/RealMath, whose own evaluation does not use them: it gives the judge the
whole response.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from mage_es.engine.seams.extraction import final_answer, said

TAIL = 1500
"""Characters from the end that count as the answer if there is no answer section."""

_UNIT = re.compile(r"\\?[%$]|\^\s?(?:\{\s?)?\\circ(?:\s?\})?|°|\\(?:degrees?|,|;|!)(?![a-zA-Z])")
_WORDS_BEHIND = re.compile(
    r"(?<=[0-9}])\s*(?:\\(?:text|mathrm|mbox)\s?\{[^{}]{1,40}\}(?:\^\{?[0-9]\}?)?|[ ][a-z][a-z ]{1,40})\s*$"
)
_SECTION_END = r"(?=\\section|\Z)"
_SUBSECTION_END = r"(?=\\section|\\subsection|\Z)"
_OPENED, _CLOSED = "[FINAL ANSWER]", "[/FINAL ANSWER]"
_PATTERNS = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        rf"\\section\*\{{Final Answer\}}(.*?){_SECTION_END}",
        rf"\\section\{{Final Answer\}}(.*?){_SECTION_END}",
        rf"\\subsection\*\{{Final Answer\}}(.*?){_SUBSECTION_END}",
        rf"\\subsection\{{Final Answer\}}(.*?){_SUBSECTION_END}",
    )
)


def final_section(text: str) -> str | None:
    return next((content for _, content in _sections(text)), None)


def official_answer(text: str) -> str:
    return final_section(text) or text


def answer_of(reply: str) -> str:
    """Return the answer that the rule compares: the section, else the text after `Answer:`, a box, or the last line."""
    return final_answer(reply, _sections)


def without_units(answer: str) -> str:
    """Return an answer without currency and percent signs, degrees, and the words of a unit at its end."""
    plain = _UNIT.sub("", answer)
    return _WORDS_BEHIND.sub("", plain).strip() or answer


def _sections(text: str) -> Iterator[tuple[int, str]]:
    for pattern in _PATTERNS:
        if (found := pattern.search(text)) and found[1].strip():
            yield found.start(), found[1].strip()
    start = text.find(_OPENED)
    end = text.find(_CLOSED, start)
    if 0 <= start < end and (content := text[start + len(_OPENED) : end].strip()):
        yield start, content


def shown_to_judge(reply: str) -> str:
    """Return the text for the judge: the section if there is one, else the end of the reply.

    [section 4, RealMath, the judge] The judge's reply is a boolean; one without it is asked for again twice, then the
    answer is wrong. Strictly, only a verdict that comes with the prediction counts.
    """
    text = said(reply, _sections)
    return final_section(text) or text[-TAIL:].strip()
