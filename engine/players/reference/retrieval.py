"""Retrieval recipes: quotas that led to right answers, a least cosine, and the words that failures share."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median_low

from mage_es.engine.briefs import AuthoredRecipe, BundleOutcome, RetrievalBrief, RetrievalReply
from mage_es.engine.players.arithmetic.problems import read_problem
from mage_es.engine.players.reference.generalising import is_telling

_MOST_WORDS = 4
_LEAST_OUTCOMES = 3


def author_recipe(brief: RetrievalBrief) -> RetrievalReply:
    given = [outcome for outcome in brief.outcomes if outcome.memories]
    if len(given) < _LEAST_OUTCOMES or brief.bundle < 1:
        return RetrievalReply(recipe=None)
    success = _success_quota(given, brief.bundle)
    words = _shared_words([outcome.question for outcome in brief.outcomes if not outcome.correct])
    right = sum(outcome.correct for outcome in given)
    return RetrievalReply(
        recipe=AuthoredRecipe(
            query_template=" ".join(["{question}", *words]),
            success_quota=success,
            failure_quota=brief.bundle - success,
            least_similarity=_least_similarity(given),
            reasoning=(
                f"Of {len(given)} answers with a bundle {right} were right; bundles with {success} solved and "
                f"{brief.bundle - success} corrected questions did best."
                + (f" The failures share the words: {', '.join(words)}." if words else "")
            ),
        )
    )


def _success_quota(given: Sequence[BundleOutcome], bundle: int) -> int:
    """Laplace-smoothed; the larger quota wins a tie."""

    def rate(quota: int) -> float:
        alike = [outcome.correct for outcome in given if min(outcome.count("solved"), bundle) == quota]
        return (sum(alike) + 1) / (len(alike) + 2)

    return max(range(bundle + 1), key=lambda quota: (rate(quota), quota))


def _least_similarity(given: Sequence[BundleOutcome]) -> float:
    """Return the median cosine of wrong answers if all bundles of right answers were nearer, else 0."""
    best = [(outcome.correct, max(memory.similarity for memory in outcome.memories)) for outcome in given]
    right, wrong = ([nearest for was_right, nearest in best if was_right == kind] for kind in (True, False))
    if not right or not wrong or min(right) <= median_low(wrong):
        return 0.0
    return round(median_low(wrong), 3)


def _shared_words(texts: Sequence[str]) -> list[str]:
    sets = [{token.text for token in read_problem(text).tokens if token.kind == "word"} for text in texts]
    counts = {word: sum(word in words for words in sets) for word in set().union(*sets)}
    least = max(2, (len(sets) + 1) // 2)
    shared = [word for word, count in counts.items() if count >= least and is_telling(word)]
    return sorted(shared, key=lambda word: (-counts[word], word))[:_MOST_WORDS]
