"""Figures of real and of hand-made runs: which there are, what they show, the same bytes every time."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import pytest

from mage_es.engine.study.reporting.charts import (
    Bar,
    Chart,
    ChartMark,
    Series,
    bar_chart,
    drawn,
    line_chart,
    stacked_chart,
)
from mage_es.engine.study.reporting.figures import figures
from mage_es.engine.study.reporting.recorded import RecordedRun
from mage_es.engine.study.reporting.study import open_study
from mage_es.engine.verbs.runs import summarise
from mage_es.events.errors import PrerequisiteError


def rows(chart: Any) -> Iterator[dict[str, Any]]:
    """Yield the data of a chart and of all its panels."""
    if isinstance(chart, dict):
        yield from chart.get("values", ())
    for part in chart.values() if isinstance(chart, dict) else chart if isinstance(chart, list) else ():
        yield from rows(part)


def titles(chart: Chart) -> set[str]:
    panels = [chart, *chart.get("vconcat", ()), *chart.get("hconcat", ())]
    return {panel["title"]["text"] for panel in panels}


@pytest.fixture(scope="module")
def charts(small_run: Any) -> dict[str, Chart]:
    return figures(open_study(small_run.path.parent))


def test_a_run_has_its_figures_and_each_has_data(charts: dict[str, Chart]) -> None:
    kinds = ("accuracy", "growth", "coverage", "mastery", "arms")
    assert set(charts) == {*(f"{kind}-wordmath" for kind in kinds), "cost"}
    assert all(list(rows(chart)) for chart in charts.values())


@pytest.mark.paper("tables, figures")
def test_a_figure_is_svg_png_and_pdf_and_the_same_bytes_every_time(charts: dict[str, Chart], small_run: Any) -> None:
    pytest.importorskip("vl_convert", reason="python -m pip install 'mage-es[figures]'")
    files = drawn(charts["accuracy-wordmath"])
    assert ElementTree.fromstring(files["svg"]).tag == "{http://www.w3.org/2000/svg}svg"
    assert files["png"].startswith(b"\x89PNG") and files["pdf"].startswith(b"%PDF")
    assert drawn(figures(open_study(small_run.path.parent))["accuracy-wordmath"])["svg"] == files["svg"]


@pytest.mark.parametrize("kind", ["arms-wordmath", "cost"])
def test_panels_are_drawn_with_their_words(charts: dict[str, Chart], kind: str) -> None:
    pytest.importorskip("vl_convert", reason="python -m pip install 'mage-es[figures]'")
    svg = drawn(charts[kind])["svg"].decode()
    assert all(title in svg for title in titles(charts[kind]))
    assert all(row["name"] in svg for row in rows(charts[kind]))


def test_without_the_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(PrerequisiteError, match=r"mage-es\[figures\]"):
        drawn({})


def test_the_arms_of_both_bandits_are_shown(charts: dict[str, Chart]) -> None:
    assert titles(charts["arms-wordmath"]) == {"wordmath", "search bandit", "routing bandit"}
    assert {"balanced", "cot"} <= {row["name"] for row in rows(charts["arms-wordmath"])}


@pytest.mark.paper("tables, figures")
def test_accuracy_has_a_line_for_each_system_and_the_exams_as_points(bench: Any) -> None:
    for name, config in (("full", {}), ("less", {"success_memories": False})):
        events = [bench.tools.judged(f"a{k}", "1", iteration=k, purpose="anchor") for k in range(3)]
        bench.run(name, events=events, iterations=3, before="10", after="11", **config)
    found = figures(bench.study())
    points = [(row["name"], row["x"], row["y"]) for row in rows(found["accuracy-wordmath"]) if row["kind"] == "point"]
    systems = ("full", "no success memories")
    assert points == [(name, *point) for name in systems for point in ((-1, 50), (2, 100))]
    assert titles(found["gains"]) >= {"over the exam before, points", "by success memories, points"}


def test_a_band_is_one_deviation_to_each_side_within_the_plot_and_is_explained_where_there_is_one() -> None:
    both = [
        Series("full", [ChartMark(0, 10, 20), ChartMark(10, 70, 40)], banded=True),
        Series("less", [ChartMark(0, 1)]),
    ]
    chart = line_chart("t", both, x="x", y="y", high=100)
    assert chart is not None
    assert [(row["x"], row["low"], row["high"]) for row in rows(chart) if row["kind"] == "band"] == [
        (0, 0, 30),
        (10, 30, 100),
    ]
    assert "± sd over seeds" in chart["title"]["subtitle"]
    plain = line_chart("t", both[1:], x="x", y="y")
    assert plain is not None and plain["title"]["subtitle"] == ""


def test_lines_that_fall_together_can_be_told_apart() -> None:
    chart = line_chart("t", [Series(name, [ChartMark(0, 1)]) for name in ("full", "less")], x="x", y="y")
    assert chart is not None
    first, second = chart["layer"][1]["encoding"]["strokeDash"]["scale"]["range"]
    assert first != second


def test_what_has_no_marks_has_no_chart() -> None:
    assert line_chart("t", [Series("s", [])], x="x", y="y") is None


def test_the_anchors_of_the_chart_are_those_of_the_run_with_the_ones_that_were_carried(small_run: Any) -> None:
    shown = {row.iteration: 100 * row.anchor_correct / row.anchor_total for row in summarise(small_run).rows}
    found = dict(RecordedRun(small_run).anchors("correct").iter_rows())
    assert found == pytest.approx(shown)


def test_own_tasks_that_are_called_the_same_have_figures_with_short_names_of_their_own(bench: Any) -> None:
    for name, benchmark in (("a", "tasks/deep/my.jsonl?scorer=number"), ("b", "tasks/deep/my.jsonl?scorer=exact")):
        bench.run(name, benchmark=benchmark, after="1")
    names = [name for name in figures(bench.study()) if name.startswith("growth-")]
    assert len(set(names)) == 2 and all(re.fullmatch(r"growth-my-[0-9a-f]{8}", name) for name in names)


def test_the_name_of_a_figure_fits_into_a_file_system_and_still_tells_places_apart(bench: Any) -> None:
    for name, folder in (("a", "x" * 300), ("b", "x" * 299 + "y"), ("c", "z")):
        bench.run(name, search=f"local/{folder}", after="1", pool=len(name) + 5)
    names = [name for name in figures(bench.study()) if name.startswith("growth-")]
    assert len(set(names)) == 3
    assert max(map(len, names)) < 120
    assert "growth-wordmath-search-local-z" in names


def test_a_tier_that_nobody_called_has_no_panel(charts: dict[str, Chart]) -> None:
    assert {"execution calls a run", "guidance calls a run"} <= titles(charts["cost"])
    assert "judge calls a run" not in titles(charts["cost"])


def test_bars_have_their_values_and_one_that_was_not_measured_is_a_dash() -> None:
    chart = bar_chart({"p": [Bar("one", 13_144.0, 5.0, 15.0), Bar("two", None)]}, title="t", digits=0)
    assert [(row["value"], row["text"]) for row in rows(chart)] == [(13_144.0, "13,144"), (None, "-")]


def test_a_name_that_no_svg_may_hold_is_drawn_without_what_it_may_not() -> None:
    chart = bar_chart({"p\x1b[31m": [Bar("one\x00\u202e<b>", 1.0)]}, title="\x07t\ufffe", digits=0)
    assert b"one  &lt;b&gt;" in drawn(chart)["svg"]


def test_shares_are_stacked_in_the_panel_of_their_bandit() -> None:
    layers = {"a": [ChartMark(0, 25)], "b": [ChartMark(0, 75)]}
    chart = stacked_chart({"p": layers}, title="t", x="x")
    assert [(row["name"], row["share"]) for row in rows(chart["vconcat"][0])] == [("a", 25), ("b", 75)]
