r"""Reading the answer in the form that was asked for: marker, line `Answer:`, box, last line, and nothing else."""

import pytest

from mage_es.engine.seams.answer_form import answer_in_form, last_boxed, without_leading_reasoning

LONG = 200_000


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Answer: Rome\n**Final answer:** Paris.", "Paris"),
        ("**Answer: Paris** (of France)", "Paris (of France)"),
        ("Answer: Paris,\nin France\n\nmore", "Paris,\nin France"),
        ("Answer: Paris\n\\boxed{Rome}", "Paris\n\\boxed{Rome}"),
        ("Answer:", ""),
        (r"\boxed{Rome} or \boxed{a{b}c} \boxed{", "a{b}c"),
        ("Answer: $x$", "$x$"),
        ('I think.\n\n"**Paris.**"\n', "Paris"),
        ("Finish[Paris]", "Finish[Paris]"),
        ("The answer is Paris", "The answer is Paris"),
        ("<answer>Paris</answer>", "<answer>Paris</answer>"),
        ("Paris</s>", "Paris</s>"),
        ("", ""),
    ],
)
def test_only_a_line_answer_a_box_and_the_last_line_are_read(reply: str, answer: str) -> None:
    assert answer_in_form(reply) == answer


def test_a_benchmarks_own_marker_goes_first() -> None:
    def native(text: str) -> str | None:
        return "Paris" if "=>" in text else None

    assert answer_in_form("=>\nAnswer: Rome", native) == "Paris"
    assert answer_in_form("<think>=></think>Answer: Rome", native) == "Rome"


@pytest.mark.parametrize(
    ("reply", "kept"),
    [
        (" <think>Rome</think>Paris", "Paris"),
        ("Rome?</think>Paris", "Paris"),
        ("<think>Paris", ""),
        ("Paris <think>Rome</think>", "Paris <think>Rome</think>"),
        ("<thinking>Rome</thinking>Paris", "<thinking>Rome</thinking>Paris"),
    ],
)
def test_only_a_leading_think_block_is_dropped(reply: str, kept: str) -> None:
    assert without_leading_reasoning(reply) == kept


def test_a_boxed_answer_needs_balanced_braces() -> None:
    assert last_boxed(r"\boxed{a{b}c}") == "a{b}c"
    assert last_boxed(r"\boxed{1} and \boxed{2}") == "2"
    assert last_boxed(r"\boxed{a") is None
    assert last_boxed("none") is None


@pytest.mark.parametrize("piece", ["Answer: ", "\nAnswer:", "\\boxed{", "\\boxed{}", "<think>", "*", "\n", "{", " "])
def test_a_long_reply_of_nothing_but_beginnings_is_read_at_once(piece: str) -> None:
    assert isinstance(answer_in_form(piece * (LONG // len(piece))), str)  # a quadratic search takes minutes
