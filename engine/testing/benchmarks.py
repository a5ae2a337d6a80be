"""Checks for every benchmark, whether it generates or reads its questions."""

from collections.abc import Callable
from random import Random

from mage_es.engine.seams.benchmark import SPLITS, Benchmark

_PIECES = (
    "",
    " ",
    "\n",
    "####",
    "The answer is",
    "-",
    "1e999",
    "0x1",
    "½",
    "∞",
    "\x00",
    "\ud800",
    "{",
    "}",
    "```",
    "9" * 5000,
)
"""Pieces of replies that tend to break parsers."""


def check_benchmark(make: Callable[[int], Benchmark], seed: int, *, replies: int = 200, repeats: int = 0) -> None:
    """Check a benchmark: unique questions, disjoint splits, a scorer that never raises, and the same result from the
    same seed.

    `make` returns the benchmark for a seed. `replies` garbled replies are scored; `repeats` questions of a split may be
    duplicates, as in some upstream files.
    """
    benchmark = make(seed)
    check_questions(benchmark, repeats=repeats)
    check_splits(benchmark, seed=seed)
    check_scorer(benchmark, Random(seed), replies=replies)
    check_seed(benchmark, make(seed))


def check_questions(benchmark: Benchmark, *, repeats: int = 0) -> None:
    """Check that ids are unique over both splits, texts within one (except `repeats`), and that no field is missing.

    A question may lack a task type only if types come from metadata, and at least one evolution question must have one.
    """
    ids: set[str] = set()
    for split in SPLITS:
        questions = benchmark.questions(split)
        texts = {(question.question, question.context) for question in questions}
        twice = len(questions) - len(texts)
        assert twice <= repeats, f"{twice} questions of {split} are duplicates"
        for question in questions:
            assert question.id not in ids, f"two questions have the id {question.id}"
            assert (question.split, question.benchmark) == (split, benchmark.name), f"{question.id} names another split"
            has_type = question.task_type or benchmark.task_type_source == "metadata"
            assert question.question and has_type, f"{question.id} has no text or no task type"
            ids.add(question.id)
    assert ids, f"{benchmark.name} has no questions"
    typed = any(question.task_type for question in benchmark.questions("evolution"))
    assert typed, f"no evolution question of {benchmark.name} has a task type"


def check_splits(benchmark: Benchmark, *, seed: int) -> None:
    """Check that a run has evolution, anchor and held-out questions, and no question in two of them."""
    from mage_es.engine.rules.splits import make_splits  # heavy, and every command imports this package

    splits = make_splits(
        benchmark.questions("evolution"), benchmark.questions("test"), seed=seed, anchors=20, held_out=20
    )
    parts = {event.split: set(event.question_hashes) for event in splits.events}
    for name, hashes in parts.items():
        assert hashes, f"there are no {name} questions"
        for other, others in parts.items():
            assert name == other or not hashes & others, f"{name} and {other} share {len(hashes & others)} questions"


def check_scorer(benchmark: Benchmark, random: Random, *, replies: int = 200) -> None:
    """Check that the scorer never raises, is deterministic, stays in [0, 1] and accepts reference solutions."""
    questions = [question for split in SPLITS for question in benchmark.questions(split)]
    for _ in range(replies):
        question = random.choice(questions)
        pieces = (*_PIECES, question.gold, question.question)
        reply = "".join(random.choice(pieces) for _ in range(random.randint(0, 6)))
        verdict = benchmark.score(question, reply)
        assert 0 <= verdict.score <= 1, f"{question.id}: score {verdict.score} for {reply[:200]!r}"
        assert benchmark.score(question, reply) == verdict, f"{question.id}: two verdicts on {reply[:200]!r}"
        right = benchmark.score(question, question.solution)
        assert right.correct or not question.solution, f"{question.id}: its own solution scores {right.score}"
        assert not (verdict.undecided and verdict.score), (
            f"{question.id}: undecided, but with the score {verdict.score}"
        )


def check_seed(one: Benchmark, other: Benchmark) -> None:
    """Check that two benchmarks of one seed are equal: questions, their order, and the hash of their data."""
    assert one.data_sha256 == other.data_sha256, "the same seed gives a different data_sha256"
    for split in SPLITS:
        for question, same in zip(one.questions(split), other.questions(split), strict=True):
            assert question == same, f"the same seed gives a different question {question.id}"
