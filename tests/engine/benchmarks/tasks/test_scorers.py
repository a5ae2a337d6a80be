"""Scorers by name: what each calls right, and that no reply makes one raise."""

import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.benchmarks.tasks.columns import question_of
from mage_es.engine.benchmarks.tasks.scorers import require_scorer, scorer_names, scorer_of
from mage_es.engine.seams.benchmark import scored
from mage_es.events.errors import UsageError


def asked(answer: object, **more: Any):
    return question_of({"question": "?", "answer": answer, **more}, {}, position=0, split="evolution")


@pytest.mark.parametrize(
    ("scorer", "answer", "reply", "score"),
    [
        ("exact", "The Beatles", "Well.\nAnswer: beatles.", 1.0),
        ("exact", ["Paris", "Lutetia"], "Answer: Lutetia", 1.0),
        ("exact", "Paris", "Answer: Paris, France", 0.0),
        ("contains", "Paris", "Answer: Paris, France", 1.0),
        ("contains", "Par", "Answer: Paris", 0.0),
        ("contains", "the", "Answer: the", 1.0),
        ("contains", "the", "Answer: the cat", 0.0),
        ("contains", "A", "Answer: A.", 1.0),
        ("exact", "A", "Answer: a", 1.0),
        ("exact", -5, "Answer: 5", 0.0),
        ("exact", 3.5, "Answer: 35", 0.0),
        ("exact", "1,000", "Answer: 1000", 1.0),
        ("exact", "5.0", "Answer: 5", 1.0),
        ("exact", "5 apples", "Answer: 5 pears", 0.0),
        ("f1", -5, "Answer: 5", 0.0),
        ("contains", 3.5, "Answer: 35 km", 0.0),
        ("contains", 3.5, "Answer: 3.5 km.", 1.0),
        ("exact", "9" * 80, "Answer: " + "8" * 80, 0.0),
        ("exact", "A", "", 0.0),
        ("exact", "A", "Answer: the", 0.0),
        ("exact", "+", "Answer: +", 1.0),
        ("exact", "+", "Answer: -", 0.0),
        ("f1", "A", "", 0.0),
        ("f1", "A", "Answer: A", 1.0),
        ("judge", "A", "", 0.0),
        ("f1", "Barack Hussein Obama", "Answer: Obama", 0.5),
        ("f1", "no", "Answer: no idea", 0.0),
        ("number", "1,200", "#### 1200", 1.0),
        ("number", 12, "Answer: 12 apples", 1.0),
        ("number", 12, "Answer: 13", 0.0),
        ("judge", "Paris", "Answer: Paris", 1.0),
    ],
)
def test_a_scorer_calls_right_what_its_name_says(scorer: str, answer: object, reply: str, score: float) -> None:
    assert scorer_of(scorer, ()).verdict(asked(answer), reply).score == score


@pytest.mark.parametrize(
    ("reply", "score"),
    [("Answer: [B]", 1.0), ("Answer: B", 1.0), ("Answer: green", 1.0), ("Answer: A", 0.0), ("", 0.0)],
)
def test_a_choice_is_read_as_letter_or_as_text(reply: str, score: float) -> None:
    question = asked("B", options=["red", "green"])
    assert scorer_of("choice", ()).verdict(question, reply).score == score


def test_only_a_wrong_answer_that_says_something_goes_to_the_judge() -> None:
    verdict = scorer_of("judge", ()).verdict
    assert [verdict(asked("Paris"), reply).near_miss for reply in ("Paris", "Lutetia", "")] == [False, True, False]


@pytest.mark.parametrize(
    ("scorer", "answer", "complaint"),
    [
        ("number", "twelve", "'twelve' is not a number"),
        ("choice", "A", "options: there are none"),
        ("exact", "x", ""),
        ("regex", "a(?=b)", "answer: 'a(?=b)' is not a regular expression of RE2"),
        ("json", "{'a': 1}", "is no JSON"),
        ("sql", "select 1", "schema: there is none"),
        ("python", "assert f(", "answer: no Python test"),
        ("python", "-" * 100_000 + "1", "answer: no Python test: "),
    ],
)
def test_a_task_that_a_scorer_cannot_check_is_refused(scorer: str, answer: str, complaint: str) -> None:
    problem = scorer_of(scorer, ()).problem(asked(answer))
    assert complaint in problem if complaint else not problem


@given(st.text(), st.sampled_from(scorer_names()))
def test_no_reply_makes_a_scorer_raise(reply: str, scorer: str) -> None:
    question = asked("7", options={"7": "seven", "8": "eight"})
    assert 0 <= scorer_of(scorer, ()).verdict(question, reply).score <= 1


def test_more_options_than_five_are_chosen_among_as_well() -> None:
    question = asked("G", options=list("tuvwxyz"))
    assert scorer_of("choice", ()).verdict(question, "Answer: (G)").score == 1


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("It is late.\nAnswer: late delivery", "late delivery"),
        ("**Answer:** Delivery.", "delivery"),
        ("Answer: this is about Billing", "billing"),
        ("Answer: billing or delivery", ""),
        ("Answer: complaint", ""),
        ("", ""),
    ],
)
def test_with_labels_the_answer_is_the_one_that_is_named(reply: str, answer: str) -> None:
    labels = ("billing", "delivery", "late delivery")
    scorer = scorer_of("choice", labels)
    assert scorer.answer_format.endswith('"Answer: <delivery>", "Answer: <late delivery>".')
    for right in labels:
        verdict = scorer.verdict(asked(right), reply)
        assert (verdict.answer, verdict.correct) == (answer, answer == right)


def test_an_answer_that_is_no_label_is_a_problem_of_its_row() -> None:
    problem = scorer_of("choice", ("billing", "lost")).problem
    assert problem(asked("Billing")) == ""
    assert "'refund' is none of the labels billing, lost" in problem(asked("refund"))


TABLE = "CREATE TABLE t (a INTEGER, b DOUBLE); INSERT INTO t VALUES (1, 0.1), (2, 0.2), (3, 0.3);"
SUMS = "assert f(3) == 6\nassert f(0) == 0"


@pytest.mark.parametrize(
    ("scorer", "answer", "reply", "score"),
    [
        ("regex", r"(?i)(about )?12\.50?", "Answer: About 12.5", 1.0),
        ("regex", r"12\.50?", "Answer: 12.55", 0.0),
        ("regex", "(a|a)*b", "a" * 50_000, 0.0),
        ("json", {"a": 1, "b": [1, 2.5]}, 'Answer: {"b": [1.0, 2.50], "a": 1}', 1.0),
        ("json", '{"a": 1}', 'Here it is:\n```json\n{\n "a": 1\n}\n```', 1.0),
        ("json", '{"a": 1}', 'It is {"a": 1}, I think.', 1.0),
        ("json", [1, 2], "Answer: [2, 1]", 0.0),
        ("json", '{"a": 1}', 'Answer: {"a": true}', 0.0),
        ("json", "[]", "[" * 90_000, 0.0),
        ("sql", "SELECT a FROM t WHERE a > 1", "```sql\nselect a from t where a >= 2 order by a desc\n```", 1.0),
        ("sql", "SELECT a FROM t ORDER BY a", "```sql\nselect a from t order by a desc\n```", 0.0),
        ("sql", "SELECT sum(b) FROM t", "Answer: select sum(b) from (select b from t order by b desc)", 1.0),
        ("sql", "SELECT a FROM t", "```sql\nselect a from nowhere\n```", 0.0),
        *(
            ("sql", "SELECT 1", f"```sql\n{query}\n```", 0.0)
            for query in (
                "select * from read_text('/etc/hostname')",
                "copy t to 'stolen.csv'",
                "attach 'stolen.db'",
                "export database 'stolen'",
                "install httpfs; load httpfs",
                "select getenv('HOME')",
                "set enable_external_access = true",
                "drop table t",
            )
        ),
        (
            "python",
            SUMS,
            "```python\ndef f(n):\n    s = 0\n    while n:\n        s, n = s + n, n - 1\n    return s\n```",
            1.0,
        ),
        ("python", SUMS, "```python\ndef f(n):\n    return n\n```", 0.0),
        ("python", SUMS, "```python\ndef f(n):\n    return open('/etc/hostname')\n```", 0.0),
        ("python", SUMS, "```python\nimport os\nos.fork()\n```", 0.0),
        ("python", SUMS, "I cannot write that.", 0.0),
    ],
)
def test_values_queries_and_programs_are_compared_as_what_they_are(
    scorer: str, answer: object, reply: str, score: float
) -> None:
    row = {"question": "?", "answer": answer, "schema": TABLE}
    question = question_of(row, {}, position=0, split="evolution", is_json=scorer == "json")
    verdict = scorer_of(scorer, ()).verdict(question, reply)
    assert (verdict.score, verdict.undecided) == (score, False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("scorer", "answer", "reply", "why"),
    [
        ("sql", "SELECT 1", "select count(*) from range(100000000000)", "it took more than 1 s of processor time"),
        ("sql", "SELECT 1", "select repeat('x', 4000000000)", "it needed more than 2048 MiB of memory"),
        ("sql", "SELEC 1", "select 1", "the task's own query fails: Parser Error"),
        ("python", SUMS, "def f(n):\n    while True: n += 1", "TimeoutError"),
        ("python", SUMS, "print('x' * 10**9)", "MemoryError"),
        ("python", SUMS, "import heapq", "ModuleNotFoundError: No module named 'heapq'"),
    ],
)
def test_what_the_sandbox_ends_is_wrong_and_what_it_cannot_run_is_undecided(
    scorer: str, answer: str, reply: str, why: str
) -> None:
    verdict = scorer_of(scorer, ()).verdict(asked(answer, schema=TABLE), f"```\n{reply}\n```")
    is_open = why.startswith(("the task's own", "ModuleNotFoundError"))
    assert (verdict.score, verdict.undecided, verdict.failed) == (0.0, is_open, False)
    assert verdict.why.startswith(f"not run: {why}")


def test_a_function_of_the_users_scores_and_what_it_raises_leaves_the_answer_undecided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_scorers.py").write_text(
        "def long(reply, task):\n    return len(reply) > len(task.gold)\n\n\ndef bad(reply, task):\n    return 1 / 0\n"
        "\n\ndef odd(reply, task):\n    return eval(reply)\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    verdict = scorer_of("my_scorers:long", ()).verdict
    assert [verdict(asked("four"), reply).score for reply in ("no", "it is")] == [0.0, 1.0]
    (tmp_path / "mine.csv").write_text("question,answer\nWhy?,x\n")
    bad = open_benchmark("mine.csv?scorer=my_scorers:bad", seed=1)
    assert scored(bad, asked("x"), "x").why == "scorer failed: ZeroDivisionError: division by zero"
    odd = open_benchmark("mine.csv?scorer=my_scorers:odd", seed=1)
    for returned in ("None", "'0.5'", "[1]", "__import__('mage_es').Score('x')"):
        assert "return True, False, a number from 0 to 1, or a Score" in scored(odd, asked("x"), returned).why
    given = scored(odd, asked("x"), "__import__('mage_es').Score(0.5, 'half of it')")
    assert (given.score, given.correct, given.why) == (0.5, True, "half of it")
    with pytest.raises(UsageError, match="my_scorers:gone cannot be loaded"):
        require_scorer("my_scorers:gone")
