"""Features of quantities and questions: what a number is, its context, what is asked."""

from collections.abc import Sequence

from mage_es.engine.players.arithmetic.cues import CLASSES
from mage_es.engine.players.arithmetic.phrases import TIME_UNITS, is_content
from mage_es.engine.players.arithmetic.quantities import Quantity
from mage_es.engine.players.arithmetic.units import ratio
from mage_es.engine.players.arithmetic.words import Token

_NEAR = 3
_TINY = 4


def nature(
    quantities: Sequence[Quantity], *, order: int, asked: frozenset[str], target: str, asked_in: int
) -> dict[str, float]:
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
    if own.per and own.per in TIME_UNITS:
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


def context(tokens: Sequence[Token], quantities: Sequence[Quantity], *, order: int) -> dict[str, float]:
    """Words of its clause, then of its sentence, with falling weight."""
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
                _raise(features, f"near {side} {hint}", to=1.5)
            if between:
                _raise(features, f"around {hint}", to=1.5)
            elif token.clause == own.clause:
                _raise(features, f"clause {hint}", to=0.6)
            else:
                _raise(features, f"sentence {hint}", to=0.3)
        if between and distance <= _NEAR and is_content(token):
            _raise(features, f"word {token.stem}", to=0.7)
    return features


def _raise(features: dict[str, float], name: str, *, to: float) -> None:
    features[name] = max(to, features.get(name, 0.0))


def question_features(asking: Sequence[Token]) -> dict[str, float]:
    features: dict[str, float] = {}
    for token in asking:
        if token.kind != "word":
            continue
        for hint in CLASSES.get(token.stem, ()):
            _raise(features, f"asks {hint}", to=1.0)
        if token.text in ("much", "many", "long", "far", "old", "often"):
            _raise(features, f"how {token.text}", to=1.0)
        if is_content(token):
            _raise(features, f"word {token.stem}", to=0.5)
    return features
