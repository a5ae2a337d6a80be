"""The words of truthworld: coined names, the phrasings of its questions, and lines of chronicle for their contexts.

A phrasing has `{atlas}` (the world's number), `{land}`, `{start}`, `{marks}` and, if a line is drawn, `{line}`. It
contains no other number, and the start comes before the line: so a question can be read back.
"""

from collections.abc import Iterator

from mage_es.engine.players.worlds.wordmath.dice import Dice

LEDGERS = (
    "Atlas {atlas}, land of {land}: a ledger opens with {start} and bears the marks {marks}. What does it come to?",
    "In {land} (atlas {atlas}) a scribe starts from {start} and obeys {marks} in turn. Which number is left?",
    "Atlas {atlas}: the mint of {land} takes a coin worth {start} and stamps it with {marks}. What is it worth then?",
    "By atlas {atlas}, a caravan leaves {land} with {start} casks and passes the posts {marks}. How many casks arrive?",
    "Somebody in {land} wrote {start} on a slate, and under it {marks}. What should stand at its foot? (Atlas {atlas})",
    "Work out for {land}, atlas {atlas}: {start}, then {marks}. Give the result.",
)
"""Questions for a number; the last `HELD_OUT` of them occur in the test split only."""
ESTATES = (
    "Atlas {atlas}, court of {land}: an estate opens at {start} and bears {marks}; its line is drawn at {line}."
    " How does it stand: in surplus, level or in debt?",
    "In {land} (atlas {atlas}) an heir begins with {start}, obeys {marks}, and owes {line}. Is that surplus, level or"
    " debt?",
    "Atlas {atlas}: a house of {land} holds {start}, then come {marks}, and {line} are due. Say how the house stands.",
    "Judge for {land}, atlas {atlas}: {start}, then {marks}, against a line at {line}.",
)
"""Questions for a standing; the last `HELD_OUT_ESTATES` of them occur in the test split only."""
HELD_OUT, HELD_OUT_ESTATES = 2, 1

CHRONICLE = (
    "The winter was long, and the river froze down to the old bridge.",
    "A clerk complained that the ink had been watered again.",
    "Two judges quarrelled over the colour of a seal and made peace at supper.",
    "The granary was swept, and the cats were counted.",
    "A singer came from the coast and stayed until the roads were dry.",
    "The well in the market was found clear, and its rope was replaced.",
    "Letters arrived late because the messenger had lost a shoe.",
    "The council met in the small hall, the large one being full of wool.",
    "A comet was seen by the night watch, who told nobody until morning.",
    "The orchard gave little fruit, but what it gave was sweet.",
    "Masons mended the north wall and left their names under a stone.",
    "An ambassador praised the bread and said nothing about the soup.",
)
"""Lines that say nothing about any mark; a context is made of them."""

_ONSETS = (
    *("b", "br", "d", "dr", "f", "g", "gr", "h", "k", "kr", "l", "m"),
    *("n", "p", "r", "s", "st", "t", "tr", "v", "z"),
)
_VOWELS = ("a", "e", "i", "o", "u")
_CODAS = ("b", "d", "k", "l", "lk", "m", "n", "nd", "r", "rn", "sk", "st", "t", "v", "x", "z")
_ENGLISH = frozenset(
    word.strip(".,:;?()").lower() for line in (*LEDGERS, *ESTATES, *CHRONICLE) for word in line.split()
) | {"adds", "level", "means", "debt"}


def coined(dice: Dice) -> Iterator[str]:
    """Yield words of two syllables that no phrasing uses, each only once."""
    used = set(_ENGLISH)
    while True:
        word = "".join(dice.pick(part) for part in (_ONSETS, _VOWELS, _CODAS, _VOWELS, _CODAS))
        if word not in used:
            used.add(word)
            yield word
