"""Worked examples: which questions they are, that they end in the right answer, and what a prompt shows of them."""

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.config import Config
from mage_es.engine.rules.near_duplicates import normalise, question_hash
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.benchmark import Benchmark, Question, is_test
from mage_es.engine.study.baseline import baseline
from mage_es.engine.study.baselines.answering import SHOTS
from mage_es.engine.study.baselines.shots import looked_up, matched, rationales, worked

pytestmark = pytest.mark.slow

DATA = Path(os.environ.get("MAGE_ES_DATA", Path(__file__).parents[5] / "shared" / "data"))
WRITTEN = ("finqa", "gsm8k", "hotpotqa", "medqa", "realmath", "stbench", "webqa")
LOST_AT_MOST = 4
"""Examples that may fall among a run's anchors, and eight are left."""


@cache
def benchmark(name: str) -> Benchmark:
    if not (DATA / name).is_dir():
        pytest.skip(f"no {name} in {DATA}; set MAGE_ES_DATA")
    return open_benchmark(name, seed=1, data_dir=DATA)


def by_name(name: str) -> Mapping[str, Question]:
    """Return the evolution questions by id, and by the hash of their normal form."""
    questions = benchmark(name).questions("evolution")
    hashed = {question_hash(normalise(question.question)): question for question in questions}
    return {**hashed, **{question.id: question for question in questions}}


def question(name: str, text: str, **more: str) -> Question:
    fields = {"gold": "4", "solution": "", "context": "", **more}
    return Question(id=name, benchmark="own", split="evolution", task_type="t", question=text, **fields)


@pytest.mark.parametrize("name", WRITTEN)
def test_every_example_is_an_evolution_question_and_its_rationale_ends_in_the_right_answer(name: str) -> None:
    known, texts = by_name(name), rationales(name)
    assert len(texts) == SHOTS + LOST_AT_MOST
    missing = [each for each in texts if each not in known]
    assert not missing
    wrong = [each for each, text in texts.items() if not benchmark(name).score(known[each], text).correct]
    assert not wrong


@pytest.mark.parametrize("name", WRITTEN)
def test_no_rationale_repeats_its_question_or_upstreams_solution_and_the_task_types_are_many(name: str) -> None:
    known, texts = by_name(name), rationales(name)
    for each, text in texts.items():
        own, asked = set(words_in_a_row(text)), known[each]
        assert normalise(asked.question) not in normalise(text)
        assert not own.intersection([*words_in_a_row(asked.question), *words_in_a_row(asked.solution)])
    types = {known[each].task_type for each in list(texts)[:SHOTS]}
    assert len(types) >= min(4, len({q.task_type for q in known.values() if q.task_type}))


def test_examples_of_a_benchmark_without_splits_may_be_learned_from_whatever_the_records_are_called() -> None:
    rows = [int(by_name("realmath")[each].id[-5:]) - 1 for each in rationales("realmath")]
    assert not any(is_test(f"realmath-math-{row}") for row in rows)


# Dividing stbench takes longer than all the others together.
@pytest.mark.parametrize("name", [name for name in WRITTEN if name != "stbench"])
def test_a_run_of_the_baseline_is_shown_eight(name: str, tmp_path: Path) -> None:
    benchmark(name)
    config = Config(benchmark=name, seed=42, execution="builtin/copier", held_out=5)
    report = baseline("few_shot_cot", config, runs_dir=tmp_path, data_dir=DATA, runtime=Runtime(workers=1), questions=1)
    assert (report.shots, report.total) == (SHOTS, 1)


def test_an_anchor_is_no_example_and_the_next_one_takes_its_place() -> None:
    names = list(rationales("webqa"))
    questions = {each: question(each, f"which {each}?") for each in names}
    shown = worked("webqa", questions, [each for each in reversed(names) if each != names[1]])
    assert [shot.question_id for shot in shown] == [names[0], *names[2 : SHOTS + 1]]
    assert {shot.answer for shot in shown} == {""}


def test_a_variant_of_a_benchmark_has_its_examples_without_the_end_that_a_question_breaks_off_with() -> None:
    name = next(iter(rationales("stbench")))
    broken = Question(
        id=name, benchmark="x", split="evolution", task_type="t", question="Where? Answer: (", gold="1",
        stub=" Answer: (",
    )  # fmt: skip
    (shot,) = worked("stbench-merged", {name: broken}, [name])
    assert shot.question == "Where?"


def test_a_question_is_found_by_the_hash_of_its_text_where_its_file_numbers_it_differently() -> None:
    texts = {question_hash(normalise("What is 2 + 2?")): "It is 4.", "row-7": "Five.", "row-8": "Not here."}
    questions = {"row-9": question("row-9", "  WHAT is 2 + 2\n"), "row-7": question("row-7", "2 + 3?")}
    assert matched(texts, questions, ["row-7", "row-9"]) == [("row-9", "It is 4."), ("row-7", "Five.")]


def test_a_trajectory_opens_pages_whose_titles_hold_a_colon() -> None:
    asked = Question(
        id="q", benchmark="hotpotqa", split="evolution", task_type="bridge", question="Which?", gold="2017",
        context="[1] Alien: Covenant: It is of 2017.\n[2] Up: It is not.",
        titles=("Alien: Covenant", "Up"),
        meta={"supporting_facts": '[["Alien: Covenant", 0]]'},
    )  # fmt: skip
    (shot,) = looked_up({"q": asked}, ["q"])
    assert "Action 1: Search[Alien: Covenant]\nObservation 1: It is of 2017.\n" in shot.reasoning


def test_a_benchmark_without_written_ones_takes_the_first_that_bring_a_solution() -> None:
    questions = {str(n): question(str(n), f"{n}?", solution="" if n % 2 else f"It is {n}.") for n in range(40)}
    shown = worked("own", questions, [str(n) for n in range(40)])
    assert [shot.question_id for shot in shown] == [str(2 * n) for n in range(SHOTS)]
    assert shown[1] == ("2", "2?", "It is 2.", "4")


def words_in_a_row(text: str) -> list[str]:
    """Return every run of eight words of a text."""
    words = normalise(text).split()
    return [" ".join(words[at : at + 8]) for at in range(len(words) - 7)]
