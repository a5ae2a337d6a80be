"""Nouns of product names: the rule is near what the tagger of upstream finds, and a tagger is used if there is one."""

import sys
from pathlib import Path

import pytest

from mage_es.engine.bench.webshop.nouns import installed_nouns, nouns_by_rule

SNEAKERS = "Mens D.O.N. Issue 2 Gca Basketball Sneakers Shoes Casual - Off White"
CORD = "Saireed UL Listed 2 Prong Power Cord for JBL Bar 3.1 Bar 2.1 Channel 4K Ultra HD Soundbar"
OTHER_CORD = (
    "BRST AC Power Cord Outlet Socket Cable Plug Lead for Panasonic SC-HT830V DVD/VCR Combo Home Theater System"
)


def title_score(goal: str, bought: str) -> float:
    nouns = nouns_by_rule(goal)
    return len(set(nouns) & set(nouns_by_rule(bought))) / len(nouns)


@pytest.mark.paper("section 4, WebShop, scores")
@pytest.mark.parametrize(
    ("goal", "bought", "score"),
    [
        (
            SNEAKERS,
            "PEAK High Top Mens Basketball Shoes Lou Williams Streetball Master Breathable Non Slip Outdoor Sneakers",
            0.33,
        ),
        (f"{CORD} Home Theater System Subwoofer", OTHER_CORD, 0.30),
        (CORD, OTHER_CORD, 0.15),
        (
            "Rusticware 921ORB Kitchen and Bath Cabinet Knob",
            "Minkissy 2pcs Stainless Steel Eyebrow Tweezers Blackhead Acne Remover Portable Makeup Tweezers (Silver)",
            0.0,
        ),
    ],
)
def test_names_share_about_as_many_nouns_as_upstreams_tagger_finds(goal: str, bought: str, score: float) -> None:
    assert title_score(goal, bought) == pytest.approx(score, abs=0.05)


@pytest.mark.parametrize(
    ("name", "nouns"),
    [
        ("soft washable cotton shirt for men", ["cotton", "shirt", "men"]),
        ("Gloves 2 pairs of gloves", ["gloves", "pairs", "gloves"]),
        ("USB-C cable, 6.6 ft", ["usb", "c", "cable", "ft"]),
        ("quickly useful endless massive gorgeous edible", []),
        ("Shirt Washable", ["shirt", "washable"]),
        ("", []),
    ],
)
def test_what_is_no_number_function_word_or_adjective_is_a_noun(name: str, nouns: list[str]) -> None:
    assert nouns_by_rule(name) == nouns


def test_without_spacy_the_rule_is_used() -> None:
    installed_nouns.cache_clear()
    if installed_nouns().name == "rule":
        assert installed_nouns().find is nouns_by_rule


def test_a_model_of_spacy_is_used_where_one_is_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "spacy.py").write_text(
        "from types import SimpleNamespace as Part\n"
        "TAGS = {'shirt': 'NOUN', 'Acme': 'PROPN', 'soft': 'ADJ'}\n"
        "def load(name):\n"
        "    def tag(text):\n"
        "        return [Part(text=word, pos_=TAGS[word]) for word in text.split()]\n"
        "    tag.meta = {'version': '3.8'}\n"
        "    return tag\n"
    )
    (tmp_path / "en_core_web_sm.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("spacy", "en_core_web_sm"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    installed_nouns.cache_clear()
    found = installed_nouns()
    installed_nouns.cache_clear()
    assert found.name == "en_core_web_sm 3.8"
    assert list(found.find("Acme soft shirt")) == ["acme", "shirt"]
