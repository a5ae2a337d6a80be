"""Scoring lists of answers: the official set metric, and a reading of replies in prose.

Strict compares JSON values as they are, case, accents and type included; a reply that is not a JSON list is one answer.
Otherwise answers are compared in HotpotQA's normal form, or as dates. Repeating the question's words then does not
count as an answer, and neither does a long list, since one of its items may well be right by chance. But anything that
equals a gold answer is right. Source: the evaluation script of WebQuestions (Berant et al. 2013).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from operator import eq
from typing import NamedTuple, TypeVar

import msgspec

from mage_es.engine.bench.stated import may_mean, states
from mage_es.engine.bench.webqa.dates import Date, dates_in, read_date
from mage_es.engine.benchmarks.answers import harmonic, normalise_answer
from mage_es.engine.benchmarks.measuring import Measured, Prediction, means, text_of
from mage_es.engine.seams.answer_form import answer_in_form
from mage_es.engine.seams.benchmark import Question, Verdict
from mage_es.engine.seams.extraction import marked_answers, said, trimmed

LEAST_PART = 4
"""The least length at which a prediction can be right as part of a gold answer."""

FEW = 4
"""A list with more items than this, and more than twice as many as gold answers, counts as guesses."""

T = TypeVar("T")

_MOST_ANSWERS = 1_000
"""Most items that are read from a list in prose."""
_LONGEST_PROSE = 8_000
_MOST_WORDS, _SHARE = 4, 0.8
"""Most words of a list item, and the share of items in a list that must be so short."""
_CLAUSE = re.compile(
    r"(?:(?:in|on|at|by|from|of|to|for|as|with|he|she|it|they|his|her|its|who|which|where|when|that|was|were|is|are|born"
    r"|died|but|then|after|before|also)\b|\d+$)"
)
_SEPARATORS = re.compile(r"[\n;,]| and ")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")


def verdict(question: Question, reply: str) -> Verdict:
    """Right if it contains a gold answer; a near miss if it is wrong but shares something with one."""
    golds = golds_of(question)
    formal = answer_in_form(reply)
    is_strict = any(official(golds, given)["f1"] == 1.0 for given in (_as_list(reply), [formal]))
    answer = formal if is_strict else _prose_in(reply)
    is_hit = is_strict or hit(golds, answer, question.question)
    is_open = not is_hit and any(may_mean(answer, gold) for gold in golds)
    return Verdict(answer=answer, score=float(is_hit), strict=is_strict, near_miss=is_open)


def measure(question: Question, prediction: Prediction, strict: bool) -> Measured:
    golds = golds_of(question)
    value = prediction.value
    if strict:
        given = list(value) if isinstance(value, list | tuple) else _as_list(value)
        return Measured(prediction.text, official(golds, given))
    if isinstance(value, list | tuple):
        answers = [text_of(one) for one in islice(value, _MOST_ANSWERS)]
        whole = ", ".join(answers)
        is_hit = not _are_many(answers, golds) and any(hit(golds, one, question.question) for one in answers)
    else:
        whole = _prose_in(prediction.text)
        answers, is_hit = answers_in(whole, golds), hit(golds, whole, question.question)
    forms, forms_given = [_form(gold) for gold in golds], [_form(one) for one in answers]
    return Measured(whole, {**compared(forms, forms_given, _is_same), "hit": float(is_hit)})


def official(golds: Sequence[object], given: Sequence[object]) -> dict[str, float | None]:
    """Return the official metrics: elements count as often as they occur, and are compared as JSON values.

    [section 4, WebQuestions, the metric] A `hit` decides; the official F1 is reported beside it, on values as given
    (strict) or on a list split from prose.
    """
    return compared(golds, given, eq)


def compared(golds: Sequence[T], given: Sequence[T], is_same: Callable[[T, T], bool]) -> dict[str, float | None]:
    """An empty list has precision 1, recall 0, F1 0. Raises `ValueError` without gold answers."""
    if not golds:
        raise ValueError("a question without gold answers cannot be measured")
    right = sum(1 for one in given if any(is_same(one, gold) for gold in golds))
    found = sum(1 for gold in golds if any(is_same(one, gold) for one in given))
    precision = right / len(given) if given else 1.0
    recall = found / len(golds)
    return {"f1": harmonic(precision, recall), "precision": precision, "recall": recall}


def answers_in(answer: str, golds: Sequence[str]) -> list[str]:
    """Split an answer in prose into its list, unless the whole equals a gold answer."""
    whole = _form(answer)
    if any(_is_same(whole, _form(gold)) for gold in golds):
        return [answer]
    pieces = (trimmed(_BULLET.sub("", piece)) for piece in _SEPARATORS.split(answer, maxsplit=_MOST_ANSWERS))
    return [piece for piece in pieces if normalise_answer(piece)]


def hit(golds: Sequence[str], answer: str, question: str = "") -> bool:
    """Return whether an answer equals a gold, states it in prose, or is part of it (four letters or more). Only one
    that equals a gold may echo the question, or be one of many."""
    given, wanted = _form(answer), [_form(gold) for gold in golds]
    if any(_is_same(given, gold) for gold in wanted):
        return True
    if _is_echo(given, question) or _are_many(answers_in(answer, golds), golds):
        return False
    if any(states(answer, gold.text, question) for gold in wanted):
        return True
    if dates := [gold.date for gold in wanted if gold.date]:
        found = map(read_date, [*answers_in(answer, golds), *dates_in(answer)])
        if any(one.meets(date) for one in found if one for date in dates):
            return True
    return len(given.normal) >= LEAST_PART and any(_holds(gold.normal, given.normal) for gold in wanted)


def _is_echo(answer: _Form, question: str) -> bool:
    """Return whether all words are the question's own, as in the right answer to an either-or question."""
    asked = set(normalise_answer(question).split())
    return "or" not in asked and bool(answer.normal) and asked.issuperset(answer.normal.split())


def _are_many(items: Sequence[str], golds: Sequence[str]) -> bool:
    """Return whether these are more than a few items of a list, not the clauses of a sentence."""
    distinct = {normalise_answer(item) for item in items}
    alone = [item for item in distinct if len(item.split()) <= _MOST_WORDS and not _CLAUSE.match(item)]
    return len(distinct) > max(FEW, 2 * len(golds)) and len(alone) >= _SHARE * len(distinct)


def _prose_in(reply: str) -> str:
    """Return the last mark, or else the whole reply, since in prose the answer may come first."""
    text = said(reply)
    return trimmed((next(marked_answers(text), None) or text)[:_LONGEST_PROSE])


def total(measured: Sequence[tuple[Question, Measured]]) -> Mapping[str, float]:
    """`f1_of_means` is the F1 of mean precision and mean recall."""
    figures = means(measured)
    if "precision" in figures and "recall" in figures:
        figures["f1_of_means"] = harmonic(figures["precision"], figures["recall"])
    return figures


def golds_of(question: Question) -> list[str]:
    return msgspec.json.decode(question.meta["answers"], type=list[str])


class _Form(NamedTuple):
    """An answer in the forms in which it is compared, each computed once."""

    text: str
    normal: str
    date: Date | None


def _form(text: str) -> _Form:
    return _Form(text, normalise_answer(text), read_date(text))


def _is_same(answer: _Form, gold: _Form) -> bool:
    is_equal = answer.text == gold.text or (bool(answer.normal) and answer.normal == gold.normal)
    return is_equal or (answer.date is not None and gold.date is not None and answer.date.meets(gold.date))


def _holds(text: str, part: str) -> bool:
    """Return whether a normal form contains another as a sequence of whole words."""
    return f" {part} " in f" {text} "


def _as_list(value: object) -> list[object]:
    if not isinstance(value, str):
        return [] if value is None else [value]
    try:
        found = msgspec.json.decode(value)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        found = None
    if isinstance(found, list):
        return found
    return [value] if value else []
