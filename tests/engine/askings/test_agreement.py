"""A judge's opinion of every prediction, and how far it agrees with the rule."""

import asyncio
import json
from pathlib import Path

import pytest

from mage_es.engine.askings.agreement import kappa
from mage_es.engine.run.budget import Budget, Limits
from mage_es.engine.run.pricing import Prices
from mage_es.engine.seams.faults import Fault, ModelFault
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.session.call import MOST_REPAIRS
from mage_es.engine.study.opinions import Judge
from mage_es.engine.study.score import ScoreReport, score
from mage_es.events.errors import BudgetReached, PrerequisiteError, UsageError
from mage_es.projections.ledger import Ledger

RECORDS = [{"question": f"{k} + 1?", "answer": f"<<{k}+1={k + 1}>>\n#### {k + 1}"} for k in range(6)]
RIGHT, WRONG = '{"score": 1, "reason": "same"}', '{"score": 0, "reason": "other"}'


class Scripted:
    """A judge that replies by the answer it is shown; `asked` collects what it saw, `most` how many waited at once."""

    name = "scripted/judge"

    def __init__(self, replies: dict[str, str | Fault]) -> None:
        self._replies = replies
        self.asked: list[dict[str, str]] = []
        self.most = self._waiting = 0

    async def complete(self, request: Request) -> Completion:
        start = request.prompt.index("```json\n") + len("```json\n")
        brief = json.loads(request.prompt[start : request.prompt.index("\n```", start)])
        self.asked.append(brief)
        self._waiting += 1
        self.most = max(self.most, self._waiting)
        await asyncio.sleep(0)
        self._waiting -= 1
        reply = self._replies[brief["answer"]]
        if isinstance(reply, Fault):
            raise ModelFault(reply)
        return Completion(text=reply, input_tokens=10, output_tokens=2)


def judged(folder: Path, predictions: list[object], judge: Judge, *, strict: bool = False) -> ScoreReport:
    records = write(folder / "test.jsonl", list(RECORDS))
    rows = [{"id": f"gsm8k-test-{at}", "prediction": value} for at, value in enumerate(predictions)]
    mine = write(folder / "mine.jsonl", list(rows))
    return score("gsm8k", records=records, predictions=mine, strict=strict, seed=1, data_dir=None, judge=judge)


def write(path: Path, rows: list[object]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_every_prediction_is_put_to_the_judge_and_both_are_counted_together(tmp_path: Path) -> None:
    model = Scripted({"1": RIGHT, "20": RIGHT, "3": WRONG, "40": WRONG})
    report = judged(tmp_path, ["#### 1", "#### 20", "#### 3", "#### 40", " "], Judge(model))
    assert sorted(brief["answer"] for brief in model.asked) == ["1", "20", "3", "40"]
    assert [one.metrics["judge"] for one in report.predictions] == [1.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    assert [one.metrics["accuracy"] for one in report.predictions] == [1.0, 0.0, 1.0, 0.0, 0.0, 0.0]
    assert report.totals == {"accuracy": pytest.approx(2 / 6), "strict": pytest.approx(2 / 6), "judge": 2 / 6}
    found = report.judge
    assert found is not None
    assert (found.both, found.rule_only, found.judge_only, found.neither) == (1, 1, 1, 2)
    assert (found.predictions, found.agreement, found.model) == (5, 60.0, "scripted/judge")
    assert found.kappa == pytest.approx(1 / 6)
    assert (found.calls, found.input_tokens, found.output_tokens) == (4, 40, 8)


def test_the_judge_sees_question_and_gold_and_the_end_of_a_reply_in_which_the_rule_finds_no_answer(
    tmp_path: Path,
) -> None:
    text = "<think>" + "x" * 3000 + " so two"
    model = Scripted({text[-1500:]: RIGHT})
    judged(tmp_path, [text], Judge(model))
    assert model.asked == [{"question": "0 + 1?", "expected": "1", "answer": text[-1500:]}]


def test_a_reply_that_cannot_be_read_is_asked_again_then_counts_as_wrong_and_apart(tmp_path: Path) -> None:
    model = Scripted({"1": "Surely right.", "2": Fault("rejected", "withheld"), "3": RIGHT})
    report = judged(tmp_path, ["#### 1", "#### 2", "#### 3"], Judge(model))
    found = report.judge
    assert found is not None
    assert (found.unreadable, found.unanswered, found.both, found.rule_only) == (1, 1, 1, 2)
    assert sum(brief["answer"] == "1" for brief in model.asked) == 1 + MOST_REPAIRS
    assert found.calls == 2 + MOST_REPAIRS


def test_with_strict_the_strict_rule_is_compared(tmp_path: Path) -> None:
    predictions: list[object] = ["Answer: 1", "#### 2"]
    lenient, strict = (
        judged(tmp_path, predictions, Judge(Scripted({"1": RIGHT, "2": RIGHT})), strict=each).judge
        for each in (False, True)
    )
    assert lenient is not None and strict is not None
    assert (lenient.both, lenient.judge_only) == (2, 0)
    assert (strict.both, strict.judge_only) == (1, 1)


def test_a_benchmark_with_a_strict_judge_is_asked_by_its_own_template(tmp_path: Path) -> None:
    records = write(tmp_path / "Math_arXiv.jsonl", [{"question": "What is $1+1$?", "answer": "$2$"}])
    mine = write(tmp_path / "mine.jsonl", [{"id": "realmath-math-0", "prediction": "\\section*{Final Answer}\n$2$"}])
    model = Scripted({"$2$": '{"is_correct": true}'})
    report = score(
        "realmath", records=records, predictions=mine, strict=False, seed=1, data_dir=None, judge=Judge(model)
    )
    assert report.judge is not None
    assert (report.judge.template, report.judge.both, report.judge.unreadable) == ("judge_strict_v1", 1, 0)


@pytest.mark.slow
def test_no_more_workers_ask_at_once_than_allowed(tmp_path: Path) -> None:
    model = Scripted({str(k): RIGHT for k in range(1, 7)})
    judged(tmp_path, [f"#### {k}" for k in range(1, 7)], Judge(model, workers=2))
    assert (model.most, len(model.asked)) == (2, 6)


def test_what_may_be_spent_ends_it(tmp_path: Path) -> None:
    model = Scripted({str(k): RIGHT for k in range(1, 7)})
    spending = Budget(Limits(max_calls=3), Prices(), Ledger())
    with pytest.raises(BudgetReached, match="3 calls"):
        judged(tmp_path, [f"#### {k}" for k in range(1, 7)], Judge(model, workers=2, spending=spending))
    assert len(model.asked) == 3


def test_a_judge_that_refuses_every_call_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PrerequisiteError, match="refuses every call"):
        judged(tmp_path, ["#### 1"], Judge(Scripted({"1": Fault("denied", "no key")})))


def test_episodes_have_no_judge(tmp_path: Path) -> None:
    mine = write(tmp_path / "mine.jsonl", [{"id": "nothing", "prediction": ""}])
    with pytest.raises(UsageError, match="omit --judge"):
        score(
            "workshop", records=None, predictions=mine, strict=False, seed=1, data_dir=None, judge=Judge(Scripted({}))
        )


@pytest.mark.parametrize(
    ("pairs", "value"),
    [
        ([(True, True), (False, False)], 1.0),
        ([(True, False), (False, True)], -1.0),
        ([(True, True), (True, False), (False, True), (False, False)], 0.0),
        ([(True, True)], 1.0),
        ([], 0.0),
    ],
)
def test_kappa_is_agreement_beyond_chance(pairs: list[tuple[bool, bool]], value: float) -> None:
    assert kappa(pairs) == value
