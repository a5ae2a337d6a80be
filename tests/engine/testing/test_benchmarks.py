"""The check of benchmarks passes for every built-in one that is generated, and finds what is wrong with others."""

from collections.abc import Callable, Sequence

import msgspec
import pytest

from mage_es.engine.benchmarks.numbers import score_number
from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.seams.benchmark import Question, Split, TaskTypeSource, Verdict
from mage_es.engine.testing.benchmarks import check_benchmark


@pytest.mark.parametrize("name", ["truthworld", "wordmath", "workshop"])
def test_every_generated_benchmark_keeps_every_rule(name: str) -> None:
    check_benchmark(lambda seed: open_benchmark(name, seed=seed), 3)


class Sums:
    """A small benchmark that is sound; the others break it in one place."""

    name = "sums"
    licence = "Apache-2.0"
    task_type_source: TaskTypeSource = "metadata"
    answer_format = "End with the sum."

    def __init__(self, seed: int) -> None:
        self.data_sha256, self.seed = f"{seed}", seed

    def questions(self, split: Split) -> Sequence[Question]:
        first = self.seed if split == "evolution" else self.seed + 1000
        return [self.question(split, number) for number in range(first, first + 200)]

    def question(self, split: Split, number: int) -> Question:
        return Question(
            id=f"{split}-{number}",
            benchmark=self.name,
            split=split,
            task_type="sum",
            question=f"What is {number} and {number * number} and {number**3} together?",
            gold=str(number + number * number + number**3),
        )

    def score(self, question: Question, reply: str) -> Verdict:
        return score_number(question.gold, reply)


class Twice(Sums):
    def question(self, split: Split, number: int) -> Question:
        return super().question(split, number - number % 2)


class Shared(Sums):
    def questions(self, split: Split) -> Sequence[Question]:
        return [super(Shared, self).question("evolution", number) for number in range(200)]


class Misled(Sums):
    def question(self, split: Split, number: int) -> Question:
        return msgspec.structs.replace(super().question(split, number), solution="It is 7.\n#### 7")


class Raising(Sums):
    def score(self, question: Question, reply: str) -> Verdict:
        return Verdict(answer=reply, score=float(reply.split()[-1] == question.gold), strict=True)


class Generous(Sums):
    def score(self, question: Question, reply: str) -> Verdict:
        return Verdict(answer=reply, score=float(len(reply)), strict=True)


class Fickle(Sums):
    made = 0

    def __init__(self, seed: int) -> None:
        Fickle.made += 1
        super().__init__(seed + Fickle.made)


@pytest.mark.parametrize(
    ("make", "error", "said"),
    [
        (Twice, AssertionError, "are duplicates"),
        (Shared, AssertionError, "two questions have the id|names another split"),
        (Misled, AssertionError, "its own solution scores 0.0"),
        (Raising, IndexError, "out of range"),
        (Generous, AssertionError, "score "),
        (Fickle, AssertionError, "the same seed gives a different"),
    ],
)
def test_a_benchmark_that_breaks_a_rule_is_found(
    make: Callable[[int], Sums], error: type[Exception], said: str
) -> None:
    check_benchmark(Sums, 5)
    with pytest.raises(error, match=said):
        check_benchmark(make, 5)
