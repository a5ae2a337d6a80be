"""Principles by rule: the operations that questions with the same words share, one sentence each.

Rules
    - Questions are grouped by the operations of their reference solutions, one for each step.
    - A word (or two together) tells a group where at least two of its questions say it and no question with other
      operations does. Where no group has such a word, the order of the operations is all that is said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from mage_es.engine.agents.briefs import Case, PrinciplesBrief, PrinciplesReply
from mage_es.engine.models.arithmetic.principles import Principle, parse_principle, print_principle
from mage_es.engine.models.arithmetic.strategies import split_steps
from mage_es.engine.models.reference import operations
from mage_es.engine.models.reference.answers import answer_principles
from mage_es.engine.models.reference.generalising import is_telling
from mage_es.engine.models.reference.plans import plan_principles
from mage_es.engine.models.reference.purchases import is_shopping, purchase_advice
from mage_es.engine.models.reference.solutions import Worked, work_out

_LEAST_CASES = 2
_MOST_WORDS = 40


def author_principles(brief: PrinciplesBrief) -> PrinciplesReply:
    """Return at most `limit` principles that are not there yet, first those that most questions speak for."""
    if is_shopping(brief.cases):
        advice = [sentence for sentence in purchase_advice(brief.cases) if sentence not in brief.existing]
        return PrinciplesReply(principles=tuple(advice[: max(0, brief.limit)]))
    groups = by_operations([*brief.cases, *brief.solved])
    failed = by_operations(brief.cases)
    known = {parse_principle(text) for text in brief.existing}
    found: list[tuple[int, str]] = []
    for names in failed:
        unlike = [words_of(work) for key, group in groups.items() if key != names for work in group]
        for cues, support in _cues([words_of(work) for work in groups[names]], unlike):
            principle = Principle(cues=cues, operations=names)
            if principle not in known:
                found.append((-support, print_principle(principle)))
                break
    texts = [text for _, text in sorted(found)] or _plain(brief, failed)
    texts = texts or plan_principles([*brief.cases, *brief.solved], brief.existing)
    texts = texts or answer_principles([*brief.cases, *brief.solved], brief.existing)
    return PrinciplesReply(principles=tuple(texts[: max(0, brief.limit)]))


def _plain(brief: PrinciplesBrief, failed: Iterable[tuple[str, ...]]) -> list[str]:
    """Return what can be said where no word tells the operations: their order in the questions that went wrong."""
    sentences = [f"Carry the operations out in this order: {', then '.join(names)}." for names in sorted(failed)]
    return [sentence for sentence in sentences if sentence not in brief.existing]


def by_operations(cases: Sequence[Case]) -> dict[tuple[str, ...], list[Worked]]:
    """Return the cases whose solutions can be read, by the operations of their steps."""
    groups: dict[tuple[str, ...], list[Worked]] = {}
    for case in cases:
        worked = work_out(f"{case.context}\n{case.question}".strip(), case.solution, answer=case.answer)
        if worked is not None and (names := steps_of(worked)):
            groups.setdefault(names, []).append(worked)
    return groups


def steps_of(worked: Worked) -> tuple[str, ...]:
    """Return the operation of each step of a solution, in order."""
    return tuple(name for step in split_steps(worked.chain) for name in operations.of_step(step))


def words_of(work: Worked) -> frozenset[str]:
    """Return the words of a question that have a content of their own."""
    return frozenset(token.text for token in work.problem.tokens if token.kind == "word" and is_telling(token.text))


def _cues(same: Sequence[frozenset[str]], unlike: Sequence[frozenset[str]]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the words, then the pairs of words, that tell a group, each with how many questions say them."""
    counts = Counter(word for words in same for word in words)
    often = sorted((word for word in counts if counts[word] >= _LEAST_CASES), key=lambda word: (-counts[word], word))
    for size in (1, 2):
        ranked = []
        for cues in combinations(often[:_MOST_WORDS], size):
            support = sum(words.issuperset(cues) for words in same)
            if support >= _LEAST_CASES and not any(words.issuperset(cues) for words in unlike):
                ranked.append((-support, tuple(sorted(cues))))
        yield from ((cues, -support) for support, cues in sorted(ranked))
