"""Principles: the operations that questions with the same words share, one sentence each.

A word (or a pair) marks a group if at least two of its questions have it and no question of another group does. If no
group has such a word, the principles give only the order of operations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from mage_es.engine.briefs import AuthoredPrinciple, Case, PrinciplesBrief, PrinciplesReply
from mage_es.engine.players.arithmetic.chains import operations_of
from mage_es.engine.players.reference.answers import answer_principles
from mage_es.engine.players.reference.generalising import is_telling
from mage_es.engine.players.reference.plans import plan_principles
from mage_es.engine.players.reference.purchases import is_shopping, purchase_principles
from mage_es.engine.players.reference.solutions import Worked, worked_cases
from mage_es.engine.players.reference.strategies import split_steps

_LEAST_CASES = 2
_MOST_WORDS = 40


def author_principles(brief: PrinciplesBrief) -> PrinciplesReply:
    if is_shopping(brief.cases):
        found = purchase_principles(brief.cases, brief.existing)
    else:
        found = _worked(brief) or plan_principles([*brief.cases, *brief.solved], brief.existing)
        found = found or answer_principles([*brief.cases, *brief.solved], brief.existing)
    shared = [each for each in found if len(each.cases) >= _LEAST_CASES]
    return PrinciplesReply(principles=tuple(shared[: max(0, brief.limit)]))


def _worked(brief: PrinciplesBrief) -> list[AuthoredPrinciple]:
    groups: dict[tuple[str, ...], dict[str, frozenset[str]]] = {}
    for case, worked in worked_cases([*brief.cases, *brief.solved]):
        if names := steps_of(worked):
            groups.setdefault(names, {})[case.question_id] = words_of(worked)
    failed = by_operations(brief.cases)
    found: list[tuple[int, str, tuple[str, ...]]] = []
    for names in failed:
        unlike = [words for key, group in groups.items() if key != names for words in group.values()]
        for cues, support in _cues(list(groups[names].values()), unlike):
            said = " and ".join(f'"{cue}"' for cue in cues)
            text = f"When the question says {said}, {', then '.join(names)}."
            if text not in brief.existing:
                shown = tuple(name for name, words in groups[names].items() if words.issuperset(cues))
                found.append((-support, text, shown))
                break
    plain = [
        (0, f"Carry the operations out in this order: {', then '.join(names)}.", tuple(groups[names]))
        for names in sorted(failed)
    ]
    told = sorted(found) or [each for each in plain if each[1] not in brief.existing]
    return [AuthoredPrinciple(do=text, cases=shown) for _, text, shown in told]


def by_operations(cases: Sequence[Case]) -> dict[tuple[str, ...], list[Worked]]:
    groups: dict[tuple[str, ...], list[Worked]] = {}
    for _, worked in worked_cases(cases):
        if names := steps_of(worked):
            groups.setdefault(names, []).append(worked)
    return groups


def steps_of(worked: Worked) -> tuple[str, ...]:
    return tuple(name for step in split_steps(worked.chain) for name in operations_of(step))


def words_of(work: Worked) -> frozenset[str]:
    return frozenset(token.text for token in work.problem.tokens if token.kind == "word" and is_telling(token.text))


def _cues(same: Sequence[frozenset[str]], unlike: Sequence[frozenset[str]]) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield words, then pairs of words, each with the number of questions that have them."""
    counts = Counter(word for words in same for word in words)
    often = sorted((word for word in counts if counts[word] >= _LEAST_CASES), key=lambda word: (-counts[word], word))
    for size in (1, 2):
        ranked = []
        for cues in combinations(often[:_MOST_WORDS], size):
            support = sum(words.issuperset(cues) for words in same)
            if support >= _LEAST_CASES and not any(words.issuperset(cues) for words in unlike):
                ranked.append((-support, tuple(sorted(cues))))
        yield from ((cues, -support) for support, cues in sorted(ranked))
