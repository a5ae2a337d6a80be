r"""Finding the final answer of a worked solution: the section that the prompt asks for, or how else it ends.

Source of the official patterns: ethz-spylab/RealMath, whose own evaluation does not call them and hands its judge the
whole response.
"""

from __future__ import annotations

import re

from mage_es.engine.benchmarks.extraction import final_answer, without_reasoning

TAIL = 1500
"""Characters from the end that stand for an answer without a section of its own."""

_SECTION_END = r"(?=\\section|\Z)"
_SUBSECTION_END = r"(?=\\section|\\subsection|\Z)"
_PATTERNS = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        rf"\\section\*\{{Final Answer\}}(.*?){_SECTION_END}",
        rf"\\section\{{Final Answer\}}(.*?){_SECTION_END}",
        rf"\\subsection\*\{{Final Answer\}}(.*?){_SUBSECTION_END}",
        rf"\\subsection\{{Final Answer\}}(.*?){_SUBSECTION_END}",
        r"\[FINAL ANSWER\](.*?)\[/FINAL ANSWER\]",
    )
)


def final_section(text: str) -> str | None:
    """Return what stands under the heading `Final Answer`, by the first pattern that finds something; else None."""
    for pattern in _PATTERNS:
        found = pattern.search(text)
        if found and found[1].strip():
            return found[1].strip()
    return None


def official_answer(text: str) -> str:
    """Return the final answer as upstream extracts it: all of the text where no pattern finds anything."""
    return final_section(text) or text


def answer_of(reply: str) -> str:
    """Return the answer that the rule compares: the section, else what follows `Answer:`, a box, or the last line."""
    return final_answer(reply, final_section)


def shown_to_judge(reply: str) -> str:
    """Return what a judge is shown: the section if there is one, else the end of the reply."""
    text = without_reasoning(reply)
    return final_section(text) or text[-TAIL:].strip()
