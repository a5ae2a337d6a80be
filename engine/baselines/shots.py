"""The worked examples of few-shot prompts: evolution questions of the user's data, with rationales of our own.

Rules
    - `shots.toml` holds ids of records and rationales in our words; question and answer are read from the user's data.
      A benchmark (or a subset of one) that lacks some of them has fewer examples.
    - A benchmark that is not listed takes the first evolution questions that bring a solution, in seeded order.
    - Examples come from what may be learned from; an anchor or a held-out question is never one.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files

from mage_es.engine.baselines.answering import SHOTS, Shot
from mage_es.engine.baselines.react import trajectory
from mage_es.engine.benchmarks.protocol import Question
from mage_es.engine.search.record import RecordSearch

REACT_SHOTS = 6
"""Trajectories that ReAct is shown; the original's."""


@cache
def rationales(benchmark: str) -> Mapping[str, str]:
    """Return the packaged rationales of a benchmark by question id, in order; none for a benchmark without."""
    text = files("mage_es.engine.baselines").joinpath("shots.toml").read_text(encoding="utf-8")
    found: Mapping[str, str] = tomllib.loads(text).get(benchmark, {})
    return found


def worked(benchmark: str, questions: Mapping[str, Question], evolution: Sequence[str]) -> tuple[Shot, ...]:
    """Return the worked examples of a benchmark; `evolution` are the ids that may be learned from, in seeded order."""
    allowed = set(evolution)
    written = {name: text for name, text in rationales(benchmark).items() if name in allowed}
    if not written:
        solved = (name for name in evolution if questions[name].solution.strip())
        written = {name: questions[name].solution for name in solved}
    chosen = list(written.items())[:SHOTS]
    return tuple(Shot(name, _asked(questions[name]), text.strip(), questions[name].gold) for name, text in chosen)


def looked_up(questions: Mapping[str, Question], evolution: Sequence[str]) -> tuple[Shot, ...]:
    """Return examples for ReAct, made of the supporting facts that evolution questions bring with them."""
    found = (shot for name in evolution for shot in _trajectories(questions[name]))
    return tuple(shot for _, shot in zip(range(REACT_SHOTS), found, strict=False))


def _trajectories(question: Question) -> Iterator[Shot]:
    facts = json.loads(question.meta.get("supporting_facts", "[]"))
    titles = list(dict.fromkeys(str(title) for title, _ in facts))
    search = RecordSearch(question.context)
    pages = {title: page for title in titles if (page := search.page(title))}
    if titles and len(pages) == len(titles):
        yield Shot(question.id, question.question, trajectory(question, titles, pages), question.gold)


def _asked(question: Question) -> str:
    return f"{question.context}\n{question.question}".strip()
