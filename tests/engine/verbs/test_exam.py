"""An exam reads a frozen state, writes nothing into the run, and calls no guidance model."""

import asyncio
import hashlib
import shutil
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

from mage_es.engine.auditing.repair import repair
from mage_es.engine.auditing.theorems.inference import check_inference
from mage_es.engine.auditing.verify import verify
from mage_es.engine.config import Config
from mage_es.engine.models.registry import open_model
from mage_es.engine.rules.splits import recorded_splits
from mage_es.engine.run.budget import UNLIMITED, Limits
from mage_es.engine.run.directory import Run, clock, find_run
from mage_es.engine.run.exams import exam_records, sign_test
from mage_es.engine.run.pricing import Prices
from mage_es.engine.run.questions import stored_questions
from mage_es.engine.run.runtime import ProgressNote, Runtime
from mage_es.engine.seams.faults import Fault, ModelFault
from mage_es.engine.seams.model import Completion, Request
from mage_es.engine.study.baseline import baseline
from mage_es.engine.study.reporting.recorded import RecordedRun
from mage_es.engine.study.reporting.study import open_study
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.verbs.exam import aexamine, examine
from mage_es.engine.verbs.exam_report import ExamReport
from mage_es.engine.verbs.replay import replay
from mage_es.engine.viewing.card import card_of
from mage_es.engine.viewing.chunks import Viewed
from mage_es.engine.viewing.show import show
from mage_es.events import vocabulary as v
from mage_es.events.disk import LocalFileSystem
from mage_es.events.errors import BudgetReached, Interrupted, RunLocked, UsageError
from mage_es.events.log import Log, LogReader
from mage_es.projections.fold import fold
from tests.engine.conftest import SMALL, begin
from tests.engine.copier import Copier, guided
from tests.engine.viewing.test_chunks import table
from tests.kit.models import Saying

pytestmark = pytest.mark.slow


def exam(run: Run, at: str = "latest", questions: int | None = None, control: str = "none") -> ExamReport:
    return examine(run, at=at, questions=questions, control=control, data_dir=None, runtime=Runtime(workers=4))


def exams_hold(run: Run) -> bool:
    """Return whether the checks of a run's exams pass, without all the others of a verification."""
    return all(check.ok for check in check_inference(run, LogReader(run.log_path)))


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def unexamined(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run without bandits, so that every question takes one call. Shared: only copy it."""
    return begin(tmp_path_factory.mktemp("plain"), msgspec.structs.replace(SMALL, bandits=False))


@pytest.fixture(scope="module")
def plain_run(unexamined: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    return Run(unexamined.id, shutil.copytree(unexamined.path, tmp_path_factory.mktemp("plain") / "run"))


@pytest.mark.paper("section 3.2, frozen inference")
def test_the_runs_log_gains_that_the_exam_was_opened_and_how_it_ended_and_nothing_else(examined: Run) -> None:
    before, digests = list(LogReader(examined.log_path).records()), replay(examined).checks
    report = sit(examined, Counting())
    reader = LogReader(examined.log_path)
    records = [record for record in reader.records() if not isinstance(record.event, v.SegmentSealed)]
    assert records[:-2] == [record for record in before if not isinstance(record.event, v.SegmentSealed)]
    opened, closed = (record.event for record in records[-2:])
    assert isinstance(opened, v.ExamOpened) and isinstance(closed, v.ExamClosed)
    assert (opened.exam, opened.control, opened.execution) == (report.exam_id, "none", "builtin/analogist")
    assert (closed.correct, closed.total, closed.unanswered) == (report.correct, 20, 0)
    assert (closed.head_seq, closed.head_chain) == LogReader(examined.exams_path / report.exam_id / "log").head
    assert replay(examined).checks == digests


@pytest.mark.paper("agents, Learner")
def test_an_exam_calls_the_execution_model_once_a_question_and_guidance_never(plain_run: Run) -> None:
    report = exam(plain_run)
    log = LogReader(plain_run.exams_path / report.exam_id / "log")
    assert [record.event.tier for record in log.records({v.ModelCalled})] == ["execution"] * 20
    assert (report.execution_calls, report.guidance_calls, report.total) == (20, 0, 20)


def test_an_exam_asks_exactly_the_committed_held_out_questions(small_run: Run) -> None:
    report = exam(small_run, questions=20)
    committed = list(LogReader(small_run.log_path).of(v.SplitCommitted))
    held_out = next(split for split in committed if split.split == "held_out")
    asked = "\n".join(name for name, _ in report.answers)
    assert hashlib.sha256(asked.encode()).hexdigest() == held_out.ids_sha256


def test_the_exam_before_uses_no_memory_and_the_same_questions_as_the_exam_after(small_run: Run) -> None:
    before, after = exam(small_run, at="start"), exam(small_run)
    plans = LogReader(small_run.exams_path / before.exam_id / "log").records({v.QuestionPlanned})
    assert all(record.event.memories == () for record in plans)
    assert [name for name, _ in before.answers] == [name for name, _ in after.answers]


def test_frozen_arms_are_chosen_with_certainty(small_run: Run) -> None:
    report = exam(small_run)
    plans = LogReader(small_run.exams_path / report.exam_id / "log").records({v.QuestionPlanned})
    assert {record.event.search_probability for record in plans} == {1.0}


def test_the_same_exam_again_asks_nothing_writes_nothing_and_says_so(examined: Run) -> None:
    first, again = sit(examined, Counting()), Counting()
    before = contents(examined.path)
    second = sit(examined, again)
    assert (first.repeated, second.repeated, again.asked) == (False, True, [])
    assert msgspec.structs.replace(second, repeated=False, seconds=first.seconds) == first
    assert contents(examined.path) == before


def test_unseen_phrasings_are_reported_apart(small_run: Run) -> None:
    report = exam(small_run)
    assert report.familiar and report.unfamiliar
    assert report.familiar.total + report.unfamiliar.total == report.total
    assert report.familiar.correct + report.unfamiliar.correct == report.correct


def test_the_shuffled_control_hands_every_question_memories_of_another_type(small_run: Run) -> None:
    report = exam(small_run, control="shuffled")
    memory = fold(LogReader(small_run.log_path)).memory
    plans = list(LogReader(small_run.exams_path / report.exam_id / "log").of(v.QuestionPlanned))
    handed = [(plan.task_type, memory.row(hit.memory_id).task_type) for plan in plans for hit in plan.memories]
    assert handed
    assert all(own != other for own, other in handed)


def test_a_model_handed_in_takes_the_place_of_the_configured_one(small_run: Run) -> None:
    report = examine(
        small_run,
        at="latest",
        questions=4,
        control="none",
        data_dir=None,
        runtime=Runtime(workers=2),
        execution=Saying("scripted/stubborn", "#### -1"),
    )
    calls = LogReader(small_run.exams_path / report.exam_id / "log").records({v.ModelCalled})
    assert {record.event.model for record in calls} == {"scripted/stubborn"}
    assert report.correct == 0


def test_more_questions_than_are_held_out_are_refused(small_run: Run) -> None:
    with pytest.raises(UsageError, match=r"holds out 20 questions, so an exam cannot have 21\. Choose 1 to 20"):
        exam(small_run, questions=21)


def test_a_moment_before_the_ontology_cannot_be_examined_and_leaves_no_folder(small_run: Run) -> None:
    before = sorted(small_run.exams_path.glob("*"))
    with pytest.raises(UsageError, match="At seq:3 the run had no skills"):
        exam(small_run, at="seq:3")
    assert sorted(small_run.exams_path.glob("*")) == before


def test_an_unknown_control_lists_the_near_match(small_run: Run) -> None:
    with pytest.raises(UsageError, match=r"'shufled'\. Did you mean shuffled"):
        exam(small_run, control="shufled")


def test_progress_is_told_to_the_observer(small_run: Run) -> None:
    notes: list[ProgressNote] = []
    examine(
        small_run,
        at="start",
        questions=5,
        control="none",
        data_dir=None,
        runtime=Runtime(workers=2, observer=notes.append),
    )
    assert (notes[-1].done, notes[-1].total, notes[-1].phase) == (5, 5, "exam")
    assert (notes[-1].execution_calls, notes[-1].guidance_calls) == (5, 0)


class Counting:
    """The analogist, counted; it stops whoever asks it after so many calls."""

    name = "builtin/analogist"

    def __init__(self, most: int = 10**9) -> None:
        self._model = open_model("builtin/analogist", "execution")
        self.asked: list[str] = []
        self._most = most

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request.sha256)
        return await self._model.complete(request)

    def is_enough(self) -> bool:
        return len(self.asked) >= self._most


def sit(run: Run, model: Counting, *, control: str = "none", limits: Limits = UNLIMITED) -> ExamReport:
    return examine(
        run,
        at="latest",
        questions=20,
        control=control,
        data_dir=None,
        runtime=Runtime(workers=1, stop=model.is_enough, limits=limits),
        execution=model,
    )


@pytest.fixture
def examined(unexamined: Run, tmp_path: Path) -> Run:
    """A run to examine."""
    return Run(unexamined.id, shutil.copytree(unexamined.path, tmp_path / "run"))


@pytest.mark.paper("section 4.1, exam")
def test_an_exam_that_was_stopped_goes_on_without_asking_anything_again(examined: Run, plain_run: Run) -> None:
    first, second = Counting(7), Counting()
    with pytest.raises(Interrupted, match="Run the same command again"):
        sit(examined, first)
    report = sit(examined, second)
    assert (len(first.asked), len(second.asked)) == (7, 13)
    assert not set(first.asked) & set(second.asked)
    assert [path.name for path in examined.exams_path.iterdir()] == [report.exam_id]
    assert report.answers == exam(plain_run).answers
    assert (report.execution_calls, report.total) == (20, 20)
    assert exams_hold(examined)


def test_the_budget_of_an_exam_is_one_for_all_its_sessions(examined: Run) -> None:
    for _ in range(2):
        with pytest.raises(BudgetReached, match="9 calls"):
            sit(examined, Counting(), limits=Limits(max_calls=9))
    again = Counting()
    assert sit(examined, again, limits=Limits(max_calls=20)).total == 20
    assert len(again.asked) == 11


@pytest.mark.paper("section 4.1, exam")
def test_another_control_number_of_questions_state_or_model_is_an_exam_of_its_own(examined: Run) -> None:
    class Other(Counting):
        name = "builtin/other"

    with pytest.raises(Interrupted):
        sit(examined, Counting(5))
    control, fewer, earlier, other = Counting(), Counting(), Counting(), Other()
    sit(examined, control, control="shuffled")
    examine(examined, questions=10, execution=fewer)
    examine(examined, at="start", execution=earlier)
    sit(examined, other)
    assert [len(model.asked) for model in (control, fewer, earlier, other)] == [20, 10, 20, 20]
    names = ["0001-latest", "0002-latest-shuffled", "0003-latest", "0004-start", "0005-latest"]
    assert [record.opened.exam for record in exam_records(LogReader(examined.log_path))] == names


def test_exams_that_a_process_is_asked_for_at_once_are_taken_one_after_the_other_and_said_to_wait(
    examined: Run,
) -> None:
    said, models = list[str](), {at: Counting() for at in ("start", "iter-0", "latest")}
    runtime = Runtime(workers=1, observer=lambda note: said.append(note.message))

    async def together() -> list[ExamReport]:
        asked = [*models.items(), ("latest", models["latest"])]
        return await asyncio.gather(
            *(aexamine(examined, at=at, questions=6, runtime=runtime, execution=model) for at, model in asked)
        )

    *reports, twin = asyncio.run(together())
    assert sorted(report.exam_id[:4] for report in reports) == ["0001", "0002", "0003"]
    assert [report.exam_id[5:] for report in reports] == ["start", "iter-0", "latest"]
    assert (twin.exam_id, twin.correct) == (reports[2].exam_id, reports[2].correct), "the third and it are one exam"
    assert sum(len(model.asked) for model in models.values()) == 18
    waiting = f"Waiting for another exam of {examined.id} to end."
    assert said.count(waiting) == 3
    assert exams_hold(examined)


def test_while_a_process_writes_the_run_it_cannot_be_examined_and_nothing_is_lost(examined: Run) -> None:
    with pytest.raises(Interrupted):
        sit(examined, Counting(5))
    before = contents(examined.exams_path)
    with (
        Log.open(examined.log_path, clock=clock),
        pytest.raises(RunLocked, match=r"this process \(pid \d+, .* is already writing"),
    ):
        sit(examined, Counting())
    assert contents(examined.exams_path) == before
    rest = Counting()
    assert (sit(examined, rest).total, len(rest.asked)) == (20, 15)


def test_a_kill_at_any_step_costs_no_answer_and_no_number(examined: Run, tmp_path: Path) -> None:
    log, own = examined.log_path, examined.exams_path / "0001-latest" / "log"
    pristine = shutil.copytree(log, tmp_path / "pristine")
    Log.create(own, run="plain/0001-latest", clock=clock).close()  # killed before the run's log knew of it
    with pytest.raises(Interrupted):
        sit(examined, Counting(7))
    opened = shutil.copytree(log, tmp_path / "opened")
    first = sit(examined, Counting())
    shutil.rmtree(log)
    shutil.copytree(opened, log)  # killed before the run's log knew the result
    again = Counting()
    second = sit(examined, again)
    assert (second.answers, again.asked, second.exam_id) == (first.answers, [], "0001-latest")
    assert exams_hold(examined)
    for path, before in ((log, opened), (own, None)):  # killed before the exam's own log said what it is
        shutil.rmtree(path)
        if before:
            shutil.copytree(before, path)
    Log.create(own, run="plain/0001-latest", clock=clock).close()
    whole = Counting()
    assert (sit(examined, whole).exam_id, len(whole.asked)) == ("0001-latest", 20)
    assert verify(examined).ok
    assert exam_records(LogReader(pristine)) == []


def test_an_exam_cut_off_before_its_plan_is_gone_on_with(examined: Run) -> None:
    from mage_es.engine.verbs import exam

    class Dying(Exception):
        pass

    def die(*arguments: object) -> None:
        raise Dying

    with pytest.MonkeyPatch.context() as patched, pytest.raises(Dying):
        patched.setattr(exam, "exam_plan", die)
        sit(examined, Counting())
    assert sit(examined, Counting()).total == 20
    assert len(list(examined.exams_path.iterdir())) == 1


def test_what_an_exam_leaves_that_was_killed_before_it_had_a_log_stands_in_no_way(examined: Run) -> None:
    (examined.exams_path / "0001-latest" / "log" / "wal").mkdir(parents=True)
    report = sit(examined, Counting())
    assert (report.exam_id, report.total) == ("0001-latest", 20)
    assert exams_hold(examined)
    assert show(examined, report.answers[0][0], iteration=None, data_dir=None).prompt_verified
    assert [sat.name for sat in RecordedRun(examined).exams] == ["0001-latest"]


def test_an_exam_whose_folder_was_deleted_is_taken_again_under_a_new_number_and_stays_missing(examined: Run) -> None:
    sit(examined, Counting())
    shutil.rmtree(examined.exams_path / "0001-latest")
    assert sit(examined, Counting()).exam_id == "0002-latest"
    checks = check_inference(examined, LogReader(examined.log_path))
    assert [check.name for check in checks if not check.ok] == ["exam 0001-latest"]


def test_an_exam_tells_the_difference_to_that_of_the_start_on_the_same_questions(examined: Run) -> None:
    before = examine(examined, at="start", questions=15)
    after = examine(examined)
    then, now = dict(before.answers), dict(after.answers)
    assert before.before is None and after.before is not None
    told, common = after.before, sorted(then)
    won, lost = (sum(now[q] - then[q] == change for q in common) for change in (1, -1))
    assert (told.exam_id, told.correct, told.total, told.better, told.worse) == (
        *(before.exam_id, before.correct, 15),
        *(won, lost),
    )
    assert told.points == pytest.approx(100 * (won - lost) / 15)
    assert told.interval.low <= told.points <= told.interval.high
    assert told.interval.p == sign_test(won, lost)


def test_after_a_repair_below_an_exam_the_exam_is_named_does_not_count_and_keeps_its_number(examined: Run) -> None:
    examine(examined, at="start", questions=5)
    examine(examined, questions=5)
    newest = max((examined.log_path / "seg").iterdir())
    newest.write_bytes(b"\x00" * newest.stat().st_size)
    assert not verify(examined).ok
    repair(examined, confirmed=True)
    report = verify(examined)
    found = {check.name: check.detail for check in report.checks}
    assert report.ok and found["exam 0002-latest"].startswith("of a state that a repair removed")
    doubts = {check.name for check in report.checks if check.doubt}
    assert {"exam 0002-latest", "repairs"} <= doubts and "were cut out" in found["repairs"]
    states = {ground.claim: ground.state for ground in report.grounds}
    assert states["nothing was removed from the end or replaced"].startswith("NO: event ")
    assert "exam 0002-latest" in states["exams ask a frozen state, results are sums of verdicts"].partition("doubts")[2]
    assert [exam.exam for exam in report.exams] == [sat.name for sat in RecordedRun(examined).exams] == ["0001-start"]
    assert examine(examined, questions=5).exam_id == "0003-latest"
    shutil.rmtree(examined.exams_path / "0002-latest")
    report = verify(examined)
    found = {check.name: check.detail for check in report.checks}
    assert report.ok and found["exam 0002"].startswith("the repair at event")


def test_dollars_cannot_be_limited_for_an_exam_where_its_model_has_no_price(examined: Run) -> None:
    model = Counting()
    model.name = "openai/unheard-of"
    with pytest.raises(UsageError, match="The price of the execution model"):
        sit(examined, model, limits=Limits(max_usd=1.0))
    assert not examined.exams_path.exists()


SUBJECTS = {
    "billing": "invoice refund charge payment receipt card price tax fee discount bank cost total euro bill",
    "delivery": "parcel courier late address tracking van door neighbour box weight depot driver route customs",
    "other": "password login screen crash update manual button colour cable speaker battery remote menu signal",
}
LABELS = list(SUBJECTS)


@pytest.fixture(scope="module")
def labelled_once(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run on a plain list of messages with labels, all of one task type, whose words tell the label."""
    dice, folder = Random(2), tmp_path_factory.mktemp("labelled")
    tasks = [
        {"question": " ".join(dice.sample(words.split(), 6)), "answer": label}
        for _ in range(40)
        for label, words in SUBJECTS.items()
    ]
    config = Config(benchmark="messages", seed=1, iterations=2, pool=30, held_out=40, anchors=10)
    evolve(config, tasks=tasks, scorer="exact", runs_dir=folder, models=guided(Copier(LABELS)), run_id="labelled")
    return find_run(folder, "labelled")


@pytest.fixture
def labelled(labelled_once: Run, tmp_path: Path) -> Run:
    return Run(labelled_once.id, shutil.copytree(labelled_once.path, tmp_path / "run"))


def copied(run: Run, at: str = "latest", **options: Any) -> ExamReport:
    return examine(run, at=at, execution=Copier(LABELS), **options)


def plans_of(run: Run, report: ExamReport) -> list[v.QuestionPlanned]:
    return list(LogReader(run.exam(report.exam_id).log_path).of(v.QuestionPlanned))


def test_on_a_plain_task_file_both_controls_take_the_gain_away_and_every_prompt_keeps_its_number_of_memories(
    labelled: Run,
) -> None:
    before, after = copied(labelled, "start"), copied(labelled)
    assert after.before and after.before.interval.low > 20
    own = {plan.question_id: {hit.memory_id for hit in plan.memories} for plan in plans_of(labelled, after)}
    for control in ("shuffled", "permuted"):
        report = copied(labelled, control=control)
        assert report.beside and report.before
        assert (report.beside.exam_id, report.before.exam_id) == (after.exam_id, before.exam_id)
        assert report.beside.interval.high < -20, control
        assert report.before.interval.low <= 0, control
        assert control == "shuffled" or report.before.interval.high >= 0, "memories of unlike questions may mislead"
        assert (report.controlled, report.bare) == (report.total, 0)
        assert all(len(plan.memories) == len(own[plan.question_id]) for plan in plans_of(labelled, report))
        assert all(show(labelled, name).prompt_verified for name, _ in report.answers[:5])
    assert verify(labelled).ok


class OutOfOrder(Copier):
    """Refuses every second question."""

    refused = 0

    async def complete(self, request: Request) -> Completion:
        self.refused += 1
        if self.refused % 2:
            raise ModelFault(Fault("rejected", "not today", 422))
        return await super().complete(request)


def test_against_an_outage_at_the_start_nothing_is_gained(labelled: Run) -> None:
    start = examine(labelled, at="start", execution=OutOfOrder(LABELS), runtime=Runtime(workers=1))
    assert start.unanswered == {"rejected": 20} and start.total == 40
    lost = {each.question_id for each in LogReader(labelled.exam(start.exam_id).log_path).of(v.AnswerUnanswered)}
    after = copied(labelled)
    then, now = ({name: right for name, right in each.answers if name not in lost} for each in (start, after))
    assert after.before and (after.before.total, after.before.correct) == (20, sum(then.values()))
    points = 100 * (sum(now.values()) - sum(then.values())) / 20
    card, overview = card_of(labelled, Prices()), table(Viewed(labelled), "overview")[-1]
    for gain in (after.before.points, card["gain"], overview["gain"]):
        assert gain == pytest.approx(points)
    study = open_study(labelled.path.parent)
    told = study.over_start(study.places[0])
    assert told and told.mean == pytest.approx(points)


def test_a_start_examined_again_on_fewer_questions_is_not_what_a_gain_is_over(labelled: Run) -> None:
    first = copied(labelled, "start")
    copied(labelled, "start", questions=3)
    after = copied(labelled)
    assert after.before and (after.before.exam_id, after.before.total) == (first.exam_id, 40)


def test_shuffled_shows_what_a_question_would_not_have_got_and_permuted_what_it_would_have_with_other_answers(
    labelled: Run,
) -> None:
    plain, shuffled, permuted = (
        {plan.question_id: plan for plan in plans_of(labelled, copied(labelled, control=control))}
        for control in ("none", "shuffled", "permuted")
    )
    memory = fold(LogReader(labelled.log_path)).memory
    for name, plan in plain.items():
        own = [hit.memory_id for hit in plan.memories]
        assert shuffled[name].donor not in ("", name)
        assert not {hit.memory_id for hit in shuffled[name].memories} & set(own)
        assert [hit.memory_id for hit in permuted[name].memories] == own
        for hit in permuted[name].memories:
            shown, other = memory.row(hit.memory_id), memory.row(hit.answer_of)
            assert shown.question_id != other.question_id and shown.outcome == other.outcome
    name, plan = next((name, plan) for name, plan in permuted.items() if plan.memories)
    row, other = (memory.row(found) for found in (plan.memories[0].memory_id, plan.memories[0].answer_of))
    block = show(labelled, name).prompt.partition(row.question)[2].lstrip().partition("\n\n")[0]
    assert other.answer in block


def test_an_exam_of_labels_says_how_many_questions_the_commonest_one_answers(labelled: Run, plain_run: Run) -> None:
    questions, _ = stored_questions(LogReader(labelled.log_path), "messages")
    gold, report = {question.id: question.gold for question in questions}, copied(labelled)
    committed = LogReader(labelled.log_path).of(v.SplitCommitted)
    counts = Counter(gold[name] for name in recorded_splits(committed, questions).evolution)
    assert report.commonest
    answer, right = report.commonest
    assert counts[answer] == max(counts.values())
    assert right == [gold[name] for name, _ in report.answers].count(answer)
    assert exam(plain_run, questions=1).commonest is None, "its answers are numbers, none like another"


def test_a_label_in_several_spellings_is_one_commonest_answer(tmp_path: Path) -> None:
    spelt = ("Left", "left", " LEFT", "right", "left ", "Right")
    tasks = [{"question": f"Parcel {n * 37} weighs {n % 7}.", "answer": spelt[n % 6]} for n in range(120)]
    config = Config(benchmark="lots", execution="builtin/copier", pool=10, iterations=1, anchors=4, held_out=12)
    evolve(config, tasks=tasks, runs_dir=tmp_path, run_id="lots")
    report = examine(tmp_path / "lots", at="start")
    assert report.commonest
    gold = {question.id: question.gold for question in stored_questions(LogReader(tmp_path / "lots/log"), "lots")[0]}
    lefts = [name for name, _ in report.answers if gold[name].strip().casefold() == "left"]
    assert (report.commonest[0].casefold(), report.commonest[1]) == ("left", len(lefts))


def test_an_exam_of_one_question_has_nothing_to_shuffle(labelled: Run) -> None:
    with pytest.raises(UsageError, match="ask two or more"):
        copied(labelled, control="shuffled", questions=1)
    assert not labelled.exams_path.exists()


def test_a_control_without_the_exam_of_its_state_is_compared_with_the_start_alone(labelled: Run) -> None:
    copied(labelled, "start")
    alone = copied(labelled, control="permuted")
    assert alone.beside is None and alone.before and alone.before.exam_id == "0001-start"
    at_start = copied(labelled, "start", control="permuted")
    assert at_start.beside and at_start.beside.exam_id == "0001-start" and at_start.before is None
    assert (at_start.bare, at_start.controlled, at_start.beside.points) == (at_start.total, 0, 0.0)


def test_the_same_state_is_recognised_under_another_marker(labelled: Run) -> None:
    plain = copied(labelled, "iter-1")
    beside = copied(labelled, "latest", control="shuffled").beside
    assert beside and beside.exam_id == plain.exam_id


class Other(Copier):
    name = "scripted/other"


def test_another_learner_may_take_the_exam_and_is_compared_with_the_runs_own_and_counted_nowhere(labelled: Run) -> None:
    own = [copied(labelled, at) for at in ("start", "latest")]
    swapped = examine(labelled, execution=Other(LABELS))
    assert [record.opened.execution for record in exam_records(LogReader(labelled.log_path))] == [
        *(Copier.name, Copier.name),
        Other.name,
    ]
    assert swapped.execution == Other.name and swapped.before is None
    assert swapped.beside and (swapped.beside.exam_id, swapped.beside.execution) == (own[1].exam_id, Copier.name)
    recorded = RecordedRun(labelled)
    counting = recorded.counting("end")
    assert counting and counting.name == own[1].exam_id
    again = examine(labelled, at="start", execution=Other(LABELS))
    assert again.beside and again.beside.exam_id == own[0].exam_id and again.before is None
    after = examine(labelled, execution=Other(LABELS))
    assert after.repeated and after.before and after.before.exam_id == again.exam_id


def test_a_smaller_sample_of_held_out_questions_is_part_of_every_larger_one_and_a_baselines_own(
    labelled: Run, tmp_path: Path
) -> None:
    few, more, every = ({name for name, _ in copied(labelled, questions=n).answers} for n in (7, 15, None))
    assert few < more < every
    in_file_order = sorted(every, key=lambda name: int(name.removeprefix("row-")))
    assert few != set(in_file_order[:7]) and few != set(sorted(every)[:7]), "it is a sample, and not the first ones"
    config = Config(benchmark="wordmath", seed=7, iterations=2, pool=24, held_out=20, anchors=12)
    asked = baseline("zero_shot_cot", config, runs_dir=tmp_path / "runs", questions=6)
    run = begin(tmp_path / "runs", config)
    assert [name for name, _ in asked.answers] == [name for name, _ in exam(run, questions=6).answers]


def test_an_exam_waits_for_one_that_another_process_takes_and_says_so(labelled: Run) -> None:
    held, said = LocalFileSystem().lock(labelled.examining_path), list[str]()

    def observe(note: ProgressNote) -> None:
        if note.is_announcement:
            said.append(note.message)
            held.release()

    report = copied(labelled, questions=3, runtime=Runtime(observer=observe))
    assert (report.total, said) == (3, [f"Waiting for another exam of {labelled.id} to end."])


def test_an_exam_that_waits_can_be_stopped_and_leaves_nothing(labelled: Run) -> None:
    held = LocalFileSystem().lock(labelled.examining_path)
    with pytest.raises(Interrupted, match="stopped before its turn"):
        copied(labelled, runtime=Runtime(stop=lambda: True))
    held.release()
    assert not labelled.exams_path.exists()
