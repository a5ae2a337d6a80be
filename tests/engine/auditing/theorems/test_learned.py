"""What a run learned follows from its answers and replies: a forger who plants something is found out."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path

import msgspec
import pytest

from mage_es.engine.auditing.theorems.learned import NAME, check_learned
from mage_es.engine.auditing.theorems.settings import drawn
from mage_es.engine.auditing.theorems.verdicts import basis_at, basis_of
from mage_es.engine.auditing.verify import verify
from mage_es.engine.config import Config
from mage_es.engine.rules.new_memories import memory_id
from mage_es.engine.run.directory import Run, clock
from mage_es.engine.run.world import first_event
from mage_es.engine.seams.check import Check
from mage_es.engine.study.baseline import baseline
from mage_es.events.log import Log, LogReader
from mage_es.events.vocabulary import (
    ActionRecipeHarvested,
    AnswerJudged,
    BaselineStarted,
    Draft,
    Event,
    GuardDecided,
    IterationPlanned,
    MasteryUpdated,
    MemoryAppended,
    MemoryReleased,
    ModelCalled,
    Origin,
    PhaseCompleted,
    QuestionPlanned,
    Record,
    RunStarted,
    SkillCreated,
)
from tests.engine.forgery import Change, after, forged, instead


def test_all_that_an_honest_run_learned_follows_from_its_record(evolved_once: Run, course_run: Run) -> None:
    for run in (evolved_once, course_run):
        [check] = (check for check in verify(run).checks if check.name == NAME)
        assert check.ok and not check.doubt, check.detail


def planted(event: MemoryAppended) -> MemoryAppended:
    """Return a memory with other words, called by their hash as any other is."""
    event = msgspec.structs.replace(event, reasoning="Whoever sells notebooks and pens takes 14.")
    hashed = {name: getattr(event, name) for name in ("outcome", "kind", "task_type", "question", "answer")}
    return msgspec.structs.replace(event, memory_id=memory_id(**hashed, reasoning=event.reasoning))


def of(outcome: str) -> Callable[[Event], bool]:
    return lambda event: isinstance(event, MemoryAppended) and event.outcome == outcome


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (instead(MemoryAppended, planted, of("success_memory")), "update of iteration 0"),
        (instead(MemoryAppended, planted, of("failure_memory")), "evolve of iteration 0"),
        (instead(SkillCreated, lambda skill: msgspec.structs.replace(skill, description="Say 14.")), "open of"),
        (
            instead(MasteryUpdated, lambda step: msgspec.structs.replace(step, after=abs(step.after - 0.01))),
            "update of",
        ),
        (instead(GuardDecided, lambda told: msgspec.structs.replace(told, correct=told.correct + 1)), "snapshot of"),
        (instead(IterationPlanned, lambda plan: msgspec.structs.replace(plan, brief="Say 14.")), "plan of iteration 0"),
    ],
)
def test_what_no_answer_and_no_reply_taught_is_found(
    change: Change, words: str, evolved_once: Run, tmp_path: Path
) -> None:
    check = checked(evolved_once, tmp_path, change)
    assert not check.ok and words in check.detail and check.seq, check.detail


@pytest.mark.parametrize(("purpose", "phase"), [("anchor", "snapshot"), ("fresh", "evaluate")])
def test_an_answer_that_was_left_out_is_missed(purpose: str, phase: str, evolved_once: Run, tmp_path: Path) -> None:
    answers = [event for event in LogReader(evolved_once.log_path).of(AnswerJudged) if event.purpose == purpose]

    def without(record: Record) -> list[Event]:
        return [] if record.event == answers[-1] else [record.event]

    check = checked(evolved_once, tmp_path, without)
    name = answers[-1].question_id
    assert not check.ok and f"{name} was not asked ({phase}), against the rules" in check.detail and check.seq


def test_a_stand_in_for_guidance_says_what_it_would_say(evolved_once: Run, tmp_path: Path) -> None:
    """The same reply with a blank at its end: what follows from it is the same, so that nothing else is wrong."""

    def is_guidance(event: Event) -> bool:
        return isinstance(event, ModelCalled) and event.tier == "guidance"

    change = instead(ModelCalled, lambda call: msgspec.structs.replace(call, text=f"{call.text} "), is_guidance)
    check = checked(evolved_once, tmp_path, change)
    assert not check.ok and "builtin/reference replies otherwise about" in check.detail and check.seq


def test_what_was_written_beside_the_phases_is_found(evolved_once: Run, tmp_path: Path) -> None:
    memory = planted(next(LogReader(evolved_once.log_path).of(MemoryAppended)))
    check = checked(evolved_once, tmp_path, after(ModelCalled, memory, which=is_answer))
    assert not check.ok and "this memory.appended belongs to no phase" in check.detail and check.seq


def is_answer(event: Event) -> bool:
    return isinstance(event, ModelCalled) and event.tier == "execution"


def test_a_vector_that_brings_a_memory_near_other_questions_is_found(evolved_once: Run, tmp_path: Path) -> None:
    turned = instead(MemoryAppended, lambda event: msgspec.structs.replace(event, embedding=event.embedding[::-1]))
    check = checked(evolved_once, tmp_path, turned)
    assert not check.ok and "embedding" in check.detail


def test_another_release_may_have_learned_otherwise_which_is_a_doubt(evolved_once: Run, tmp_path: Path) -> None:
    older = instead(RunStarted, lambda event: msgspec.structs.replace(event, package_sha256="f" * 64))
    other = instead(MemoryAppended, planted)
    check = checked(evolved_once, tmp_path, lambda record: other(record) if record.seq > 1 else older(record))
    assert check.ok and check.doubt and "another release" in check.detail


def other_memories(planned: QuestionPlanned) -> QuestionPlanned:
    return msgspec.structs.replace(planned, memories=planned.memories[1:])


@pytest.mark.parametrize("purpose", ["fresh", "anchor"])
def test_a_question_that_was_shown_other_memories_than_its_state_gives_is_found(
    purpose: str, evolved_once: Run, tmp_path: Path
) -> None:
    def has_some(event: Event) -> bool:
        return isinstance(event, QuestionPlanned) and event.purpose == purpose and len(event.memories) > 1

    check = checked(evolved_once, tmp_path, instead(QuestionPlanned, other_memories, has_some))
    assert not check.ok and "do not lead to this question.planned (memories)" in check.detail and check.seq


@pytest.mark.parametrize("purpose", ["fresh", "anchor"])
def test_a_question_that_the_iteration_should_have_asked_is_found(
    purpose: str, evolved_once: Run, tmp_path: Path
) -> None:
    plans = LogReader(evolved_once.log_path).records({QuestionPlanned})
    left_out = next(each.seq for each in plans if each.event.purpose == purpose)  # type: ignore[attr-defined]
    check = checked(evolved_once, tmp_path, lambda record: [record.event] if record.seq != left_out else [])
    assert not check.ok and "do not lead to this question.planned (" in check.detail and check.seq


def test_a_memory_that_nobody_took_out_of_use_cannot_be_brought_back(evolved_once: Run, tmp_path: Path) -> None:
    name = next(LogReader(evolved_once.log_path).of(MemoryAppended)).memory_id
    shutil.copytree(evolved_once.log_path, tmp_path / "log")
    with Log.open(tmp_path / "log", clock=clock) as log:
        released = MemoryReleased(memory_id=name, reason="useful", by="mallory")
        log.append([Draft(event=released, iteration=1, phase="log", ordinal=1)])
    check = learned_in(tmp_path / "log")
    assert not check.ok and "is not in quarantine, it is active" in check.detail and check.seq


def checked(run: Run, folder: Path, change: Change) -> Check:
    forged(run.log_path, folder / "log", change)
    return learned_in(folder / "log")


def learned_in(log: Path) -> Check:
    reader = LogReader(log)
    started = first_event(reader)
    basis = basis_at(basis_of(reader, data_dir=None, benchmark=None), started)
    return check_learned(reader, basis, partial(drawn, reader, basis.world))


def test_an_explorer_writes_nothing_where_there_are_no_episodes(evolved_once: Run, tmp_path: Path) -> None:
    answer = next(iter(LogReader(evolved_once.log_path).records({AnswerJudged})))
    recipe = ActionRecipeHarvested(
        recipe_id="f" * 32,
        skill="general",
        task_type="wordmath_age",
        achievement="The answer is 14.",
        actions=("Say 14.",),
        origin=Origin(facts=(answer.fact_id.hex(),)),
        iteration=0,
        phase="explore",
        ordinal=0,
    )
    mark = PhaseCompleted(iteration=0, phase="explore")
    shutil.copytree(evolved_once.log_path, tmp_path / "log")
    with Log.open(tmp_path / "log", clock=clock) as log:
        log.append([Draft(event=event, iteration=0, phase="explore") for event in (recipe, mark)])
    check = learned_in(tmp_path / "log")
    assert not check.ok and "action_recipe.harvested belongs to no phase" in check.detail and check.seq


def without_last_exam(log: Path) -> Change:
    last = [record.seq for record in LogReader(log).records({QuestionPlanned}) if record.phase == "exam"][-1]
    return lambda record: [] if record.seq == last else [record.event]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda log: instead(BaselineStarted, lambda b: msgspec.structs.replace(b, learned=b.learned[::-1])),
            "from other questions than the first 24",
        ),
        (
            lambda log: instead(QuestionPlanned, lambda p: msgspec.structs.replace(p, routing_arm="zero_shot")),
            "was asked by zero_shot, and the run is of knn",
        ),
        (without_last_exam, "did not answer the 5 held-out questions that the seed chooses"),
    ],
)
def test_a_rival_learns_from_and_answers_the_questions_that_its_seed_draws_as_it_is_named(
    change: Callable[[Path], Change], words: str, rival: Run, tmp_path: Path
) -> None:
    check = learned_in(rival.log_path)
    assert check.ok and check.detail == "knn learned from 24 questions and answered 6, by its seed"
    check = checked(rival, tmp_path, change(rival.log_path))
    assert not check.ok and words in check.detail


@pytest.fixture(scope="module")
def rival(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A baseline that learns. Shared: only copy it."""
    folder = tmp_path_factory.mktemp("rival")
    config = Config(benchmark="wordmath", seed=7, held_out=12, anchors=0, execution="builtin/analogist")
    baseline("knn", config, runs_dir=folder, learn_from=24, questions=6, run_id="rival")
    return Run("rival", folder / "rival")
