"""What the guidance tier wrote becomes memories; a newer one takes an older one's place, an old one returns to none."""

from typing import Any

import msgspec
import numpy as np
import pytest

from mage_es.engine.briefs import AuthoredFailure, AuthoredPrinciple, FailureReply, PrinciplesReply
from mage_es.engine.commands import Authored, Candidate, Evolve
from mage_es.engine.config import Config
from mage_es.engine.rules.authoring import evolve, sources_of
from mage_es.engine.rules.rotation import EXTRACT_PRINCIPLES, WRITE_FAILURES
from mage_es.engine.rules.setting import Setting
from mage_es.engine.seams.benchmark import Question
from mage_es.events import vocabulary as v
from mage_es.projections.fold import State
from tests.kit.plain_events import plain

SETTING = Setting(Config(benchmark="b", strategies=True), ("q1", "q2"), (), (), ("t",), "")
QUESTIONS = {
    name: Question(id=name, benchmark="b", split="evolution", task_type="t", question=f"What of {name}?", gold="4")
    for name in ("q1", "q2", "q3", "q4")
}


def judged(question_id: str, *, iteration: int = 0, correct: bool = False, task_type: str = "t") -> v.AnswerJudged:
    about = {"iteration": iteration, "question_id": question_id, "task_type": task_type}
    return plain(v.AnswerJudged, **about, answer="9", correct=correct)


@pytest.fixture
def state() -> State:
    fresh = State()
    fresh.apply(v.SkillCreated(skill="general", mastery=0.0, prompt_template="", strategy=""))
    for name in QUESTIONS:
        fresh.apply(judged(name))
    return fresh


def rule(do: str, *cases: str, when: str = "") -> AuthoredPrinciple:
    return AuthoredPrinciple(when=when, do=do, cases=cases or ("q1", "q2"))


def written(
    state: State, *failures: AuthoredFailure, iteration: int = 0, principles: tuple[AuthoredPrinciple, ...] = ()
) -> list[v.Event]:
    return evolved(
        state,
        Authored("t", WRITE_FAILURES, FailureReply(memories=failures), "call"),
        Authored("t", EXTRACT_PRINCIPLES, PrinciplesReply(principles=principles), "call"),
        iteration=iteration,
    )


def evolved(state: State, *authored: Authored, iteration: int = 0, setting: Setting = SETTING) -> list[v.Event]:
    texts = [text for item in authored for text in sources_of(item, QUESTIONS)]
    vectors = {text: np.ones(4, dtype=np.float32) for text in texts}
    command = Evolve(iteration, [Candidate("t", 1, 2, -1)], authored, QUESTIONS, vectors)
    return [draft.event for draft in evolve(setting, state, command)]


def strategy(reasoning: str, question_id: str = "q1") -> AuthoredFailure:
    return AuthoredFailure(
        question_id=question_id, kind="type_strategy", recognise="so", reasoning=reasoning, answer="4"
    )


def specific(reasoning: str, question_id: str = "q1") -> AuthoredFailure:
    return AuthoredFailure(question_id=question_id, kind="specific", recognise="", reasoning=reasoning, answer="")


def kinds(events: list[v.Event], *types: type[Any]) -> list[Any]:
    return [event for event in events if isinstance(event, types)]


def next_iteration(state: State, events: list[v.Event], iteration: int) -> None:
    for event in events:
        state.apply(event)
    state.apply(v.IterationClosed(iteration=iteration, digests=()))
    for name in QUESTIONS:
        state.apply(judged(name, iteration=iteration + 1))


def test_a_correction_that_says_only_which_answer_is_right_is_kept_as_a_case_and_not_as_a_lesson(state: State) -> None:
    told = (specific("Not 9: the right answer is 4.", "q1"), specific("9 leaves out one box: 9 - 5 = 4", "q2"))
    kept = [(m.question_id, m.reasoning, m.answer) for m in kinds(written(state, *told), v.MemoryAppended)]
    assert kept == [("q1", "", "4"), ("q2", "9 leaves out one box: 9 - 5 = 4", "4")]
    assert not kinds(written(state, strategy("The answer is right.")), v.MemoryAppended)


def test_questions_whose_right_answer_the_teacher_doubts_are_on_record_as_far_as_they_were_asked(state: State) -> None:
    reply = FailureReply(memories=(), doubtful=("q2", "ghost", "q2"))
    (taken,) = kinds(evolved(state, Authored("t", WRITE_FAILURES, reply, "call")), v.ActionTaken)
    assert taken.doubtful == ("q2",)


@pytest.mark.paper("appendix, failure memories")
def test_a_failure_memory_holds_question_wrong_answer_correction_and_the_benchmarks_answer(state: State) -> None:
    memory = kinds(written(state, specific("2 + 2 = 4")), v.MemoryAppended)[0]
    assert (memory.question, memory.wrong_answer, memory.reasoning, memory.answer) == (
        "What of q1?",
        "9",
        "2 + 2 = 4",
        "4",
    )
    assert (memory.outcome, memory.phase, memory.skill) == ("failure_memory", "evolve", "general")


def test_a_correction_takes_the_place_of_the_case_of_its_question(state: State) -> None:
    [case] = kinds(written(state, specific("9 leaves out one box")), v.MemoryAppended)
    state.apply(msgspec.structs.replace(case, memory_id="case", kind="case"))
    events = written(state, specific("2 + 2 = 4"))
    [corrected] = kinds(events, v.MemoryAppended)
    [superseded] = kinds(events, v.MemorySuperseded)
    assert (superseded.memory_id, superseded.by) == ("case", corrected.memory_id)


@pytest.mark.paper("appendix, failure memories")
def test_a_newer_memory_about_the_same_question_supersedes_the_older(state: State) -> None:
    first = written(state, specific("first"))
    next_iteration(state, first, 0)
    second = written(state, specific("second"), iteration=1)
    assert kinds(second, v.MemorySuperseded) == [
        v.MemorySuperseded(
            memory_id=kinds(first, v.MemoryAppended)[0].memory_id, by=kinds(second, v.MemoryAppended)[0].memory_id
        )
    ]


def test_an_old_strategy_met_again_is_reinforced_and_leaves_its_successor_in_place(state: State) -> None:
    for iteration, text in enumerate(("first", "second", "first")):
        events = written(state, strategy(text), iteration=iteration)
        next_iteration(state, events, iteration)
    assert [type(event) for event in kinds(events, v.MemoryReinforced, v.MemorySuperseded)] == [v.MemoryReinforced]
    latest = state.memory.latest_strategy("t")
    assert latest is not None
    assert (latest.reasoning, latest.status) == ("second", "active")


def test_what_is_about_no_question_of_the_iteration_or_of_no_known_kind_is_left_out(state: State) -> None:
    odd = AuthoredFailure(question_id="q1", kind="poem", recognise="", reasoning="x", answer="")
    assert kinds(written(state, specific("x", "q99"), odd), v.MemoryAppended) == []


def test_at_most_three_failure_memories_are_written_for_a_target(state: State) -> None:
    events = written(state, *(specific(f"for {name}", name) for name in QUESTIONS))
    assert len(kinds(events, v.MemoryAppended)) == 3


@pytest.mark.paper("section 3.3, principles")
def test_a_principle_is_kept_once_and_names_the_call_it_came_from(state: State) -> None:
    memories = kinds(
        written(state, principles=(rule("Add first."), rule("Add first."))), v.MemoryAppended, v.MemoryReinforced
    )
    assert [type(event) for event in memories] == [v.MemoryAppended, v.MemoryReinforced]
    assert memories[0].origin.facts == ("call",)


def test_a_principle_says_when_and_what_and_rests_on_two_questions_that_were_asked(state: State) -> None:
    events = written(
        state,
        principles=(
            rule("take it of the rest.", when="a share is taken twice,"),
            rule("Say it.", "q1", "elsewhere"),
            rule("Add first."),
        ),
    )
    told = [event.reasoning for event in events if isinstance(event, v.MemoryAppended)]
    assert told == ["When a share is taken twice, take it of the rest.", "Add first."]


def test_a_principle_that_rests_on_the_cases_of_one_client_alone_is_of_that_client(
    state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, client in (("q1", "mal"), ("q2", "mal"), ("q3", "ann")):
        monkeypatch.setitem(QUESTIONS, name, msgspec.structs.replace(QUESTIONS[name], meta={"by": client}))
    principles = (rule("Add."), rule("Take.", "q1", "q3"), rule("Share.", "q2", "q4"))
    written_down = kinds(written(state, principles=principles), v.MemoryAppended)
    assert [event.origin.by for event in written_down] == ["mal", "", ""]


def test_a_strategy_counts_apart_from_the_corrections(state: State) -> None:
    events = written(state, *(specific(f"for {name}", name) for name in QUESTIONS), strategy("one"))
    kinds_written = [event.kind for event in events if isinstance(event, v.MemoryAppended)]
    assert kinds_written == ["type_strategy", "specific", "specific", "specific"]


def test_a_strategy_that_was_not_asked_for_is_not_kept(state: State) -> None:
    plain = SETTING._replace(config=msgspec.structs.replace(SETTING.config, strategies=False))
    told = Authored("t", WRITE_FAILURES, FailureReply(memories=(strategy("one"), specific("so"))))
    assert [memory.kind for memory in kinds(evolved(state, told, setting=plain), v.MemoryAppended)] == ["specific"]


def test_a_correction_of_which_only_the_answer_would_be_shown_is_not_kept(state: State) -> None:
    direct = SETTING._replace(config=msgspec.structs.replace(SETTING.config, route="direct"))
    told = Authored("t", WRITE_FAILURES, FailureReply(memories=(strategy("one"), specific("so"))))
    assert [memory.kind for memory in kinds(evolved(state, told, setting=direct), v.MemoryAppended)] == [
        "type_strategy"
    ]


def test_a_teacher_that_sees_no_right_answers_leaves_none_in_its_memories(state: State) -> None:
    blind = SETTING._replace(config=msgspec.structs.replace(SETTING.config, teacher_sees="errors"))
    told = Authored("t", WRITE_FAILURES, FailureReply(memories=(msgspec.structs.replace(specific("so"), answer="6"),)))
    (memory,) = kinds(evolved(state, told, setting=blind), v.MemoryAppended)
    (usual,) = kinds(evolved(state, told), v.MemoryAppended)
    assert memory.answer == "6" != usual.answer


def test_a_question_gets_one_memory_and_the_type_one_strategy_in_an_iteration(state: State) -> None:
    events = written(state, specific("first"), specific("second"), strategy("one"), strategy("other", "q2"))
    memories = [event for event in events if isinstance(event, v.MemoryAppended)]
    assert [memory.reasoning for memory in memories] == ["one", "first"]


def test_nothing_is_written_about_a_question_that_was_answered_rightly(state: State) -> None:
    state.apply(judged("q1", correct=True))
    assert kinds(written(state, specific("x")), v.MemoryAppended) == []


def test_a_principle_that_the_skill_has_in_the_same_words_is_met_again_whatever_type_it_came_from(state: State) -> None:
    first = written(state, principles=(rule("Add first."),))
    next_iteration(state, first, 0)
    for name in ("q8", "q9"):
        state.apply(judged(name, iteration=1, task_type="u"))
    reply = PrinciplesReply(principles=(rule("  add FIRST ", "q8", "q9"),))
    second = evolved(state, Authored("u", EXTRACT_PRINCIPLES, reply, "other"), iteration=1)
    assert kinds(second, v.MemoryAppended, v.MemoryReinforced) == [
        v.MemoryReinforced(memory_id=kinds(first, v.MemoryAppended)[0].memory_id, question_id="", count=2)
    ]


def test_a_memory_in_quarantine_is_left_as_it_is_when_a_new_one_is_written(state: State) -> None:
    first = written(state, specific("first"))
    quarantined = v.MemoryQuarantined(memory_id=kinds(first, v.MemoryAppended)[0].memory_id, reason="harm", by="user")
    next_iteration(state, [*first, quarantined], 0)
    second = written(state, specific("second"), iteration=1)
    assert [type(event) for event in kinds(second, v.MemoryAppended, v.MemorySuperseded)] == [v.MemoryAppended]


def test_what_is_superseded_already_is_not_superseded_again_where_its_successor_is_in_quarantine(state: State) -> None:
    next_iteration(state, written(state, specific("first")), 0)
    second = written(state, specific("second"), iteration=1)
    quarantined = v.MemoryQuarantined(memory_id=kinds(second, v.MemoryAppended)[0].memory_id, reason="harm", by="user")
    next_iteration(state, [*second, quarantined], 1)
    assert kinds(written(state, specific("third"), iteration=2), v.MemorySuperseded) == []


@pytest.mark.parametrize(
    ("authored", "outcome"),
    [
        (Authored("t", WRITE_FAILURES, FailureReply(memories=())), "nothing to author"),
        (Authored("t", WRITE_FAILURES, None, "call"), "the reply could not be read"),
        (Authored("t", WRITE_FAILURES, None), "the call failed"),
        (Authored("t", EXTRACT_PRINCIPLES, PrinciplesReply(principles=(rule("Add."),))), "authored"),
        (
            Authored("t", EXTRACT_PRINCIPLES, PrinciplesReply(principles=(rule("Add.", "q1", "q1", "made-up"),))),
            "refused: no principle names 2 questions that show it",
        ),
        (Authored("t", "skill_splitting", None, idle="switched off"), "switched off"),
    ],
)
def test_every_outcome_is_recorded(state: State, authored: Authored, outcome: str) -> None:
    taken = kinds(evolved(state, authored), v.ActionTaken)
    assert [(event.action, event.outcome) for event in taken] == [(authored.action, outcome)]


def test_the_targets_come_first_and_the_phase_mark_last(state: State) -> None:
    events = written(state)
    assert isinstance(events[0], v.TargetsSelected)
    assert events[0].newly_observed == ("t",)
    assert events[-1] == v.PhaseCompleted(iteration=0, phase="evolve")
