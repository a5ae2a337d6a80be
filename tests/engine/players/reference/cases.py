"""Failures that share one recipe, for the tests of the reference tier."""

from mage_es.engine.briefs import FailureCase

STORIES = (
    ("Ana packs {a} boxes with {b} jars each. She sells {c} jars. How many jars are left?"),
    ("Each shelf holds {b} vases, and there are {a} shelves. Then {c} vases broke. How many vases are left?"),
    ("Omar fills {a} crates with {b} figs in every crate and gives {c} figs away. How many figs are left?"),
)


def case(number: int, *, a: int, b: int, c: int) -> FailureCase:
    """Return a failure whose solution is a * b - c."""
    total = a * b
    return FailureCase(
        question_id=f"q{number}",
        question=STORIES[number % len(STORIES)].format(a=a, b=b, c=c),
        context="",
        wrong_answer="1",
        wrong_reasoning="",
        answer=str(total - c),
        solution=f"All: {a} * {b} = {total}\nLeft: {total} - {c} = {total - c}",
    )


CASES = (case(0, a=4, b=6, c=5), case(1, a=7, b=9, c=10), case(2, a=3, b=12, c=8))
