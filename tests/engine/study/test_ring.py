"""The ring: methods on the same questions, each a run that can be stopped, resumed, shown and verified."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import pytest

from mage_es.engine.auditing.verify import verify
from mage_es.engine.benchmarks.registry import BenchmarkEntry, open_benchmark
from mage_es.engine.config import Config, parse
from mage_es.engine.models.registry import Models, open_model
from mage_es.engine.run.budget import Limits
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.questions import with_questions
from mage_es.engine.run.runtime import Runtime
from mage_es.engine.run.world import first_event
from mage_es.engine.seams.benchmark import Benchmark, Question, Verdict
from mage_es.engine.seams.model import MAX_TOKENS, Completion, Request
from mage_es.engine.seams.plugins import EntryPoint, installed
from mage_es.engine.study.baseline import baseline, read_baseline, resume_baseline
from mage_es.engine.study.baselines.method import PreparedTask, RunView
from mage_es.engine.study.cli.ring import by_seed_table, conditions, notes
from mage_es.engine.study.ring import RingDifference, RingReport, difference_of, ring
from mage_es.engine.verbs.evolve import evolve
from mage_es.engine.viewing.show import show
from mage_es.events import vocabulary as v
from mage_es.events.errors import BudgetReached, Interrupted, UsageError
from mage_es.events.log import LogReader
from tests.bench.by_seed import coverage, simulated
from tests.engine.forgery import forged

THINGS = {"lamp": "amber", "desk": "birch", "visa": "cobalt", "router": "dune"}


class Imitator:
    """Says the label of the last case that is about the same thing, else amber; it remembers what it was asked."""

    name = "test/imitator"

    def __init__(self) -> None:
        self.asked: list[Request] = []

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request)
        *cases, question = request.messages
        thing = next(each for each in THINGS if each in question)
        labels = [reply for case, reply in zip(cases[::2], cases[1::2], strict=True) if thing in case]
        text = labels[-1] if labels else "Answer: amber"
        return Completion(text=text, input_tokens=len(request.text.split()), output_tokens=2)


@pytest.fixture
def tickets(tmp_path: Path) -> Config:
    """Tickets of which each says in other words what is gone; its label depends on that alone."""
    rows = [
        f"Ticket {number} of {name} on floor {number % 7}: the {thing} is gone,{label}"
        for number, name in enumerate(["Ada", "Bo", "Cy", "Di", "Eli", "Flo", "Gil", "Hal", "Ivo", "Jo"] * 2)
        for thing, label in THINGS.items()
    ]
    (tmp_path / "tickets.csv").write_text("\n".join(["question,answer", *rows]) + "\n")
    labels = ",".join(THINGS.values())
    return Config(
        benchmark=f"tasks/{tmp_path}/tickets.csv?scorer=choice&labels={labels}", seed=7, held_out=12, anchors=4, pool=12
    )


def models() -> Models:
    return Models(Imitator(), open_model("builtin/reference", "guidance"))


def ringed(folder: Path, config: Config, *methods: str, given: Models | None = None, **more: Any) -> RingReport:
    return ring(config, methods=methods, runs_dir=folder, models=given or models(), learn_from=24, name="r", **more)


def test_a_ring_of_own_tasks_asks_for_a_model_rather_than_take_a_stand_in(tmp_path: Path, tickets: Config) -> None:
    with pytest.raises(UsageError, match="No model is named for these tasks"):
        ring(tickets, methods=["zero_shot"], runs_dir=tmp_path / "runs")
    assert not (tmp_path / "runs").exists()


def test_a_ring_with_other_options_begins_anew_what_got_no_answer_and_keeps_what_did(
    tmp_path: Path, tickets: Config
) -> None:
    with pytest.raises(Interrupted):  # as by a wrong address of the model
        ringed(tmp_path, tickets, "zero_shot", runtime=Runtime(stop=lambda: True))
    other = msgspec.structs.replace(tickets, max_tokens=64)
    [row] = ringed(tmp_path, other, "zero_shot").rows
    assert row.total == 12
    with pytest.raises(
        UsageError, match=r"max_tokens was 64, now .* another --name, .*mage-es runs delete r-zero_shot-s7"
    ):
        ringed(tmp_path, tickets, "zero_shot")
    assert ringed(tmp_path, other, "zero_shot").rows == (row,)


def test_a_ring_with_other_options_takes_no_finished_run_and_deletes_none_that_got_a_reply(
    tmp_path: Path, tickets: Config
) -> None:
    other = msgspec.structs.replace(tickets, max_tokens=64)
    with pytest.raises(BudgetReached):  # after the first reply of guidance, and before any answer
        ringed(tmp_path, tickets, "mage", runtime=Runtime(limits=Limits(max_calls=1)))
    for _ in range(2):
        with pytest.raises(UsageError, match="max_tokens was 4096, now 64"):
            ringed(tmp_path, other, "mage")
        ringed(tmp_path, tickets, "mage", runtime=Runtime(limits=Limits(max_calls=999)))  # finishes it


def learning(folder: Path, name: str, config: Config, *, stop: Callable[[], bool] = lambda: False, **more: Any) -> Run:
    given = Models(open_model("builtin/analogist", "execution"), None)
    baseline(name, config, runs_dir=folder, runtime=Runtime(workers=3, stop=stop), run_id=name, models=given, **more)
    return find_run(folder, name)


WORDMATH = Config(benchmark="wordmath", seed=7, pool=24, held_out=8, anchors=0)


@pytest.mark.slow
def test_each_method_is_asked_the_same_questions_and_knn_learns_what_zero_shot_cannot(
    tmp_path: Path, tickets: Config
) -> None:
    report = ringed(tmp_path / "runs", tickets, "zero_shot", "nearest_label", "knn", "full_history", "mage", seeds=2)
    rows = {row.method: row for row in report.rows}
    assert [row.total for row in report.rows] == [24] * 5
    assert rows["knn"].correct > 20 > 12 > rows["zero_shot"].correct
    assert (rows["nearest_label"].calls, rows["nearest_label"].input_tokens) == (0, 0.0)
    assert rows["full_history"].input_tokens > rows["knn"].input_tokens > rows["zero_shot"].input_tokens > 0
    assert rows["mage"].guidance_tokens > 0 == rows["knn"].guidance_tokens
    for seed in report.seeds:
        splits = [_held_out(tmp_path / "runs", f"r-{method}-s{seed}") for method in rows]
        assert splits == [splits[0]] * 5
    for name in report.runs:
        [told] = LogReader(find_run(tmp_path / "runs", name).log_path).of(v.RunRegistered)
        assert (told.questions, told.exams, told.seeds) == (12, 1, report.seeds), name


def _held_out(folder: Path, name: str) -> v.SplitCommitted:
    return next(
        each for each in LogReader(find_run(folder, name).log_path).of(v.SplitCommitted) if each.split == "held_out"
    )


@pytest.mark.slow
def test_mage_sees_no_more_questions_than_the_others_and_its_anchors_are_among_them(
    tmp_path: Path, tickets: Config
) -> None:
    ringed(tmp_path, tickets, "knn", "mage")
    mage, knn = (LogReader(find_run(tmp_path, f"r-{name}-s7").log_path) for name in ("mage", "knn"))
    [begun] = knn.of(v.BaselineStarted)
    assert len(begun.learned) == 24
    assert {plan.purpose for plan in mage.of(v.QuestionPlanned)} >= {"anchor", "fresh"}
    assert len({plan.question_id for plan in mage.of(v.QuestionPlanned)}) <= 24


@pytest.mark.slow
def test_of_few_questions_mage_sets_none_aside_and_asks_them_once_more(tmp_path: Path, tickets: Config) -> None:
    ring(tickets, methods=["mage"], runs_dir=tmp_path, models=models(), learn_from=10, name="r")
    log = LogReader(find_run(tmp_path, "r-mage-s7").log_path)
    asked = [plan.question_id for plan in log.of(v.QuestionPlanned) if plan.purpose == "fresh"]
    again = [plan.question_id for plan in log.of(v.QuestionPlanned) if plan.purpose == "again"]
    assert len(asked) == 10 and sorted(again) == sorted(asked)
    [decided] = log.of(v.BenefitDecided)
    assert decided.pooled.pairs == 10


@pytest.mark.slow
def test_a_ring_that_was_stopped_goes_on_and_asks_nothing_twice(tmp_path: Path, tickets: Config) -> None:
    asked, given = 0, models()

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked >= 30

    methods = ("zero_shot", "knn", "mage")
    with pytest.raises(Interrupted):
        ringed(tmp_path / "runs", tickets, *methods, given=given, runtime=Runtime(workers=1, stop=stop))
    once = ringed(tmp_path / "runs", tickets, *methods, given=given)
    assert once == ringed(tmp_path / "whole", tickets, *methods)
    assert isinstance(given.execution, Imitator)
    calls = len(given.execution.asked)
    assert ringed(tmp_path / "runs", tickets, *methods, given=given) == once
    assert len(given.execution.asked) == calls


@pytest.mark.slow
def test_lost_is_said_of_mage_where_it_is_significantly_worse_than_knn(tmp_path: Path, tickets: Config) -> None:
    # Without a place for memories MAGE asks as at the start.
    report = ringed(tmp_path, msgspec.structs.replace(tickets, bundle=0), "knn", "mage")
    mage = report.rows[1]
    [difference] = mage.differences
    assert difference.to == "knn" and mage.lost == (difference.interval.high < 0)
    assert mage.lost and not report.rows[0].lost


def test_where_seeds_differ_pooled_answers_promise_too_much_and_the_interval_by_seed_does_not() -> None:
    found = list(simulated(seeds=8, questions=60, spread=25.0, rings=30))
    pooled, by_seed = coverage(found)
    assert pooled < 0.75 and by_seed > 0.9


def won(*each: int) -> RingDifference:
    """A difference of ten questions a seed, of which so many were won (or lost, below 0)."""
    one = {(seed, str(n)): n < max(0, most) for seed, most in enumerate(each) for n in range(10)}
    other = {(seed, str(n)): n < max(0, -most) for seed, most in enumerate(each) for n in range(10)}
    return difference_of(one, other, "knn")


def test_from_five_seeds_on_their_spread_decides_what_is_behind() -> None:
    assert won(-9, -9, 1, 1).by_seed is None and won(-9, -9, 1, 1).is_behind
    unlike = won(-9, -9, 1, 1, 1)
    assert unlike.interval.high < 0 and unlike.by_seed is not None and unlike.by_seed.pairs == 5
    assert (unlike.by_seed.low + unlike.by_seed.high) / 2 == pytest.approx(unlike.points)
    assert unlike.by_seed.high > 0 and not unlike.is_behind
    # Where all seeds are alike they show no spread that an interval could be made of.
    assert won(-2, -2, -2, -2, -2).by_seed is None


@pytest.mark.slow
def test_a_ring_says_who_wrote_what_was_reduced_and_how_far_a_budget_was_overrun(
    tmp_path: Path, tickets: Config
) -> None:
    given = Models(Answering(), open_model("builtin/reference", "guidance"))
    report = ringed(tmp_path, tickets, "full_history", "reasoning_bank", "mage", given=given, budget_tokens=50)
    [table] = conditions(report)
    shown = {row[0]: " ".join(map(str, row[1:])) for row in table.rows}
    bank, mage = report.rows[1:]
    assert "at most the newest 40 cases" in shown["full_history"]
    assert "test/answering, the learner itself" in shown["reasoning_bank"] and "builtin/reference" in shown["mage"]
    assert 0 < bank.learned < report.learned == 24
    assert f"learned from {bank.learned} of 24 questions; no test-time scaling" in shown["reasoning_bank"]
    assert bank.over_budget == bank.learning_tokens - 50 > 0 and mage.over_budget > bank.over_budget
    said = " ".join(notes(report))
    assert f"reasoning_bank by {bank.over_budget} (" in said and "full_history by" not in said
    assert not by_seed_table(report)


@pytest.mark.parametrize(
    ("methods", "complaint"),
    [
        (("knm",), "no method 'knm'. Known:"),
        (("knn", "knn"), "knn is named twice"),
        (("knn", "knn_few_shot"), "knn is named twice"),
        ((), "needs a method and a seed"),
    ],
)
def test_a_ring_of_unknown_methods_is_refused_before_a_run_begins(
    tmp_path: Path, tickets: Config, methods: Sequence[str], complaint: str
) -> None:
    with pytest.raises(UsageError, match=re.escape(complaint)):
        ringed(tmp_path / "runs", tickets, *methods)
    assert not (tmp_path / "runs").exists()


def test_a_ring_of_too_many_questions_says_which_it_leaves_out(tmp_path: Path) -> None:
    splits = ["train"] * 30 + ["test"] * 10
    rows = [{"id": f"t{at}", "question": f"{at * 7919}?", "answer": "A", "split": of} for at, of in enumerate(splits)]
    rows.append({**rows[-1], "id": "again", "split": "train"})
    (tasks := tmp_path / "tasks.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    config = Config(benchmark=f"tasks/{tasks}?scorer=exact", execution="builtin/copier", held_out=10, anchors=4)
    with pytest.raises(UsageError, match=r"only 30 questions .* choose fewer\. 1 question is left out: again repeats"):
        ring(config, methods=["knn"], learn_from=99, runs_dir=tmp_path / "runs")


def test_a_method_learns_from_no_more_questions_than_there_are(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="questions to learn from, not 9999: choose fewer"):
        learning(tmp_path / "runs", "knn", WORDMATH, learn_from=9999)
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
def test_a_method_that_learns_from_its_own_answers_asks_them_first_and_resumes_bit_for_bit(tmp_path: Path) -> None:
    asked = 0

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 20

    with pytest.raises(Interrupted):
        learning(tmp_path / "stopped", "knn", WORDMATH, stop=stop, learn_from=24)
    stopped = find_run(tmp_path / "stopped", "knn")
    before = len(list(LogReader(stopped.log_path).records({v.ModelCalled})))
    assert 0 < before < 24
    resume_baseline(
        stopped, runtime=Runtime(workers=2), models=Models(open_model("builtin/analogist", "execution"), None)
    )
    whole = learning(tmp_path / "whole", "knn", WORDMATH, learn_from=24)
    plans = [
        {(plan.purpose, plan.question_id): plan for plan in LogReader(run.log_path).of(v.QuestionPlanned)}
        for run in (stopped, whole)
    ]
    assert plans[0] == plans[1] and len(plans[0]) == 24 + 8
    assert read_baseline(stopped).answers == read_baseline(whole).answers
    assert read_baseline(stopped).execution_calls == 32


@pytest.mark.slow
def test_what_a_method_asked_is_shown_with_every_prompt_verified_and_its_run_verifies(tmp_path: Path) -> None:
    done = learning(tmp_path, "knn", WORDMATH, learn_from=16)
    plans = list(LogReader(done.log_path).of(v.QuestionPlanned))
    late = [plan for plan in plans if plan.purpose == "fresh"][-1]
    exam = next(plan for plan in plans if plan.purpose == "exam")
    assert len(late.spans) == len(exam.spans) == 5
    assert show(done, late.question_id).prompt_verified and show(done, exam.question_id).prompt_verified
    assert all(check.ok for check in verify(done).checks)


@pytest.mark.slow
def test_what_no_model_was_asked_is_shown_with_its_reply(tmp_path: Path, tickets: Config) -> None:
    ringed(tmp_path, tickets, "nearest_label")
    run = find_run(tmp_path, "r-nearest_label-s7")
    shown = show(run, next(LogReader(run.log_path).of(v.QuestionPlanned)).question_id)
    assert shown.reply == f"Answer: {shown.answer}" and shown.prompt_verified and not shown.moves
    assert all(check.ok for check in verify(run).checks)


@pytest.mark.slow
def test_a_method_stops_learning_when_its_tokens_are_used_up(tmp_path: Path) -> None:
    done = learning(tmp_path, "knn", WORDMATH, learn_from=24, budget_tokens=100)
    purposes = [plan.purpose for plan in LogReader(done.log_path).of(v.QuestionPlanned)]
    assert (purposes.count("fresh"), purposes.count("exam")) == (8, 8)
    assert all(check.ok for check in verify(done).checks)


@pytest.mark.slow
def test_verify_finds_a_prompt_that_shows_a_held_out_question(tmp_path: Path, tickets: Config) -> None:
    ringed(tmp_path / "runs", tickets, "knn")
    run = find_run(tmp_path / "runs", "r-knn-s7")
    plans = list(LogReader(run.log_path).of(v.QuestionPlanned))

    def leak(record: v.Record) -> v.Event:
        event = record.event
        if not isinstance(event, v.QuestionPlanned) or event.question_id != plans[0].question_id:
            return event
        first = msgspec.structs.replace(event.spans[0], source=f"case/{plans[1].question_id}")
        return msgspec.structs.replace(event, spans=(first, *event.spans[1:]))

    made = Run("forged", tmp_path / "forged")
    forged(run.log_path, made.log_path, leak)
    checks = {check.name: check for check in verify(made).checks}
    assert not checks["inference"].ok and plans[1].question_id in checks["inference"].detail


class Spy:
    """A plug-in that keeps what it is given and shows nothing."""

    is_asking, block = True, 4
    prepared: ClassVar[list[Question]] = []
    observed: ClassVar[list[tuple[Question, str, Verdict | None]]] = []

    def __init__(self, around: RunView) -> None:
        pass

    def prepare(self, task: Question) -> PreparedTask:
        Spy.prepared.append(task)
        return PreparedTask()

    def observe(self, task: Question, reply: str, verdict: Verdict | None) -> None:
        Spy.observed.append((task, reply, verdict))


@pytest.mark.slow
def test_a_method_of_a_plug_in_is_never_given_a_held_out_answer_nor_one_before_it_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tickets: Config
) -> None:
    monkeypatch.setitem(installed()["mage_es.methods"], "spy", EntryPoint("spy", f"{__name__}:Spy", "my_plugin"))
    Spy.prepared, Spy.observed = [], []
    report = ringed(tmp_path, tickets, "spy")
    assert report.rows[0].total == 12
    assert {task.gold for task in Spy.prepared} == {""}
    questions = {each.id: each for each in open_benchmark(tickets.benchmark, seed=7).questions("evolution")}
    assert len(Spy.observed) == 24
    for task, reply, verdict in Spy.observed:
        assert task.gold == questions[task.id].gold and verdict is not None
        assert reply == "Answer: amber" and verdict.correct == (task.gold == "amber")
    [run] = [find_run(tmp_path, "r-spy-s7")]
    held_out = {plan.question_id for plan in LogReader(run.log_path).of(v.QuestionPlanned) if plan.purpose == "exam"}
    assert not held_out & {task.id for task, _, _ in Spy.observed}
    assert next(LogReader(run.log_path).of(v.ExamClosed)).total == 12


class Writer:
    """Writes down what it was last shown; with `quoting`, that text in its place."""

    name = "test/writer"

    def __init__(self, quoting: str = "") -> None:
        self.asked: list[Request] = []
        self.quoting = quoting

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request)
        shown = json.loads(request.prompt.removeprefix("```json\n").removesuffix("\n```"))
        text = self.quoting or f"- seen {len(self.asked)}: {shown['right_answer']} follows {shown['reply']}"
        return Completion(text=text, input_tokens=20, output_tokens=10)


def cheating(folder: Path, config: Config, writer: Writer, **more: Any) -> Run:
    given = Models(Imitator(), writer)
    baseline("dynamic_cheatsheet", config, runs_dir=folder, run_id="sheet", models=given, learn_from=12, **more)
    return find_run(folder, "sheet")


@pytest.mark.slow
def test_a_method_that_writes_has_the_guidance_model_until_the_exam_and_can_be_shown_and_verified(
    tmp_path: Path, tickets: Config
) -> None:
    writer = Writer()
    run = cheating(tmp_path, tickets, writer)
    calls = list(LogReader(run.log_path).records({v.ModelCalled}))
    assert len(writer.asked) == 12 == len(list(LogReader(run.log_path).of(v.NoteWritten)))
    assert {request.max_tokens for request in writer.asked} == {MAX_TOKENS}
    assert {record.phase for record in calls if record.event.tier == "guidance"} == {"evaluate"}  # type: ignore[union-attr]
    name = next(plan for plan in LogReader(run.log_path).of(v.QuestionPlanned) if plan.purpose == "exam").question_id
    shown = show(run, name)
    assert shown.prompt_verified and "> - seen 12: " in shown.prompt
    checks = {check.name: check for check in verify(run).checks}
    assert all(check.ok for check in checks.values())
    assert "12 note.written" in checks["leaks"].detail


@pytest.mark.slow
def test_a_method_that_writes_resumes_without_writing_twice(tmp_path: Path, tickets: Config) -> None:
    asked, writer = 0, Writer()

    def stop() -> bool:
        nonlocal asked
        asked += 1
        return asked > 25

    with pytest.raises(Interrupted):
        cheating(tmp_path / "stopped", tickets, writer, runtime=Runtime(workers=1, stop=stop))
    assert 0 < len(writer.asked) < 12
    stopped = find_run(tmp_path / "stopped", "sheet")
    resume_baseline(stopped, models=Models(Imitator(), writer))
    assert len(writer.asked) == 12
    whole = cheating(tmp_path / "whole", tickets, Writer())
    notes = [[note.text for note in LogReader(run.log_path).of(v.NoteWritten)] for run in (stopped, whole)]
    assert notes[0] == notes[1]
    assert read_baseline(stopped).answers == read_baseline(whole).answers


@pytest.mark.slow
def test_a_note_that_quotes_a_held_out_question_is_refused_and_reaches_no_prompt(
    tmp_path: Path, tickets: Config
) -> None:
    run = cheating(tmp_path / "first", tickets, Writer())
    exam = next(plan for plan in LogReader(run.log_path).of(v.QuestionPlanned) if plan.purpose == "exam").question_id
    quoted = show(run, exam).prompt.rpartition("## Question\n\n")[2]
    leaking = cheating(tmp_path / "second", tickets, Writer(f"Remember: {quoted} Answer: amber"))
    refused = list(LogReader(leaking.log_path).of(v.MemoryRefused))
    assert len(refused) == 12 and not list(LogReader(leaking.log_path).of(v.NoteWritten))
    shown = show(leaking, exam)
    assert "Remember" not in shown.prompt and shown.prompt_verified
    assert all(check.ok for check in verify(leaking).checks)


@pytest.mark.slow
def test_without_a_guidance_model_the_learner_writes_and_the_ring_says_so(tmp_path: Path, tickets: Config) -> None:
    report = ring(
        tickets,
        methods=["zero_shot", "reasoning_bank"],
        runs_dir=tmp_path,
        learn_from=8,
        models=Models(Answering(), open_model("builtin/reference", "guidance")),
    )
    assert [row.writer for row in report.rows] == ["", "test/answering"]
    assert report.rows[1].learning_tokens > 0 == report.rows[1].guidance_tokens
    assert {request.max_tokens for request in Answering.asked if "JSON document" in request.system} == {256}


class Answering:
    """Says amber, and as a writer the same."""

    name = "test/answering"
    asked: ClassVar[list[Request]] = []

    async def complete(self, request: Request) -> Completion:
        self.asked.append(request)
        return Completion(text="Answer: amber", input_tokens=5, output_tokens=2)


def test_a_ring_of_finished_runs_opens_its_benchmark_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened = list[int]()

    def counted(seed: int, data_dir: Path | None) -> Benchmark:
        opened.append(seed)
        return open_benchmark("wordmath", seed=seed)

    monkeypatch.setattr(f"{__name__}.COUNTED", BenchmarkEntry(counted, reopen=reopened), raising=False)
    monkeypatch.setitem(installed()["mage_es.benchmarks"], "counted", EntryPoint("counted", f"{__name__}:COUNTED", "x"))
    config = Config(benchmark="counted", seed=7, held_out=5, execution="builtin/analogist")
    methods = ("zero_shot", "knn", "nearest_label")
    first = ring(config, methods=methods, runs_dir=tmp_path, learn_from=6, name="r")
    opened.clear()
    assert ring(config, methods=methods, runs_dir=tmp_path, learn_from=6, name="r") == first
    assert opened == [7]


def reopened(questions: Sequence[Question], data: str) -> Benchmark:
    return with_questions(open_benchmark("wordmath", seed=7), questions)


@pytest.mark.slow
def test_a_ring_takes_no_run_of_another_method_or_other_data_or_of_what_was_learned_elsewhere_for_its_own(
    tmp_path: Path, tickets: Config
) -> None:
    ringed(tmp_path / "first", tickets, "knn", "mage")
    runs = tmp_path / "first"

    def refused(method: str) -> str:
        with pytest.raises(UsageError, match="another --name") as told:
            ringed(runs, tickets, method)
        return str(told.value)

    (runs / "r-knn-s7").rename(runs / "r-full_history-s7")
    assert "is of knn with 24 questions to learn from, and not of full_history" in refused("full_history")
    mage = find_run(runs, "r-mage-s7")
    config = parse(first_event(LogReader(mage.log_path)).config)
    (runs / "r-mage-s7").rename(runs / "elsewhere")
    evolve(config, from_run=runs / "elsewhere", runs_dir=runs, run_id="r-mage-s7", models=models())
    assert "began with what elsewhere had learned" in refused("mage")
    table = tmp_path / "tickets.csv"
    table.write_text(table.read_text().replace("amber", "dune"))
    (runs / "r-full_history-s7").rename(runs / "r-knn-s7")
    assert "was made with other data" in refused("knn")
