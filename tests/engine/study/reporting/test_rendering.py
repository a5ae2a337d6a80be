"""Tables in each form, byte for byte."""

import csv
import io
from typing import get_args

from mage_es.engine.run.exams import Interval
from mage_es.engine.study.reporting.cells import Cell, StudyTable, with_best
from mage_es.engine.study.reporting.rendering import TableFormat, plain, render

TABLE = StudyTable(
    name="main",
    title="Main & first",
    place="tab:x",
    measure="accuracy in %, mean ± sd",
    columns=("Benchmark", "CoT", "ReAct", "full", "gain"),
    rows=(
        (
            "gsm8k | a_b",
            Cell(mean=64.5, sd=None, n=1),
            None,
            Cell(mean=1088.2, sd=2.91, n=5, unit="count", best=True),
            Cell(
                mean=7.9,
                sd=1.0,
                n=5,
                unit="points",
                interval=Interval(low=-6.46, high=9.34, method="t, paired by seed", pairs=5, p=0.25),
            ),
        ),
        ("web\nqa", None, None, None, None),
    ),
    notes=("A note.",),
)


def test_plain_text_has_the_table_with_a_dash_for_what_was_not_measured() -> None:
    assert render(TABLE, "text") == (
        "Main & first\n"
        "(accuracy in %, mean ± sd; paper: tab:x)\n"
        "\n"
        "Benchmark    CoT   ReAct  full           gain\n"
        "gsm8k | a_b  64.5  -      1,088.2 ± 2.9  +7.9 ± 1.0 [-6.5, +9.3]\n"
        "web qa       -     -      -              -\n"
        "\n"
        "A note.\n"
        "n = 5 for every mean with a deviation.\n"
        "[ , ]: 95 % interval (t, paired by seed, n = 5).\n"
    )


def test_csv_has_a_column_for_each_part_of_a_number_and_can_be_read_back() -> None:
    heads, first, second = csv.reader(io.StringIO(render(TABLE, "csv")))
    assert heads[:7] == ["Benchmark", "CoT", "CoT sd", "CoT n", "ReAct", "ReAct sd", "ReAct n"]
    read = dict(zip(heads, first, strict=True))
    assert (read["full"], read["full sd"], read["full n"]) == ("1088.2", "2.91", "5")
    assert (read["gain low"], read["gain high"], read["gain p"]) == ("-6.46", "9.34", "0.25")
    assert (read["CoT"], read["CoT sd"], read["ReAct"]) == ("64.5", "", "")
    assert second[0] == "web\nqa" and not any(second[1:])


def test_markdown_escapes_bars_and_marks_the_best() -> None:
    assert render(TABLE, "markdown").splitlines()[:5] == [
        "**Main & first** (accuracy in %, mean ± sd; paper: tab:x)",
        "",
        "| Benchmark | CoT | ReAct | full | gain |",
        "|---|---:|---:|---:|---:|",
        "| gsm8k \\| a_b | 64.5 | - | **1,088.2 ± 2.9** | +7.9 ± 1.0 [-6.5, +9.3] |",
    ]


def test_latex_escapes_what_it_would_take_for_commands() -> None:
    assert render(TABLE, "latex").splitlines() == [
        r"\begin{table}[htbp]",
        r"\centering",
        r"\small",
        r"\caption{Main \& first: accuracy in \%, mean $\pm$ sd.}",
        r"\label{tab:main}",
        r"\resizebox{\textwidth}{!}{%",
        r"\begin{tabular}{lrrrr}",
        r"\toprule",
        r"Benchmark & CoT & ReAct & full & gain \\",
        r"\midrule",
        r"gsm8k | a\_b & $64.5$ & --- & $\mathbf{1{,}088.2} \pm 2.9_{n=5}$ & "
        r"$+7.9 \pm 1.0_{n=5}$ {\scriptsize $[-6.5, +9.3]$} \\",
        "web",
        r"qa & --- & --- & --- & --- \\",
        r"\bottomrule",
        r"\end{tabular}%",
        "}",
        r"\par\smallskip {\footnotesize A note.}",
        r"\par\smallskip {\footnotesize n = 5 for every mean with a deviation.}",
        r"\par\smallskip {\footnotesize [ , ]: 95 \% interval (t, paired by seed, n = 5).}",
        r"\end{table}",
    ]


def test_a_number_says_how_many_runs_it_is_the_mean_of() -> None:
    assert plain(Cell(mean=74.9, sd=5.04, n=5)) == "74.9 ± 5.0 n=5"
    assert plain(Cell(mean=12.0, sd=None, n=1, unit="count")) == "12"
    assert plain(Cell(mean=-0.5, sd=None, n=1, unit="points")) == "-0.5"
    assert plain(None) == "-"


def test_the_best_is_marked_where_there_are_two_to_choose_from() -> None:
    low, high = Cell(mean=1.0, sd=None, n=1), Cell(mean=2.0, sd=None, n=1)
    row = with_best(("x", low, None, high))
    assert [getattr(entry, "best", None) for entry in row] == [None, False, None, True]
    assert with_best(("x", low, None)) == ("x", low, None)


def test_what_a_name_holds_can_not_steer_a_terminal_nor_be_a_formula_or_html() -> None:
    hostile = ("=1+1", "\x1b[2J\u202e<script>x</script>", "@now")
    note = "run <img src=x> `go <b>` and <i>"
    table = StudyTable(
        name="t", title="", place="", measure="", columns=("a", "b", "c"), rows=(hostile,), notes=(note,)
    )
    for form in get_args(TableFormat):
        assert all(letter.isprintable() or letter == "\n" for letter in render(table, form)), form
    assert render(table, "csv").splitlines()[1] == "'=1+1,[2J<script>x</script>,'@now"
    shown = render(table, "markdown")
    assert "<script" not in shown and "<img" not in shown and "<i>" not in shown and "`go <b>`" in shown
