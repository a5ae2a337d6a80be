"""`mage-es explain`: every word that the first screens use and that is not common is explained."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mage_es.cli.explain import glossary

Command = Callable[..., Any]

COMMON = {"calls", "log", "questions", "graph", "replay"}
"""Words of the screens that need no explanation, or have one as part of others (`success memory`)."""

PLAIN = {
    "what",
    "action",
    "targets",
    "authored",
    "outcomes",
    "brief",
    "input",
    "output",
    "seconds",
    "dollars",
    "exam",
    "wordmath",
}
"""Heads of tables that mean what they say."""


@pytest.mark.parametrize(
    "words", [["anchor"], ["Anchors"], ["held", "out"], ["failure memories"], ["vacuous"], ["open"], ["accuracy"]]
)
def test_a_word_is_found_however_it_is_written(mage: Command, words: list[str]) -> None:
    outcome = mage("explain", *words)
    assert outcome.code == 0 and len(outcome.out.splitlines()) == 1


def test_without_a_word_all_are_shown_and_an_unknown_one_has_near_matches(mage: Command) -> None:
    assert json.loads(mage("explain", "--json").out) == glossary()
    outcome = mage("explain", "anchr")
    assert (outcome.code, "Did you mean anchor?" in outcome.err) == (2, True)


@pytest.mark.slow
def test_every_word_of_the_first_screens_is_common_or_explained(mage: Command, runs_dir: Path) -> None:
    shown = {part.splitlines()[0]: part.splitlines()[1:] for part in mage("runs", "show").out.split("\n\n")}
    tables = [lines[0] for title, lines in shown.items() if not title.startswith(("Run ", "Next:")) and lines]
    words = {word for head in tables for word in re.split(r"\s{2,}", head.strip())} - PLAIN
    words |= {line.split()[0] for line in shown["The six agents"][1:] if not line.startswith(" ")}
    for command in (("replay", "first", "--until", "latest"), ("verify", "first")):
        table = [line for line in mage(*command).out.partition("\n\n")[0].splitlines() if line[:1].strip()]
        words |= {line.partition("  ")[0] for line in table[2:] if "  " in line}
    assert {"anchors", "guard", "Navigator", "bandits", "leaks", "ratchet"} <= words
    assert {word for word in words - COMMON if mage("explain", word).code} == set()
