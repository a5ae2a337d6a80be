"""Retrieval recipes: the quotas of solved and corrected questions that led to right answers."""

from __future__ import annotations

from mage_es.engine.briefs import AuthoredRecipe, RetrievalBrief, RetrievalReply

_LEAST_OUTCOMES = 3


def author_recipe(brief: RetrievalBrief) -> RetrievalReply:
    given = [outcome for outcome in brief.outcomes if outcome.memories]
    if len(given) < _LEAST_OUTCOMES or brief.bundle < 1:
        return RetrievalReply(recipe=None)

    def rate(quota: int) -> float:
        """Laplace-smoothed."""
        alike = [outcome.correct for outcome in given if min(outcome.count("solved"), brief.bundle) == quota]
        return (sum(alike) + 1) / (len(alike) + 2)

    success = max(range(brief.bundle + 1), key=lambda quota: (rate(quota), quota))
    said = f"Of {len(given)} answers, those whose bundles had {success} solved questions were right most often."
    return RetrievalReply(
        recipe=AuthoredRecipe(
            query_template="{question}",
            success_quota=success,
            failure_quota=brief.bundle - success,
            least_similarity=0.0,
            reasoning=said,
        )
    )
