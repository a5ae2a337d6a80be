"""From a family's sentences and the drawn values to English text.

A pronoun is used only after its person has been named, and only if it cannot mean anyone else: the second person of
a story has the other gender, and a story with three people has no pronouns.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from mage_es.engine.players.worlds.wordmath.dice import Dice
from mage_es.engine.players.worlds.wordmath.parts import Family, Values
from mage_es.engine.players.worlds.wordmath.words import MEN, NOUNS, TOWNS, WOMEN

_SLOT = re.compile(r"\{([^{}]+)\}|\[([^\[\]]+)\]")
_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen", "twenty",
)  # fmt: skip
_PARTS = {2: "half", 3: "a third", 4: "a quarter", 5: "a fifth"}
_PRONOUNS = {"who": ("she", "he"), "whose": ("her", "his"), "whom": ("her", "him")}
_AS_WORD = 20
_AS_PRONOUN = 65


class _Piece(NamedTuple):
    kind: str
    """`text`, `slot` or `either`."""
    value: str


@lru_cache(maxsize=4096)
def _pieces(template: str) -> tuple[_Piece, ...]:
    found: list[_Piece] = []
    at = 0
    for match in _SLOT.finditer(template):
        found.append(_Piece("text", template[at : match.start()]))
        found.append(_Piece("slot", match[1]) if match[1] else _Piece("either", match[2]))
        at = match.end()
    found.append(_Piece("text", template[at:]))
    return tuple(piece for piece in found if piece.value)


class Storyteller:
    def __init__(self, family: Family, values: Values, dice: Dice) -> None:
        self._values = values
        self._dice = dice
        self._is_man = dice.below(2)
        same, opposite = (MEN, WOMEN) if self._is_man else (WOMEN, MEN)
        self._who = dice.pick(same)
        self._others = {"other": dice.pick(opposite), "third": dice.pick([name for name in same if name != self._who])}
        self._is_named = False
        self._has_third = any("{third}" in text for text in _texts(family))
        self._money = dice.pick(("${}", "{} dollars", "{} euros"))
        self._percent = dice.pick(("{}%", "{} percent"))
        self._town = dice.pick(TOWNS)
        self._nouns: dict[str, tuple[str, str]] = {}
        if family.x:
            self._nouns["x"] = dice.pick(NOUNS[family.x])
        if family.y:
            self._nouns["y"] = dice.pick([noun for noun in NOUNS[family.y] if noun != self._nouns.get("x")])

    def tell(self, template: str, **extra: int) -> str:
        pieces = _pieces(template)
        text = "".join([value if kind == "text" else self._filled(kind, value, extra) for kind, value in pieces])
        return text[:1].upper() + text[1:]

    def _filled(self, kind: str, value: str, extra: Values) -> str:
        if kind == "either":
            return self._dice.pick(value.split("|"))
        name, _, form = value.partition(":")
        number = extra.get(name, self._values.get(name))
        return self._number(number, form) if number is not None else self._word(name)

    def _number(self, number: int, form: str) -> str:
        if form == "part":
            return _PARTS[number]
        if form == "times" and number == 2 and self._dice.percent(60):
            return "twice"
        text = _ONES[number] if number <= 20 and self._dice.percent(_AS_WORD) else str(number)
        if form == "times":
            return f"{text} times"
        if form == "money":
            return self._money.format(number if self._money.startswith("$") else text)
        if form == "percent":
            return self._percent.format(number)
        return text

    def _word(self, name: str) -> str:
        if name in _PRONOUNS:
            return self._person(name)
        if name in self._others:
            return self._others[name]
        if name == "town":
            return self._town
        article, _, noun = name.rpartition(" ")
        singular, plural = self._nouns[noun[0]]
        if noun.endswith("s"):
            return plural
        return f"{'an' if singular[0] in 'aeiou' else 'a'} {singular}" if article else singular

    def _person(self, case: str) -> str:
        if self._is_named and not self._has_third and self._dice.percent(_AS_PRONOUN):
            return _PRONOUNS[case][self._is_man]
        self._is_named = True
        return f"{self._who}'s" if case == "whose" else self._who


def has_person(family: Family) -> bool:
    return any("{" + case + "}" in text for text in _texts(family) for case in _PRONOUNS)


def _texts(family: Family) -> list[str]:
    return [*family.says, *(text for ask in family.asks.values() for text in ask)]
