"""What a run has to do without is said in words: the questions that others repeat, by their ids."""

from __future__ import annotations

from mage_es.engine.config import Config
from mage_es.engine.rules.splits import Splits
from mage_es.engine.run.cutoffs import left_out
from mage_es.engine.seams.benchmark import Repeat

CONFIG = Config(benchmark="gsm8k")


def splits(*repeats: Repeat) -> Splits:
    return Splits((), (), (), repeats=repeats, groups=(), events=())


def test_questions_in_no_split_are_named_in_one_sentence_with_the_question_that_each_repeats() -> None:
    assert left_out(CONFIG, splits()) == ()
    near = Repeat("a", "b", nearly=True)
    assert left_out(CONFIG, splits(near)) == ("1 question is left out: a nearly repeats b.",)
    (told,) = left_out(CONFIG, splits(*(Repeat(f"q{k}", "b", nearly=False) for k in range(7))))
    assert told.startswith("7 questions are left out: q0 repeats b; q1 repeats b; ") and "q5" not in told
    assert told.endswith("; `mage-es doctor gsm8k --no-calls` lists all.")
