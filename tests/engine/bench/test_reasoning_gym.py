"""Tasks of the package reasoning-gym: drawn with the run's seed, scored by the generator's own verifier."""

import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import mage_es
from mage_es.engine.bench.reasoning_gym import opened, verified
from mage_es.engine.benchmarks.registry import open_benchmark, recorded_name, title
from mage_es.engine.config import Config
from mage_es.engine.seams.benchmark import Question, scored
from mage_es.events.errors import PrerequisiteError, UsageError
from tests.engine.copier import Copier, guided

needs_package = pytest.mark.skipif(
    find_spec("reasoning_gym") is None,
    reason="reasoning-gym is not installed: python -m pip install 'mage-es[reasoning-gym]'",
)
SUMS = "reasoning_gym/chain_sum?max_terms=3&size=60"


def questions(name: str, seed: int = 1) -> list[Question]:
    return list(open_benchmark(name, seed=seed).questions("evolution"))


def test_without_the_package_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "reasoning_gym", None)
    with pytest.raises(
        PrerequisiteError, match=r"needs the package reasoning-gym: .*pip install 'mage-es\[reasoning-gym"
    ):
        open_benchmark("reasoning_gym/leg_counting?size=3", seed=1)


def test_a_name_is_recorded_with_its_size_and_its_options_in_order() -> None:
    assert recorded_name("reasoning_gym/chain_sum") == "reasoning_gym/chain_sum?size=500"
    assert recorded_name("reasoning_gym/chain_sum?size=60&max_terms=3") == recorded_name(SUMS) == SUMS
    assert title(SUMS) == "chain_sum"


@pytest.mark.parametrize("name", ["reasoning_gym", "reasoning_gym/", "reasoning_gym/chain_sum?size=many"])
def test_a_name_that_is_not_of_the_form_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="not of the form reasoning_gym/GENERATOR"):
        open_benchmark(name, seed=1)


@needs_package
def test_the_seed_decides_the_tasks_and_the_size_how_many() -> None:
    assert questions(SUMS) == questions(SUMS)
    assert {question.question for question in questions(SUMS)} != {question.question for question in questions(SUMS, 2)}
    assert 50 < len(questions(SUMS)) <= 60
    assert max(question.question.count("+") + question.question.count(" - ") for question in questions(SUMS)) == 2


@needs_package
@pytest.mark.parametrize(
    "generator", ["chain_sum", "countdown", "emoji_mystery", "mini_sudoku", "n_queens", "word_sorting"]
)
def test_the_verifier_takes_the_right_answer_as_it_is_written_and_no_other(generator: str) -> None:
    first, *others = questions(f"reasoning_gym/{generator}?size=8")
    assert verified(f"Let me see.\n\nAnswer: {first.gold}", first).strict
    assert not verified(f"Answer: {others[0].gold}", first).correct
    assert not verified("", first).correct


@needs_package
def test_a_reply_that_the_verifier_cannot_read_is_wrong_and_no_failure() -> None:
    (question, *_) = questions("reasoning_gym/prime_factorization?size=8")
    verdict = verified("Answer: no idea", question)
    assert not verdict.correct and not verdict.undecided


@needs_package
def test_part_of_the_marks_is_not_right() -> None:
    (question, *_) = questions("reasoning_gym/sentence_reordering?size=8")
    verdict = verified(f"Answer: {question.gold} indeed", question)
    assert 0 < verdict.score < 1 and not verdict.correct


@needs_package
@pytest.mark.parametrize("generator", ["graph_color", "game_of_life_halting"])
def test_a_generator_whose_verifier_decides_nothing_is_refused(generator: str) -> None:
    with pytest.raises(UsageError, match=f"{generator} cannot be learned from"):
        open_benchmark(f"reasoning_gym/{generator}?size=20", seed=3)


@needs_package
def test_options_that_a_generator_does_not_take_are_refused_by_name() -> None:
    refused = {
        "chain_sums": "no generator 'chain_sums'. Did you mean chain_sum",
        "chain_sum?max_term=3": "no option 'max_term'. Did you mean max_terms",
        "chain_sum?max_terms=x": "max_terms must be a whole number, and not 'x'",
        "chain_sum?allow_negation=perhaps": "allow_negation must be true or false",
        "chain_sum?max_terms=1": "refuses these options: AssertionError: max_terms must be >= min_terms",
        "chain_sum?seed=3": "no option 'seed'",
    }
    for name, why in refused.items():
        with pytest.raises(UsageError, match=why):
            open_benchmark(f"reasoning_gym/{name}", seed=1)


@needs_package
@pytest.mark.slow
def test_a_run_keeps_its_tasks_and_scores_them_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = guided(Copier([str(number) for number in range(30)]))
    config = Config(benchmark=SUMS, seed=1, iterations=1, pool=8, held_out=8, anchors=4)
    mage_es.evolve(config, models=models, runs_dir=tmp_path, run_id="sums")
    monkeypatch.setattr("mage_es.engine.bench.reasoning_gym.opened", None)  # what is stored is enough
    assert mage_es.verify(tmp_path / "sums").ok
    assert mage_es.examine(tmp_path / "sums", execution=models.execution).total == 8


@needs_package
@pytest.mark.slow
def test_a_verifier_that_takes_too_long_is_ended() -> None:
    drawn = opened("reasoning_gym/countdown?size=8", 1)
    question = drawn.questions("evolution")[0]
    drawn.limit_scorer(0.5)
    assert scored(drawn, question, "Answer: " + "9**" * 8 + "9").failed
    drawn.limit_scorer(60)
    assert scored(drawn, question, f"Answer: {question.gold}").correct
