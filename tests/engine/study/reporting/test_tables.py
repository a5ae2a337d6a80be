"""All tables together, on real runs; example bundles and settings; what is asked for by name."""

from typing import Any

import pytest

from mage_es.engine.run.runtime import Runtime
from mage_es.engine.study.reporting.cells import Cell
from mage_es.engine.study.reporting.figures import figures
from mage_es.engine.study.reporting.rendering import ENDINGS, plain, render
from mage_es.engine.study.reporting.study import open_study
from mage_es.engine.study.reporting.tables import TABLES, tables
from mage_es.events.errors import UsageError


@pytest.fixture(scope="module")
def examined(small_run: Any, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The study of a copy of a real small run with its exams before and after."""
    import shutil

    from mage_es.engine.run.directory import find_run
    from mage_es.engine.verbs.exam import examine

    folder = tmp_path_factory.mktemp("examined")
    shutil.copytree(small_run.path, folder / "small")
    for at in ("start", "latest"):
        examine(
            find_run(folder, "small"), at=at, questions=None, control="none", data_dir=None, runtime=Runtime(workers=4)
        )
    return open_study(folder)


@pytest.mark.slow
def test_a_real_run_fills_the_tables_that_it_can_and_no_other(examined: Any) -> None:
    names = [table.name for table in tables(examined)]
    expected = ["main", "cost", "settings", "calls", "judging", "growth", "matrix", "variance", "latency"]
    assert names == [*expected, "bundles", "recovery"]


def test_every_table_of_a_real_run_renders_in_every_form(examined: Any) -> None:
    for table in tables(examined, list(TABLES)):
        assert all(len(row) == len(table.columns) for row in table.rows), table.name
        assert all(render(table, form).endswith("\n") for form in ENDINGS)


def test_the_tables_say_what_the_run_itself_says(examined: Any, small_run: Any) -> None:
    from mage_es.engine.verbs.runs import summarise

    summary = summarise(small_run)
    grown = next(table for table in tables(examined, ["growth"])).rows[-1]
    last = summary.rows[-1]
    counts = [entry.mean for entry in grown if isinstance(entry, Cell)]
    assert counts[1:4] == [last.failure_memories, last.success_memories, last.principles]
    recovered = tables(examined, ["recovery"])[0].rows[last.iteration]
    assert plain(recovered[2]) == f"{100 * last.fresh_correct / last.fresh_total:.1f}"
    cost = tables(examined, ["cost"])[0].rows[0]
    assert plain(cost[4]) == f"{sum(row.execution_calls for row in summary.rows):,}"


@pytest.mark.paper("tables, bundles and settings")
def test_the_bundle_is_one_of_the_exam_with_texts_of_its_memories(examined: Any) -> None:
    (table,) = tables(examined, ["bundles"])
    parts = {str(row[1]): str(row[2]) for row in table.rows}
    assert parts["task type / skill"].count(" / ") == 1
    assert any(name.startswith(("success memory", "failure memory")) for name in parts)
    assert parts["score"] == "1, by rule"
    assert len(parts["question"]) > 20


def test_an_unknown_table_is_a_usage_error_with_the_near_match(bench: Any) -> None:
    bench.run("a", after="1")
    with pytest.raises(UsageError, match="ablation"):
        tables(bench.study(), ["ablaton"])


def test_a_table_that_was_asked_for_by_name_says_that_it_has_no_data(bench: Any) -> None:
    bench.run("a", after="1")
    (table,) = tables(bench.study(), ["sequential"])
    assert table.is_empty and table.notes[-1] == "No run here has data for this table."


def test_own_tasks_stand_by_their_title_unless_two_would_be_alike(bench: Any, cells: Any) -> None:
    mine = "tasks/mine.csv?columns=answer:right&scorer=number"
    bench.run("a", benchmark=mine, after="1")
    (table,) = tables(bench.study(), ["main"])
    assert cells(table)[0][0] == "mine"
    assert f"mine: `{mine}`" in table.notes
    assert "tasks/" not in str(figures(bench.study()))
    other = "tasks/mine.csv?scorer=exact"
    bench.run("b", benchmark=other, after="1")
    (table,) = tables(bench.study(), ["main"])
    assert {row[0] for row in cells(table)} == {mine, other}
