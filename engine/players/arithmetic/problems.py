"""Reading a word problem: from its text to its quantities with features, and to what it asks."""

from collections.abc import Sequence
from functools import lru_cache

from mage_es.engine.players.arithmetic.cues import CLASSES
from mage_es.engine.players.arithmetic.features import context, nature, question_features
from mage_es.engine.players.arithmetic.numerals import Numeral, find_numerals
from mage_es.engine.players.arithmetic.phrases import TIME_UNITS, head_noun, is_content, per
from mage_es.engine.players.arithmetic.quantities import Problem, Quantity
from mage_es.engine.players.arithmetic.words import Token, tokenize

_REFERRING = frozenset(["them", "they", "these", "those", "such", "others", "rest", "which", "each", "every", "both"])
_ASKING = frozenset({("how", "many"), ("how", "much"), ("number", "of"), ("amount", "of"), ("many", "of")})


# A question is read when it is asked and again wherever its case is shown: its problem is shared, and left as it is.
@lru_cache(maxsize=1024)
def read_problem(text: str) -> Problem:
    tokens = tokenize(text)
    asked_in = _question_sentence(tokens)
    asking = [token for token in tokens if token.sentence == asked_in]
    asked = frozenset(token.stem for token in asking if is_content(token))
    target = _target(asking)
    quantities = [_quantity(tokens, numeral) for numeral in find_numerals(tokens)]
    linked = _linked_sentences(tokens)
    _find_unsaid_rates(tokens, quantities, target=target)
    for order, quantity in enumerate(quantities):
        quantity.is_apart = quantity.kind in ("count", "percent", "one") and quantity.sentence not in linked
        quantity.nature = nature(quantities, order=order, asked=asked, target=target, asked_in=asked_in)
        quantity.context = context(tokens, quantities, order=order)
    return Problem(
        tokens=tokens,
        quantities=quantities,
        asked=asked,
        target=target,
        question=question_features(asking),
        ties=_ties(tokens, quantities),
    )


def _question_sentence(tokens: Sequence[Token]) -> int:
    marked = [token.sentence for token in tokens if token.text == "?"]
    return marked[-1] if marked else (tokens[-1].sentence if tokens else 0)


def _linked_sentences(tokens: Sequence[Token]) -> set[int]:
    spoken: dict[str, set[int]] = {}
    linked: set[int] = set()
    for token in tokens:
        if token.text in _REFERRING:
            linked.add(token.sentence)
        elif is_content(token) and CLASSES.get(token.stem, ("",))[0] != "start":
            spoken.setdefault(token.stem, set()).add(token.sentence)
    return linked.union(*(sentences for sentences in spoken.values() if len(sentences) > 1))


def _target(asking: Sequence[Token]) -> str:
    for at, token in enumerate(asking[:-2]):
        pair = (token.text, asking[at + 1].text)
        if pair in _ASKING and (noun := head_noun(asking, at + 2)):
            return noun
    return ""


def _quantity(tokens: Sequence[Token], numeral: Numeral) -> Quantity:
    token = tokens[numeral.start]
    return Quantity(
        value=numeral.value,
        kind=numeral.kind,
        noun="$" if numeral.kind == "money" else head_noun(tokens, numeral.end),
        per=per(tokens, numeral),
        start=numeral.start,
        sentence=token.sentence,
        clause=token.clause,
    )


def _find_unsaid_rates(tokens: Sequence[Token], quantities: Sequence[Quantity], *, target: str) -> None:
    """Mark rates without an "each": "3 piles of 8 logs", "a sack weighs 40 kg", "6 to a tray", where sacks count."""
    counted = {quantity.noun for quantity in quantities if quantity.noun} | {target} | TIME_UNITS
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
                noun = head_noun(tokens, at + 1, singular=token.text)
                if noun and noun != quantity.noun and (noun in counted - {quantity.noun} or token.text == "one"):
                    quantity.per = noun
                    break


def _ties(tokens: Sequence[Token], quantities: Sequence[Quantity]) -> frozenset[tuple[int, int]]:
    clauses: dict[int, list[int]] = {}
    for at, quantity in enumerate(quantities):
        clauses.setdefault(quantity.clause, []).append(at)
    beside: dict[str, set[int]] = {}
    for token in tokens:
        if token.clause in clauses and (is_content(token) or token.is_name):
            beside.setdefault(token.stem, set()).update(clauses[token.clause])
    return frozenset((min(pair), max(pair)) for pair in beside.values() if len(pair) == 2)
