"""Abstracted patterns: what trajectories agree on about an achievement, with what confidence, and when one is dropped.

There are two kinds, and both suit any environment: which achievement comes before which (`b` comes before `a`), and
what the environment says when an achievement is reached (`a`: effect). A trajectory that reaches `a` supports every
pattern about `a` that it shows, and counts against all others.

Rules
    - Confidence is (successes + 1) / (successes + failures + 2) over the trajectories that reach the achievement, from
      the iteration that abstracted the pattern (Laplace's rule of succession).
    - A pattern with a confidence below 0.3 is pruned and never comes back. Nothing else is ever pruned.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from mage_es.engine.rules.new_memories import memory_id
from mage_es.engine.rules.trajectories import Trajectory
from mage_es.events import vocabulary as v
from mage_es.projections.patterns import PatternRow, Patterns

PRUNED_BELOW = 300_000  # confidence in millionths below which a pattern is pruned
NEAREST = 2  # how many of the last achievements before one get a new pattern
_BEFORE = re.compile(r"`[^`]+` comes before `([^`]+)`\.")
_EFFECT = re.compile(r"`([^`]+)`: ")


class Shown(NamedTuple):
    """What one trajectory shows about one achievement: every text that it supports, and those worth abstracting."""

    achievement: str
    supports: frozenset[str]
    abstracts: tuple[str, ...]


class _Tally(NamedTuple):
    successes: int
    failures: int
    origin: v.Origin
    skill: str

    def counting(self, *, supported: bool) -> _Tally:
        return self._replace(successes=self.successes + supported, failures=self.failures + (not supported))


def confidence(successes: int, failures: int) -> int:
    """Return the Laplace-smoothed share of successes, in millionths. [appendix, abstracted patterns]"""
    # Whole millionths: a threshold on floats could prune on one machine and not on another.
    return (successes + 1) * v.MICRO // (successes + failures + 2)


def shown_by(steps: Sequence[v.EpisodeStepped]) -> list[Shown]:
    before: list[str] = []
    shown = []
    for step in steps:
        for achievement in step.achievements:
            texts = [f"`{earlier}` comes before `{achievement}`." for earlier in before]
            effect = [f"`{achievement}`: {' '.join(step.effect.split())}"] if step.effect else []
            shown.append(Shown(achievement, frozenset((*texts, *effect)), (*effect, *texts[-NEAREST:])))
        # After the loop, because two achievements in one step have no order between them.
        before += step.achievements
    return shown


def subject(text: str) -> str:
    found = _EFFECT.match(text) or _BEFORE.fullmatch(text)
    return found.group(1) if found else ""


def abstract_patterns(
    trajectories: Iterable[Trajectory], patterns: Patterns, *, iteration: int, phase: v.Phase
) -> list[v.Event]:
    """[appendix, abstracted patterns] Confidence is Laplace-smoothed; a pattern below 0.3 is pruned, by an event."""
    # One task type after another, each in the order of its texts: the events do not depend on who played first.
    by_type: dict[str, list[Trajectory]] = {}
    for trajectory in trajectories:
        by_type.setdefault(trajectory.task_type, []).append(trajectory)
    events: list[v.Event] = []
    for task_type in sorted(by_type):
        known = {row.text: row for row in patterns.of(task_type)}
        tallies = _count(by_type[task_type], known, patterns)
        for text in sorted(tallies, key=lambda text: (subject(text), text)):
            events += _events(text, tallies[text], task_type, known.get(text), iteration, phase, len(events))
    return events


def _count(
    trajectories: Sequence[Trajectory], known: Mapping[str, PatternRow], patterns: Patterns
) -> dict[str, _Tally]:
    tallies = {text: _Tally(row.successes, row.failures, row.origin, row.skill) for text, row in known.items()}
    changed: set[str] = set()
    for trajectory in trajectories:
        for shown in shown_by(trajectory.steps):
            for text in shown.abstracts:
                # A pruned pattern is not among `known`, but it is kept, so that it does not come back with fresh
                # counts.
                if text not in tallies and patterns.pattern(_identity(trajectory.task_type, text)) is None:
                    tallies[text] = _Tally(0, 0, trajectory.origin, trajectory.skill)
            # Patterns abstracted from this trajectory count too: their first success is the episode that they are from.
            for text in [text for text in tallies if subject(text) == shown.achievement]:
                tallies[text] = tallies[text].counting(supported=text in shown.supports)
                changed.add(text)
    return {text: tallies[text] for text in changed}


def _events(
    text: str, tally: _Tally, task_type: str, row: PatternRow | None, iteration: int, phase: v.Phase, ordinal: int
) -> Iterator[v.Event]:
    sure = confidence(tally.successes, tally.failures)
    name = row.memory_id if row else _identity(task_type, text)
    if row:
        yield v.PatternSupported(
            memory_id=name, successes=tally.successes, failures=tally.failures, confidence_micro=sure
        )
    else:
        yield v.PatternAbstracted(
            memory_id=name,
            task_type=task_type,
            skill=tally.skill,
            text=text,
            successes=tally.successes,
            failures=tally.failures,
            confidence_micro=sure,
            origin=tally.origin,
            iteration=iteration,
            phase=phase,
            ordinal=ordinal,
        )
    # It may be abstracted and pruned in one phase, if the episodes after the first disagree.
    if sure < PRUNED_BELOW:
        yield v.PatternPruned(memory_id=name, confidence_micro=sure, reason="confidence below 0.3")


def _identity(task_type: str, text: str) -> str:
    return memory_id(outcome="abstracted_pattern", kind="", task_type=task_type, question="", answer="", reasoning=text)
