"""The words that private task sets share: teams, coined names, troubles in six wordings, letters about them.

The name of an answer (a team, a code) is drawn for each seed and has nothing to do with its meaning. Everything else
that a text says (who writes, from where, about which order) is drawn independently of the answer, and says nothing
about it.
"""

from collections.abc import Iterator, Sequence

from mage_es.engine.players.worlds.private.kind import Options
from mage_es.engine.players.worlds.wordmath.dice import Dice

TEAMS = (
    *("Alder", "Basalt", "Cedar", "Dune", "Ember", "Fjord", "Garnet", "Harbor", "Indigo", "Juniper", "Kestrel"),
    *("Lagoon", "Maple", "Nimbus", "Onyx", "Prairie", "Quartz", "Raven", "Saffron", "Tundra", "Umber", "Vesper"),
    *("Willow", "Zephyr"),
)
TROUBLES: tuple[tuple[str, ...], ...] = (
    ("makes a loud noise", "rattles all night", "hums and buzzes", "is far too loud", "squeals", "drones without end"),
    ("leaks water", "drips on the floor", "leaves puddles", "loses its water", "is wet below", "cannot hold water"),
    ("has a broken display", "shows a dark screen", "shows nothing", "has a blank panel", "went black", "is black"),
    ("has no power", "does not start", "stays off", "went dead at once", "will not switch on", "gets no current"),
    ("smells burnt", "gives off smoke", "reeks of fire", "smells of hot wire", "is scorched", "has a burning smell"),
    ("arrived damaged", "has a dent", "was cracked in its box", "has a bent case", "came in bits", "is scratched"),
)  # fmt: skip
"""The faults of a device, each worded in several ways."""
_PEOPLE = (
    *("Mara", "Jonas", "Ines", "Tariq", "Lena", "Paulo", "Aiko", "Bruno", "Celia", "Dmitri", "Esther", "Farid"),
    *("Greta", "Hugo", "Irma", "Jamal", "Keiko", "Luca", "Miriam", "Nadia", "Oskar", "Petra", "Rafael", "Selma"),
    *("Tomas", "Vera"),
)
TOWNS = (
    *("Lund", "Porto", "Graz", "Turku", "Ghent", "Lyon", "Bergen", "Split", "Cork", "Basel", "Gdansk", "Malmo"),
    *("Trieste", "Aarhus", "Bilbao", "Leeds", "Patras", "Brno", "Tartu", "Utrecht", "Varna", "Zadar"),
    *("Kosice", "Siena"),
)
_MOMENTS = (
    *("on Monday", "last week", "this morning", "after a storm", "at the weekend", "after the move", "last night"),
    *("on Friday", "after an update", "yesterday", "at noon", "two days ago"),
)
_FRAMES = (
    "Order {number}: the {product} {trouble}. {person}, {town}",
    "Noticed {moment}, order {number}: my {product} {trouble}. Please help. {person}",
    "Call from {town}, order {number}: {person} says that the {product} {trouble}.",
    "Our {product}, order {number}, {trouble}, and no workshop in {town} could repair it.",
    "Dear all, I am {person}, and order {number} was a {product}. It {trouble}, as I saw {moment}.",
    "Visit to {person} in {town} {moment}: {trouble}, a {product}, order {number}.",
)
_ASIDES = (
    "A copy of the invoice of {day} May would be kind.",
    "The neighbours in {town} have a {other} and are content with it.",
    "The doorbell is out of order, so please call {day} minutes ahead.",
    "Before that there was a {other} in the house for {day} years.",
    "The parcel came {day} days late, which does not matter now.",
    "{person} has asked for a {other} as a present, but that can wait.",
    "Payment was made {day} days ago.",
    "A friend in {town} wants to see the catalogue of {day} pages.",
)
GOODS = ("oats", "salt", "nails", "yarn", "sand", "rice", "chalk", "beans", "wool", "clay", "flour", "gravel")
_STARTS = (
    *("b", "br", "d", "dr", "f", "g", "gl", "k", "kr", "l", "m", "n", "p", "pl", "r", "s", "sk", "t", "tr", "v"),
    "z",
)
_VOWELS, _MIDDLES, _ENDS = "aeiou", "bdlmtv", ("l", "m", "n", "r", "s", "x", "k", "nd", "rt")


def coined(dice: Dice) -> Iterator[str]:
    """Yield invented names of two words, such as Trovel Kanix: no two have a word in common."""
    starts = dice.shuffled([start + vowel for start in _STARTS for vowel in _VOWELS])
    ends = dice.shuffled([f"{middle}{vowel}{end}" for middle in _MIDDLES for vowel in _VOWELS for end in _ENDS])
    words = [(start + end).capitalize() for start, end in zip(starts, ends, strict=False)]
    yield from map(" ".join, zip(words[::2], words[1::2], strict=False))


def several(names: Iterator[str], count: int) -> tuple[str, ...]:
    return tuple(next(names) for _ in range(count))


def letter(dice: Dice, options: Options, product: str, trouble: int, others: Sequence[str]) -> str:
    """Return a customer's words about a product's trouble, in one of the first `wordings` frames and phrases."""
    wordings = options["wordings"]
    frame, phrase = dice.pick(_FRAMES[:wordings]), dice.pick(TROUBLES[trouble][:wordings])
    text = frame.format(product=product, trouble=phrase, moment=dice.pick(_MOMENTS), **circumstances(dice))
    return with_asides(dice, options, text, [other for other in others if other != product])


def with_asides(dice: Dice, options: Options, text: str, others: Sequence[str]) -> str:
    """Return a text with as many irrelevant sentences as the options say; some name one of the `others`."""
    if lines := dice.shuffled(_ASIDES)[: options["asides"]]:
        text = text if text[-1] in ".?" else f"{text}."
    for line in lines:
        text += " " + line.format(**circumstances(dice), other=dice.pick(others), day=2 + dice.below(26))
    return text


def circumstances(dice: Dice) -> dict[str, object]:
    """Return the parts of a letter that have nothing to do with its answer: who writes, from where, about which
    order."""
    return {"person": dice.pick(_PEOPLE), "town": dice.pick(TOWNS), "number": 10_000 + dice.below(90_000)}
