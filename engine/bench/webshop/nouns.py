"""The nouns of a product's name: by spaCy if one of its English models is installed, else by rule. By rule a noun is
any word that is not a number, a function word, or a common adjective, adverb or verb, and does not end like an
adjective; titles are mostly in title case, so a capitalised word after the first is a noun anyway, unless it is a
function word. Buying exactly the wanted product gives the full type factor either way."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from importlib.util import find_spec
from typing import NamedTuple

NounFinder = Callable[[str], Sequence[str]]
"""From a name to its nouns in lower case, in order, duplicates included."""

SPACY_MODELS = ("en_core_web_lg", "en_core_web_md", "en_core_web_sm", "en_core_web_trf")
"""Models that are looked for, upstream's first."""

_TOKEN = re.compile(r"\d[\d.,]*|[^\W\d_]+(?:['’][^\W\d_]+)?")
_ADJECTIVAL = ("ly", "able", "ible", "less", "ful", "ive", "ous")
_LIKE_ADJECTIVES = """
anomaly archive assembly belly bible butterfly cable constable drive family fly handful hive jelly lily monopoly olive
ply ally supply syllable table tally turntable vegetable
"""
_NOUNS_LIKE_ADJECTIVES = frozenset(_LIKE_ADJECTIVES.split())
"""Nouns that end like adjectives."""
_FUNCTION = """
    a about above across after against all along also among an and any are around as at be because been before being
    below between both but by can could did do does down during each either every few for from had has have he her
    here him his how i if in inside into is it its just may me more most must my near neither no non nor not of off on
    once one only onto or other our out outside over own per s same she should since so some such t than that the their
    them then there these they this those through to too toward towards under until up upon us very via was we were
    what when where which while who whom why will with within without would yet you your
"""
_FUNCTION_WORDS = frozenset(_FUNCTION.split())
_OTHER = """
    add adjust adjustable amazing apply authentic auto automatic available beautiful best better big black blue bold
    breathable brew bright brown build built bulk buy casual cheap clean clear classic close colorful comfortable comfy
    compact compatible complete cool cordless cozy crisp curved custom cute daily dark decorative deep delicious
    detachable different digital double dry durable easy elastic electric elegant enjoy essential extra fancy fast fine
    fit fits flat foldable folding fresh full funny fuzzy genuine get giant gives glossy good gorgeous great green grey
    gray handmade happy hard heavy help helps hidden high hold holds hot huge ideal improve improves includes included
    instant integrated keep large last lasting less light lightweight little long loose lovely low luxury made magnetic
    main make makes many matte mini mixed modern moist multi multiple natural new nice nude old open orange organic
    original outdoor overall painted perfect personal pink plain plus portable powerful premium pretty printed
    professional protect protects pure purple quick quiet ready real rechargeable red removable remove removes reusable
    rich ripped rotating round royal safe shaped sharp shiny short silver simple single sleeveless slim small smart
    smooth soft solid special square stainless standard strong stylish super sweet tall tapered thick thin tight tiny
    total traditional trendy true turn ultra unique universal upgraded use used useful using vegan vintage warm
    washable waterproof wear wearing white wide wild wireless wooden yellow young
"""
_OTHER_WORDS = frozenset(_OTHER.split())


class Nouns(NamedTuple):
    name: str
    find: NounFinder


def nouns_by_rule(name: str) -> list[str]:
    tokens = _TOKEN.findall(name)
    return [token.lower() for place, token in enumerate(tokens) if _is_noun(token, is_first=place == 0)]


@lru_cache(maxsize=1)
def installed_nouns() -> Nouns:
    if find_spec("spacy") is not None:
        for model in SPACY_MODELS:
            if find_spec(model) is not None:
                return _by_spacy(model)
    return Nouns("rule", nouns_by_rule)


def _by_spacy(model: str) -> Nouns:
    from importlib import import_module

    spacy = import_module("spacy")
    tag = spacy.load(model)

    @lru_cache(maxsize=10_000)
    def find(name: str) -> tuple[str, ...]:
        return tuple(token.text.lower() for token in tag(name) if token.pos_ in ("NOUN", "PROPN"))

    version = getattr(getattr(tag, "meta", {}), "get", lambda *_: "")("version", "")
    return Nouns(f"{model} {version}".strip(), find)


def _is_noun(token: str, *, is_first: bool) -> bool:
    word = token.lower()
    if token[0].isdigit() or word in _FUNCTION_WORDS:
        return False
    if token[0].isupper() and not is_first:
        return True
    return word in _NOUNS_LIKE_ADJECTIVES or (word not in _OTHER_WORDS and not word.endswith(_ADJECTIVAL))
