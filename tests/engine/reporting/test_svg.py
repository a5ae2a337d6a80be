"""Drawings: well formed, the same every time, numbers that people write."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from mage_es.engine.reporting.svg import Drawing, Scale, label, number, ticks


def test_a_drawing_is_well_formed_whatever_the_words_in_it() -> None:
    drawing = Drawing(100, 50, title="a < b & c", description='"quoted"')
    drawing.text(1, 2, "<script>&", anchor="middle", kind="s", turned=True)
    drawing.line([(0, 0), (10.123456, 5)], colour="#000000", dash="2 3")
    drawing.area([(0, 0), (1, 1), (2, 0)], colour="#000000", opacity=0.5)
    drawing.box(0, 0, 5, 5, colour="#000000")
    drawing.diamond(5, 5, colour="#000000")
    root = ElementTree.fromstring(str(drawing))
    assert (root.get("role"), root.get("viewBox")) == ("img", "0 0 100 50")
    names = [element.tag.removeprefix("{http://www.w3.org/2000/svg}") for element in root]
    assert names == ["title", "desc", "style", "text", "polyline", "polygon", "rect", "polygon"]
    assert root[3].text == "<script>&"
    assert root[4].get("points") == "0,0 10.12,5"


def test_it_can_be_read_in_the_dark_and_names_no_font_file() -> None:
    text = str(Drawing(1, 1, title="", description=""))
    assert "prefers-color-scheme:dark" in text
    assert "url(" not in text and "@font-face" not in text


@pytest.mark.parametrize(
    ("low", "high", "found"),
    [
        (0, 100, [0, 20, 40, 60, 80, 100]),
        (0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0, 9, [0, 2, 4, 6, 8]),
        (-12, 30, [-10, 0, 10, 20, 30]),
        (0, 1234, [0, 500, 1000]),
        (0, 7.3, [0, 2, 4, 6]),
    ],
)
def test_ticks_are_round_numbers_within_the_range(low: float, high: float, found: list[float]) -> None:
    assert ticks(low, high) == found


def test_numbers_are_short() -> None:
    assert [number(value) for value in (1.0, 1.239, -0.001, 12.5)] == ["1", "1.24", "0", "12.5"]
    assert [label(value) for value in (5, 0.25, 2000, 12_000, 3_500_000)] == ["5", "0.25", "2k", "12k", "3.5M"]


def test_a_scale_maps_its_ends_and_what_has_no_extent_to_its_start() -> None:
    scale = Scale(0, 10, 100, 0)
    assert (scale(0), scale(10), scale(5)) == (100, 0, 50)
    assert Scale(3, 3, 7, 9)(3) == 7
