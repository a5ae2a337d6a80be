"""RealMath as a benchmark: closed expressions, judged by a rule where it can decide, else by a judge."""

from __future__ import annotations

import msgspec

from mage_es.engine.benchmarks.dataset import DataFile, Definition
from mage_es.engine.benchmarks.measuring import Measured, Prediction
from mage_es.engine.benchmarks.realmath.equivalence import Equivalence, decide
from mage_es.engine.benchmarks.realmath.extraction import (
    answer_of,
    final_section,
    official_answer,
    shown_to_judge,
    without_units,
)
from mage_es.engine.benchmarks.realmath.machine import MachineAnswer
from mage_es.engine.benchmarks.realmath.records import SUBSETS, read
from mage_es.engine.benchmarks.realmath.tokens import squeezed
from mage_es.engine.seams.answer_form import answer_in_form
from mage_es.engine.seams.benchmark import Question, Verdict, everywhere


def verdict(question: Question, reply: str) -> Verdict:
    """`strict` means the same text as the gold, except for layout. If undecided, the answer is what the judge sees."""
    formal = answer_in_form(reply, final_section)
    is_strict = bool(formal) and squeezed(formal) == squeezed(question.gold)
    answer = formal if is_strict else answer_of(reply)
    machine = question.meta.get("machine_readable")
    readable = msgspec.json.decode(machine, type=MachineAnswer) if machine else None
    decision = decide(question.gold, answer, readable)
    if decision.equivalence is Equivalence.UNDECIDED and (bare := without_units(answer)) != answer:
        decision = decide(without_units(question.gold), bare, readable)
    if decision.equivalence is Equivalence.UNDECIDED:
        return Verdict(answer=shown_to_judge(reply), score=0.0, strict=False, undecided=True, why=decision.why)
    return Verdict(answer=answer, score=float(decision.equivalence is Equivalence.SAME), strict=is_strict)


def measure(question: Question, prediction: Prediction, strict: bool) -> Measured:
    """Return `accuracy` by rule, and the share that is left to a judge as `undecided`.

    Upstream's own metric is a judge's verdict, which a prediction may have as its part `is_correct`. Strict, that is
    the accuracy; without it, the official final answer must be the gold's text, except for layout.
    """
    opinion = prediction.parts.get("is_correct")
    if strict:
        answer = official_answer(prediction.text)
        is_right = opinion is True if "is_correct" in prediction.parts else squeezed(answer) == squeezed(question.gold)
        return Measured(answer, {"accuracy": float(is_right)})
    found = verdict(question, prediction.text)
    metrics: dict[str, float | None] = {"accuracy": found.score, "undecided": float(found.undecided)}
    if isinstance(opinion, bool):
        metrics["judge_accuracy"] = float(opinion)
        metrics["agreement"] = None if found.undecided else float(opinion is found.correct)
    return Measured(found.answer, metrics)


def _part(subset: str, *, optional: bool) -> DataFile:
    files = (f"{subset}.jsonl", f"{subset}.json", f"{subset}.parquet", f"{subset}/0000.parquet")
    return DataFile((*files, f"data/{subset}-00000-of-00001.parquet", f"{subset}.subset.jsonl"), optional=optional)


REALMATH = Definition(
    name="realmath",
    licence="none stated (github.com/ethz-spylab/RealMath; huggingface.co/datasets/ethz-spylab/RealMath)",
    task_type_source="input",
    answer_format='End with "\\section*{Final Answer}\n<the answer in LaTeX>".',
    parts={"evolution": tuple(_part(subset, optional=subset != "Math_arXiv") for subset in SUBSETS)},
    read=read,
    verdict=verdict,
    measure=measure,
    extract=answer_of,
    judge_template="judge_strict_v1",
    is_cross_checked=everywhere,
)
"""Research mathematics: 633 questions from mathematics papers, 111 from computer science, 542 from a Q&A site."""
