"""Tables of exam accuracy, on runs of four questions."""

from typing import Any

import pytest

from mage_es.engine.study.reporting.rendering import notes_of, plain
from mage_es.engine.study.reporting.tables import extension, latency, main, matrix, variance


def test_the_main_table_has_the_start_the_system_by_teacher_and_paired_differences(bench: Any, cells: Any) -> None:
    for seed, after in ((1, "1110"), (2, "1111")):
        bench.run(f"a{seed}", seed=seed, before="1000", after=after)
        bench.run(f"b{seed}", seed=seed, guidance="other/sage", before="1000", after="1000")
    table = main(bench.study())
    names = list(table.columns)
    (row,) = cells(table)
    read = dict(zip(names, row, strict=True))
    # 75 and 100: mean 87.5, sd 25 / sqrt 2; over the start 50 and 75, t(0.975, 1) = 12.706, half 12.5 * 12.706
    assert read["full, reference"] == "87.5 ± 17.7 n=2"
    assert (read["full, sage"], read["before"]) == ("25.0 ± 0.0 n=2", "25.0 ± 0.0 n=2")
    assert read["over before"] == "+62.5 ± 17.7 n=2 [-96.3, +221.3]"
    assert {read[name] for name in ("0-shot CoT", "few-shot CoT", "SC (10)", "ReAct", "Reflexion")} == {"-"}
    assert [entry.best for entry in table.rows[0] if getattr(entry, "best", False)] == [True]


@pytest.mark.paper("tables, main results")
def test_the_strongest_baseline_is_what_the_system_is_compared_with_on_common_seeds(bench: Any, cells: Any) -> None:
    for seed, weak, strong, after in ((1, "0000", "1100", "1111"), (2, "1000", "1000", "1110")):
        bench.baseline(f"z{seed}", "zero_shot_cot", weak, seed=seed)
        bench.baseline(f"r{seed}", "react", strong, seed=seed)
        bench.run(f"f{seed}", seed=seed, before="0000", after=after)
    bench.baseline("elsewhere", "reflexion", "1111", seed=1, execution="another/model")  # of another learner
    table = main(bench.study())
    names = list(table.columns)
    read, elsewhere = (dict(zip(names, row, strict=True)) for row in cells(table))
    assert (read["Learner"], elsewhere["Learner"], elsewhere["Reflexion"]) == ("analogist", "model", "100.0")
    assert (read["0-shot CoT"], read["ReAct"]) == ("12.5 ± 17.7 n=2", "37.5 ± 17.7 n=2")
    assert read["Reflexion"] == "-"
    assert read["over strongest baseline"] == "+50.0 ± 0.0 n=2 [+50.0, +50.0]"


def test_a_question_left_without_an_answer_is_in_the_denominator_and_the_notes_say_how_many(
    bench: Any, cells: Any
) -> None:
    bench.baseline("z", "zero_shot_cot", "1xxx", seed=1)
    bench.run("w", seed=1, before="100x", after="111x")
    table = main(bench.study())
    read = dict(zip(list(table.columns), cells(table)[0], strict=True))
    assert (read["0-shot CoT"], read["before"], read["full"]) == ("25.0", "25.0", "75.0")
    assert read["over before"].startswith("+66.7"), "the call that failed before is no pair"
    notes = notes_of(table)
    assert "The exam of w left 1 of 4 questions unanswered (filtered 1); they count as wrong." in notes
    assert any("The exam of z left 3 of 4" in note for note in notes)


def test_baselines_alone_are_shown(bench: Any, cells: Any) -> None:
    bench.baseline("z", "zero_shot_cot", "1100", seed=3)
    table = main(bench.study())
    assert cells(table) == [["wordmath", "50.0", "-", "-", "-", "-", "-", "-", "-", "-"]]


def test_where_every_row_has_one_teacher_that_is_a_column_of_the_row(bench: Any, cells: Any) -> None:
    bench.run("w", before="1000", after="1100")
    bench.run("t", benchmark="truthworld", guidance="builtin/sage", execution="builtin/analogist", after="1110")
    table = main(bench.study())
    assert list(table.columns)[:2] == ["Benchmark", "Teacher"]
    assert [row[:2] for row in cells(table)] == [["truthworld", "sage"], ["wordmath", "reference"]]
    assert list(table.columns)[8] == "full"


@pytest.mark.paper("tables, domain extension")
def test_the_extension_has_its_benchmarks_only_and_marks_what_is_quoted(bench: Any, cells: Any) -> None:
    bench.run("m", benchmark="medqa", before="1000", after="1100")
    bench.run("w", after="1111")
    study = bench.study()
    (row,) = cells(extension(study))
    assert row == ["medqa", "-", "74 (Medprompt)", "25.0", "50.0", "-", "+25.0 [-52.7, +80.6]"]
    assert [row[0] for row in cells(main(study))] == ["wordmath"]


@pytest.mark.paper("tables, teachers, learners and seeds")
def test_teachers_stand_in_columns_and_the_best_is_marked(bench: Any, cells: Any) -> None:
    bench.run("a", execution="x/small", guidance="y/one", after="1110")
    bench.run("b", execution="x/small", guidance="y/two", after="1000")
    bench.run("c", execution="x/large", guidance="y/two", after="1111")
    table = matrix(bench.study())
    assert cells(table) == [["large", "wordmath", "-", "100.0"], ["small", "wordmath", "75.0", "25.0"]]
    assert [getattr(row[2], "best", False) for row in table.rows] == [False, True]


@pytest.mark.paper("tables, teachers, learners and seeds")
def test_seeds_have_mean_interval_and_extremes(bench: Any, cells: Any) -> None:
    for seed, after in ((1, "1000"), (2, "1100"), (3, "1110")):
        bench.run(f"r{seed}", seed=seed, after=after)
    (row,) = cells(variance(bench.study()))
    assert row == ["wordmath", "full", "1 2 3", "50.0 ± 25.0 n=3 [-12.1, 112.1]", "25.0", "75.0"]


def test_baselines_that_look_things_up_elsewhere_are_systems_of_their_own(bench: Any) -> None:
    bench.run("full", benchmark="hotpotqa", after="1111")
    bench.baseline("paragraphs", "react", "1110", benchmark="hotpotqa", search="record")
    bench.baseline("encyclopedia", "react", "1000", benchmark="hotpotqa", search="wikipedia")
    bench.baseline("once", "zero_shot_cot", "0000", benchmark="hotpotqa")
    study = bench.study()
    assert not study.notes  # none of them stands in the place of another
    table = main(study)
    (row,) = (dict(zip(table.columns, map(plain, row), strict=True)) for row in table.rows)
    assert (row["ReAct, search record"], row["ReAct, search wikipedia"], row["0-shot CoT"]) == ("75.0", "25.0", "0.0")
    assert "ReAct" not in row
    assert row["over strongest baseline"].startswith("+25.0 ")


def test_a_system_is_compared_with_the_baselines_of_its_own_exam(bench: Any) -> None:
    for questions, letters in ((4, "1111"), (2, "11")):
        bench.run(f"full-{questions}", held_out=questions, after=letters)
        bench.baseline(f"once-{questions}", "zero_shot_cot", "1000"[:questions], held_out=questions)
    bench.baseline("longer", "zero_shot_cot", "0000", held_out=4, max_tokens=99)
    table = main(bench.study())
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    assert [(row["Setting"], plain(row["0-shot CoT"]), plain(row["full"])) for row in rows] == [
        ("held_out 2, max_tokens 4096", "50.0", "100.0"),
        ("held_out 4, max_tokens 99", "0.0", "-"),
        ("held_out 4, max_tokens 4096", "25.0", "100.0"),
    ]


def test_a_note_says_how_many_examples_a_few_shot_prompt_showed(bench: Any) -> None:
    bench.run("full", after="11")
    bench.baseline("few", "few_shot_cot", "10", shots=5)
    bench.run("other", benchmark="truthworld", after="11")
    bench.baseline("fewer", "few_shot_cot", "10", shots=3, benchmark="truthworld")
    for table in (main(bench.study()), latency(bench.study())):
        assert "few-shot CoT: examples shown: 3 on truthworld, 5 on wordmath." in notes_of(table)
