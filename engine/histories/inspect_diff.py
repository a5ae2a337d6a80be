"""The verb `diff_inspect`: two logs of Inspect compared by the samples that both have.

Rules
    - Samples are the same if their id and input are: Inspect numbers samples that have no id, so in another order of
      the data set other samples get the same numbers.
    - Every score that both logs have, by its name, is compared; a score with parts part by part. Values become numbers
      as in Inspect's own metrics (C 1, P 0.5, I and N 0), epochs their mean. Samples that one side did not score are
      left out.
    - Won samples score higher after, lost ones lower. For right and wrong the interval is exact, else from resamples; p
      is that of the exact sign test (engine/run/exams.py, `by_question`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from mage_es.engine.benchmarks.evals import read_eval, said_to
from mage_es.engine.histories.diff import AnswersDiff, answers_diff
from mage_es.engine.verbs.decorators import in_thread, typed
from mage_es.events.errors import UsageError

if TYPE_CHECKING:  # the extra need not be installed
    from inspect_ai.log import EvalLog, EvalSample
    from inspect_ai.scorer import Value


class InspectDiff(msgspec.Struct, frozen=True, kw_only=True):
    """Two logs compared, and the ids of the samples left out: only in one log, or with `changed` input."""

    before: str
    after: str
    answers: tuple[AnswersDiff, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    changed: tuple[str, ...]


@typed
def diff_inspect(before: Path, after: Path) -> InspectDiff:
    """Compare the scores of two Inspect logs.

    Raises:
        UsageError: They have no sample, or no score, in common.
        PrerequisiteError: The extra `inspect` is missing, or a log cannot be read.
    """
    was, now = read_eval(before), read_eval(after)
    asked, asked_now = ({str(each.id): said_to(each) for each in log.samples or ()} for log in (was, now))
    both = [name for name in asked if asked_now.get(name) == asked[name]]
    changed = tuple(name for name in asked if name in asked_now and asked_now[name] != asked[name])
    if not both:
        raise UsageError(
            f"{before} and {after} have no sample in common, by id and input. Give two logs of one task, with the same "
            "data set."
        )
    old, new = _scores(was), _scores(now)
    same = {what: {name: old[what][name] for name in both if name in old[what]} for what in old if what in new}
    found = tuple(answers_diff(what, values, new[what]) for what, values in same.items())
    if not (answers := tuple(each for each in found if each.total)):
        raise UsageError(
            f"No score is in both logs: {before} has {', '.join(old) or 'none'}, {after} {', '.join(new) or 'none'}. "
            "`inspect score` scores a log again."
        )
    return InspectDiff(
        before=str(before),
        after=str(after),
        answers=answers,
        only_before=tuple(name for name in asked if name not in asked_now),
        only_after=tuple(name for name in asked_now if name not in asked),
        changed=changed,
    )


adiff_inspect = in_thread(diff_inspect)


def _scores(log: EvalLog) -> Mapping[str, Mapping[str, float]]:
    """Return each score's values by sample, epochs as their mean."""
    found: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for sample in log.samples or ():
        for what, value in _values(sample):
            found[what][str(sample.id)].append(value)
    return {what: {name: sum(some) / len(some) for name, some in of.items()} for what, of in found.items()}


def _values(sample: EvalSample) -> Iterator[tuple[str, float]]:
    for what, score in (sample.scores or {}).items():
        parts: Mapping[str, Value | None] = {what: score.value}
        if isinstance(score.value, dict):
            parts = {f"{what}/{part}": value for part, value in score.value.items()}
        for name, value in parts.items():
            number = _number(value)
            if number is not None:
                yield name, number


def _number(value: Value | None) -> float | None:
    """Return a value as Inspect's metrics have it, or None if it is not a number or not scored."""
    from inspect_ai.scorer import value_to_float

    if isinstance(value, str):
        try:
            float(value)
        except ValueError:
            if value not in ("C", "I", "P", "N") and value.lower() not in ("yes", "no", "true", "false"):
                return None
    elif not isinstance(value, int | float):
        return None
    number = value_to_float()(value)
    return number if number == number else None
