"""What a run has to do without is said in words: the questions that others repeat, by their ids."""

import msgspec
import pytest

from mage_es.engine.benchmarks.tasks.benchmark import given_tasks
from mage_es.engine.config import Config
from mage_es.engine.rules.splits import Splits
from mage_es.engine.run.notices import cutoffs, left_out, lone_types
from mage_es.engine.seams.benchmark import Repeat
from mage_es.events.vocabulary import SplitCommitted

CONFIG = Config(benchmark="gsm8k")


def splits(*repeats: Repeat) -> Splits:
    return Splits((), (), (), repeats=repeats, groups=(), events=())


@pytest.mark.parametrize(("held_out", "is_said"), [(CONFIG.held_out, False), (60, True), (500, True)])
def test_fewer_held_out_questions_than_asked_for_are_told_and_fewer_than_the_default_are_not(
    held_out: int, is_said: bool
) -> None:
    split = SplitCommitted(split="held_out", size=50, ids_sha256="", questions_sha256="", question_hashes=())
    anchors = msgspec.structs.replace(split, split="anchors", size=CONFIG.anchors)
    told = cutoffs(msgspec.structs.replace(CONFIG, held_out=held_out), [split, anchors])
    assert any("50 questions are held out" in each for each in told) is is_said


def test_questions_in_no_split_are_named_in_one_sentence_with_the_question_that_each_repeats() -> None:
    assert left_out(CONFIG, splits()) == ()
    near = Repeat("a", "b", nearly=True)
    assert left_out(CONFIG, splits(near)) == ("1 question is left out: a nearly repeats b.",)
    (told,) = left_out(CONFIG, splits(*(Repeat(f"q{k}", "b", nearly=False) for k in range(7))))
    assert told.startswith("7 questions are left out: q0 repeats b; q1 repeats b; ") and "q5" not in told
    assert told.endswith("; `mage-es doctor gsm8k --no-calls` lists all.")


def test_a_type_column_in_which_most_types_have_one_task_is_told_with_how_to_leave_it_out() -> None:
    def told(types: int, **columns: str) -> tuple[str, ...]:
        rows = [{"question": f"Why {k}?", "answer": "x", "category": f"c{k % types}"} for k in range(30)]
        named = ",".join(f"{role}:{column}" for role, column in columns.items())
        return lone_types(CONFIG, given_tasks(f"mine?columns={named}" if named else "mine", rows))

    (sentence,) = told(30)
    assert sentence.startswith("The column category is taken for the task type, and 30 of its 30 types have a single")
    assert "--columns task_type=" in sentence
    assert told(1) == told(15) == told(30, task_type="") == ()
    assert lone_types(msgspec.structs.replace(CONFIG, task_types="input"), given_tasks("mine", [])) == ()
