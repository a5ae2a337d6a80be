"""The quantities of a word problem, each with features of its context.

A feature is a string with a weight. Features are made from general word classes, the quantity's noun and its
relation to the question asked and to the other quantities, so that they survive another wording and other nouns.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import msgspec

from mage_es.engine.models.arithmetic.cues import CLASSES, FUNCTION_WORDS
from mage_es.engine.models.arithmetic.numerals import Numeral, find_numerals
from mage_es.engine.models.arithmetic.units import ratio
from mage_es.engine.models.arithmetic.words import Token, tokenize

_UNIT_WORDS_AFTER = 4
_NEAR = 3
_REFERRING = frozenset(["them", "they", "these", "those", "such", "others", "rest", "which", "each", "every", "both"])
_ASKING = frozenset({("how", "many"), ("how", "much"), ("number", "of"), ("amount", "of"), ("many", "of")})
_TIME_UNITS = frozenset({"second", "minut", "hour", "day", "week", "month", "year"})


class Quantity(msgspec.Struct, kw_only=True):
    """A number with its context. `noun` is what it counts, `per` the noun of its "each", both stems or "".

    `is_apart`: nothing else in its sentence is spoken of anywhere else, so it is likely beside the point.
    """

    value: Fraction
    kind: str
    noun: str
    per: str
    start: int
    sentence: int
    clause: int
    is_apart: bool = False
    nature: dict[str, float] = {}
    context: dict[str, float] = {}

    def has(self, feature: str) -> bool:
        """Return whether the quantity has a feature of either sort."""
        return feature in self.nature or feature in self.context


class Problem(msgspec.Struct, kw_only=True):
    """A word problem as read: its quantities in order and the features of what it asks."""

    tokens: list[Token]
    quantities: list[Quantity]
    asked: frozenset[str]
    target: str
    question: dict[str, float]
    ties: frozenset[tuple[int, int]]
    """Pairs of quantities (in order) in whose clauses a word stands that is beside no third quantity."""


def read_problem(text: str) -> Problem:
    """Return a text's quantities with features, and what its question asks for."""
    tokens = tokenize(text)
    asked_in = _question_sentence(tokens)
    asking = [token for token in tokens if token.sentence == asked_in]
    asked = frozenset(token.stem for token in asking if _is_content(token))
    target = _target(asking)
    quantities = [_quantity(tokens, numeral) for numeral in find_numerals(tokens)]
    linked = _linked_sentences(tokens)
    _find_unsaid_rates(tokens, quantities, target=target)
    for order, quantity in enumerate(quantities):
        quantity.is_apart = quantity.kind in ("count", "percent", "one") and quantity.sentence not in linked
        quantity.nature = _nature(quantities, order=order, asked=asked, target=target, asked_in=asked_in)
        quantity.context = _context(tokens, quantities, order=order)
    return Problem(
        tokens=tokens,
        quantities=quantities,
        asked=asked,
        target=target,
        question=_question_features(asking),
        ties=_ties(tokens, quantities),
    )


def _is_content(token: Token) -> bool:
    return token.kind == "word" and not token.is_name and token.text not in FUNCTION_WORDS


def _question_sentence(tokens: Sequence[Token]) -> int:
    """Return the index of the sentence that asks: the last one with a question mark, else the last one."""
    marked = [token.sentence for token in tokens if token.text == "?"]
    return marked[-1] if marked else (tokens[-1].sentence if tokens else 0)


def _linked_sentences(tokens: Sequence[Token]) -> set[int]:
    """Return the sentences that speak of something that another sentence speaks of too."""
    spoken: dict[str, set[int]] = {}
    linked: set[int] = set()
    for token in tokens:
        if token.text in _REFERRING:
            linked.add(token.sentence)
        elif _is_content(token) and CLASSES.get(token.stem, ("",))[0] != "start":
            spoken.setdefault(token.stem, set()).add(token.sentence)
    return linked.union(*(sentences for sentences in spoken.values() if len(sentences) > 1))


def _target(asking: Sequence[Token]) -> str:
    """Return the stem of the noun after "how many" or "how much", or "" if that is not how it asks."""
    for at, token in enumerate(asking[:-2]):
        pair = (token.text, asking[at + 1].text)
        if pair in _ASKING and (noun := _head_noun(asking, at + 2)):
            return noun
    return ""


def _head_noun(tokens: Sequence[Token], at: int, *, singular: str = "") -> str:
    """Return the stem of the last word of the noun phrase that starts at `at`, or "".

    After a `singular` word such as "each", a word in s that follows the noun is taken for its verb.
    """
    noun = ""
    taken = 0
    while at < len(tokens) and taken < _UNIT_WORDS_AFTER:
        token = tokens[at]
        if (
            token.text in ("more", "less", "fewer", "of", "the", "her", "his", "their", "-", "other", "further")
            and not noun
        ):
            at, taken = at + 1, taken + 1
            continue
        if not _is_content(token) or (noun and (_is_verb_like(token) or (singular and token.text[-1] == "s"))):
            break
        noun = token.stem
        if token.text.endswith("s") and not token.text.endswith("ss"):
            break
        at, taken = at + 1, taken + 1
    return noun


def _is_verb_like(token: Token) -> bool:
    hints = CLASSES.get(token.stem, ())
    return token.text.endswith(("ed", "ing")) or any(hint in ("loss", "gain", "need") for hint in hints)


def _quantity(tokens: Sequence[Token], numeral: Numeral) -> Quantity:
    token = tokens[numeral.start]
    return Quantity(
        value=numeral.value,
        kind=numeral.kind,
        noun="$" if numeral.kind == "money" else _head_noun(tokens, numeral.end),
        per=_per(tokens, numeral),
        start=numeral.start,
        sentence=token.sentence,
        clause=token.clause,
    )


def _per(tokens: Sequence[Token], numeral: Numeral) -> str:
    """Return the noun of "each", "per", "every" or "a" that makes the number a rate; "?" if it is left unsaid."""
    for at in range(numeral.end, min(numeral.end + 7, len(tokens))):
        token = tokens[at]
        if token.sentence != tokens[numeral.start].sentence or token.kind == "number" or token.text in ",;":
            break
        if token.text in ("each", "every", "per", "apiece"):
            return _head_noun(tokens, at + 1, singular=token.text) or "?"
        if token.text in ("a", "an") and at > numeral.end - 1 and at + 1 < len(tokens):
            noun = _head_noun(tokens, at + 1)
            if noun in _TIME_UNITS or numeral.kind == "money":
                return noun
    for at in range(numeral.start - 1, max(numeral.start - 9, -1), -1):
        token = tokens[at]
        if token.sentence != tokens[numeral.start].sentence or token.kind == "number":
            break
        if token.text in ("each", "every", "per"):
            return _head_noun(tokens, at + 1, singular=token.text) or "?"
    return ""


def _find_unsaid_rates(tokens: Sequence[Token], quantities: Sequence[Quantity], *, target: str) -> None:
    """Mark rates that no "each" marks: "3 piles of 8 logs", "a sack weighs 40 kg", "6 to a tray", where sacks count."""
    counted = {quantity.noun for quantity in quantities if quantity.noun} | {target} | _TIME_UNITS
    for before, quantity in zip([None, *quantities], quantities, strict=False):
        if quantity.per or quantity.kind not in ("count", "money"):
            continue
        said = [token.text for token in tokens[max(0, quantity.start - 3) : quantity.start] if token.text != "$"]
        if before and said[-1:] == ["of"] and 1 < quantity.start - before.start <= 4 and before.kind == "count":
            quantity.per = tokens[quantity.start - 2].stem
            continue
        for at in range(max(0, quantity.start - 7), min(len(tokens) - 1, quantity.start + 6)):
            token = tokens[at]
            if token.clause == quantity.clause and token.text in ("a", "an", "one") and at != quantity.start:
                noun = _head_noun(tokens, at + 1, singular=token.text)
                if noun and noun != quantity.noun and (noun in counted - {quantity.noun} or token.text == "one"):
                    quantity.per = noun
                    break


def _ties(tokens: Sequence[Token], quantities: Sequence[Quantity]) -> frozenset[tuple[int, int]]:
    clauses: dict[int, list[int]] = {}
    for at, quantity in enumerate(quantities):
        clauses.setdefault(quantity.clause, []).append(at)
    beside: dict[str, set[int]] = {}
    for token in tokens:
        if token.clause in clauses and (_is_content(token) or token.is_name):
            beside.setdefault(token.stem, set()).update(clauses[token.clause])
    return frozenset((min(pair), max(pair)) for pair in beside.values() if len(pair) == 2)


def _nature(
    quantities: Sequence[Quantity], *, order: int, asked: frozenset[str], target: str, asked_in: int
) -> dict[str, float]:
    """Return what a quantity is: its kind, whether it is a rate, and its relation to the others and the question."""
    own = quantities[order]
    others = [quantity for quantity in quantities if quantity is not own]
    features = {f"kind {own.kind}": 2.0, "rate" if own.per else "no rate": 2.5}
    if own.noun:
        for hint in CLASSES.get(own.noun, ()):
            features[f"noun is {hint}"] = 1.5
        if own.noun in asked:
            features["noun asked"] = 1.5
        if own.noun == target:
            features["noun target"] = 1.5
        same = sum(quantity.noun == own.noun for quantity in others)
        features[f"noun shared {min(same, 3)}"] = 1.0
        if any(quantity.per == own.noun for quantity in others):
            features["is counted per"] = 2.0
    if own.per and own.per in _TIME_UNITS:
        features["per time"] = 1.5
    if own.per and any(quantity.noun == own.per for quantity in others):
        features["per counted"] = 1.5
    if own.sentence == asked_in:
        features["in question"] = 1.5
    for other in others:
        units = ratio(own.noun, other.noun)
        if units is not None:
            features["coarse unit" if units > 1 else "fine unit"] = 2.5
    if own.value <= _TINY:
        features["tiny"] = 1.0
    features["whole" if own.value.denominator == 1 else "broken"] = 1.0
    return features


def _context(tokens: Sequence[Token], quantities: Sequence[Quantity], *, order: int) -> dict[str, float]:
    """Return what is said around a quantity: near it, in its clause, in its sentence, with falling weight."""
    features: dict[str, float] = {f"place {round(4 * order / max(1, len(quantities) - 1))}": 0.7}
    if order == 0:
        features["first"] = 1.0
    if order == len(quantities) - 1:
        features["last"] = 1.0
    own = quantities[order]
    if own.noun:
        features[f"noun {own.noun}"] = 1.5
    low = quantities[order - 1].start if order else -1
    high = quantities[order + 1].start if order + 1 < len(quantities) else len(tokens)
    for at in range(max(0, own.start - 14), min(len(tokens), own.start + 14)):
        token = tokens[at]
        if token.sentence != own.sentence or token.kind != "word":
            continue
        between = low < at < high
        distance = abs(at - own.start)
        side = "before" if at < own.start else "after"
        for hint in CLASSES.get(token.stem, ()):
            if between and distance <= _NEAR:
                _raise(features, f"near {side} {hint}", 1.5)
            if between:
                _raise(features, f"around {hint}", 1.5)
            elif token.clause == own.clause:
                _raise(features, f"clause {hint}", 0.6)
            else:
                _raise(features, f"sentence {hint}", 0.3)
        if between and distance <= _NEAR and _is_content(token):
            _raise(features, f"word {token.stem}", 0.7)
    return features


def _raise(features: dict[str, float], name: str, weight: float) -> None:
    features[name] = max(weight, features.get(name, 0.0))


def _question_features(asking: Sequence[Token]) -> dict[str, float]:
    features: dict[str, float] = {}
    for token in asking:
        if token.kind != "word":
            continue
        for hint in CLASSES.get(token.stem, ()):
            _raise(features, f"asks {hint}", 1.0)
        if token.text in ("much", "many", "long", "far", "old", "often"):
            _raise(features, f"how {token.text}", 1.0)
        if _is_content(token):
            _raise(features, f"word {token.stem}", 0.5)
    return features


def polarity(quantity: Quantity) -> float:
    """Return above 0 for a quantity said to come in or be more, below 0 for one that goes out or is less."""
    weights = {"gain": 1, "more": 1, "loss": -1, "less": -1}
    return sum(
        sign * quantity.context.get(f"{place} {hint}", 0.0)
        for hint, sign in weights.items()
        for place in ("near before", "near after", "around")
    )


_KINDS_ALIKE = {
    frozenset({"count", "one"}): 0.25,
    frozenset({"count", "money"}): 0.7,
    frozenset({"count", "factor"}): 0.4,
    frozenset({"fraction", "factor"}): 0.4,
    frozenset({"fraction", "percent"}): 0.4,
}
_OTHER_KIND = 0.15
_APART = 0.85
_TINY = 4


def likeness(one: Quantity, other: Quantity) -> float:
    """Return how alike two quantities of different questions are, in [0, 1]."""
    weight = 1.0 if one.is_apart == other.is_apart else _APART
    kinds = 1.0 if one.kind == other.kind else _KINDS_ALIKE.get(frozenset({one.kind, other.kind}), _OTHER_KIND)
    return weight * kinds * (0.5 * similarity(one.nature, other.nature) + 0.5 * similarity(one.context, other.context))


def similarity(one: dict[str, float], other: dict[str, float]) -> float:
    """Return the weighted Jaccard similarity of two feature sets, in [0, 1]."""
    if not one or not other:
        return 0.0
    shared = sum(min(weight, other[name]) for name, weight in one.items() if name in other)
    return shared / (sum(one.values()) + sum(other.values()) - shared)
