"""Forgers with the package's own writer: each hash of theirs is sound, and answers do not follow from replies."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.auditing.theorems.inference import check_inference
from mage_es.engine.auditing.theorems.log import check_log, check_questions
from mage_es.engine.auditing.theorems.recount import CheckBasis
from mage_es.engine.auditing.theorems.verdicts import NAME, basis_of, check_scorer, check_verdicts
from mage_es.engine.auditing.verify import verify
from mage_es.engine.config import Config
from mage_es.engine.run.directory import Run, clock
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import first_event
from mage_es.engine.seams.check import Check
from mage_es.engine.verbs.exam import examine
from mage_es.events import vocabulary as v
from mage_es.events.care import verify_log, verify_questions
from mage_es.events.digests import sha256_text
from mage_es.events.disk import Layout, LocalFileSystem
from mage_es.events.facts import QuestionTypes
from mage_es.events.log import Log, LogReader
from mage_es.events.segments import questions
from mage_es.events.signing.heads import root_of
from tests.engine.conftest import begin
from tests.engine.forgery import forged, instead, replace

EXAM = "0001-latest"
Forgery = Callable[[v.Event], list[v.Event]]


@pytest.fixture(scope="module")
def examined_once(evolved_once: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run with an exam. Shared: only copy it."""
    path = tmp_path_factory.mktemp("examined") / evolved_once.id
    run = Run(evolved_once.id, shutil.copytree(evolved_once.path, path))
    examine(run, at="latest", questions=8, runtime=Runtime(workers=2))
    return run


@pytest.fixture
def examined(examined_once: Run, tmp_path: Path) -> Run:
    return Run(examined_once.id, shutil.copytree(examined_once.path, tmp_path / "copy"))


def forge(
    run: Run, folder: Path, change: Forgery, opening: Callable[[v.ExamOpened], v.ExamOpened] | None = None
) -> None:
    """Write the exam's log anew, and a log of the run that vouches for it, with the result that its answers make."""

    def opened(event: v.ExamOpened) -> v.ExamOpened:
        return opening(event) if opening else event

    def changed(record: v.Record) -> list[v.Event]:
        return [opened(record.event)] if isinstance(record.event, v.ExamOpened) else change(record.event)

    log = replace(run.exam(EXAM).log_path, folder, changed)
    reader = LogReader(log)
    verdicts, lost = list(reader.of(v.AnswerJudged)), sum(1 for _ in reader.of(v.AnswerUnanswered))

    def vouched(record: v.Record) -> v.Event:
        match record.event:
            case v.ExamOpened() as event:
                return opened(event)
            case v.ExamClosed() as event:
                return msgspec.structs.replace(
                    event,
                    correct=sum(verdict.correct for verdict in verdicts),
                    total=len(verdicts) + lost,
                    unanswered=lost,
                    undecided=sum(1 for _ in reader.of(v.AnswerUndecided)),
                    head_seq=reader.head.seq,
                    head_chain=reader.head.chain,
                    root=root_of(log).hex(),
                )
            case event:
                return event

    replace(run.log_path, folder, vouched)


def checked(run: Run) -> list[Check]:
    """Check what a forgery of exams and answers can touch; the rest of `verify` takes longer than all of it."""
    reader = LogReader(run.log_path)
    log, stored = check_log(verify_log(run.log_path)), check_questions(verify_questions(run.log_path))
    return [log, stored, *check_inference(run, reader), *check_verdicts(run, reader, around(reader))]


_WORDS: list[CheckBasis] = []


def around(reader: LogReader) -> CheckBasis:
    """Return what a run is checked with; all runs on word problems here began in one world."""
    if first_event(reader).benchmark != "wordmath":
        return basis_of(reader, data_dir=None, benchmark=None)
    if not _WORDS:
        _WORDS.append(basis_of(reader, data_dir=None, benchmark=None))
    return _WORDS[0]


def broken(run: Run) -> list[Check]:
    return [check for check in checked(run) if not check.ok]


def the_one(run: Run) -> Check:
    """Return the one check that fails."""
    [check] = broken(run)
    return check


def answers(run: Run, *, right: bool) -> list[v.AnswerJudged]:
    return [each for each in LogReader(run.exam(EXAM).log_path).of(v.AnswerJudged) if each.correct == right]


def event_at(run: Run, seq: int) -> v.Event:
    return next(iter(LogReader(run.exam(EXAM).log_path).records(since=seq, until=seq))).event


def right(event: v.AnswerJudged) -> v.AnswerJudged:
    return msgspec.structs.replace(event, correct=True, score_micro=v.MICRO, strict=True)


def test_every_answer_of_a_sound_run_and_of_its_exam_is_scored_again(examined: Run) -> None:
    found = {check.name: check for check in verify(examined).checks if check.name.startswith(NAME)}
    asked = sum(1 for _ in LogReader(examined.log_path).of(v.AnswerJudged))
    assert found[NAME].ok and found[NAME].measured == f"{asked} of {asked} scored again"
    assert found[f"{NAME} {EXAM}"].ok and found[f"{NAME} {EXAM}"].measured == "8 of 8 scored again"
    assert not any(check.doubt or "not chosen again" in check.detail for check in found.values())


def test_a_flipped_verdict_is_named_with_its_exam_question_and_event(examined: Run, tmp_path: Path) -> None:
    wrong = answers(examined, right=False)[0]

    def flip(event: v.Event) -> list[v.Event]:
        is_it = isinstance(event, v.AnswerJudged) and event.question_id == wrong.question_id
        return [right(event) if is_it and isinstance(event, v.AnswerJudged) else event]

    forge(examined, tmp_path, flip)
    check = the_one(examined)
    assert check.name == f"{NAME} {EXAM}" and check.detail.startswith(f"{wrong.question_id}: recorded is right")
    assert "scored again it is wrong" in check.detail
    assert event_at(examined, check.seq) == right(wrong)


def test_an_answer_that_is_not_in_its_reply_is_found(examined: Run, tmp_path: Path) -> None:
    def other(event: v.Event) -> list[v.Event]:
        return [msgspec.structs.replace(event, answer="1234567") if isinstance(event, v.AnswerJudged) else event]

    forge(examined, tmp_path, other)
    assert "'1234567'" in the_one(examined).detail


def test_replies_that_are_all_right_are_not_what_a_stand_in_says(examined: Run, tmp_path: Path) -> None:
    golds = {each.id: each.gold for each in LogReader(examined.log_path).questions()[1] or ()}

    def perfect(event: v.Event) -> list[v.Event]:
        match event:
            case v.ModelCalled():
                return [msgspec.structs.replace(event, text=f"#### {golds[event.about.partition('/')[0]]}")]
            case v.AnswerJudged():
                return [msgspec.structs.replace(right(event), answer=golds[event.question_id])]
        return [event]

    forge(examined, tmp_path, perfect)
    check = the_one(examined)
    assert check.name == f"{NAME} {EXAM}" and "builtin/analogist replies" in check.detail
    assert "8 of 8 right" in next(c.detail for c in checked(examined) if c.name == f"exam {EXAM}")


def test_calls_of_a_stand_in_that_failed_are_not_an_outage(examined: Run, tmp_path: Path) -> None:
    def down(event: v.Event) -> list[v.Event]:
        same = {name: getattr(event, name) for name in event.__struct_fields__}
        match event:
            case v.ModelCalled():
                kept = {name: same[name] for name in v.CallFailed.__struct_fields__ if name in same}
                lost = {"tries": 3, "fault": "server", "problem": "down", "status": 503, "wait_us": 0, "final": True}
                return [v.CallFailed(**kept, **lost)]
            case v.AnswerJudged():
                kept = {name: same[name] for name in v.AnswerUnanswered.__struct_fields__ if name in same}
                return [v.AnswerUnanswered(**kept, problem="server: down")]
        return [event]

    forge(examined, tmp_path, down)
    assert "a call of builtin/analogist failed (server), which answers by rule" in the_one(examined).detail


def test_a_stand_in_says_to_an_anchor_what_it_says_to_anyone(small_run: Run, tmp_path: Path) -> None:
    run = Run(small_run.id, tmp_path / "copy")
    shutil.copytree(small_run.log_path, run.log_path)

    def put(record: v.Record) -> v.Event:
        event = record.event
        is_anchors = isinstance(event, v.ModelCalled) and event.purpose == "anchor"
        return msgspec.structs.replace(event, text=f"Well.\n{event.text}") if is_anchors else event

    replace(run.log_path, tmp_path, put)
    assert "builtin/analogist replies" in the_one(run).detail


def test_verdicts_without_calls_are_found(examined: Run, tmp_path: Path) -> None:
    forge(examined, tmp_path, lambda event: [] if isinstance(event, v.ModelCalled) else [event])
    assert the_one(examined).detail.endswith("it has a verdict, and no reply of a model is on record")


def test_a_recalled_answer_needs_a_record_that_allows_it(examined: Run, tmp_path: Path) -> None:
    def recalled(event: v.Event) -> list[v.Event]:
        match event:
            case v.ModelCalled():
                return []
            case v.QuestionPlanned():
                return [msgspec.structs.replace(event, routing_arm="recall", template="", prompt_sha256="", spans=())]
        return [event]

    forge(examined, tmp_path, recalled)
    assert the_one(examined).name == f"{NAME} {EXAM}"


def test_a_verdict_that_calls_a_reply_recalled_is_found(examined: Run, tmp_path: Path) -> None:
    def marked(event: v.Event) -> list[v.Event]:
        return [msgspec.structs.replace(event, recalled=True) if isinstance(event, v.AnswerJudged) else event]

    forge(examined, tmp_path, marked)
    assert the_one(examined).detail.endswith("its plan is not to recall an answer, and its verdict says otherwise")


def test_replies_of_another_model_than_the_exam_names_are_found(examined: Run, tmp_path: Path) -> None:
    def swapped(event: v.Event) -> list[v.Event]:
        return [msgspec.structs.replace(event, model="openai/better") if isinstance(event, v.ModelCalled) else event]

    forge(examined, tmp_path, swapped)
    assert the_one(examined).detail.endswith("openai/better replied (execution), and the exam names builtin/analogist")


def test_prompts_of_another_state_than_the_exam_names_are_found(examined: Run, tmp_path: Path) -> None:
    start = examine(examined, at="start", questions=8, runtime=Runtime(workers=2))
    latest = next(LogReader(examined.exam(EXAM).log_path).of(v.ExamOpened))

    shutil.rmtree(examined.exam(EXAM).log_path)
    shutil.copytree(examined.exam(start.exam_id).log_path, examined.exam(EXAM).log_path)
    replace(examined.exam(EXAM).log_path, tmp_path, lambda r: latest if isinstance(r.event, v.ExamOpened) else r.event)
    reader = LogReader(examined.exam(EXAM).log_path)
    closed = next(e for e in LogReader(examined.log_path).of(v.ExamClosed) if e.exam == start.exam_id)
    root = root_of(examined.exam(EXAM).log_path).hex()
    told = msgspec.structs.replace(closed, exam=EXAM, head_seq=reader.head.seq, head_chain=reader.head.chain, root=root)

    def vouched(record: v.Record) -> v.Event:
        is_it = isinstance(record.event, v.ExamClosed) and record.event.exam == EXAM
        return told if is_it else record.event

    replace(examined.log_path, tmp_path, vouched)
    check = the_one(examined)
    assert check.name == f"{NAME} {EXAM}" and isinstance(event_at(examined, check.seq), v.QuestionPlanned)
    assert "its plan has the prompt" in check.detail or "its plan is not what its state makes" in check.detail


def test_a_request_that_its_state_does_not_make_is_found(examined: Run, tmp_path: Path) -> None:
    def stale(event: v.Event) -> list[v.Event]:
        bent = isinstance(event, v.ModelCalled)
        return [msgspec.structs.replace(event, request_sha256=sha256_text("another")) if bent else event]

    forge(examined, tmp_path, stale)
    assert "is to the request" in the_one(examined).detail


def test_plans_with_memories_of_the_forgers_choice_are_found(examined: Run, tmp_path: Path) -> None:
    first = next(e for e in LogReader(examined.exam(EXAM).log_path).of(v.QuestionPlanned) if len(e.memories) > 1)

    def chosen(event: v.Event) -> list[v.Event]:
        is_it = isinstance(event, v.QuestionPlanned) and event.question_id == first.question_id
        return [msgspec.structs.replace(event, memories=first.memories[:1]) if is_it else event]

    forge(examined, tmp_path, chosen)
    assert the_one(examined).detail.startswith(f"{first.question_id}: its plan has the prompt")


def test_wrong_answers_that_were_left_out_are_missed(examined: Run, tmp_path: Path) -> None:
    def left_out(event: v.Event) -> list[v.Event]:
        return [] if isinstance(event, v.AnswerJudged) and not event.correct else [event]

    forge(examined, tmp_path, left_out)
    assert "it was planned, and there is no verdict" in the_one(examined).detail


def test_wrong_answers_do_not_pass_for_undecided(examined: Run, tmp_path: Path) -> None:
    def undecided(event: v.Event) -> list[v.Event]:
        if not isinstance(event, v.AnswerJudged) or event.correct:
            return [event]
        kept = {name: getattr(event, name) for name in v.AnswerUndecided.__struct_fields__ if name != "problem"}
        return [v.AnswerUndecided(**kept, problem="unexplained")]

    forge(examined, tmp_path, undecided)
    assert "recorded is undecided" in the_one(examined).detail


def test_an_exam_of_the_questions_that_went_well_is_found(examined: Run, tmp_path: Path) -> None:
    well = {each.question_id for each in answers(examined, right=True)}
    asked = sha256_text("\n".join(sorted(well)))

    def kept(event: v.Event) -> list[v.Event]:
        name = getattr(event, "question_id", None) or getattr(event, "about", "").partition("/")[0]
        return [event] if name in well else []

    forge(
        examined,
        tmp_path,
        kept,
        opening=lambda opened: msgspec.structs.replace(opened, asked=len(well), asked_sha256=asked),
    )
    assert "held-out questions that the seed chooses" in the_one(examined).detail


def test_a_result_that_its_answers_do_not_make_is_found(examined: Run, tmp_path: Path) -> None:
    def told(record: v.Record) -> v.Event:
        event = record.event
        return msgspec.structs.replace(event, familiar_correct=99) if isinstance(event, v.ExamClosed) else event

    replace(examined.log_path, tmp_path, told)
    assert the_one(examined).detail.startswith("its answers make familiar_correct")


def test_a_flipped_verdict_of_evolution_is_found(small_run: Run, tmp_path: Path) -> None:
    run = Run(small_run.id, tmp_path / "copy")
    shutil.copytree(small_run.log_path, run.log_path)
    wrong = next(e for e in LogReader(run.log_path).of(v.AnswerJudged) if e.purpose == "anchor" and not e.correct)
    replace(run.log_path, tmp_path, lambda record: right(wrong) if record.event == wrong else record.event)
    check = next(check for check in broken(run) if check.name == NAME)
    assert check.detail.startswith(f"{wrong.question_id}: recorded is right") and check.seq


def regold(run: Run, folder: Path, change: Callable[[str, str], str]) -> None:
    """Write right answers of a forger's choice beside the log, which vouches for them."""
    texts, golds = LogReader(run.log_path).questions()
    told = [_regolded(each, change(each.id, each.gold)) for each in golds or ()]
    files = questions.encode(texts, told, QuestionTypes(v.QuestionsStored, v.QuestionText, v.QuestionGold))

    def vouched(record: v.Record) -> v.Event:
        return files.stored if isinstance(record.event, v.QuestionsStored) else record.event

    replace(run.log_path, folder, vouched)
    questions.store(LocalFileSystem(), Layout(run.log_path), files, is_first=True)


def _regolded(row: v.QuestionGold, gold: str) -> v.QuestionGold:
    # Own tasks keep all right answers beside the first.
    remarks = (msgspec.structs.replace(each, text=each.text.replace(row.gold, gold)) for each in row.remarks)
    return msgspec.structs.replace(row, gold=gold, remarks=tuple(remarks))


def test_right_answers_that_the_benchmark_does_not_give_are_found(examined: Run, tmp_path: Path) -> None:
    wrong = answers(examined, right=False)[0]
    regold(examined, tmp_path, lambda name, gold: wrong.answer if name == wrong.question_id else gold)
    check = next(check for check in broken(examined) if check.name == NAME)
    assert "are not those of wordmath" in check.detail and f"1 edited ({wrong.question_id})" in check.detail


@pytest.fixture(scope="module")
def own_once(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run on a file of sums, with an exam. Shared: only copy it."""
    folder = tmp_path_factory.mktemp("own")
    rows = [f"What is {k} + {k + 3}?,{2 * k + 3}" for k in range(5, 45)]
    (folder / "mine.csv").write_text("\n".join(["prompt,label", *rows]) + "\n")
    name = f"tasks/{folder}/mine.csv?scorer=number"
    config = Config(benchmark=name, execution="builtin/analogist", iterations=1, pool=8, anchors=4)
    run = begin(folder / "runs", config)
    examine(run, runtime=Runtime(workers=2))
    return run


@pytest.fixture
def own(own_once: Run, tmp_path: Path) -> Run:
    return Run(own_once.id, shutil.copytree(own_once.path, tmp_path / "copy"))


def test_a_right_answer_that_was_changed_after_the_exam_is_found(own: Run, tmp_path: Path) -> None:
    judged = next(each for each in [*answers(own, right=True), *answers(own, right=False)] if each.answer)
    other = "987654" if judged.correct else judged.answer
    regold(own, tmp_path, lambda name, gold: other if name == judged.question_id else gold)
    assert the_one(own).detail.startswith(f"{judged.question_id}: recorded is ")


def test_a_copy_without_right_answers_says_how_many_verdicts_were_not_checked(own: Run) -> None:
    shutil.rmtree(own.log_path / "golds")
    found = next(check for check in checked(own) if check.name == f"{NAME} {EXAM}")
    assert found.ok and found.doubt and found.result == "doubt"
    assert found.detail.endswith("not checked: this copy was made without right answers")


def test_a_verdict_that_the_judge_did_not_give_is_found(start: Callable[..., Run], tmp_path: Path) -> None:
    config = Config(
        benchmark="truthworld", teacher_sees="solutions", seed=7, iterations=1, pool=12, anchors=12, held_out=40
    )
    run = start(tmp_path / "runs", config)
    examine(run, runtime=Runtime(workers=2))
    assert not broken(run)
    judged = next(each for each in [*answers(run, right=True), *answers(run, right=False)] if each.judge != "rule")
    other = msgspec.structs.replace(judged, correct=not judged.correct, score_micro=v.MICRO - judged.score_micro)
    forge(run, tmp_path, lambda event: [other if event == judged else event])
    check = the_one(run)
    assert check.detail.startswith(f"{judged.question_id}: recorded is ") and "by truth/judge" in check.detail


@pytest.mark.parametrize("times", [1, 3])
def test_a_rescoring_that_leaves_wrong_answers_out_or_counts_right_ones_often_is_found(
    examined: Run, times: int
) -> None:
    opened = next(LogReader(examined.log_path).of(v.ExamOpened))
    good = [
        v.Rejudged(question_id=each.question_id, score_micro=v.MICRO, correct=True)
        for each in answers(examined, right=True)
    ]
    anew = v.ExamRejudged(
        exam=EXAM,
        correct=times * len(good),
        total=times * len(good),
        verdicts=tuple(times * good),
        package_version=opened.package_version,
        package_sha256=opened.package_sha256,
        scorer_sha256=opened.scorer_sha256,
        probes_sha256=opened.probes_sha256,
    )
    with Log.open(examined.log_path, clock=clock) as log:
        log.append([v.Draft(event=anew, iteration=-1, phase="exam")])
    assert the_one(examined).detail == "it has 8 answers, and not each of them was scored again once"


def test_tokens_that_a_stand_in_did_not_use_are_found(examined: Run, tmp_path: Path) -> None:
    def cheaper(event: v.Event) -> list[v.Event]:
        return [msgspec.structs.replace(event, input_tokens=1) if isinstance(event, v.ModelCalled) else event]

    forge(examined, tmp_path, cheaper)
    assert "counts (" in the_one(examined).detail


def test_exams_with_different_judges_leave_a_doubt(examined: Run, tmp_path: Path) -> None:
    examine(examined, at="start", questions=1, runtime=Runtime(workers=1))

    def is_second(event: v.Event) -> bool:
        return isinstance(event, v.ExamOpened) and event.exam != EXAM

    found = check_scorer(reader := LogReader(examined.log_path), around(reader))
    assert found.ok and not found.doubt
    kinder = instead(v.ExamOpened, lambda event: msgspec.structs.replace(event, judge="openai/kind"), is_second)
    forged(examined.log_path, tmp_path / "log", kinder)
    found = check_scorer(reader := LogReader(tmp_path / "log"), around(reader))
    assert found.ok and found.doubt and "different judges" in found.detail


def test_a_tool_that_did_not_return_what_is_recorded_is_found(course_run: Run, tmp_path: Path) -> None:
    told = instead(v.ToolRan, lambda event: msgspec.structs.replace(event, result="4711"))
    forged(course_run.log_path, tmp_path / "log", told)
    run = Run(course_run.id, tmp_path)
    reader = LogReader(run.log_path)
    [check] = [each for each in check_verdicts(run, reader, basis_of(reader, data_dir=None, benchmark=None))]
    assert not check.ok and check.detail.endswith("and recorded is '4711'") and "the tool " in check.detail


def test_a_passage_that_a_questions_own_paragraphs_do_not_have_is_found(tmp_path: Path) -> None:
    rows = [
        {
            "id": f"q{k}",
            "question": f"Who has box {k}?",
            "answer": f"Ann {k}",
            "context": f"[1] Box {k}: Ann {k} has it.",
        }
        for k in range(20)
    ]
    (tmp_path / "mine.json").write_text(json.dumps(rows))
    config = Config(
        benchmark=str(tmp_path / "mine.json"), execution="builtin/analogist", iterations=1, pool=4, search="record"
    )
    run = begin(tmp_path / "runs", config)
    assert not broken(run)
    hint = instead(v.SearchAnswered, lambda event: msgspec.structs.replace(event, texts=("The answer is Ann.",)))
    replace(run.log_path, tmp_path, hint)
    assert "its own paragraphs do not have what is recorded for 'Who has box" in the_one(run).detail
