"""Tables that are wider than the terminal: nothing is cut, and every part says what its rows are."""

import itertools

import pytest

from mage_es.cli.boxes import Boxed, print_boxed

HEADS = ("Benchmark", "System", "over strongest baseline", "Task types covered", "Value")
ROWS = [
    ("gsm8k", "full", "+62.5 ± 17.7 n=2 [-96.3, +221.3]", "12", "0.5"),
    ("gsm8k", "no success memories", "-", "9", "0.125"),
]
RIGHT = (False, False, True, True, True)


def shown(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, width: int, table: Boxed | None = None
) -> list[str]:
    monkeypatch.setenv("COLUMNS", str(width))
    print_boxed(table or Boxed("All", HEADS, ROWS, RIGHT, 2))
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    return lines


def test_where_there_is_room_a_table_is_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = shown(capsys, monkeypatch, width=140)
    assert sum("Benchmark" in line for line in lines) == 1
    assert any(all(head in line for head in HEADS) for line in lines)


def test_a_head_is_folded_before_a_table_is_divided(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = shown(capsys, monkeypatch, width=93)
    (at,) = (place for place, line in enumerate(lines) if "Benchmark" in line)
    assert "types" in lines[at - 1] and "covered" in lines[at]  # folded, and as low as the others


@pytest.mark.parametrize("width", [64, 72])
def test_every_part_has_the_columns_that_say_what_its_rows_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    lines = shown(capsys, monkeypatch, width=width)
    heads = [line for line in lines if "Benchmark" in line]
    assert len(heads) > 1 and all("System" in line for line in heads)
    words = " ".join(lines).split()
    assert all(word in words for row in ROWS for cell in row for word in cell.split())


def test_where_not_even_that_has_room_each_row_stands_by_itself(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = shown(capsys, monkeypatch, width=44)
    assert "gsm8k, no success memories" in lines
    assert [" ".join(line.split()) for line in lines[-3:]] == [
        "over strongest baseline -",
        "Task types covered 9",
        "Value 0.125",
    ]
    assert "+62.5 ± 17.7 n=2" in "".join(lines)


def test_long_texts_are_folded(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Renting a boat costs 13 dollars an hour, and renting a rod costs 2 dollars an hour. " * 3
    table = Boxed("", ("Part", "Text"), [("question", text)], (False, False), 1)
    lines = shown(capsys, monkeypatch, width=60, table=table)
    assert " ".join(" ".join(lines).replace("question", "").split()).endswith(text.strip())


def test_a_table_without_rows_has_its_heads(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert any(
        "Benchmark" in line for line in shown(capsys, monkeypatch, width=90, table=Boxed("", HEADS, [], RIGHT, 2))
    )


def test_at_80_columns_a_table_with_names_of_any_length_stays_one_and_repeats_them(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "support-tickets-of-last-year-with-a-very-long-name-s42-001"
    table = Boxed("", ("Run", "System", *HEADS[2:]), [(name, "no_success_memories_at_all", *ROWS[0][2:])], RIGHT, 2)
    lines = shown(capsys, monkeypatch, width=80, table=table)
    heads = [line for line in lines if "Run" in line]
    assert len(heads) > 1 and all("System" in line for line in heads)
    for head in (at for at, line in enumerate(lines) if "Run" in line):
        edge = lines[head].index("System")
        cells = list(itertools.takewhile(bool, (line[2:edge].strip() for line in lines[head + 2 :])))
        assert "".join(cells) == name


@pytest.mark.parametrize(("variable", "is_coloured"), [("FORCE_COLOR", True), ("NO_COLOR", False)])
def test_verdicts_have_a_colour_where_the_terminal_has_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, variable: str, is_coloured: bool
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv(variable, "1")
    print_boxed(Boxed("", ("check", "result"), [("log", "ok"), ("leaks", "FAILED")], (False, False), 1))
    shown = capsys.readouterr().out
    assert ("\x1b[32mok" in shown and "\x1b[31mFAILED" in shown) is is_coloured
