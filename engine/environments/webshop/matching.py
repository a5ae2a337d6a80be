"""How alike two wordings are: token-set ratio, and colours reduced to their plain names.

The ratio is thefuzz's: characters U+0080 to U+00FF vanish, every other non-word character becomes a space, the rest is
compared in lower case as sets of tokens. Underscores stay, which rapidfuzz's own processing drops.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache

from mage_es.events.errors import PrerequisiteError

ALIKE = 85
"""Two wordings match if their ratio is above this."""
_COLOURS = """
    alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown burgundy camel camo
    caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac copper coral cranberry cream crystal
    dark denim eggplant elephant espresso fuchsia gold granite grape graphite grass gray green grey heather indigo ivory
    ivy khaki lavender lemon leopard light lilac lime magenta maroon mauve merlot midnight mint mocha multicolor
    mushroom mustard natural navy nude olive orange peach pewter pink plum purple rainbow red rose royal rust sand
    sapphire seashell silver skull slate steel stone stonewash sunflower tan taupe teal tiger turquoise violet walnut
    wheat white wine yellow
"""
COLOURS = tuple(_COLOURS.split())
"""Upstream's colour words, in its order; the first that occurs wins."""

_LATIN_1 = re.compile("[\u0080-\u00ff]")
_NOT_OF_A_WORD = re.compile(r"\W")


def is_alike(one: str, other: str) -> bool:
    return token_set_ratio(one, other) > ALIKE


def token_set_ratio(one: str, other: str) -> int:
    """Return 0 to 100; 0 if either side has no word. Raises `PrerequisiteError`."""
    left, right = _plain(one), _plain(other)
    return round(library()(left, right)) if left and right else 0


def plain_colour(value: str) -> str:
    """Return the first colour word that occurs anywhere in a value (`tan` in `stand`), else the value."""
    return next((colour for colour in COLOURS if colour in value), value)


def plain_option(name: str, value: str) -> str:
    """Return the text by which a named option is compared: a colour if name or value is one, else `name value`."""
    return next((colour for colour in COLOURS if colour in (name, value)), f"{name} {value}")


@lru_cache(maxsize=100_000)
def _plain(text: str) -> str:
    return _NOT_OF_A_WORD.sub(" ", _LATIN_1.sub("", text)).lower().strip()


@lru_cache(maxsize=1)
def library() -> Callable[[str, str], float]:
    try:
        from rapidfuzz.fuzz import token_set_ratio as ratio
    except ImportError as error:
        raise PrerequisiteError(
            "WebShop's reward needs rapidfuzz, which is not installed. Run: python -m pip install 'mage-es[benchmarks]'"
        ) from error
    return ratio
