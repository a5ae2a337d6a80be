"""The worked examples of few-shot prompts: evolution questions from the user's data, with our own rationales.

Rules
    - `shots.toml` holds rationales, which end in the answer; the questions come from the user's data. If that lacks
      some of them, there are fewer examples.
    - A question is identified by its id, or by the hash of its normal form if upstream's records have no ids. A variant
      of a benchmark (`hotpotqa-fullwiki`) uses the benchmark's examples.
    - A benchmark without rationales takes the first evolution questions with a solution, in seeded order.
    - An anchor or a held-out question is never an example.
"""

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import islice

from mage_es.engine.rules.near_duplicates import normalise, question_hash
from mage_es.engine.rules.routes import reasoned_about
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.search.record import in_record
from mage_es.engine.study.baselines.answering import SHOTS
from mage_es.engine.study.baselines.react import trajectory
from mage_es.engine.study.baselines.trial import Shot

REACT_SHOTS = 6  # trajectories in ReAct's prompt, as in the original
_HASH = re.compile(r"[0-9a-f]{16}")


@cache
def rationales(benchmark: str) -> Mapping[str, str]:
    text = files("mage_es.engine.study.baselines").joinpath("shots.toml").read_text(encoding="utf-8")
    found: Mapping[str, str] = tomllib.loads(text).get(benchmark.partition("-")[0], {})
    return found


def worked(benchmark: str, questions: Mapping[str, Question], evolution: Sequence[str]) -> tuple[Shot, ...]:
    written = matched(rationales(benchmark), questions, evolution)[:SHOTS]
    if written:
        return tuple(Shot(name, _question_text(questions[name]), text.strip(), "") for name, text in written)
    solved = (questions[name] for name in evolution if questions[name].solution.strip())
    return tuple(Shot(q.id, _question_text(q), q.solution.strip(), q.gold) for q in islice(solved, SHOTS))


def matched(
    texts: Mapping[str, str], questions: Mapping[str, Question], evolution: Sequence[str]
) -> list[tuple[str, str]]:
    """Return the evolution ids that have a rationale, with the rationale."""
    named = {name: name for name in evolution}
    if any(map(_HASH.fullmatch, texts)):
        named |= {question_hash(normalise(questions[name].question)): name for name in evolution}
    return [(named[name], text) for name, text in texts.items() if name in named]


def looked_up(questions: Mapping[str, Question], evolution: Sequence[str]) -> tuple[Shot, ...]:
    """Return examples for ReAct, made from the supporting facts of evolution questions."""
    found = (shot for name in evolution for shot in _trajectories(questions[name]))
    return tuple(islice(found, REACT_SHOTS))


def _trajectories(question: Question) -> Iterator[Shot]:
    facts = json.loads(question.meta.get("supporting_facts", "[]"))
    titles = list(dict.fromkeys(str(title) for title, _ in facts))
    search = in_record(question)
    pages = {title: page for title in titles if (page := search.page(title))}
    if titles and len(pages) == len(titles):
        yield Shot(question.id, question.question, trajectory(question, titles, pages), question.gold)


def _question_text(question: Question) -> str:
    return f"{question.context}\n{reasoned_about(question)}".strip()
