from mage_es.engine.briefs import AuthoredRecipe, BundleOutcome, RetrievalBrief, ShownMemory
from mage_es.engine.players.reference.authors import author_recipe
from mage_es.engine.rules.retrieval_recipes import problem_of


def outcome(success: int, failure: int, similarity: float, *, correct: bool) -> BundleOutcome:
    return BundleOutcome(
        question_id="q",
        question="How many are left?",
        correct=correct,
        memories=(
            *(ShownMemory(kind="solved", question="?", similarity=similarity) for _ in range(success)),
            *(ShownMemory(kind="corrected", question="?", similarity=similarity) for _ in range(failure)),
        ),
    )


def written(*outcomes: BundleOutcome, bundle: int = 3) -> AuthoredRecipe | None:
    brief = RetrievalBrief(task_type="t", skill="s", outcomes=outcomes, solved_pool=9, corrected_pool=9, bundle=bundle)
    return author_recipe(brief).recipe


GOOD = (
    outcome(1, 2, 0.8, correct=True),
    outcome(1, 2, 0.7, correct=True),
    outcome(2, 1, 0.3, correct=False),
    outcome(2, 1, 0.3, correct=False),
)


def test_the_quotas_are_those_whose_bundles_were_right_most_often() -> None:
    recipe = written(*GOOD)
    assert recipe is not None
    assert (recipe.success_quota, recipe.failure_quota) == (1, 2)
    assert problem_of(recipe, bundle=3) == ""


def test_too_few_bundles_are_no_reason_for_a_recipe() -> None:
    assert written(*GOOD[:2]) is None
    assert written(*[outcome(0, 0, 0.0, correct=False)] * 9) is None
