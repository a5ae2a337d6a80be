"""Wrong answers that a judge is asked about, too: which benchmarks', which answers, and what a run makes of it."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.bench.dataset import Dataset, Definition
from mage_es.engine.bench.gsm8k import GSM8K
from mage_es.engine.bench.hotpotqa.benchmark import FULLWIKI, HOTPOTQA, LEVELS
from mage_es.engine.bench.medqa import MEDQA
from mage_es.engine.bench.realmath.benchmark import REALMATH
from mage_es.engine.bench.stbench.benchmark import EXTENDED, MERGED, STBENCH
from mage_es.engine.bench.webqa.benchmark import WEBQA
from mage_es.engine.benchmarks.registry import open_benchmark
from mage_es.engine.config import Config
from mage_es.engine.courses import Ask, Course, Finish, advance, begin
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.providers.estimate import estimate
from mage_es.engine.rules.benefit import LOOK, MORE
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.seams.benchmark import Benchmark, Verdict
from mage_es.engine.seams.model import Model
from mage_es.engine.session.call import MOST_REPAIRS
from mage_es.engine.session.judge import judged
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import examine
from mage_es.engine.viewing.show import show
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, ModelCalled
from mage_es.projections.fold import fold
from tests.engine.providers.provider import Provider, provider
from tests.kit.models import Saying

pytestmark = pytest.mark.slow

RIGHT, WRONG = '{"score": 1, "reason": "the same", "is_correct": true}', '{"score": 0, "reason": "another"}'
HOTPOT = {
    "_id": "a", "question": "Who wrote it?", "answer": "Mark Twain", "type": "bridge", "level": "hard",
    "supporting_facts": [["It", 0]], "context": [["It", ["A book."]]],
}  # fmt: skip
GSM = {"question": "How many are 5 and 7?", "answer": "5 + 7 = <<5+7=12>>12.\n#### 12"}
WEB = {"question": "who wrote it?", "answers": ["Mark Twain"]}
LISTED = {"Question": "Which? Options: (1) road 4, (2) road 3.\nAnswer: Option (", "Answer": 2}
FOLLOWING = {"Question": "Answer: The longitude and latitude of the next point is", "Answer": "(108.92, 34.25)"}
OPTION, POINT = "poi_category_recognition.jsonl", "trajectory_prediction.jsonl"


def opened(definition: Definition, folder: Path, record: object, name: str = "test.json") -> Dataset:
    (folder / name).write_text(json.dumps([record]))
    return Dataset(definition, None, file=folder / name)


def answered(reply: str) -> Course:
    """A course that comes to a reply at once."""
    return Finish(reply)
    yield


def put(benchmark: Benchmark, reply: str, says: str, *, has_judge: bool = True) -> tuple[int, Verdict]:
    """Have the only question of a benchmark answered and judged; return how often the judge was asked, and the end."""
    (question,) = benchmark.questions("test")
    asked, move = 0, begin(course := judged(answered(reply), question, benchmark=benchmark, has_judge=has_judge))
    while isinstance(move, Ask):
        asked += 1
        move = advance(course, called(move, says))
    assert isinstance(move, Finish) and move.verdict is not None
    return asked, move.verdict


def called(move: Ask, text: str) -> ModelCalled:
    return ModelCalled(
        iteration=0, tier=move.tier, agent=move.agent, purpose=move.purpose, about=move.about, attempt=move.attempt,
        request_sha256=move.request.sha256, model="some/judge", text=text, stop_reason="end", input_tokens=1,
        output_tokens=1,
    )  # fmt: skip


CROSS_CHECKED = [
    (GSM8K, GSM, "test.json", "Answer: twelve", "Answer: 12"),
    (HOTPOTQA, HOTPOT, "test.json", "Answer: Samuel Clemens", "Answer: Mark Twain"),
    (LEVELS, HOTPOT, "test.json", "Answer: Samuel Clemens", "Answer: Mark Twain"),
    (FULLWIKI, HOTPOT, "test.json", "Answer: Samuel Clemens", "Answer: Mark Twain"),
    (WEBQA, WEB, "test.json", "Answer: Samuel Clemens", "Answer: Mark Twain"),
    (STBENCH, LISTED, OPTION, "Answer: the latter", "Answer: (2)"),
    (STBENCH, LISTED, OPTION, "Answer: (1)", "Answer: (2)"),
    (MERGED, LISTED, OPTION, "Answer: the latter", "Answer: (2)"),
    (EXTENDED, LISTED, OPTION, "Answer: the latter", "Answer: (2)"),
]


@pytest.mark.paper("section 4, semantic judge")
@pytest.mark.parametrize(("definition", "record", "name", "wrong", "right"), CROSS_CHECKED)
def test_a_judge_is_asked_about_what_the_rule_holds_wrong_and_about_nothing_that_it_holds_right(
    tmp_path: Path, definition: Definition, record: object, name: str, wrong: str, right: str
) -> None:
    benchmark = opened(definition, tmp_path, record, name)
    asked, verdict = put(benchmark, wrong, RIGHT)
    assert (asked, verdict.correct, verdict.by) == (1, True, "some/judge")
    assert put(benchmark, wrong, WRONG)[1].score == 0.0
    asked, verdict = put(benchmark, right, WRONG)
    assert (asked, verdict.correct, verdict.by) == (0, True, "rule")


@pytest.mark.paper("section 4, RealMath, the judge")
def test_what_realmaths_rule_holds_wrong_goes_to_its_strict_judge(tmp_path: Path) -> None:
    record = {"id": "1", "question": "How many?", "answer": "$n+2$"}
    mathematics = opened(REALMATH, tmp_path, record, "Math_arXiv.json")
    for says, is_right in (("true", True), ("false", False)):
        asked, verdict = put(mathematics, "$n+3$", f'{{"is_correct": {says}, "explanation": ""}}')
        assert (asked, verdict.correct, verdict.by) == (1, is_right, "some/judge")
    assert put(mathematics, "$2+n$", "")[0] == 0


@pytest.mark.paper("section 4, semantic judge")
@pytest.mark.parametrize(("definition", "record", "name", "wrong", "right"), CROSS_CHECKED)
def test_without_a_judge_or_a_reply_of_it_that_can_be_used_the_rules_verdict_stands(
    tmp_path: Path, definition: Definition, record: object, name: str, wrong: str, right: str
) -> None:
    benchmark = opened(definition, tmp_path, record, name)
    ruled = benchmark.score(benchmark.questions("test")[0], wrong)
    assert not ruled.undecided and ruled.by == "rule"
    assert put(benchmark, wrong, RIGHT, has_judge=False) == (0, ruled)
    assert put(benchmark, wrong, "Yes!") == (1 + MOST_REPAIRS, ruled)


@pytest.mark.parametrize("reply", ["", "Answer:", "<think>and so on"])
def test_nobody_is_asked_about_no_answer(tmp_path: Path, reply: str) -> None:
    asked, verdict = put(opened(HOTPOTQA, tmp_path, HOTPOT), reply, RIGHT)
    assert (asked, verdict.correct, verdict.by) == (0, False, "rule")


def test_the_score_of_a_benchmark_with_a_rule_of_its_own_or_with_measured_numbers_is_not_cross_checked(
    tmp_path: Path,
) -> None:
    choice = {
        "question": "Which?", "answer": "Fever", "options": {"A": "Fever", "B": "Cough"}, "answer_idx": "A",
        "meta_info": "step1",
    }  # fmt: skip
    medicine = opened(MEDQA, tmp_path, choice, "choice.json")
    points = opened(STBENCH, tmp_path, FOLLOWING, POINT)
    for benchmark, reply in ((medicine, "Answer: B"), (points, "Answer: (108.5, 34.0)")):
        asked, verdict = put(benchmark, reply, RIGHT)
        assert (asked, verdict.correct, verdict.by) == (0, False, "rule"), benchmark.name


def test_what_upstreams_parser_says_stands_beside_a_judges_verdict(tmp_path: Path) -> None:
    benchmark = opened(STBENCH, tmp_path, LISTED, OPTION)
    reply = "2 roads there are. Answer: (1)"
    assert benchmark.score(benchmark.questions("test")[0], reply).strict
    _, verdict = put(benchmark, reply, WRONG)
    assert (verdict.strict, verdict.correct, verdict.by) == (True, False, "some/judge")


SUM = Config(benchmark="gsm8k", seed=7, iterations=1, pool=24, held_out=12, anchors=12)


def wordy() -> Saying:
    """Return a learner that gives the right number to every other question, and the same in a word to the others."""
    return Saying("test/wordy", lambda request: "#### 12" if len(request.prompt) % 2 else "Answer: twelve")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A data folder with word problems whose answers are all said to be twelve."""
    folder, problems = tmp_path / "data" / "gsm8k", open_benchmark("wordmath", seed=7, data_dir=None)
    folder.mkdir(parents=True)
    for split, file in (("evolution", "train"), ("test", "test")):
        rows = [{"question": q.question, "answer": "#### 12"} for q in problems.questions(split)[:150]]
        (folder / f"{file}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "data"


@pytest.fixture
def judging() -> Iterator[Provider]:
    with provider(answer=lambda body: RIGHT) as state:
        yield state


def evolved(folder: Path, data: Path, judge: Model | None, *, batches: bool = False) -> Run:
    models = Models(wordy(), open_model("builtin/reference", "guidance"), judge)
    runtime = Runtime(workers=4, batches=batches)
    evolve(SUM, runs_dir=folder, data_dir=data, runtime=runtime, run_id="r", models=models)
    return find_run(folder, "r")


@pytest.mark.paper("section 4, semantic judge")
def test_a_run_puts_every_wrong_answer_to_its_judge_in_a_batch_for_each_phase_or_part_of_it_or_one_by_one(
    tmp_path: Path, data: Path, judging: Provider
) -> None:
    judge = open_model(f"anthropic/judge?base_url={judging.anthropic_url}", "judge")
    alone, together = (evolved(tmp_path / str(batches), data, judge, batches=batches) for batches in (False, True))
    assert fold(LogReader(alone.log_path)).digests() == fold(LogReader(together.log_path)).digests()
    records = list(LogReader(together.log_path).records())
    asked = [r for r in records if isinstance(r.event, ModelCalled) and r.event.tier == "judge"]
    answers = [r.event for r in records if isinstance(r.event, AnswerJudged)]
    assert Counter(e.judge for e in answers if e.answer == "twelve") == {judge.name: len(asked)}
    assert asked and all(answer.correct for answer in answers)
    # What the gate asks again may be answered as before: that the judge has answered, in an earlier batch.
    first = {(r.iteration, r.event.about, r.event.request_sha256): r.phase for r in reversed(asked)}
    start, evaluate, anchors, *parts = judging.batch_sizes
    sent = Counter((iteration, first[iteration, about, sha]) for iteration, about, sha in first)
    assert [start, evaluate, anchors] == [sent[-1, "snapshot"], sent[0, "evaluate"], sent[0, "snapshot"]]
    # What is asked once more, a part at a time: each decides whether there is another.
    assert sum(parts) == sent[0, "open"] and len(parts) <= -(-MORE // LOOK)


def test_an_exam_and_an_inspected_question_say_who_decided(tmp_path: Path, data: Path, judging: Provider) -> None:
    judge = open_model(f"anthropic/judge?base_url={judging.anthropic_url}", "judge")
    run = evolved(tmp_path, data, judge)
    report = examine(
        run, at="latest", questions=None, control="none", data_dir=data, runtime=Runtime(workers=4),
        execution=wordy(), judge=judge,
    )  # fmt: skip
    assert report.judge_calls > 0 and report.correct == report.total and report.undecided == {}
    events = list(LogReader(run.log_path).of(AnswerJudged))
    [*_, word] = (e for e in events if e.answer == "twelve" and e.purpose == "again")  # `show` has its last asking
    shown = show(run, word.question_id, iteration=word.iteration, data_dir=data)
    assert (shown.judge, shown.correct, shown.prompt_verified) == (judge.name, True, True)
    assert [move.tier for move in shown.moves if hasattr(move, "tier")][-1] == "judge"


def test_without_a_judge_a_run_decides_every_answer_by_the_rule(tmp_path: Path, data: Path) -> None:
    events = [record.event for record in LogReader(evolved(tmp_path, data, None).log_path).records()]
    answers = Counter((e.answer, e.correct, e.judge) for e in events if isinstance(e, AnswerJudged))
    assert set(answers) == {("twelve", False, "rule"), ("12", True, "rule")}


def test_a_dry_run_tells_the_judges_calls_about_wrong_answers(tmp_path: Path, data: Path) -> None:
    told = estimate(msgspec.structs.replace(SUM, judge="openai/judge"), data_dir=data, workers=4, prices=Prices())
    calls = next(tier.calls for tier in told.tiers if tier.tier == "judge")
    evolve(
        SUM, runs_dir=tmp_path, data_dir=data, runtime=Runtime(workers=4), run_id="alone",
        models=Models(open_model("builtin/analogist", "execution"), open_model("builtin/reference", "guidance")),
    )  # fmt: skip
    events = list(LogReader(find_run(tmp_path, "alone").log_path).of(AnswerJudged))
    wrong = [event for event in events if not event.correct and event.answer]
    assert calls.expected == len(wrong) and wrong
    assert calls.high > calls.expected
