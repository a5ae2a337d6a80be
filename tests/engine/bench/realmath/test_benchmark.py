"""RealMath's records with any subset of columns, its types, and what is left to a judge."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mage_es.engine.bench.dataset import Dataset
from mage_es.engine.bench.realmath.answers import read_answer
from mage_es.engine.bench.realmath.benchmark import REALMATH, measure, verdict
from mage_es.engine.bench.realmath.equivalence import Equivalence, compared, decide
from mage_es.engine.bench.realmath.expressions import Unreadable
from mage_es.engine.bench.realmath.machine import MachineAnswer, read_machine
from mage_es.engine.bench.realmath.records import kind_of
from mage_es.engine.benchmarks.measuring import Prediction
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.session.judge import STRICT, template_of
from mage_es.engine.testing import check_benchmark
from mage_es.events.errors import PrerequisiteError

DATA = Path(os.environ.get("MAGE_ES_DATA", Path(__file__).parents[5] / "shared" / "data"))
needs_data = pytest.mark.skipif(
    not list((DATA / "realmath").glob("Math_arXiv*")), reason=f"no RealMath in {DATA}; set MAGE_ES_DATA"
)

FULL: dict[str, Any] = {
    "paper_link": "http://arxiv.org/abs/1",
    "theorem": "Theorem 1: it is $n+2$.",
    "context": "  Let $G$ be a graph. ",
    "question": "How many edges are there?",
    "answer": "$n+2$",
    "submission_date": "2025-01-01",
}
BARE = {"question": "What is the limit of $a_n$?", "answer": "$1$"}


def write(folder: Path, *records: object, name: str = "Math_arXiv.jsonl") -> Path:
    path = folder / "realmath" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return folder


def every(folder: Path) -> list[Question]:
    benchmark = Dataset(REALMATH, folder)
    return sorted((*benchmark.questions("evolution"), *benchmark.questions("test")), key=lambda q: q.id)


@pytest.mark.paper("section 4, RealMath, task types")
def test_a_record_is_read_with_any_of_its_columns_and_the_theorem_is_shown_nowhere(tmp_path: Path) -> None:
    full, bare = every(write(tmp_path, FULL, BARE))
    assert (full.id, full.task_type, full.gold) == ("realmath-math-0", "realmath_math_count", "$n+2$")
    assert (full.question, full.context) == ("How many edges are there?", "Let $G$ be a graph.")
    assert "Theorem" not in json.dumps(msgspec.to_builtins(full))
    assert (bare.id, bare.context, bare.task_type) == ("realmath-math-1", "", "realmath_math_limit_asymptotic")


def test_the_other_subsets_are_optional_and_name_their_types(tmp_path: Path) -> None:
    write(tmp_path, BARE)
    write(tmp_path, FULL, name="CS_arXiv.jsonl")
    write(tmp_path, BARE, name="Math_StackExchange.json")
    assert [q.task_type.split("_")[1] for q in every(tmp_path)] == ["cs", "math", "qa"]


@pytest.mark.parametrize("name", ["Math_arXiv/0000.parquet", "data/Math_arXiv-00000-of-00001.parquet"])
def test_parquet_as_it_is_downloaded_gives_the_same_questions(tmp_path: Path, name: str) -> None:
    (tmp_path / "lines").mkdir()
    (tmp_path / "realmath" / name).parent.mkdir(parents=True)
    pq.write_table(pa.Table.from_pylist([FULL, {**BARE, "context": None}]), tmp_path / "realmath" / name)
    assert every(tmp_path) == every(write(tmp_path / "lines", FULL, BARE))


def test_machine_readable_golds_beside_the_records_are_used_and_enter_the_hash(tmp_path: Path) -> None:
    record = {"id": "a-1", "question": "q", "answer": "There is exactly one."}
    before = Dataset(REALMATH, write(tmp_path, record)).data_sha256
    side = {"a-1": {"answer_kind": "single", "sympy_answer": "1"}, "other": {"answer_kind": "x", "sympy_answer": []}}
    path = tmp_path / "realmath" / "Math_arXiv.sympy_answers.json.gz"
    path.write_bytes(gzip.compress(json.dumps(side).encode()))
    (question,) = every(tmp_path)
    assert Dataset(REALMATH, tmp_path).data_sha256 != before
    assert (verdict(question, "Answer: $1$").correct, verdict(question, "Answer: $2$").undecided) == (True, False)
    path.write_bytes(gzip.compress(b'{"a-1": 7}'))
    with pytest.raises(PrerequisiteError, match=r"sympy_answers\.json\.gz, a-1 \(line 1\): Expected `object`"):
        every(tmp_path)


@pytest.mark.parametrize(
    ("record", "complaint"),
    [
        ({"question": "q"}, "missing required field `answer`"),
        ({**BARE, "question": " "}, "question: the question is empty"),
        ({**BARE, "answer": ""}, "answer: the answer is empty"),
        ({**BARE, "context": 7}, "at `$.context`"),
    ],
)
def test_a_malformed_record_is_named_with_its_field(tmp_path: Path, record: object, complaint: str) -> None:
    with pytest.raises(PrerequisiteError) as caught:
        every(write(tmp_path, BARE, record))
    assert "Math_arXiv.jsonl, line 2: " in str(caught.value)
    assert complaint in str(caught.value)


@pytest.mark.paper("section 4, RealMath, task types")
@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("How many limits are there?", "count"),
        ("What is the cardinality?", "count"),
        ("What is the limit as $n$ tends to infinity?", "limit_asymptotic"),
        ("Find the asymptotic of the largest part", "limit_asymptotic"),
        ("What is the maximum value?", "extremum"),
        ("The smallest such integer?", "extremum"),
        ("For which values does it hold?", "condition"),
        ("Give a necessary and sufficient condition", "condition"),
        ("Compute it", "value"),
        ("What is it equal to?", "value"),
        ("Express it in $n$", "expression"),
        ("Delimit the set", "expression"),
    ],
)
def test_the_kind_is_the_first_whose_words_occur_in_the_question(question: str, kind: str) -> None:
    assert kind_of(question) == kind


def test_a_verdict_is_the_rules_or_leaves_the_final_section_to_a_judge(tmp_path: Path) -> None:
    (question,) = every(write(tmp_path, FULL))
    end = "\\section*{Final Answer}\n"
    found = [verdict(question, f"work {end}{text}") for text in ("$2+n$", "$n + 2$", "$n$", "the sum of both")]
    assert [(v.score, v.strict, v.near_miss) for v in found] == [
        (1.0, False, False), (1.0, True, False), (0.0, False, False), (0.0, False, True),
    ]  # fmt: skip
    assert found[3].answer == "the sum of both"
    assert template_of(Dataset(REALMATH, tmp_path)) == STRICT


def test_predictions_are_measured_by_rule_and_against_a_judges_verdict_where_they_bring_one(tmp_path: Path) -> None:
    (question,) = every(write(tmp_path, FULL))

    def metrics(value: str, *, strict: bool = False, **parts: object) -> dict[str, float | None]:
        return dict(measure(question, Prediction("x", value, parts), strict=strict).metrics)

    assert metrics("$2+n$") == {"accuracy": 1.0, "undecided": 0.0}
    assert metrics("$2+n$", is_correct=False) == {
        "accuracy": 1.0, "undecided": 0.0, "judge_accuracy": 0.0, "agreement": 0.0,
    }  # fmt: skip
    assert metrics("a sum", is_correct=True)["agreement"] is None
    assert metrics("$2+n$", strict=True) == {"accuracy": 0.0}
    assert metrics("\\section*{Final Answer} $n + 2$.", strict=True) == {"accuracy": 1.0}
    assert metrics("$n+2$", strict=True, is_correct="yes") == {"accuracy": 0.0}
    assert metrics("x", strict=True, is_correct=True) == {"accuracy": 1.0}


@given(st.text(), st.one_of(st.none(), st.booleans(), st.text()))
@settings(max_examples=100, deadline=None)
def test_no_reply_makes_a_verdict_or_a_metric_raise(reply: str, opinion: object) -> None:
    question = Question(id="q", benchmark="realmath", split="test", task_type="t", question="q", gold="$n+2$")
    found = verdict(question, reply)
    assert not (found.undecided and found.score)
    measure(question, Prediction("q", reply, {"is_correct": opinion}), strict=False)


@needs_data
def test_the_real_records_pass_the_checks_of_every_benchmark() -> None:
    benchmark = Dataset(REALMATH, DATA)
    check_benchmark(lambda seed: benchmark, 1, replies=100, repeats=2)


@pytest.mark.paper("section 4, RealMath, the metric")
@needs_data
def test_every_real_gold_is_the_same_as_itself_and_the_two_forms_of_no_gold_contradict_each_other() -> None:
    read = both = same = 0
    for question in every(DATA):
        machine = question.meta.get("machine_readable")
        answer = msgspec.json.decode(machine, type=MachineAnswer) if machine else None
        assert decide(question.gold, question.gold, answer).equivalence is Equivalence.SAME, question.id
        try:
            latex = read_answer(question.gold, is_gold=True)
            read += 1
            found = compared(read_machine(answer), latex, "") if answer else Equivalence.UNDECIDED
        except Unreadable:
            continue
        both += answer is not None
        same += found is Equivalence.SAME
        assert found is not Equivalence.DIFFERENT, question.id
    assert (read, both, same) == (121, 115, 103)
