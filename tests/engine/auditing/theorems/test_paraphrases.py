"""A question that was learned from and is a guarded one in other words leaves a doubt, where shingles are blind."""

from pathlib import Path

from mage_es.engine.auditing.theorems.paraphrases import check_paraphrases, paraphrases, without_fifths
from mage_es.engine.auditing.theorems.recount import CheckBasis
from mage_es.engine.auditing.theorems.verdicts import basis_of
from mage_es.engine.auditing.verify import verify
from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.config import Config
from mage_es.engine.embedders.hash import HashEmbedder
from mage_es.engine.rules.near_duplicates import shingle_run
from mage_es.engine.run.directory import Run
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.benchmark import Question
from mage_es.engine.verbs.evolve import evolve
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import QuestionPlanned
from tests.engine.run.test_questions import rows, write

GUARDED = "Which of the two bridges over the river was built by the monks before the great flood of the valley?"
REWORDED = "Which of two bridges over the river was built by the monks before the flood in the valley?"


def question(name: str, text: str) -> Question:
    return Question(id=name, benchmark="own", split="evolution", task_type="", question=text, gold="")


def near(learned: str, *guarded: str) -> tuple[list[str], int]:
    asked = [question(f"guarded-{place}", text) for place, text in enumerate(guarded)]
    found = paraphrases([question("learned", learned)], asked, HashEmbedder().encode)
    return [pair.guarded for pair in found.pairs], found.blurred


def test_every_question_without_each_fifth_word_is_found_and_no_shingle_of_it_is_left() -> None:
    guarded = [each for each in open_benchmark("wordmath", seed=7).questions("test")]
    for each in guarded[:40]:
        for first in range(5):
            left = without_fifths(each.question, first)
            assert not {*shingle_run(left)} & {*shingle_run(each.question)}
            assert near(left, each.question) == (["guarded-0"], 0), left


def test_a_question_in_other_words_is_found_and_another_question_is_not() -> None:
    assert near(REWORDED, GUARDED) == (["guarded-0"], 0)
    assert near("Which of the two mills on the river was burnt by soldiers after the siege?", GUARDED) == ([], 0)
    assert near("...", GUARDED, "?") == ([], 0)
    assert near("fish", "red fish") == ([], 0)


def test_other_numbers_ask_for_another_answer_and_numbers_in_words_do_not() -> None:
    asked = "A farmer packs 12 eggs into each of 7 boxes. How many eggs does he pack into all of his boxes?"
    assert near(asked.replace("12", "15"), asked) == ([], 0)
    assert near(asked.replace("12", "7"), asked) == ([], 0)
    assert near(asked.replace("7", "seven"), asked) == (["guarded-0"], 0)
    assert near(asked.replace("12", "1,200"), asked.replace("12", "1200")) == (["guarded-0"], 0)


def test_guarded_questions_that_the_embedder_cannot_tell_apart_are_counted_and_not_compared() -> None:
    other = GUARDED.replace("bridges", "towers")
    assert near(REWORDED, GUARDED, other) == ([], 2)


def test_a_run_that_learned_from_a_paraphrase_of_a_held_out_question_leaves_a_doubt(tmp_path: Path) -> None:
    tasks = [{**row, "id": f"row-{place}"} for place, row in enumerate(rows())]
    tasks += [{"id": "held-out", "question": GUARDED, "answer": "the old one", "split": "test"}]
    tasks += [{"id": "reworded", "question": REWORDED, "answer": "the old one"}]
    file = write(tmp_path / "own.jsonl", tasks)
    config = Config(
        benchmark=f"tasks/{file}?scorer=exact", execution="builtin/analogist", seed=7, iterations=1, pool=60, anchors=4
    )
    evolve(config, runs_dir=tmp_path / "runs", runtime=Runtime(workers=2), run_id="own")
    report = verify(tmp_path / "runs" / "own")
    [check] = [each for each in report.checks if each.name == "paraphrases"]
    assert report.ok and check.result == "doubt" and check.measured == "1 pairs"
    assert "nearest: reworded to held-out: 0." in check.detail and "guarded ones, by hash" in check.detail


def test_a_paraphrase_that_another_run_learned_leaves_a_doubt(tmp_path: Path) -> None:
    def learned(name: str, pool: int, *more: dict[str, str], **how: Run) -> Run:
        file = write(tmp_path / f"{name}.jsonl", [*({**row, "id": f"row-{n}"} for n, row in enumerate(rows())), *more])
        spec, runs = f"tasks/{file}?scorer=exact", tmp_path / "runs"
        config = Config(benchmark=spec, execution="builtin/analogist", seed=7, iterations=1, pool=pool, anchors=4)
        evolve(config, runs_dir=runs, runtime=Runtime(workers=2), run_id=name, **how)
        return Run(name, runs / name)

    first = learned("first", 60, {"id": "reworded", "question": REWORDED, "answer": "the old one"})
    held_out = {"id": "held-out", "question": GUARDED, "answer": "the old one", "split": "test"}
    then = learned("then", 2, held_out, from_run=first)
    assert "reworded" not in {plan.question_id for plan in LogReader(then.log_path).of(QuestionPlanned)}
    [check] = [each for each in verify(then).checks if each.name == "paraphrases"]
    assert check.result == "doubt" and "nearest: reworded to held-out: 0." in check.detail


def test_a_sound_run_leaves_none_and_what_must_be_paid_for_is_not_compared(small_run: Run) -> None:
    reader = LogReader(small_run.log_path)
    basis = basis_of(reader, data_dir=None, benchmark=None)
    check = check_paraphrases(reader, basis)
    assert (check.result, check.measured) == ("ok", "0 pairs") and "32 guarded ones" in check.detail
    assert basis.world
    basis.world.embedder.name = "openai/some-model?base_url=http://localhost:1"  # type: ignore[misc]
    assert check_paraphrases(reader, basis).detail.startswith("unchecked: the vectors of openai/some-model")
    assert check_paraphrases(reader, CheckBasis(None, "gone")).detail == "unchecked: gone"
