"""Codes of a private form: fields that a text states, in a private spelling, order and punctuation.

`KX-17/B` may be depot, shelf and grade: Lund is KX, shelf 17, fine is B. Only cases show which and how.
"""

from mage_es.engine.benchmarks.tasks.scorers import Scorer
from mage_es.engine.players.worlds.private.kind import Options, Posed, SetKind, SetOption
from mage_es.engine.players.worlds.private.wording import GOODS, TOWNS, circumstances, coined, several, with_asides
from mage_es.engine.players.worlds.wordmath.dice import Dice
from mage_es.engine.seams.answer_form import answer_in_form
from mage_es.engine.seams.benchmark import Question, Split, Verdict
from mage_es.engine.seams.extraction import plain_answer

SHELVES = range(1, 90)
GRADES, TAPES = ("coarse", "medium", "fine"), ("red", "blue", "green", "white")
_LETTERS, _SEPARATORS = "BCDFGHJKLMNPQRSTVWXZ", "-/."
_DEPOTS = 6
_FRAMES = (
    "At the depot {depot}, shelf {shelf}: parcel {number}, {goods}, {grade} grade, {tape} tape. Sender: {person}.",
    "{person} left {goods} of {grade} grade, parcel {number}, with {tape} tape in {depot}, there on shelf {shelf}.",
    "With {tape} tape, {grade} grade: parcel {number} for {person}, {goods}, to be found on shelf {shelf} in {depot}.",
    "Shelf {shelf} of the depot {depot} holds parcel {number} that {person} sent; {goods}, {tape} tape, {grade} grade.",
    "Please look for {goods}, {grade} grade, parcel {number}, at {depot}. {person} says shelf {shelf} and {tape} tape.",
    "The {grade} grade of {goods}, parcel {number} of {person}, came to {depot} with {tape} tape, on shelf {shelf}.",
)


class CodeRule:
    task = "Say the code of this parcel."
    labels: tuple[str, ...] = ()

    def __init__(self, dice: Dice, options: Options) -> None:
        self._options, count = options, options["fields"]
        letters = dice.shuffled(_LETTERS)
        depots = dice.shuffled(TOWNS)[:_DEPOTS]
        self.depots = {town: f"{dice.pick(letters)}{last}" for town, last in zip(depots, letters, strict=False)}
        """The code of each depot; no two end alike."""
        self.grades = dict(zip(GRADES, dice.shuffled(_LETTERS), strict=False))
        self.tapes = dict(zip(TAPES, map(str, dice.shuffled(range(1, 10))), strict=False))
        self.digits = 2 + dice.below(3)
        """How many digits a shelf's number has, padded with zeros."""
        self.order = tuple(dice.shuffled(("depot", "shelf", "grade", "tape")[:count]))
        self.separators = tuple(dice.pick(_SEPARATORS) for _ in range(count - 1))
        self._others = several(coined(dice), len(GRADES))
        self.scorer = Scorer('Finish with a line that has "Answer: <>" and then the code alone.', _verdict)

    def ask(self, dice: Dice, split: Split) -> Posed:
        depot, shelf = dice.pick(tuple(self.depots)), dice.pick(SHELVES)
        grade, tape = dice.pick(GRADES), dice.pick(TAPES)
        frame = dice.pick(_FRAMES[: self._options["wordings"]])
        facts = {"depot": depot, "shelf": shelf, "grade": grade, "tape": tape, "goods": dice.pick(GOODS)}
        text = frame.format(**facts, **circumstances(dice))
        return Posed(with_asides(dice, self._options, text, self._others), self.code(depot, shelf, grade, tape))

    def code(self, depot: str, shelf: int, grade: str, tape: str) -> str:
        written = {
            "depot": self.depots[depot],
            "shelf": f"{shelf:0{self.digits}}",
            "grade": self.grades[grade],
            "tape": self.tapes[tape],
        }
        ends = (*self.separators, "")
        return "".join(written[field] + end for field, end in zip(self.order, ends, strict=True))


def _verdict(question: Question, reply: str) -> Verdict:
    """A code is right to the letter, or wrong."""
    if (formal := answer_in_form(reply)) == question.gold:
        return Verdict(answer=formal, score=1.0, strict=True)
    answer = plain_answer(reply)
    return Verdict(answer=answer, score=float(answer == question.gold), strict=False)


KIND = SetKind(CodeRule, {"fields": SetOption(range(2, 5), (2, 3, 4))})
