"""What a resumed run finds of the iteration that it was in."""

import msgspec
import pytest

from mage_es.events import vocabulary as v
from mage_es.projections.progress import CallKey, Progress
from tests.kit.plain_events import plain
from tests.kit.stages import flat, round_trip
from tests.kit.strategies import history

STAGES = history(seed=3, iterations=1, questions=3)
EVALUATE = [event for stage in STAGES if stage.phase == "evaluate" for event in stage.events]
ANCHORS = [event for stage in STAGES if (stage.iteration, stage.phase) == (0, "snapshot") for event in stage.events]


def progress_of(events: list[v.Event]) -> Progress:
    progress = Progress()
    for event in events:
        if type(event) in Progress.reads:
            progress.apply(event)
    return progress


def test_plans_replies_and_verdicts_of_the_open_iteration_are_found_by_question() -> None:
    progress = progress_of(EVALUATE[::-1])

    assert [planned.question_id for planned in progress.plans("evaluate")] == ["fresh-0-0", "fresh-0-1", "fresh-0-2"]
    assert [verdict.question_id for verdict in progress.verdicts("evaluate")] == ["fresh-0-0", "fresh-0-1", "fresh-0-2"]
    for event in EVALUATE:
        match event:
            case v.QuestionPlanned():
                assert progress.plan("evaluate", event.question_id) == event
            case v.ModelCalled():
                assert progress.reply("evaluate", event.about) == event
            case v.AnswerJudged():
                assert progress.verdict("evaluate", event.question_id) == event
    assert not progress.plans("snapshot") and not progress.verdicts("snapshot")
    with pytest.raises(KeyError):
        progress.reply("evaluate", "never asked")


def test_anchors_belong_to_the_snapshot_phase_and_evaluate_is_still_there() -> None:
    progress = progress_of(EVALUATE + ANCHORS)

    assert len(progress.plans("snapshot")) == len(progress.plans("evaluate")) == 3
    assert progress.is_judged("snapshot", "anchor-0") and not progress.is_judged("evaluate", "anchor-0")


def test_a_recorded_call_is_found_by_its_whole_key_only() -> None:
    progress = progress_of(EVALUATE)
    made = next(event for event in EVALUATE if isinstance(event, v.ModelCalled))
    key = CallKey(made.tier, made.purpose, made.about, made.attempt, made.request_sha256)

    assert progress.call(key) == made
    for other in (key._replace(tier="guidance"), key._replace(attempt=1), key._replace(request_sha256="other")):
        assert progress.call(other) is None


def test_of_several_replies_to_a_question_the_last_attempt_counts_in_any_order() -> None:
    made = next(event for event in EVALUATE if isinstance(event, v.ModelCalled))
    again = msgspec.structs.replace(made, attempt=1, text="second thoughts")

    for order in ([made, again], [again, made]):
        assert progress_of(list[v.Event](order)).reply("evaluate", made.about) == again


def test_what_came_of_each_trial_of_a_question_stays_in_any_order() -> None:
    plan = next(event for event in EVALUATE if isinstance(event, v.QuestionPlanned))
    reply = next(event for event in EVALUATE if isinstance(event, v.ModelCalled) and event.about == plan.question_id)
    trials: list[v.Event] = [
        msgspec.structs.replace(event, purpose="trial", iteration=trial)
        for trial in (0, 1)
        for event in (plan, msgspec.structs.replace(reply, text=f"reply {trial}", request_sha256=f"prompt {trial}"))
    ]
    for order in (trials, trials[::-1]):
        progress = progress_of(order)
        assert [progress.reply("evaluate", plan.question_id, trial).text for trial in (0, 1)] == ["reply 0", "reply 1"]
        assert [each.iteration for each in progress.plans("evaluate")] == [0, 1]
        assert progress.is_planned("evaluate", plan.question_id, 1)
        assert not progress.is_planned("evaluate", plan.question_id, 2)


def test_closing_an_iteration_drops_its_work_and_moves_on() -> None:
    progress = progress_of(flat(STAGES))

    assert progress.closed == 0
    assert progress.iteration_plan is None
    assert progress.plans("evaluate") == progress.plans("snapshot") == []
    assert progress.dump()[-1] == []
    assert progress.is_completed(0, "evaluate") and not progress.is_completed(1, "plan")


def test_phases_are_completed_one_by_one() -> None:
    progress = Progress()
    assert (progress.closed, progress.finished) == (-2, False)

    progress.apply(v.IterationClosed(iteration=-1, digests=()))
    progress.apply(v.PhaseCompleted(iteration=0, phase="plan"))

    assert progress.is_completed(-1, "snapshot") and progress.is_completed(0, "plan")
    assert not progress.is_completed(0, "evaluate")


def test_a_finished_run_says_so() -> None:
    progress = progress_of([v.RunFinished(iterations=3)])

    assert progress.finished


def test_open_work_survives_a_dump() -> None:
    plan = next(event for event in flat(STAGES) if isinstance(event, v.IterationPlanned))
    progress, loaded = progress_of([plan, v.PhaseCompleted(iteration=0, phase="plan"), *EVALUATE]), Progress()

    loaded.load(round_trip(progress.dump()))

    assert loaded.iteration_plan == plan
    assert loaded.is_completed(0, "plan")
    assert loaded.plans("evaluate") == progress.plans("evaluate")
    assert loaded.verdicts("evaluate") == progress.verdicts("evaluate")
    assert loaded.reply("evaluate", "fresh-0-1") == progress.reply("evaluate", "fresh-0-1")
    assert loaded.is_replied("evaluate", "fresh-0-1") and not loaded.is_replied("evaluate", "fresh-0-1/1")


def test_tool_runs_and_steps_of_the_open_iteration_are_found() -> None:
    explored = [event for stage in STAGES if stage.phase in ("explore", "evolve") for event in stage.events]
    ran = next(
        e for seed in range(9) for e in flat(history(seed=seed, iterations=1, questions=3)) if type(e) is v.ToolRan
    )
    for progress in (found := progress_of([*explored[::-1], ran]), Progress()):
        progress.load(round_trip(found.dump()))
        steps = [event for event in explored if isinstance(event, v.EpisodeStepped)]
        closed = next(event for event in explored if isinstance(event, v.EpisodeClosed))

        assert progress.steps("explore", "explore-0") == steps and progress.steps("explore", "another") == []
        assert progress.episode("explore", "explore-0") == closed and progress.episode("exam", "explore-0") is None
        assert progress.tool_run(ran.purpose, ran.question_id, ran.tool_id, ran.arguments) == ran
        assert progress.tool_run(ran.purpose, ran.question_id, ran.tool_id, "{}") is None
    progress.apply(v.IterationClosed(iteration=0, digests=()))
    assert progress.steps("explore", "explore-0") == []


def test_failed_attempts_are_counted_by_call_and_a_question_given_up_is_settled() -> None:
    failed = plain(v.CallFailed, purpose="fresh", about="fresh-0-9", tries=1, fault="timeout", problem="no whole reply")
    lost = v.AnswerUnanswered(
        iteration=0, purpose="fresh", question_id="fresh-0-9", task_type="t", skill="s", problem="timeout"
    )
    second = msgspec.structs.replace(failed, tries=2, final=True)
    progress, loaded = progress_of([*EVALUATE, failed, second, lost]), Progress()
    loaded.load(round_trip(progress.dump()))

    for each in (progress, loaded):
        assert each.failures("execution", "fresh", "fresh-0-9", 0) == 2
        assert each.failures("execution", "fresh", "fresh-0-9", 1) == 0
        assert each.is_settled("evaluate", "fresh-0-9") and not each.is_judged("evaluate", "fresh-0-9")
        assert each.is_settled("evaluate", "fresh-0-0") and not each.is_settled("snapshot", "fresh-0-9")
        assert each.unanswered("evaluate") == [lost] and each.unanswered("snapshot") == []
        each.apply(v.IterationClosed(iteration=0, digests=()))
        assert not each.unanswered("evaluate") and not each.failures("execution", "fresh", "fresh-0-9", 0)


def batch(name: str, *, tries: int) -> v.BatchSubmitted:
    call = v.BatchedCall(
        custom_id=f"c-{name}", purpose="principles_v1", about="t", attempt=0, request_sha256="s", tries=tries
    )
    return v.BatchSubmitted(iteration=0, tier="guidance", model="m", batch_id=name, calls=(call,))


def failure(tries: int) -> v.CallFailed:
    return plain(
        v.CallFailed,
        tier="guidance",
        agent="SkillDiscovery",
        purpose="principles_v1",
        about="t",
        tries=tries,
        fault="timeout",
        problem="expired",
    )


def test_a_call_waits_in_the_last_batch_after_which_it_did_not_fail_also_after_a_round_trip() -> None:
    key = CallKey("guidance", "principles_v1", "t", 0, "s")
    story: list[tuple[v.Event, tuple[str, str]]] = [
        (batch("one", tries=0), ("one", "c-one")),
        (failure(1), ("", "")),
        (batch("two", tries=1), ("two", "c-two")),
        (failure(2), ("", "")),
    ]
    progress = Progress()
    assert progress.batched(key) == ("", "") and not progress.has_batches
    for event, found in story:
        progress.apply(event)
        loaded = Progress()
        loaded.load(round_trip(progress.dump()))
        for seen in (progress, loaded):
            assert seen.batched(key) == found and seen.has_batches
            assert seen.batched(key._replace(request_sha256="other")) == ("", "")
    progress.apply(v.IterationClosed(iteration=0, digests=()))
    assert not progress.has_batches
