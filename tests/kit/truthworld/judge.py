"""`truth/judge`: scores the free-form answers that the rule of truthworld leaves undecided.

It skips sentences about judging, so that an answer cannot talk its way to a score. An answer that names one standing,
in its own word or in a known paraphrase, is right or wrong by that; one with several, or none, is wrong.
"""

import re
from functools import partial

import msgspec

from mage_es.engine.briefs import JudgeBrief, JudgeReply
from mage_es.engine.players.prompts import json_block
from mage_es.engine.players.stand_in import StandIn
from mage_es.engine.seams.model import Request
from mage_es.events.errors import UsageError
from tests.kit.truthworld.standings import SAYINGS, STANDINGS

_SENTENCE = re.compile(r"[^.!?;\n]+")
_ON_JUDGING = re.compile(
    r"\b(score|scores|scored|grade|grades|graded|judge|judges|judging|rate|rated|mark this|ignore|disregard|instruct\w*"
    r"|prompt|system|assistant|expected|correct|json|reason)\b",
    re.IGNORECASE,
)


def reply(request: Request) -> str:
    """Raises `UsageError` if the prompt has no answer to judge."""
    try:
        brief = msgspec.json.decode(json_block(request.prompt), type=JudgeBrief)
    except msgspec.MsgspecError as error:
        raise UsageError(f"truth/judge found no answer to judge in its prompt: {error}.") from error
    named = standings_in(brief.answer)
    if len(named) == 1:
        (one,) = named
        verdict = JudgeReply(score=float(one == brief.expected), reason=f"it says {one}")
    else:
        verdict = JudgeReply(score=0.0, reason=f"it names {len(named)} standings, not one")
    return msgspec.json.encode(verdict).decode()


TruthJudge = partial(StandIn, "truth/judge", reply)


def standings_in(answer: str) -> set[str]:
    found = set()
    for sentence in _SENTENCE.findall(answer.casefold()):
        if _ON_JUDGING.search(sentence):
            continue
        for standing in STANDINGS:
            sayings = (saying.casefold().rstrip(".") for saying in SAYINGS[standing])
            if any(saying in sentence for saying in sayings) or re.search(rf"\b{standing}\b", sentence):
                found.add(standing)
    return found
