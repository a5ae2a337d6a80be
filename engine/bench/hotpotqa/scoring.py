"""Scoring answers and supporting facts of HotpotQA, as upstream does, and also with answers in prose.

Averages are over all gold ids, and a missing prediction counts as 0. If no prediction has supporting facts, the figures
for supporting facts are left out (with `strict` they never are).
"""

import json
from collections.abc import Mapping, Sequence

from mage_es.engine.bench.stated import is_other, may_mean, states
from mage_es.engine.benchmarks.answers import exact_match, harmonic, overlap
from mage_es.engine.benchmarks.measuring import Measured, Prediction
from mage_es.engine.seams.answer_form import answer_in_form
from mage_es.engine.seams.benchmark import Question, Verdict
from mage_es.engine.seams.extraction import plain_answer

LENIENT = 0.5
"""The least F1 with which the paper's lenient reading counts an answer as right."""
FACTS = ("supporting_facts", "sp")
"""The names under which predictions carry supporting facts: the data's, and that of upstream's prediction files."""
_OPTIONAL = ("sp_em", "sp_f1", "sp_prec", "sp_recall", "joint_em", "joint_f1", "joint_prec", "joint_recall")

PredictedFact = tuple[object, ...]


def verdict(question: Question, reply: str) -> Verdict:
    """Score the greater of exact match and F1, or 1 if prose states the gold answer.

    A wrong answer that shares something with the gold is a near miss. So is an F1 of one half and more if each side has
    a word that the other lacks (`Chelsea Handler` for `Chelsea Lately`): it may be right or something else.
    """
    formal = answer_in_form(reply)
    is_strict = bool(formal) and exact_match(formal, question.gold)
    answer = formal if is_strict else plain_answer(reply)
    is_equal = bool(answer) and exact_match(answer, question.gold)
    score = max(float(is_equal), overlap(answer, question.gold).f1)
    if score < 1 and states(answer, question.gold, question.question):
        score = 1.0
    is_open = (score < LENIENT and may_mean(answer, question.gold)) or (score < 1 and is_other(answer, question.gold))
    if is_open:
        return Verdict(answer=answer, score=0.0, strict=is_strict, near_miss=True)
    return Verdict(answer=answer, score=score, strict=is_strict)


def measure(question: Question, prediction: Prediction, strict: bool) -> Measured:
    """[appendix, HotpotQA EM and F1] Upstream's metrics of the final answer (strictly: of the whole prediction).

    An answer is right with an F1 of at least 0.5. Supporting facts beyond the end of their paragraph count only in the
    strict form.
    """
    answer = prediction.text if strict else plain_answer(prediction.text)
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


def supporting(
    given: Sequence[object], wanted: frozenset[PredictedFact], ignored: frozenset[PredictedFact]
) -> dict[str, float]:
    """Compare supporting facts as sets; those in `ignored` count neither as right nor as wrong."""
    found = frozenset(_fact(entry) for entry in given) - ignored
    right = len(found & wanted)
    precision = right / len(found) if found else 0.0
    recall = right / len(wanted) if wanted else 0.0
    values = (float(found == wanted), harmonic(precision, recall), precision, recall)
    return dict(zip(_OPTIONAL[:4], values, strict=True))


def total(measured: Sequence[tuple[Question, Measured]]) -> Mapping[str, float]:
    """Return the mean; None counts as 0, unless all values are None."""
    names = dict.fromkeys(name for _, one in measured for name in one.metrics)
    columns = {name: [one.metrics.get(name) for _, one in measured] for name in names}
    return {
        name: sum(value or 0.0 for value in values) / len(values)
        for name, values in columns.items()
        if any(value is not None for value in values)
    }


def _expected(question: Question, *, strict: bool) -> tuple[frozenset[PredictedFact], frozenset[PredictedFact]]:
    """Return the gold facts that count, and those ignored because their paragraph has no such sentence."""
    facts = frozenset(_fact(entry) for entry in json.loads(question.meta["supporting_facts"]))
    beyond = frozenset(_fact(entry) for entry in json.loads(question.meta["facts_beyond"]))
    return (facts, frozenset()) if strict else (facts - beyond, beyond)


def _fact(entry: object) -> PredictedFact:
    """Return a hashable value; anything but a list of plain values differs from every gold fact."""
    if isinstance(entry, list | tuple) and all(isinstance(value, str | int | float) for value in entry):
        return tuple(entry)
    return (repr(entry),)
