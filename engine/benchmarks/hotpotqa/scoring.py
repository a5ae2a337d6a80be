"""Scoring answers and supporting facts of HotpotQA, as upstream does and with an answer that is found in prose.

Rules
    - Strict takes the prediction as the answer, to the letter; otherwise the final answer is extracted from it.
    - Right (a score of at least one half) is what the paper's lenient reading calls right: equal, or F1 >= 0.5.
    - The corpus is all gold ids. What was not predicted counts 0; only where nobody predicted any supporting facts are
      they left out of the figures (strict: never).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from mage_es.engine.benchmarks.extraction import final_answer
from mage_es.engine.benchmarks.hotpotqa.answers import exact_match, harmonic, may_mean, overlap
from mage_es.engine.benchmarks.measuring import Measured, Prediction
from mage_es.engine.benchmarks.protocol import Question, Verdict

LENIENT = 0.5
"""The F1 from which the paper's lenient reading counts an answer as right."""
FACTS = ("supporting_facts", "sp")
"""The names under which predictions carry supporting facts: of the data, and of upstream's prediction files."""
_OPTIONAL = ("sp_em", "sp_f1", "sp_prec", "sp_recall", "joint_em", "joint_f1", "joint_prec", "joint_recall")

Fact = tuple[object, ...]


def verdict(question: Question, reply: str) -> Verdict:
    """Judge a reply: the greater of exact match and F1; undecided where it is wrong, but has something of the gold."""
    answer = final_answer(reply, _unmarked)
    is_equal = bool(answer) and exact_match(answer, question.gold)
    score = max(float(is_equal), overlap(answer, question.gold).f1)
    is_open = score < LENIENT and may_mean(answer, question.gold)
    return Verdict(answer=answer, score=0.0 if is_open else score, strict=is_equal, undecided=is_open)


def measure(question: Question, prediction: Prediction, strict: bool) -> Measured:
    """Return upstream's metrics of one prediction, and `lenient` beside them where it is not strict."""
    answer = prediction.text if strict else final_answer(prediction.text, _unmarked)
    is_predicted = prediction.value is not None and (strict or prediction.text != "")
    em = float(is_predicted and exact_match(answer, question.gold))
    f1, precision, recall = overlap(answer, question.gold)
    metrics: dict[str, float | None] = {"em": em, "f1": f1, "prec": precision, "recall": recall}
    if not strict:
        metrics["lenient"] = float(max(em, f1) >= LENIENT)
    given = next((prediction.parts[name] for name in FACTS if name in prediction.parts), None)
    if not isinstance(given, Sequence) or isinstance(given, str):
        return Measured(answer, {**metrics, **dict.fromkeys(_OPTIONAL, 0.0 if strict else None)})
    facts = supporting(given, *_expected(question, strict=strict))
    joint = dict.fromkeys(_OPTIONAL[4:], 0.0)
    if is_predicted:
        joint_precision, joint_recall = precision * facts["sp_prec"], recall * facts["sp_recall"]
        joint_f1 = harmonic(joint_precision, joint_recall)
        values = (em * facts["sp_em"], joint_f1, joint_precision, joint_recall)
        joint = dict(zip(_OPTIONAL[4:], values, strict=True))
    return Measured(answer, {**metrics, **facts, **joint})


def supporting(given: Sequence[object], wanted: frozenset[Fact], ignored: frozenset[Fact]) -> dict[str, float]:
    """Return exact match, F1, precision and recall of supporting facts as sets of (title, sentence index).

    Args:
        given: The predicted facts, as they were decoded from JSON.
        wanted: The gold facts.
        ignored: Facts that count neither as right nor as wrong.
    """
    found = frozenset(_fact(entry) for entry in given) - ignored
    right = len(found & wanted)
    precision = right / len(found) if found else 0.0
    recall = right / len(wanted) if wanted else 0.0
    values = (float(found == wanted), harmonic(precision, recall), precision, recall)
    return dict(zip(_OPTIONAL[:4], values, strict=True))


def total(measured: Sequence[tuple[Question, Measured]]) -> Mapping[str, float]:
    """Return the mean of each metric over all questions; None counts 0, unless there is nothing else."""
    names = dict.fromkeys(name for _, one in measured for name in one.metrics)
    columns = {name: [one.metrics.get(name) for _, one in measured] for name in names}
    return {
        name: sum(value or 0.0 for value in values) / len(values)
        for name, values in columns.items()
        if any(value is not None for value in values)
    }


def _expected(question: Question, *, strict: bool) -> tuple[frozenset[Fact], frozenset[Fact]]:
    """Return the gold facts that count and those that are ignored: sentences that the paragraph does not have."""
    facts = frozenset(_fact(entry) for entry in json.loads(question.meta["supporting_facts"]))
    beyond = frozenset(_fact(entry) for entry in json.loads(question.meta["facts_beyond"]))
    return (facts, frozenset()) if strict else (facts - beyond, beyond)


def _fact(entry: object) -> Fact:
    """Return a fact as something that can stand in a set; what is no list of plain values equals no gold fact."""
    if isinstance(entry, list | tuple) and all(isinstance(value, str | int | float) for value in entry):
        return tuple(entry)
    return (repr(entry),)


def _unmarked(text: str) -> str | None:
    """HotpotQA has no answer marker of its own."""
    return None
