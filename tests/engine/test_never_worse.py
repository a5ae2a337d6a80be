"""A learner that notes help, and one that they harm: exams, `ask`, bundles and notes follow what the anchors show."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

import mage_es
from mage_es.engine.auditing.theorems.benefit import check_benefit
from mage_es.engine.auditing.verify import verify
from mage_es.engine.config import Config
from mage_es.engine.rules.benefit import LOOK
from mage_es.engine.run.directory import Run, find_run
from mage_es.engine.run.exams import exam_records
from mage_es.engine.serving.open_run import open_run
from mage_es.engine.verbs.exam import examine
from mage_es.engine.verbs.runs import summarise
from mage_es.engine.viewing.ask import ask
from mage_es.events.log import LogReader
from mage_es.events.vocabulary import AnswerJudged, BenefitDecided, Event, QuestionPlanned, Record
from tests.engine.forgery import forged, refolded, replace

pytestmark = pytest.mark.slow

WHO = ("Ada", "Ben", "Cleo", "Dan", "Eva", "Finn", "Gus", "Hana", "Ines", "Jon")
"""Names, so that questions differ in words and what is nearest to one changes as more is learned."""
TASKS = [
    {"question": f"{who} asks: How much is {a} plus {b}?", "answer": a + b}
    for a in range(10, 22)
    for b, who in enumerate(WHO)
]
CONFIG = Config(benchmark="sums", iterations=2, pool=20, held_out=12, anchors=12, bandits=False)


def right(reply: str, task: mage_es.Question) -> bool:
    return reply.rstrip(".").endswith(task.gold)


class Learner:
    """Answers rightly where `is_right` says so of whether there are notes, and every fifth question in any case."""

    name = "test/learner"

    def __init__(self, is_right: Callable[[bool], bool]) -> None:
        self.is_right = is_right

    async def complete(self, request: mage_es.Request) -> mage_es.Completion:
        a, b = map(int, re.findall(r"How much is (\d+) plus (\d+)\?", request.prompt)[-1])
        knows = (a + b) % 5 == 0 or self.is_right("> " in request.prompt or bool(request.turns))
        text = f"I add them.\n{a + b if knows else 1000}"
        return mage_es.Completion(text=text, input_tokens=1, output_tokens=1)


HELPED, HARMED = Learner(lambda has_notes: has_notes), Learner(lambda has_notes: not has_notes)


def begin(folder: Path, learner: Learner, **changes: object) -> Run:
    models = mage_es.Models(execution=learner, guidance=mage_es.open_model("builtin/reference", "guidance"))
    config = msgspec.structs.replace(CONFIG, **changes)
    summary = mage_es.evolve(config, tasks=TASKS, scorer=right, models=models, runs_dir=folder)
    return find_run(folder, summary.run_id)


def plans_of(run: Run) -> list[QuestionPlanned]:
    return list(exam_records(LogReader(run.log_path))[-1].log(run).of(QuestionPlanned))


@pytest.fixture(scope="module")
def harmed(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return begin(tmp_path_factory.mktemp("harmed"), HARMED)


def test_where_notes_harm_every_page_serves_the_bare_prompt(harmed: Run) -> None:
    report = examine(harmed, execution=HARMED)
    plans = plans_of(harmed)
    assert plans and all(planned.is_bare and not planned.spans for planned in plans)
    assert report.correct == report.total == 12
    assert report.benefit[-1].lost > 0 and report.benefit[-1].served == "bare"
    assert summarise(harmed).benefit == report.benefit
    answer = ask(harmed, "How much is 12 plus 30?", execution=HARMED)
    assert answer.answer.endswith("42") and not answer.bundle and "the bare prompt is served" in answer.evidence
    frozen = open_run(harmed)
    bundle = frozen.bundle("How much is 12 plus 30?")
    assert not bundle.memories and "the bare prompt is served" in bundle.reason == bundle.evidence
    recalled = frozen.retrieved("How much is 12 plus 30?")
    assert recalled.is_bare and not recalled.memories
    assert verify(harmed).ok


def test_learning_and_its_anchors_go_on_with_what_was_learned(harmed: Run) -> None:
    plans = [event for event in LogReader(harmed.log_path).of(QuestionPlanned) if event.iteration > 0]
    assert {planned.purpose for planned in plans} >= {"fresh", "anchor"}
    assert any(planned.memories for planned in plans) and not any(planned.is_bare for planned in plans)


def test_where_notes_help_they_are_served_and_a_run_that_goes_on_asks_its_anchors_bare_once(tmp_path: Path) -> None:
    run = begin(tmp_path, HELPED)
    assert examine(run, execution=HELPED).correct == 12
    assert not any(planned.is_bare for planned in plans_of(run))
    models = mage_es.Models(execution=HELPED, guidance=mage_es.open_model("builtin/reference", "guidance"))
    config = msgspec.structs.replace(CONFIG, iterations=1)
    summary = mage_es.evolve(
        config, tasks=TASKS, scorer=right, models=models, from_run=run, runs_dir=tmp_path, run_id="on"
    )
    own = find_run(tmp_path, "on")
    bare = [event for event in LogReader(own.log_path).of(AnswerJudged) if event.purpose == "bare"]
    assert len(bare) == summary.benefit[-1].pairs and not all(event.correct for event in bare)
    assert summary.benefit[-1].won > 0 and summary.benefit[-1].served == "learned"
    assert verify(own).ok


def test_a_gain_that_few_anchors_show_is_told_by_other_questions(tmp_path: Path) -> None:
    class Sometimes(Learner):
        async def complete(self, request: mage_es.Request) -> mage_es.Completion:
            a, b = map(int, re.findall(r"How much is (\d+) plus (\d+)\?", request.prompt)[-1])
            knows = (a + b) % 5 == 0 or ((a + b) % 12 == 1 and bool(request.turns))
            return mage_es.Completion(text=f"I add them.\n{a + b if knows else 1000}", input_tokens=1, output_tokens=1)

    learner = Sometimes(bool)
    run = begin(tmp_path, learner)
    judged = [event for event in LogReader(run.log_path).of(AnswerJudged) if event.purpose in ("bare", "again")]
    assert Counter(event.purpose for event in judged) == {"bare": CONFIG.pool, "again": CONFIG.pool}
    assert {event.iteration for event in judged} == {CONFIG.iterations - 1}
    plans = [plan for plan in LogReader(run.log_path).of(QuestionPlanned) if plan.purpose == "again"]
    assert plans and all(plan.memories for plan in plans)
    [*_, told] = LogReader(run.log_path).of(BenefitDecided)
    assert told.pooled.pairs > CONFIG.pool and told.pooled.served == "learned"
    assert examine(run, execution=learner).benefit[-1].served == "learned"
    assert verify(run).ok


def test_without_anchors_questions_asked_once_more_stop_notes_that_harm(tmp_path: Path) -> None:
    run = begin(tmp_path, HARMED, guard="off")
    report = examine(run, execution=HARMED)
    assert report.correct == 12 and all(planned.is_bare for planned in plans_of(run))
    assert report.benefit[-1].lost > report.benefit[-1].won and verify(run).ok


def test_questions_are_asked_once_more_only_until_they_settle_the_matter(tmp_path: Path) -> None:
    run = begin(tmp_path, HARMED, guard="off")
    judged = [event for event in LogReader(run.log_path).of(AnswerJudged) if event.purpose in ("bare", "again")]
    assert len(judged) == LOOK < CONFIG.pool and summarise(run).benefit[-1].pairs == LOOK


def test_with_the_gate_off_notes_are_served_all_the_same(tmp_path: Path) -> None:
    untested = begin(tmp_path / "untested", HARMED, guard="off", gate="off")
    report = examine(untested, execution=HARMED)
    assert report.benefit == () and any(planned.memories for planned in plans_of(untested))
    assert ask(untested, "How much is 12 plus 30?", execution=HARMED).evidence.startswith("Not tested")
    off = begin(tmp_path / "off", HARMED, gate="off")
    assert examine(off, execution=HARMED).correct < 12
    assert summarise(off).benefit[-1].served == "learned" and verify(off).ok


def test_a_log_in_which_another_prompt_was_served_than_the_record_is_for_is_found_out(
    harmed: Run, tmp_path: Path
) -> None:
    def praised(record: Record) -> Event:
        event = record.event
        if isinstance(event, BenefitDecided):
            pooled = msgspec.structs.replace(event.pooled, served="learned")
            return msgspec.structs.replace(event, pooled=pooled)
        return event

    def gated(record: Record) -> Event:
        event = record.event
        is_fresh = isinstance(event, QuestionPlanned) and event.purpose == "fresh"
        return msgspec.structs.replace(event, is_bare=True) if is_fresh else event

    for name, change, problem in (("praised", praised, "does not decide what"), ("gated", gated, "the bare prompt")):
        run = Run(harmed.id, tmp_path / name)
        forged(harmed.log_path, run.log_path, change)
        check = check_benefit(run, LogReader(run.log_path), CONFIG)
        assert not check.ok and problem in check.detail and check.seq
    assert check_benefit(harmed, LogReader(harmed.log_path), CONFIG).ok


def test_questions_that_speak_against_what_was_learned_cannot_be_left_out(tmp_path: Path) -> None:
    run = begin(tmp_path, HARMED, guard="off")

    def silent(record: Record) -> list[Event]:
        event = record.event
        is_of_them = (record.phase == "open" and record.iteration >= 0) or isinstance(event, BenefitDecided)
        return [] if is_of_them else [event]

    log = replace(run.log_path, tmp_path, refolded(silent))
    assert not any(LogReader(log).of(BenefitDecided)) and examine(run, execution=HARMED).correct < 12
    [check] = [check for check in verify(run).checks if not check.ok]
    assert check.name == "learned" and check.detail.endswith("was not asked (open), against the rules")
