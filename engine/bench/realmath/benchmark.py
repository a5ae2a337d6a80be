"""RealMath as a benchmark: closed expressions, scored by a rule if it can decide, or else by a judge.

The final answer of a worked solution is the section that the prompt asks for, or else the end of the solution. The
official patterns are those of ethz-spylab/RealMath, whose own evaluation does not use them: it gives the judge the
whole response.
"""

import re
from collections.abc import Iterator

import msgspec

from mage_es.engine.bench.dataset import DataFile, Definition
from mage_es.engine.bench.realmath.equivalence import Equivalence, decide
from mage_es.engine.bench.realmath.machine import MachineAnswer
from mage_es.engine.bench.realmath.records import SUBSETS, read
from mage_es.engine.bench.realmath.tokens import squeezed
from mage_es.engine.benchmarks.measuring import Measured, Prediction
from mage_es.engine.seams.answer_form import answer_in_form
from mage_es.engine.seams.benchmark import Question, Verdict, everywhere
from mage_es.engine.seams.extraction import final_answer, said

TAIL = 1500
"""How many characters at the end count as the answer if there is no answer section."""

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

    [section 4, RealMath, the judge] The judge's reply is a boolean; without one it is asked again twice, and then the
    answer is wrong. Strictly, only a verdict that comes with the prediction counts.
    """
    text = said(reply, _sections)
    return final_section(text) or text[-TAIL:].strip()


def verdict(question: Question, reply: str) -> Verdict:
    """`strict` means the same text as the gold, except for layout. An answer that the rule cannot decide is wrong,
    unless a judge who sees it disagrees."""
    formal = answer_in_form(reply, final_section)
    is_strict = bool(formal) and squeezed(formal) == squeezed(question.gold)
    answer = formal if is_strict else answer_of(reply)
    machine = question.meta.get("machine_readable")
    readable = msgspec.json.decode(machine, type=MachineAnswer) if machine else None
    decision = decide(question.gold, answer, readable)
    if decision.equivalence is Equivalence.UNDECIDED and (bare := without_units(answer)) != answer:
        decision = decide(without_units(question.gold), bare, readable)
    if decision.equivalence is Equivalence.UNDECIDED:
        # Leaving it out would flatter the model, since an unreadable answer would then cost nothing.
        return Verdict(answer=shown_to_judge(reply), score=0.0, strict=False, near_miss=True, why=decision.why)
    return Verdict(answer=answer, score=float(decision.equivalence is Equivalence.SAME), strict=is_strict)


def measure(question: Question, prediction: Prediction, strict: bool) -> Measured:
    """Return `accuracy` by rule, and the share that is left to a judge as `undecided`.

    Upstream's own metric is a judge's verdict, which a prediction may have as its part `is_correct`. In the strict form
    that is the accuracy; without a verdict, the official final answer must be the gold's text, except for layout.
    """
    opinion = prediction.parts.get("is_correct")
    if strict:
        answer = official_answer(prediction.text)
        is_right = opinion is True if "is_correct" in prediction.parts else squeezed(answer) == squeezed(question.gold)
        return Measured(answer, {"accuracy": float(is_right)})
    found = verdict(question, prediction.text)
    metrics: dict[str, float | None] = {"accuracy": found.score, "undecided": float(found.near_miss)}
    if isinstance(opinion, bool):
        metrics["judge_accuracy"] = float(opinion)
        metrics["agreement"] = None if found.near_miss else float(opinion is found.correct)
    return Measured(found.answer, metrics)


def _part(subset: str, *, optional: bool) -> DataFile:
    files = (f"{subset}.jsonl", f"{subset}.json", f"{subset}.parquet", f"{subset}/0000.parquet")
    return DataFile((*files, f"data/{subset}-00000-of-00001.parquet", f"{subset}.subset.jsonl"), optional=optional)


REALMATH = Definition(
    name="realmath",
    licence="none stated (github.com/ethz-spylab/RealMath; huggingface.co/datasets/ethz-spylab/RealMath)",
    task_type_source="input",
    answer_format='End with a section such as "\\section*{Final Answer}\n<\\frac{17}{6}\\pi^3>", the answer in LaTeX.',
    parts={"evolution": tuple(_part(subset, optional=subset != "Math_arXiv") for subset in SUBSETS)},
    read=read,
    verdict=verdict,
    measure=measure,
    extract=answer_of,
    judge_template="judge_strict_v1",
    is_cross_checked=everywhere,
)
"""Research mathematics: 633 questions from mathematics papers, 111 from computer science, 542 from a Q&A site."""
