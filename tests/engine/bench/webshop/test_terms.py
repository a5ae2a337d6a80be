"""What the search engine takes for a word."""

import pytest

from mage_es.engine.bench.webshop.search import STOP_WORDS, terms_of


@pytest.mark.paper("section 4, WebShop, the search")
@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("x-large 5/8 a|b 50%", ["x", "larg", "5", "8", "b", "50"]),
        ("usb3 3,000.5 1.5oz", ["usb3", "3,000.5", "1.5oz"]),
        ("o'neil o’neil a.b c:d e·f", ["o'neil", "o’neil", "a.b", "c:d", "e·f"]),
        ("foo_bar _ 10:30 3;4", ["foo_bar", "10", "30", "3;4"]),
        ("12\" (pack) don''t", ["12", "pack", "don", "t"]),
        ("红色 ひら", ["红", "色", "ひ", "ら"]),
        ("™ © ® 😀 👨‍👩‍👧 ★ ½ → ✓", ["™", "©", "®", "😀", "👨‍👩‍👧"]),
        ("men's dogs’s", ["men", "dog"]),
        ("café cafe", ["café", "cafe"]),
        ("The cat is on A mat", ["cat", "mat"]),
        ("", []),
    ],
)
def test_words_are_unicodes(text: str, terms: list[str]) -> None:
    assert terms_of(text) == terms


@pytest.mark.paper("section 4, WebShop, the search")
@pytest.mark.parametrize(
    ("word", "stem"),
    [
        ("ponies", "poni"),
        ("caresses", "caress"),
        ("possibly", "possibl"),  # bli becomes ble: Martin's first amendment
        ("archaeology", "archaeolog"),  # logi becomes log: his second
        ("as-is", ""),
        ("us", "us"),
        ("hopping", "hop"),
        ("relational", "relat"),
        ("sky", "sky"),
    ],
)
def test_stems_are_porters_with_martins_amendments(word: str, stem: str) -> None:
    assert terms_of(word) == ([stem] if stem else [])


def test_the_stop_words_are_the_33_classic_ones() -> None:
    assert len(STOP_WORDS) == 33
