"""Figures of real and of hand-made runs: which there are, what they show, the same bytes every time."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest

from mage_es.engine.reporting.charts import Bar, ChartMark, Series, bar_chart, line_chart, stacked_chart
from mage_es.engine.reporting.figures import figures
from mage_es.engine.reporting.recorded import RecordedRun
from mage_es.engine.reporting.study import open_study
from mage_es.engine.reporting.svg import converted
from mage_es.engine.verbs.runs import summarise

SVG = "{http://www.w3.org/2000/svg}"


def texts(svg: str) -> list[str]:
    return [element.text or "" for element in ElementTree.fromstring(svg).iter(f"{SVG}text")]


@pytest.fixture(scope="module")
def drawn(small_run: Any) -> dict[str, str]:
    return figures(open_study(small_run.path.parent))


def test_a_run_has_its_figures_and_each_is_well_formed(drawn: dict[str, str]) -> None:
    kinds = ("accuracy", "growth", "coverage", "mastery", "arms")
    assert set(drawn) == {*(f"{kind}-wordmath" for kind in kinds), "cost"}
    assert all(ElementTree.fromstring(svg).get("role") == "img" for svg in drawn.values())


@pytest.mark.paper("tables, figures")
def test_the_same_runs_give_the_same_bytes(drawn: dict[str, str], small_run: Any) -> None:
    assert figures(open_study(small_run.path.parent)) == drawn


def test_the_arms_of_both_bandits_are_shown(drawn: dict[str, str]) -> None:
    assert {"balanced", "cot", "wordmath: search bandit", "wordmath: routing bandit"} <= set(
        texts(drawn["arms-wordmath"])
    )


@pytest.mark.paper("tables, figures")
def test_accuracy_has_a_line_for_each_system_and_the_exams_as_points(bench: Any) -> None:
    for name, config in (("full", {}), ("less", {"success_memories": False})):
        events = [bench.tools.judged(f"a{k}", "1", iteration=k, purpose="anchor") for k in range(3)]
        bench.run(name, events=events, iterations=3, before="10", after="11", **config)
    found = figures(bench.study())
    svg = found["accuracy-wordmath"]
    assert {"full", "no success memories", "start", "◆ held-out exam, ± sd"} <= set(texts(svg))
    diamonds = [p for p in ElementTree.fromstring(svg).iter(f"{SVG}polygon") if len(p.get("points", "").split()) == 4]
    assert len(diamonds) == 4
    assert "+0.0" not in svg and {"over the exam before, points", "by success memories, points"} <= set(
        texts(found["gains"])
    )


def test_a_line_goes_through_its_marks_and_a_band_is_one_deviation_to_each_side() -> None:
    svg = line_chart("t", [Series("s", [ChartMark(0, 0), ChartMark(10, 70, 20)], banded=True)], x="x", y="y", high=100)
    lines = re.findall(r'<polyline points="([^"]*)" fill="none"', svg)
    assert lines[0] == "64,352 550,139.2"  # the plot reaches from 64 to 550, and from 352 (0) up to 48 (100)
    assert re.findall(r'<polygon points="([^"]*)"', svg) == ["64,352 550,78.4 550,200 64,352"]  # 90 and 50


def test_a_band_does_not_leave_the_plot() -> None:
    svg = line_chart(
        "t", [Series("s", [ChartMark(0, 90, 20), ChartMark(1, 5, 20)], banded=True)], x="x", y="y", high=100
    )
    assert re.findall(r'<polygon points="([^"]*)"', svg) == ["64,48 550,276 550,352 64,139.2"]


def test_stacked_shares_fill_the_panel() -> None:
    layers = {"a": [ChartMark(0, 25), ChartMark(1, 50)], "b": [ChartMark(0, 75), ChartMark(1, 50)]}
    svg = stacked_chart({"p": layers}, title="t", x="x")
    assert re.findall(r'<polygon points="([^"]*)"', svg) == [
        "64,276 550,200 550,352 64,352",
        "64,48 550,48 550,200 64,276",
    ]


def test_what_has_one_iteration_only_can_be_seen() -> None:
    svg = stacked_chart({"p": {"a": [ChartMark(0, 25)], "b": [ChartMark(0, 75)]}}, title="t", x="x")
    assert re.findall(r'<polygon points="([^"]*)"', svg) == ["64,276 80,276 80,352 64,352", "64,48 80,48 80,276 64,276"]
    assert "<circle" in line_chart("t", [Series("s", [ChartMark(0, 50)])], x="x", y="y")


def test_lines_that_fall_together_can_be_told_apart_and_a_band_is_explained_where_there_is_one() -> None:
    both = [
        Series("full", [ChartMark(0, 1, 1), ChartMark(1, 2)], banded=True),
        Series("less", [ChartMark(0, 1), ChartMark(1, 2)]),
    ]
    svg = line_chart("t", both, x="x", y="y")
    first, second = re.findall(r'<polyline points="64,\S+ 550,48" [^>]*>', svg)[-2:]
    assert "dasharray" not in first and "dasharray" in second
    assert "▒ ± sd over seeds" in texts(svg)
    assert "▒ ± sd over seeds" not in texts(line_chart("t", both[1:], x="x", y="y"))


def test_long_names_are_folded_and_take_nothing_from_the_plot() -> None:
    marks, long = [ChartMark(0, 1), ChartMark(1, 2)], "no success memories, no tools, cascade ABD and more of it"
    plain, named = (line_chart("t", [Series(name, marks)], x="x", y="y") for name in ("full", long))
    size = re.compile(r'<svg [^>]*width="(\d+)" height="(\d+)"|fill="none" stroke|<polyline points="64,\S+ 550,48"')
    assert size.findall(plain) == size.findall(named)
    assert long in " ".join(texts(named)) and max(map(len, texts(named))) < 30
    assert 'width="760"' in line_chart("t" * 120, [Series("full", marks)], x="x", y="y")
    assert 'width="760"' in stacked_chart({"p": {long: marks}}, title="t", x="x")
    bars = bar_chart({"p": [Bar("x" * 100, 1.0), Bar("y" * 20, 1.0)]}, title="t")
    assert 'width="760"' in bars and float(re.findall(r'<rect [^>]* width="([\d.]+)"', bars)[0]) > 300


def test_the_anchors_of_the_chart_are_those_of_the_run_with_the_ones_that_were_carried(small_run: Any) -> None:
    shown = {row.iteration: 100 * row.anchor_correct / row.anchor_total for row in summarise(small_run).rows}
    found = dict(RecordedRun(small_run).anchors("correct").iter_rows())
    assert found == pytest.approx(shown)


def test_a_figure_is_also_png_and_pdf(drawn: dict[str, str]) -> None:
    pytest.importorskip("vl_convert", reason="python -m pip install 'mage-es[figures]'")
    files = converted(drawn["accuracy-wordmath"])
    assert files["png"].startswith(b"\x89PNG") and files["pdf"].startswith(b"%PDF")


def test_a_bar_that_was_not_measured_is_a_dash_and_no_zero() -> None:
    svg = bar_chart({"p": [Bar("one", 10.0), Bar("two", None)]}, title="t")
    assert svg.count("<rect") == 1
    assert "-" in texts(svg) and "0.0" not in texts(svg)


def test_counts_are_whole_and_no_value_touches_the_next_panel() -> None:
    svg = bar_chart({"a": [Bar("one", 13_144.0)], "b": [Bar("one", 123_456_789.0)]}, title="t", digits=0)
    assert {"13,144", "123,456,789"} <= set(texts(svg))
    drawn = {text.text: float(text.get("x", "0")) for text in ElementTree.fromstring(svg).iter(f"{SVG}text")}
    assert drawn["13,144"] + 7 * len("13,144") < drawn["b"]
    assert drawn["one"] - 8 * len("one") > 8  # it ends there
    width = float(ElementTree.fromstring(svg).get("width", "0"))
    assert drawn["123,456,789"] + 7 * len("123,456,789") < width - 8


def test_a_tier_that_nobody_called_has_no_panel(drawn: dict[str, str]) -> None:
    assert {"execution calls a run", "guidance calls a run"} <= set(texts(drawn["cost"]))
    assert "judge calls a run" not in texts(drawn["cost"])


def test_the_legend_of_filled_layers_shows_them_filled(drawn: dict[str, str]) -> None:
    svg = ElementTree.fromstring(drawn["arms-wordmath"])
    assert not [line for line in svg.iter(f"{SVG}polyline") if line.get("stroke-dasharray")]
    filled = {layer.get("fill") for layer in svg.iter(f"{SVG}polygon")}
    assert {box.get("fill") for box in svg.iter(f"{SVG}rect")} == filled


def test_own_tasks_that_are_called_the_same_have_figures_with_short_names_of_their_own(bench: Any) -> None:
    for name, benchmark in (("a", "tasks/deep/my.jsonl?scorer=number"), ("b", "tasks/deep/my.jsonl?scorer=exact")):
        bench.run(name, benchmark=benchmark, after="1")
    names = [name for name in figures(bench.study()) if name.startswith("growth-")]
    assert len(set(names)) == 2 and all(re.fullmatch(r"growth-my-[0-9a-f]{8}", name) for name in names)


def test_bars_have_their_values_and_intervals_and_start_at_zero() -> None:
    svg = bar_chart({"p": [Bar("one", 10.0, 5.0, 15.0), Bar("two", -5.0)]}, title="t")
    first, second = (float(width) for width in re.findall(r'<rect [^>]* width="([\d.]+)"', svg))
    assert first == pytest.approx(2 * second, abs=0.02)
    assert {"one", "two", "10.0", "-5.0", "p"} <= set(texts(svg))


def test_the_name_of_a_figure_fits_into_a_file_system_and_still_tells_places_apart(bench: Any) -> None:
    for name, folder in (("a", "x" * 300), ("b", "x" * 299 + "y"), ("c", "z")):
        bench.run(name, search=f"local/{folder}", after="1", pool=len(name) + 5)
    names = [name for name in figures(bench.study()) if name.startswith("growth-")]
    assert len(set(names)) == 3
    assert max(map(len, names)) < 120
    assert "growth-wordmath-search-local-z" in names
