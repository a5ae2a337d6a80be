"""The Lisp-like gold lists of the original files."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.bench.webqa.benchmark import read_target_value


@pytest.mark.parametrize(
    ("text", "answers"),
    [
        ('(list (description "Jazmyn Bieber") (description "Jaxon Bieber"))', ["Jazmyn Bieber", "Jaxon Bieber"]),
        ("(list (description Jamaica))", ["Jamaica"]),
        ("(list (description 1836))", ["1836"]),
        (r'(list (description "The \"Boss\""))', ['The "Boss"']),
        (r'(list (description "back\\slash"))', ["back\\slash"]),
        ('(list (description "A (B)") (description C))', ["A (B)", "C"]),
        ('(list (description ")") (description "("))', [")", "("]),
        ('(list (description "Toy Story (1995)")(description Up))', ["Toy Story (1995)", "Up"]),
        ("  (list\n (description A)\t(description B) ) ", ["A", "B"]),
        ("(list (description 3/4/1841))", ["3/4/1841"]),
        ('(list (description ""))', [""]),
        ("(list)", []),
        ("(list (description A) (description A))", ["A", "A"]),
    ],
)
def test_descriptions_come_in_order_with_or_without_quotes(text: str, answers: list[str]) -> None:
    assert read_target_value(text) == answers


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Jamaica",
        "(list",
        '(list (description "A)',
        "(list (name A))",
        "(list (description A)",
        "(list (description))",
        "(list (description (A)))",
        "(description A)",
        "(list A)",
    ],
)
def test_anything_else_is_an_error_that_shows_the_text(text: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        read_target_value(text)


@given(st.lists(st.text(), max_size=4))
def test_every_quoted_list_is_read_back(answers: list[str]) -> None:
    quoted = ('"' + answer.replace("\\", "\\\\").replace('"', '\\"') + '"' for answer in answers)
    assert read_target_value(f"(list {' '.join(f'(description {text})' for text in quoted)})") == answers


@given(st.text(alphabet='()"\\ listdescripon\n'))
def test_junk_raises_nothing_but_value_errors(text: str) -> None:
    try:
        read_target_value(text)
    except ValueError as error:
        assert str(error)
