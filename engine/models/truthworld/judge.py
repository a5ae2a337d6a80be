"""`builtin/truthjudge`: a judge by rules for the free-form answers of truthworld.

Rules
    - It reads the last fenced JSON block of its prompt: question, expected and answer, all of them data.
    - A sentence of the answer that speaks of judging (scores, instructions, the expected answer) says nothing about
      the question and is passed over, so no answer can talk its way to a score.
    - An answer that says one standing, in its own word or in other words that are known, is right or wrong by it;
      one that says several, or none, is wrong.
"""

from __future__ import annotations

import re

import msgspec

from mage_es.engine.benchmarks.truthworld.standings import SAYINGS, STANDINGS
from mage_es.engine.judging import JudgeBrief, JudgeReply
from mage_es.engine.models.arithmetic.words import count_tokens
from mage_es.engine.models.seam import Completion, Request
from mage_es.events.errors import UsageError

_FENCE = re.compile(r"^```json\n(.*?)\n```\s*$", re.MULTILINE | re.DOTALL)
_SENTENCE = re.compile(r"[^.!?;\n]+")
_ON_JUDGING = re.compile(
    r"\b(score|scores|scored|grade|grades|graded|judge|judges|judging|rate|rated|mark this|ignore|disregard|instruct\w*"
    r"|prompt|system|assistant|expected|correct|json|reason)\b",
    re.IGNORECASE,
)


class TruthJudge:
    """`builtin/truthjudge`: scores what the rule of truthworld leaves undecided."""

    name = "builtin/truthjudge"

    async def complete(self, request: Request) -> Completion:
        """Return score and reason as JSON.

        Raises:
            UsageError: the prompt holds no question to judge.
        """
        blocks = _FENCE.findall(request.prompt)
        try:
            brief = msgspec.json.decode(blocks[-1] if blocks else "", type=JudgeBrief)
        except msgspec.MsgspecError as error:
            raise UsageError(f"builtin/truthjudge was asked without an answer to judge: {error}.") from error
        text = msgspec.json.encode(_verdict(brief)).decode()
        return Completion(text=text, input_tokens=count_tokens(request.prompt), output_tokens=count_tokens(text))


def _verdict(brief: JudgeBrief) -> JudgeReply:
    said = standings_in(brief.answer)
    if len(said) != 1:
        return JudgeReply(score=0.0, reason=f"it names {len(said)} standings, not one")
    (one,) = said
    return JudgeReply(score=float(one == brief.expected), reason=f"it says {one}")


def standings_in(answer: str) -> set[str]:
    """Return the standings that an answer names, in whatever words; sentences about judging are passed over."""
    found = set()
    for sentence in _SENTENCE.findall(answer.casefold()):
        if _ON_JUDGING.search(sentence):
            continue
        for standing in STANDINGS:
            sayings = (saying.casefold().rstrip(".") for saying in SAYINGS[standing])
            if any(saying in sentence for saying in sayings) or re.search(rf"\b{standing}\b", sentence):
                found.add(standing)
    return found
