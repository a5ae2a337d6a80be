"""Coined words are new ones, and no phrasing hides another number."""

from __future__ import annotations

import re
from itertools import islice

from mage_es.engine.players.worlds.truthworld.words import CHRONICLE, ESTATES, LEDGERS, coined
from mage_es.engine.players.worlds.wordmath.dice import Dice


def test_a_coined_word_is_in_no_phrasing_and_never_comes_twice() -> None:
    words = list(islice(coined(Dice("words")), 2_000))
    said = set(re.findall("[a-z]+", " ".join((*LEDGERS, *ESTATES, *CHRONICLE)).lower()))
    assert len(set(words)) == len(words)
    assert not said & set(words)


def test_no_phrasing_and_no_chronicle_has_a_number_of_its_own_and_the_start_comes_before_the_line() -> None:
    assert not re.search(r"\d", "".join((*LEDGERS, *ESTATES, *CHRONICLE)))
    assert all(text.index("{start}") < text.index("{line}") for text in ESTATES)
