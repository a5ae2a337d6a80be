"""What a run has to do without is told in words: one sentence, in the right number."""

from __future__ import annotations

import pytest

from mage_es.engine.rules.splits import Splits
from mage_es.engine.run.cutoffs import left_out


@pytest.mark.parametrize(
    ("duplicates", "near", "told"),
    [
        (0, 0, ()),
        (0, 1, ("1 question is left out: it repeats, or nearly so, one of another split or of the exam.",)),
        (2, 3, ("5 questions are left out: they repeat, or nearly so, one of another split or of the exam.",)),
    ],
)
def test_questions_that_stand_in_no_split_are_counted_in_one_sentence(
    duplicates: int, near: int, told: tuple[str, ...]
) -> None:
    splits = Splits((), (), (), duplicates=duplicates, near_duplicates=near, events=())
    assert left_out(splits) == told
