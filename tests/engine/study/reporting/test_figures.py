"""Figures of real and of hand-made runs: which there are, what they show, the same bytes every time."""

import re
import sys
from typing import Any
from xml.etree import ElementTree

import pytest

from mage_es.engine.study.reporting.figures import Chart, chart, drawn, figures
from mage_es.engine.study.reporting.recorded import RecordedRun
from mage_es.engine.study.reporting.study import open_study
from mage_es.engine.verbs.runs import summarise
from mage_es.events.errors import PrerequisiteError


def rows(chart: Chart) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = chart["data"]["values"]
    return found


def panels(chart: Chart) -> set[str]:
    return {row["panel"] for row in rows(chart)}


@pytest.fixture(scope="module")
def charts(small_run: Any) -> dict[str, Chart]:
    return figures(open_study(small_run.path.parent))


def test_a_run_has_its_figures_and_each_has_data(charts: dict[str, Chart]) -> None:
    kinds = ("accuracy", "growth", "coverage", "mastery", "arms")
    assert set(charts) == {*(f"{kind}-wordmath" for kind in kinds), "cost"}
    assert all(map(rows, charts.values()))


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
    assert all(panel in svg for panel in panels(charts[kind]))
    assert all(row["name"] in svg for row in rows(charts[kind]))


def test_without_the_library_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(PrerequisiteError, match=r"mage-es\[figures\]"):
        drawn({})


def test_the_arms_of_both_bandits_are_shown(charts: dict[str, Chart]) -> None:
    assert panels(charts["arms-wordmath"]) == {"search bandit", "routing bandit"}
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
    assert panels(found["gains"]) >= {"over the exam before, points", "by success memories, points"}


def test_a_band_is_one_deviation_to_each_side_within_the_plot_and_is_explained_where_there_is_one(bench: Any) -> None:
    for seed, letters in ((1, "1111"), (2, "1110")):
        anchors = [bench.tools.judged(f"a{n}", each, iteration=0, purpose="anchor") for n, each in enumerate(letters)]
        bench.run(f"r{seed}", seed=seed, events=anchors)
        found = figures(bench.study())["accuracy-wordmath"]
        assert ("± sd over seeds" in found["title"]["subtitle"]) == (seed == 2)
    (band,) = (row for row in rows(found) if row["kind"] == "band")
    # 100 and 75: mean 87.5, deviation 17.7
    assert (band["x"], band["y"], band["low"], band["high"]) == (0, 87.5, pytest.approx(87.5 - 17.678, abs=1e-3), 100)


def test_lines_that_fall_together_can_be_told_apart() -> None:
    made = chart("lines", "t", [{"name": name} for name in ("full", "less")], y="y", subtitle="", scale={})
    first, second = made["layer"][1]["encoding"]["strokeDash"]["scale"]["range"]
    assert first != second


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
    assert {"execution calls a run", "guidance calls a run"} <= panels(charts["cost"])
    assert "judge calls a run" not in panels(charts["cost"])


def test_bars_have_their_values_and_one_that_was_not_measured_is_a_dash(bench: Any) -> None:
    bench.run("a", before="10", after="11")
    bench.run("b", benchmark="truthworld", execution="x/m", guidance="x/g", after="11")
    bars = [row for row in rows(figures(bench.study())["gains"]) if row["panel"] == "over the exam before, points"]
    assert {row["name"]: (row["value"], row["text"]) for row in bars} == {
        "wordmath": (50.0, "50.0"),
        "truthworld": (None, "-"),
    }


def test_a_name_that_no_svg_may_hold_is_drawn_without_what_it_may_not() -> None:
    pytest.importorskip("vl_convert", reason="python -m pip install 'mage-es[figures]'")
    bar = {"panel": "p\x1b[31m", "name": "one\x00\u202e<b>", "value": 1.0, "text": "1", "end": 1.0}
    assert b"one  &lt;b&gt;" in drawn(chart("bars", "\x07t\ufffe", [bar]))["svg"]


def test_shares_of_a_bandit_add_up_in_its_panel(charts: dict[str, Chart]) -> None:
    first = [row["share"] for row in rows(charts["arms-wordmath"]) if (row["panel"], row["x"]) == ("search bandit", 0)]
    assert sum(first) == pytest.approx(100)
