"""Strict verdicts: what is right in the form that was asked for is right, and not the other way round."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mage_es.engine.bench.finqa.benchmark import FINQA
from mage_es.engine.bench.hotpotqa.benchmark import HOTPOTQA
from mage_es.engine.bench.medqa import MEDQA
from mage_es.engine.bench.realmath.benchmark import REALMATH
from mage_es.engine.bench.webqa.benchmark import WEBQA
from mage_es.engine.benchmarks.tasks.columns import question_of
from mage_es.engine.benchmarks.tasks.scorers import scorer_names, scorer_of
from mage_es.engine.seams.benchmark import Question
from tests.kit.truthworld.standings import score_standing

DEFINITIONS = {each.name: each for each in (HOTPOTQA, FINQA, REALMATH, WEBQA, MEDQA)}
OPTIONS = {"A": "Rome", "B": "Paris"}


def verdict(scorer: str, gold: str, reply: str):
    if scorer == "standing":
        return score_standing(gold, reply)
    meta = {"answers": f'["{gold}"]', "options": '{"A": "Rome", "B": "Paris"}'}
    if scorer in DEFINITIONS:
        question = Question(id="x", benchmark=scorer, split="test", task_type="", question="?", gold=gold, meta=meta)
        return DEFINITIONS[scorer].verdict(question, reply)
    options = {"options": OPTIONS} if scorer == "choice" else {}
    question = question_of({"question": "?", "answer": gold, **options}, {}, position=0, split="test")
    rule = scorer_of("choice", list(OPTIONS.values())) if scorer == "label" else scorer_of(scorer, ())
    return rule.verdict(question, reply)


@pytest.mark.parametrize(
    ("scorer", "gold", "right", "formal"),
    [
        ("hotpotqa", "Paris", "Finish[Paris]", "Answer: Paris"),
        ("webqa", "Paris", "Finish[Paris]", "Answer: Paris"),
        ("finqa", "0.5", "Finish[0.5]\nor so", "Answer: 0.5"),
        ("finqa", "yes", "Answer: true", "Answer: yes"),
        ("realmath", "n+1", "<answer>n+1</answer>", "\\section*{Final Answer}\n$n+1$"),
        ("medqa", "B", "The answer is (B).", "x\nAnswer: [B]"),
        ("standing", "debt", "Finish[debt]", "#### in debt"),
        ("exact", "Paris", "Finish[Paris]", "Answer: Paris"),
        ("contains", "Paris", "Answer: in Paris", "Answer: Paris"),
        ("f1", "Paris", "Finish[Paris]", "Answer: Paris"),
        ("judge", "Paris", "Finish[Paris]", "Answer: Paris"),
        ("number", "18", "Finish[18]", "#### 18"),
        ("choice", "B", "<answer>B</answer>", "Answer: (B)"),
        ("label", "Paris", "Answer: in Paris", "Answer: Paris"),
    ],
)
def test_a_right_answer_is_strictly_right_only_in_the_form_that_was_asked_for(
    scorer: str, gold: str, right: str, formal: str
) -> None:
    found = [verdict(scorer, gold, reply) for reply in (right, formal)]
    assert [(each.correct, each.strict) for each in found] == [(True, False), (True, True)]


@pytest.mark.parametrize(
    ("scorer", "gold", "mark", "other"),
    [
        *((name, "Paris", "Answer: {}", "Rome") for name in ("hotpotqa", "webqa", "exact", "contains", "f1", "label")),
        ("finqa", "0.5", "Answer: {}", "7"),
        ("realmath", "7", "\\section*{{Final Answer}}{}\\section{{x}}", "8"),
        ("medqa", "B", "x\nAnswer: [{}]", "A"),
        ("standing", "debt", "#### {}", "level"),
        ("choice", "B", "Answer: [{}]", "A"),
    ],
)
def test_a_reply_that_is_strictly_right_is_right_whatever_else_it_says(
    scorer: str, gold: str, mark: str, other: str
) -> None:
    found = verdict(scorer, gold, f"{mark.format(gold)}\n\nNo, the answer is {other}.")
    assert (found.strict, found.correct, found.answer) == (True, True, gold)


@pytest.mark.parametrize("scorer", ["exact", "contains", "f1", "judge"])
def test_a_comma_groups_digits_in_threes_and_may_begin_a_fraction_but_not_strictly(scorer: str) -> None:
    found = [verdict(scorer, *pair) for pair in (("18.50", "Answer: 18,50"), ("1850", "Answer: 1,850"))]
    assert [(each.correct, each.strict) for each in found] == [(True, False), (True, True)]
    others = [verdict(scorer, *pair) for pair in (("1850", "Answer: 18,50"), ("1.850", "Answer: 1,850"))]
    assert not any(each.correct or each.strict for each in others)


@given(st.text(alphabet='ab \n.*_"\\boxed{}<think>/Answer:#$[]12', max_size=200), st.sampled_from(scorer_names()))
def test_what_is_strictly_right_is_right(reply: str, scorer: str) -> None:
    found = verdict(scorer, "B" if scorer == "choice" else "1", reply)
    assert found.correct or not found.strict
