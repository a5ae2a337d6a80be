"""Free-form answers: the three standings, other ways to say them, and the rule that decides what it can."""

import re
from collections.abc import Iterator

from mage_es.engine.seams.answer_form import answer_in_form
from mage_es.engine.seams.benchmark import Verdict
from mage_es.engine.seams.extraction import final_answer

STANDINGS = ("surplus", "level", "debt")
SAYINGS: dict[str, tuple[str, ...]] = {
    "surplus": ("There is something left over.", "It ends well above the line.", "The house can pay and keep a rest."),
    "level": ("It ends exactly on the line.", "Nothing is left and nothing is owed.", "The two sums balance."),
    "debt": ("It falls short of the line.", "The house still owes a part.", "There is not enough to pay what is due."),
}
"""Other ways to say each standing."""
HEDGE = "It may be so or otherwise; one would have to ask the court."

_FINAL = re.compile(r"^[ \t]*####[ \t]*(.*)$", re.MULTILINE)


def answer_in(reply: str) -> str:
    return final_answer(reply, _marks)


def score_standing(gold: str, reply: str) -> Verdict:
    """A bare standing is right or wrong, an empty answer wrong, all else undecided. Never raises."""
    formal = answer_in_form(reply, lambda text: next((said for _, said in reversed([*_marks(text)])), None))
    if _word(formal) == gold:
        return Verdict(answer=formal, score=1.0, strict=True)
    answer = answer_in(reply)
    if (word := _word(answer)) in STANDINGS or not word:
        return Verdict(answer=answer, score=float(word == gold), strict=False)
    return Verdict(answer=answer, score=0.0, strict=False, undecided=True, why="other words")


def _word(answer: str) -> str:
    return answer.casefold().removeprefix("in ")


def _marks(text: str) -> Iterator[tuple[int, str]]:
    return ((mark.start(), mark[1]) for mark in _FINAL.finditer(text))
