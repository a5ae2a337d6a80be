"""Every rule of the paper has its code and its test, as their citations and marks say."""

import ast

from tests.conformance import REQUIRED, Source, citations, marks, rules, table


def test_every_place_that_code_cites_has_a_test_and_every_place_of_a_test_has_code() -> None:
    untested = [rule.place for rule in rules() if not rule.tests]
    without_code = [rule.place for rule in rules() if not rule.code]
    assert not untested, f"cited in a docstring, but no test has @pytest.mark.paper with it: {untested}"
    assert not without_code, f"in a mark of a test, but no docstring cites it: {without_code}"


def test_every_equation_theorem_and_table_of_the_paper_is_cited() -> None:
    places = {rule.place for rule in rules()}
    missing = [wanted for wanted in REQUIRED if not any(f"{place},".startswith(f"{wanted},") for place in places)]
    assert not missing


def test_the_table_has_a_line_for_each_place_with_decision_code_and_tests() -> None:
    (line,) = [line for line in table().splitlines() if line.startswith("| Eq. 2 |")]
    for part in ("Without evidence", "`engine/rules/mastery.py` `ratchet`", "`tests/engine/rules/test_mastery.py`"):
        assert part in line


def test_a_citation_is_the_bracket_and_a_decision_the_rest_of_its_paragraph() -> None:
    module = '"""One.\n\n[Eq. 9] First\nline.\n\nMore [0, 1].\n"""\nX = 1\n"""Two [Theorem 9]."""\n'
    assert list(citations(ast.parse(module), "a.py")) == [
        Source("Eq. 9", "a.py", "", "First line."),
        Source("Theorem 9", "a.py", "X", ""),
    ]


def test_a_mark_may_name_several_places() -> None:
    module = '@pytest.mark.paper("Eq. 9", "section 9")\ndef test_it(): ...'
    assert [source.place for source in marks(ast.parse(module), "t.py")] == ["Eq. 9", "section 9"]
