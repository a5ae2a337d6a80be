"""What reaches the terminal, and what must not."""

import sys

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.cli.output import Output, TextTable, clean, percent

PEOPLE = TextTable("People", ("name", "age"), [("Ana", "7"), ("Bo\x1b[31m", "42")])


@pytest.mark.parametrize(
    ("dirty", "shown"),
    [
        ("\x1b[2J\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]52;c;aGk=\x1b\\text", "text"),
        ("\x1b]8;;http://x\x1b\\link", "link"),
        ("\x1b]0;never closed", "]0;never closed"),
        ("\x9b31mred", "red"),
        ("right\rwrong", "rightwrong"),
        ("\x1b\x1b[31m[31m", "[31m"),
        ("abc\u202edcb", "abcdcb"),
        ("half \ud800", "half "),
        ("tab\tand\nnewline, 4 − 2 = 2, été", "tab\tand\nnewline, 4 − 2 = 2, été"),
    ],
)
def test_escape_sequences_and_controls_are_taken_out(dirty: str, shown: str) -> None:
    assert clean(dirty) == shown


@given(st.text(st.sampled_from("\x1b\x9b[]0;mPX\\\x07a\r\n\x00"), max_size=30))
def test_no_control_character_but_tab_and_newline_is_left(text: str) -> None:
    assert all(character.isprintable() or character in "\t\n" for character in clean(text))


def test_without_a_terminal_a_table_is_plain_aligned_lines(capsys: pytest.CaptureFixture[str]) -> None:
    Output().report({}, PEOPLE, "and a text")
    assert capsys.readouterr().out == "People\nname  age\nAna     7\nBo     42\n\nand a text\n"


def test_a_cell_is_one_line_and_shows_no_secret_of_the_environment(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("STORE_TOKEN", "canary-1234")
    Output().report({}, TextTable("", ("said", "age"), [("a\nb canary-1234", "7"), ("", "canary-1234")]))
    assert capsys.readouterr().out == "said       age\na b [key]  7\n           [key]\n"


def test_with_json_stdout_is_one_document_and_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    out = Output(as_json=True)
    out.report({"name": "A\x1b[31m"}, PEOPLE)
    out.next("mage-es runs list")
    written = capsys.readouterr()
    assert msgspec.json.decode(written.out) == {"name": "A\x1b[31m"}
    assert "\x1b" not in written.out
    assert written.err == "\nNext: mage-es runs list\n"


def test_on_a_terminal_a_table_has_rules_and_its_cells_are_no_markup(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    Output().report({}, TextTable("[red]x[/red]", ("[bold]a", "b"), [("[link=x]y", "1")]))
    shown = capsys.readouterr().out
    assert all(text in shown for text in ("[red]x[/red]", "[bold]a", "[link=x]y", "─"))


def test_on_a_narrow_terminal_a_wide_table_stands_in_parts_that_fit_and_no_number_is_cut(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    names = ("iteration", *(f"measured_{n}" for n in range(8)))
    rows = [("start", *("-" for _ in range(8))), ("17", *(f"{n}{n}.5 %" for n in range(8)))]
    Output().report({}, TextTable("All of it", names, rows))
    lines = clean(capsys.readouterr().out).splitlines()
    assert max(map(len, lines)) <= 60
    assert all(any(cell in line for line in lines) for cell in (*names, *rows[1]))
    heads = [line for line in lines if "measured_" in line]
    assert len(heads) > 1 and all(head.split()[0] == "iteration" for head in heads)


def test_on_a_narrow_terminal_sentences_are_folded_before_a_table_is_divided(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "60")
    row = ("splits", "no question", "not one question is in two of them " * 3)
    Output().report({}, TextTable("", ("check", "measured", "detail"), [row]))
    shown = clean(capsys.readouterr().out)
    assert shown.count("check") == 1 and max(map(len, shown.splitlines())) <= 60


def test_ids_that_begin_with_a_digit_are_no_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    Output().report({}, TextTable("", ("the memory", "share"), [("1b95", "7/20"), ("22d4", "11/20")]))
    assert capsys.readouterr().out == "the memory  share\n1b95         7/20\n22d4        11/20\n"


def test_a_share_of_nothing_is_a_dash() -> None:
    assert (percent(6, 11), percent(0, 0)) == ("54.5 %", "-")
