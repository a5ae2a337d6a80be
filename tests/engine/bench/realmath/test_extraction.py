"""Where a worked solution's final answer is found, by upstream's patterns and by what replies do instead."""

import pytest

from mage_es.engine.bench.realmath.benchmark import TAIL, answer_of, final_section, official_answer, shown_to_judge


@pytest.mark.parametrize(
    ("text", "section"),
    [
        ("work\n\\section*{Final Answer}\n$n+1$\n", "$n+1$"),
        ("\\section{Final Answer} $n$ \\section{Remarks} x", "$n$"),
        ("\\section*{Final Answer} $n$ \\sectionmark x", "$n$"),
        ("\\section*{Final Answer} $n$ \\subsection{x} y", "$n$ \\subsection{x} y"),
        ("\\subsection*{Final Answer} $n$ \\subsection{x} y", "$n$"),
        ("\\subsection{Final Answer} $n$ \\section{x} y", "$n$"),
        ("[FINAL ANSWER] $n$ [/FINAL ANSWER] more", "$n$"),
        ("[FINAL ANSWER]5[/FINAL ANSWER] \\subsection{Final Answer} 4 \\section{Final Answer} 3", "3"),
        ("\\section{Final Answer} 3 \\section*{Final Answer} 2", "2"),
        ("\\section*{Final Answer}  \\section{Final Answer} 3", "3"),
        ("\\section*{Final Answer} 1 \\section*{Final Answer} 2", "1"),
        ("\\section*{final answer} 1", None),
        ("\\section*{ Final Answer } 1", None),
        ("\\section*{Final Answer}   ", None),
        ("[FINAL ANSWER] 1", None),
        ("The answer is 1.", None),
        ("", None),
    ],
)
def test_the_first_pattern_that_finds_something_is_the_section(text: str, section: str | None) -> None:
    assert final_section(text) == section
    assert official_answer(text) == (section or text)


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("work \\section*{Final Answer} $n+1$.", "n+1"),
        ("Answer: $n+1$", "n+1"),
        ("so \\boxed{n+1} is it", "n+1"),
        ("work\nit is\n$n+1$", "n+1"),
        ("<think>\\section*{Final Answer} 1</think>\\section*{Final Answer} 2", "2"),
        ("<think>\\section*{Final Answer} 1", ""),
        ("", ""),
    ],
)
def test_a_reply_without_the_section_ends_with_its_answer(reply: str, answer: str) -> None:
    assert answer_of(reply) == answer


@pytest.mark.paper("section 4, RealMath, the judge")
def test_a_judge_sees_the_section_or_else_the_end_of_the_reply() -> None:
    long = "x" * TAIL + "the answer is $n$ " + "y" * 20
    assert shown_to_judge("z \\section*{Final Answer} $n$") == "$n$"
    assert shown_to_judge(long) == long[-TAIL:]
    assert shown_to_judge("<think>secret</think>short") == "short"
