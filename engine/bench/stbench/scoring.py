"""Scoring STBench: upstream's counters to the letter, our own reading of prose, and thresholds for numbers.

Rules
    - For tasks whose answer is a class, accuracy counts an exception as wrong; the errors of points and flows are means
      over the answers that could be read.
    - A judge may be asked about a wrong class, however it is phrased, but never about distances and flows.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

import msgspec

from mage_es.engine.bench.stated import may_mean
from mage_es.engine.bench.stbench import answers, upstream
from mage_es.engine.bench.stbench.tasks import KINDS, AnswerKind
from mage_es.engine.bench.stbench.upstream import distance
from mage_es.engine.benchmarks.measuring import Measured, Prediction
from mage_es.engine.seams.benchmark import Question, Verdict
from mage_es.engine.seams.extraction import plain_answer

Metrics = dict[str, float | None]

_ERRORS = ("mae", "rmse")
"""Metrics in metres or vehicles, which have no mean over different tasks."""
_CLASSES: Mapping[AnswerKind, Callable[[str, object], bool | None]] = {
    "option": upstream.option,
    "yesno": upstream.yes_no,
    "anomaly": upstream.anomaly,
    "vehicle": upstream.vehicle,
}


NEAR, VANISHING = 100.0, 1_000.0
"""The largest error with which a point is right, and the error from which on its graded reward is 0, in metres."""
FLOW_SHARE, FLOW_COUNT = 0.2, 1.0
"""On average a flow may be off by this share of the mean gold flow plus this many vehicles."""


def verdict(question: Question, reply: str) -> Verdict:
    """A reply that names no option but shares a word with one is a near miss.

    [section 4, STBench, accuracy] The paper gives no threshold. Ours: 100 m for a point, a fifth of the mean plus one
    vehicle for a flow; raw errors stay in the metrics. In the strict form upstream's parsers decide, defects included.
    """
    kind = kind_of(question)
    strict = _strict(question, reply)
    if kind in _CLASSES:
        answer = _read_class(kind, question, reply)
        said = plain_answer(reply) if answer is None else answer
        is_right = answer == question.gold
        is_open = answer is None and any(may_mean(said, text) for text in _options(kind, question))
        is_strict = strict["accuracy"] == 1.0
        return Verdict(answer=said, score=float(is_right), strict=is_strict, near_miss=is_open)
    answer, metrics = _number(question, reply)
    is_strict = strict["mae"] is not None and _is_right(kind, question, strict["mae"])
    return Verdict(answer=answer, score=metrics["reward"] or 0.0, strict=is_strict)


def measure(question: Question, prediction: Prediction, strict: bool) -> Measured:
    kind, text = kind_of(question), prediction.text
    if strict:
        return Measured(text, _strict(question, text))
    if kind not in _CLASSES:
        return Measured(*_number(question, text))
    answer = _read_class(kind, question, text)
    metrics: Metrics = {"accuracy": float(answer == question.gold), "exception": float(answer is None)}
    return Measured(answer or "", metrics)


def total(measured: Sequence[tuple[Question, Measured]]) -> Mapping[str, float]:
    """Return the means over all predictions, then for each official task the mean of its files' means.

    Metrics of a task are called `<task>.<metric>`; errors, whose units differ, exist for tasks only.
    """
    columns: defaultdict[tuple[str, str], defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for question, one in measured:
        for metric, value in one.metrics.items():
            column = columns[question.meta["task"], metric][question.meta["file"]]
            if value is not None:
                column.append(value)
    overall: defaultdict[str, list[float]] = defaultdict(list)
    by_task: dict[str, float] = {}
    for (task, metric), files in columns.items():
        counted = [values for values in files.values() if values]
        if counted:
            by_task[f"{task}.{metric}"] = sum(_mean(values) for values in counted) / len(counted)
        if metric not in _ERRORS:
            overall[metric].extend(value for values in counted for value in values)
    return {**{metric: _mean(values) for metric, values in overall.items() if values}, **by_task}


def has_class(question: Question) -> bool:
    return kind_of(question) in _CLASSES


def kind_of(question: Question) -> AnswerKind:
    return KINDS[question.meta["kind"]]


def _strict(question: Question, reply: str) -> Metrics:
    """By upstream's parsers."""
    kind, label = kind_of(question), msgspec.json.decode(question.meta["answer"])
    if kind in _CLASSES:
        found = _CLASSES[kind](reply, label)
        metrics: Metrics = {"accuracy": float(found or False), "exception": float(found is None)}
        if kind == "option":
            metrics["accuracy_cot"] = float(upstream.option_cot(reply, label) or False)
        return metrics
    gold = _numbers(question)
    if kind == "point":
        mae = upstream.point_error(reply, *gold)
        return {"mae": mae, "exception": float(mae is None)}
    now = upstream.flow_error(reply, gold)
    return {
        "mae": now.mae if now else None,
        "rmse": now.rmse if now else None,
        "exception": float(now is None),
    }


def _options(kind: AnswerKind, question: Question) -> Sequence[str]:
    return list(answers.listed_options(question.question).values()) if kind == "option" else []


def _read_class(kind: AnswerKind, question: Question, reply: str) -> str | None:
    match kind:
        case "yesno":
            return answers.yes_no_in(reply)
        case "anomaly":
            return answers.anomaly_in(reply)
        case "vehicle":
            return answers.vehicle_in(reply)
        case _:
            return answers.option_in(reply, question.question)


def _numbers(question: Question) -> list[float]:
    return msgspec.json.decode(question.gold, type=list[float])


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _number(question: Question, reply: str) -> tuple[str, Metrics]:
    kind, gold = kind_of(question), _numbers(question)
    found = answers.point_in(reply) if kind == "point" else answers.flow_in(reply)
    mae, rmse = None, None
    if found is not None and kind == "point":
        metres = distance(found[0], found[1], gold[0], gold[1])
        mae = metres if metres is not None and metres < upstream.FARTHEST else None
    elif found is not None and (error := upstream.flow_difference(found, gold)):
        mae, rmse = error
    is_right = mae is not None and _is_right(kind, question, mae)
    metrics: Metrics = {
        "accuracy": float(is_right),
        "reward": _reward(kind, mae, is_right=is_right),
        "exception": float(mae is None),
        "mae": mae,
    }
    if kind == "flow":
        metrics["rmse"] = rmse
    return "" if found is None else str(list(found)), metrics


def _is_right(kind: AnswerKind, question: Question, mae: float) -> bool:
    if kind == "point":
        return mae <= NEAR
    gold = _numbers(question)
    typical = sum(abs(number) for number in gold) / len(gold)
    return mae <= FLOW_SHARE * typical + FLOW_COUNT


def _reward(kind: AnswerKind, mae: float | None, *, is_right: bool) -> float:
    """Return the score: graded by distance for points, and below one half exactly if the answer is wrong."""
    if mae is None or kind == "flow":
        return float(is_right)
    graded = max(0.0, 1.0 - mae / VANISHING)
    return max(0.5, graded) if is_right else graded / 2
