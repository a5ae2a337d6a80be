"""`ask` answers a question of the user's own with a frozen state, and records nothing."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from mage_es.engine.config import Config
from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.run.budget import Limits
from mage_es.engine.run.directory import Run
from mage_es.engine.run.pricing import read_prices
from mage_es.engine.seams.embedder import Vectors
from mage_es.engine.viewing.ask import ask
from mage_es.events.errors import BudgetReached, UsageError
from mage_es.events.log import LogReader
from tests.kit.models import Saying

QUESTION = "Rosa fills 6 baskets with 9 figs each and gives 10 figs away. How many figs has she left?"


def test_the_task_type_is_told_from_the_text_and_the_bundle_is_of_that_type(small_run: Run) -> None:
    report = ask(small_run, QUESTION, at="latest", data_dir=None)
    assert report.task_type.startswith("wordmath_")
    assert QUESTION in report.prompt
    assert all(member.question in report.prompt for member in report.bundle)


def test_a_question_is_looked_up_once(small_run: Run) -> None:
    class Counting(HashEmbedder):
        asked = 0

        def encode(self, texts: Sequence[str]) -> Vectors:
            self.asked += QUESTION in texts
            return super().encode(texts)

    embedder = Counting()
    assert ask(small_run, QUESTION, embedder=embedder).bundle and embedder.asked == 1


def test_at_the_start_there_is_nothing_to_be_reminded_of(small_run: Run) -> None:
    assert ask(small_run, QUESTION, at="start", data_dir=None).bundle == ()


def test_asking_records_nothing(small_run: Run) -> None:
    before = LogReader(small_run.log_path).head
    ask(small_run, QUESTION, at="latest", data_dir=None)
    assert LogReader(small_run.log_path).head == before


def test_a_moment_before_the_ontology_cannot_be_asked(small_run: Run) -> None:
    with pytest.raises(UsageError, match="At seq:3 the run had no skills"):
        ask(small_run, QUESTION, at="seq:3", data_dir=None)


def test_bytes_that_are_no_text_are_refused(small_run: Run) -> None:
    with pytest.raises(UsageError, match="not valid UTF-8"):
        ask(small_run, "how many \udcff?", at="latest", data_dir=None)


def test_a_model_handed_in_answers_instead(small_run: Run) -> None:
    stubborn = Saying("scripted/stubborn", "always\n#### 7")
    assert ask(small_run, QUESTION, at="latest", data_dir=None, execution=stubborn).answer == "7"


def test_an_empty_question_is_refused(small_run: Run) -> None:
    with pytest.raises(UsageError, match="question is empty"):
        ask(small_run, "  \n", at="latest", data_dir=None)


PRICED = """[[price]]
models = ["openai/paid"]
input = 10.0
output = 100.0
source = "a test"
date = 2026-11-21
"""


def test_a_question_that_its_budget_does_not_allow_is_not_put_to_the_model(small_run: Run, tmp_path: Path) -> None:
    (tmp_path / "prices.toml").write_text(PRICED)
    paid, prices = Saying("openai/paid", "#### 44"), read_prices(tmp_path / "prices.toml")
    with pytest.raises(BudgetReached, match=r"\$0\.01 is reached"):
        ask(small_run, QUESTION, at="start", data_dir=None, execution=paid, prices=prices, limits=Limits(max_usd=0.01))
    with pytest.raises(UsageError, match="The price of the"):
        ask(small_run, QUESTION, at="start", data_dir=None, execution=paid, limits=Limits(max_usd=9.0))
    assert not paid.asked
    report = ask(
        small_run, QUESTION, at="start", data_dir=None, execution=paid, prices=prices, limits=Limits(max_usd=9.0)
    )
    assert report.answer == "44" and paid.asked


def test_a_question_about_own_tasks_is_answered_though_nobody_knows_what_is_right(
    start: Callable[..., Run], tmp_path: Path
) -> None:
    rows = [f"What is {k} + {k + 3}?,{2 * k + 3}" for k in range(5, 45)]
    (tmp_path / "mine.csv").write_text("\n".join(["prompt,label", *rows]) + "\n")
    config = Config(
        benchmark=f"tasks/{tmp_path}/mine.csv?scorer=number",
        execution="builtin/analogist",
        iterations=1,
        pool=8,
        anchors=4,
    )
    own_run = start(tmp_path / "runs", config)
    assert ask(own_run, "What is 4 + 9?", at="latest", data_dir=None).answer == "13"
